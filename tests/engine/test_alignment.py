"""Matching factors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group
from tests.engine.hand_built import certain

from rankfactor import Gibbs, InputError, RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine.alignment import (
    Permuted,
    Rotated,
    free_groups,
    match_factors,
    matching,
    rotate_factors,
)
from rankfactor.likelihoods import Gaussian, Probit
from rankfactor.model import Model
from rankfactor.posterior.diagnostics import convergence
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD


@st.composite
def turned(draw):
    """Loadings, an order and signs."""
    k = draw(st.integers(1, 7))
    d = draw(st.integers(k, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    order = np.array(draw(st.permutations(range(k))))
    sign = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=k, max_size=k)))
    return rng.standard_normal((d, k)), order, sign


@given(turned())
def test_order_and_signs_are_undone(case):
    reference, order, sign = case
    found, signs = match_factors(reference[:, order] * sign, reference)
    assert_array_equal((reference[:, order] * sign)[:, found] * signs, reference)


@given(turned(), st.floats(-3, 3))
def test_scale_of_a_factor_does_not_matter(case, log_scale):
    reference, order, sign = case
    scale = 10.0 ** (log_scale * np.arange(reference.shape[1]))
    loadings = (reference * scale)[:, order] * sign
    found, signs = match_factors(loadings, reference)
    assert_allclose(loadings[:, found] * signs, reference * scale, rtol=1e-12)


@given(turned())
def test_small_changes_do_not_matter(case):
    reference, order, sign = case
    if len(reference) < 20:  # random columns of few rows can be nearly parallel
        return
    noise = 0.01 * np.random.default_rng(0).standard_normal(reference.shape)
    loadings = (reference + noise)[:, order] * sign
    found, signs = match_factors(loadings, reference)
    assert_array_equal(order[found], np.arange(len(order)))
    assert_array_equal(signs, sign[found])


def test_zero_columns_take_the_places_that_are_left():
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((12, 4))
    loadings = -reference[:, [2, 0, 3, 1]]
    loadings[:, 0] = 0.0
    order, sign = match_factors(loadings, reference)
    assert_array_equal(order, [1, 3, 0, 2])
    assert_array_equal(sign, [-1, -1, 1, -1])


@pytest.mark.parametrize("which", ["loadings", "reference", "both"])
def test_nothing_but_zeros_is_still_an_order(which):
    some, zeros = np.random.default_rng(0).standard_normal((5, 3)), np.zeros((5, 3))
    order, sign = match_factors(
        some if which == "reference" else zeros, some if which == "loadings" else zeros
    )
    assert sorted(order) == [0, 1, 2]
    assert_array_equal(np.abs(sign), 1.0)


def test_tiny_columns_are_matched_like_any_other():
    """A factor that the horseshoe has switched off still has a direction."""
    reference = np.random.default_rng(0).standard_normal((9, 3))
    loadings = 1e-30 * reference[:, [1, 2, 0]] * [1, -1, 1]
    order, sign = match_factors(loadings, reference)
    assert_array_equal(order, [2, 0, 1])
    assert_array_equal(sign, [1, 1, -1])


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
def test_a_rotation_is_undone(seed, k):
    rng = np.random.default_rng(seed)
    reference = rng.standard_normal((20, k))
    turn = ortho_group.rvs(k, random_state=rng)
    found = rotate_factors(reference @ turn, reference)
    assert_allclose(found @ found.T, np.eye(k), atol=1e-12)
    assert_allclose(reference @ turn @ found, reference, atol=1e-10)


def test_a_rotation_is_at_least_as_near_as_any_other():
    rng = np.random.default_rng(0)
    loadings, reference = rng.standard_normal((2, 15, 4))
    found = np.linalg.norm(loadings @ rotate_factors(loadings, reference) - reference)
    others = ortho_group.rvs(4, 200, random_state=1)
    assert found < min(np.linalg.norm(loadings @ one - reference) for one in others)
    order, sign = match_factors(loadings, reference)
    assert found < np.linalg.norm(loadings[:, order] * sign - reference)


@pytest.mark.parametrize("kind", [Permuted, Rotated])
def test_products_stay_what_they_were(kind):
    """Loadings and scores are rotated alike; intercepts are not."""
    rng = np.random.default_rng(0)
    loadings, reference = rng.standard_normal((2, 9, 3))
    intercept, z = rng.standard_normal(9), certain(rng.standard_normal((5, 3)))
    groups = [np.arange(loadings.shape[1])] if kind is Rotated else ()
    match = matching(loadings, reference, groups)
    assert isinstance(match, kind)
    rows = match.rows(certain(np.column_stack([loadings, intercept]))).mean
    turned = match.rows(z).mean
    assert not np.allclose(turned, z.mean)
    assert_allclose(rows[:, :3] @ turned.T, loadings @ z.mean.T, atol=1e-12)
    assert_array_equal(rows[:, 3], intercept)


def test_factors_are_rotated_within_their_groups_only():
    rng = np.random.default_rng(1)
    reference = rng.standard_normal((30, 5))
    turn = np.eye(5)
    turn[np.ix_([1, 4], [1, 4])] = ortho_group.rvs(2, random_state=2)
    order, sign = np.array([3, 0, 4, 1, 2]), np.array([1, -1, 1, 1, -1])
    loadings = (reference @ turn)[:, order] * sign
    match = matching(loadings, reference, [np.array([1, 4])])
    assert_allclose(match.rows(certain(loadings)).mean, reference, atol=1e-12)
    assert_allclose(match.matrix @ match.matrix.T, np.eye(5), atol=1e-12)
    # A rotation in another plane is left alone.
    other = np.eye(5)
    other[np.ix_([0, 2], [0, 2])] = [[0.9, 0.19**0.5], [-(0.19**0.5), 0.9]]
    found = matching(reference @ other, reference, [np.array([1, 4])]).rows(
        certain(reference @ other)
    )
    assert_allclose(found.mean, reference @ other, atol=1e-12)


def test_groups_are_connected_by_free_planes():
    spread = np.zeros((6, 6))
    for k, m, angle in ((0, 3, 0.4), (3, 5, 0.11), (1, 2, 0.09)):
        spread[k, m] = spread[m, k] = angle
    (group,) = free_groups(spread)
    assert_array_equal(group, [0, 3, 5])
    assert free_groups(np.zeros((1, 1))) == []


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_draws_of_axes_that_a_prior_hardly_tells_apart_are_rotated():
    """Mean loadings of few features are an average over turned axes unless draws are rotated.

    Squared size of a factor's mean loadings relative to that of its draws, seen with seeds 0 to 4:
    0.87 to 0.90 if permuted, 0.99 by default.
    """
    rng = np.random.default_rng(3)
    z = rng.standard_normal((150, 2))
    X = z @ rng.standard_normal((2, 6)) + 0.5 * rng.standard_normal((150, 6))
    share = {}
    for align in ("permute", "auto"):
        engine = Gibbs(n_draws=300, burn_in=100, n_chains=2, align=align, n_predict=2)
        model = RankFactorAnalysis(
            likelihood="gaussian", n_factors=2, engine=engine, random_state=0, n_threads=1
        ).fit(X)
        draws = model.posterior_.draws.loadings[..., :2].astype(float)
        share[align] = (draws.mean(axis=0) ** 2).sum(axis=0) / (draws**2).sum(axis=1).mean(axis=0)
    assert share["permute"].max() < 0.95
    assert share["auto"].min() > 0.97


def rotated_case(seed=0):
    rng = np.random.default_rng(seed)
    loadings, z = rng.standard_normal((12, 2)), rng.standard_normal((100, 2))
    X = z @ loadings.T + 0.7 * rng.standard_normal((100, 12))
    return X, (z[:, 0] + 0.7 * rng.standard_normal(100) > 0).astype(int)


SPHERE = NormalARD(scope="row")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_rotated_chains_agree_where_the_prior_has_no_directions():
    """Under a rotation-invariant prior, loadings are identified up to rotations only."""
    X, _ = rotated_case()
    found = {}
    for align in ("permute", "rotate", "auto"):
        engine = Gibbs(n_draws=150, burn_in=100, align=align, n_chains=2)
        settings = {"likelihood": "gaussian", "shrinkage": SPHERE, "n_factors": 2}
        model = RankFactorAnalysis(**settings, engine=engine, random_state=0, n_threads=1).fit(X)
        found[align] = model
    r_hat = {
        align: convergence(model.posterior_).loc["loadings", "r_hat"]
        for align, model in found.items()
    }
    assert max(r_hat.values()) < 1.15
    assert r_hat["auto"] == r_hat["rotate"]
    # Chains turn freely: up to the order and the signs of the factors, all angles come up.
    spread = {
        align: model.posterior_.draws.loadings[..., :2].std(axis=0).mean()
        for align, model in found.items()
    }
    # Seen with seeds 0 to 4: 0.189 to 0.194, and 0.074 to 0.076.
    assert spread["permute"] > 2 * spread["rotate"]
    # The chain itself is the same: so is everything that a rotation leaves alone.
    one, other = (found[align].posterior_ for align in ("permute", "rotate"))
    assert_array_equal(one.draws.log_likelihood, other.draws.log_likelihood)
    # In the unit of the chains: that of the standard form depends on the axes.
    pair = [p.draws.loadings[..., :2] @ np.linalg.inv(p.draws.basis).T for p in (one, other)]
    for first, second in zip(*pair, strict=True):
        assert_allclose(second @ second.T, first @ first.T, atol=1e-5)
    assert one.draws.scales.values.keys() == {"loading_alpha"}
    assert other.draws.scales.values == {}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_rotation_changes_no_decision():
    """With probit labels: coefficients are the chain's own, while those of a hinge are refitted."""
    X, y = rotated_case()
    found = []
    for align in ("permute", "rotate"):
        engine = Gibbs(n_draws=60, burn_in=50, align=align, n_predict=7, n_chains=2)
        settings = {"likelihood": "gaussian", "classifier": "probit", "shrinkage": SPHERE}
        model = RankFactorClassifier(
            **settings, n_factors=2, engine=engine, random_state=0, n_threads=1
        )
        found.append(model.fit(X, y))
    one, other = found
    assert np.abs(one.posterior_.draws.loadings - other.posterior_.draws.loadings).max() > 0.1
    assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-5, atol=1e-5)
    assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_which_priors_are_spheres():
    def rotates(loading, coefficient, label=None, align="auto"):
        model = Model(2, Gaussian(), label, loading, coefficient)
        return Gibbs(align=align, n_chains=2).rotates(model)

    assert rotates(SPHERE, TPBN())
    assert rotates(SPHERE, SPHERE, Probit())
    assert not rotates(SPHERE, TPBN(scope="row"), Probit())
    for prior in (TPBN(), TPBN(scope="row"), NormalARD(), MultiplicativeGamma()):
        assert not rotates(prior, SPHERE)
        assert rotates(prior, SPHERE, align="rotate")
    assert not rotates(SPHERE, SPHERE, align="permute")
    with pytest.raises(InputError, match="align must be 'auto', 'permute' or 'rotate'"):
        Gibbs(align="turn", n_chains=2)
