import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kstest
from tests import reference
from tests.laws.goodness import LEVEL

from rankfactor.errors import InputError
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.sites import margin_rank_sites
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Tile
from rankfactor.likelihoods.base import Chance
from rankfactor.likelihoods.coding import choose_cuts
from rankfactor.likelihoods.margin_rank import CutPoints, MarginRank
from rankfactor.model import Model

columns = arrays(np.float64, st.integers(2, 40), elements=st.integers(-9, 9).map(float))


@given(columns, st.integers(1, 6))
def test_cuts_are_observed_values_below_the_largest(column, max_cuts):
    cuts = choose_cuts(column, max_cuts)
    assert len(cuts) <= max_cuts
    assert set(cuts) <= set(column)
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) == 0 or cuts[-1] < column.max()
    if len(np.unique(column)) <= max_cuts + 1:
        assert_array_equal(cuts, np.unique(column)[:-1])


@given(columns, st.integers(1, 6))
def test_increasing_transforms_leave_codes_alone(column, max_cuts):
    part = MarginRank(max_cuts=max_cuts)
    table, bent = column[:, None], (np.exp(column / 3) + column)[:, None]
    if len(np.unique(column)) < 2:
        return
    one, other = part.learn(table), part.learn(bent)
    assert_array_equal(one.observe(table).array, other.observe(bent).array)


def test_quantile_cuts_split_evenly():
    cuts = choose_cuts(np.random.default_rng(0).permutation(900).astype(float), 8)
    assert_array_equal(cuts, np.arange(1, 9) * 100 - 1)


def test_constant_and_missing_columns_are_left_out():
    table = np.array([[1.0, 2.0, np.nan, 0.0], [1.0, 3.0, np.nan, np.nan], [1.0, 2.0, np.nan, 5.0]])
    coding = MarginRank().learn(table)
    assert_array_equal(coding.columns, [1, 3])
    assert_array_equal(coding.observe(table).array, [[0, 1, 0], [0, 255, 1]])


def test_new_values_beyond_the_training_range():
    coding = MarginRank(max_cuts=3).learn(np.arange(8.0)[:, None])
    codes = coding.observe(np.array([[-100.0], [100.0], [np.nan]])).array
    assert_array_equal(codes, [[0, 3, 255]])


def test_normal_scores_are_centred_with_unit_variance():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.exponential(size=200), rng.integers(0, 3, 200)]).astype(float)
    part = MarginRank(max_cuts=16)
    observed = part.learn(table).observe(table)
    scores = part.normal_scores(observed).tile(slice(0, 2), slice(0, 200))
    assert_allclose(scores.mean(axis=1), 0, atol=1e-12)
    assert_allclose(scores.std(axis=1), 1)


def test_update_of_cut_points_maximises_the_augmented_bound():
    """At fixed 1/lam the update maximises a quadratic: any other point has a lower bound."""
    rng = np.random.default_rng(2)
    part = MarginRank(margin=0.025, max_cuts=4)
    table = rng.standard_normal((30, 1))
    coding = part.learn(table)
    observed = coding.observe(table).array
    params = part.start(coding, coding.observe(table), np.ones((1, 1)))
    w, var_w = rng.standard_normal((1, 30)), np.full((1, 30), 0.1)

    arguments = (
        observed,
        w,
        var_w,
        params.mean,
        params.variance,
        params.n_cuts,
        params.margin,
    )
    inv_lam = np.zeros((*params.mean.shape, 30))
    margin_rank_sites(*arguments, inv_lam)
    design = Normal.isotropic(w.T.copy(), 1e-12)  # one factor: the score is w, the loading 1
    statistics = part.statistics(Tile(observed, w, var_w, params), design)
    updated = part.update(statistics, Normal.isotropic(np.ones((1, 1)), 1e-12), params)

    s = np.where(observed[:, None, :] > np.arange(4)[:, None], 1.0, -1.0)

    def augmented(b):
        u = params.margin - s * (w[:, None, :] - b[:, :, None])
        return -0.5 * (inv_lam * u**2).sum() - u.sum() - 0.5 * part.cut_precision * (b**2).sum()

    best = augmented(updated.mean)
    for _ in range(20):
        assert augmented(updated.mean + 0.01 * rng.standard_normal((1, 4))) < best


@pytest.mark.parametrize("max_cuts", [1, 8, 254])
def test_codes_are_one_byte(max_cuts):
    table = np.random.default_rng(0).standard_normal((400, 3))
    codes = MarginRank(max_cuts=max_cuts).learn(table).observe(table).array
    assert codes.dtype == np.uint8
    assert codes.max() == max_cuts


def test_features_weigh_the_same_whatever_their_number_of_cuts():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.standard_normal(100), rng.integers(0, 2, 100)]).astype(float)
    part = MarginRank(margin=0.05, max_cuts=64)
    coding = part.learn(table)
    params = part.start(coding, coding.observe(table), np.ones((2, 1)))
    assert_array_equal(coding.n_cuts, [64, 1])
    assert_allclose(params.margin * params.n_cuts, 0.05 * 32)


def inferred_case(shape, n=25):
    """A likelihood that infers its margins, codes with missing entries, parameters, scores."""
    rng = np.random.default_rng(4)
    part = MarginRank(margin=0.02, max_cuts=3, margin_shape=shape)
    n_cuts = np.array([3, 1])
    codes = (rng.random((2, n)) * (n_cuts[:, None] + 1)).astype(np.uint8)
    codes[rng.random((2, n)) < 0.1] = MISSING
    b = np.sort(rng.standard_normal((2, 3)), axis=1)
    b[1, 1:] = 0.0
    margin, variance = np.array([0.3, 0.6]), np.array([0.04, 0.2])
    params = CutPoints(b, rng.random((2, 3)), n_cuts, margin, np.ones(2), variance)
    design = Normal.isotropic(rng.standard_normal((n, 2)), 0.3)
    return part, codes, params, design, rng


def sides(codes, n_cuts):
    """s of every entry and cut, zero where there is none; shape (rows, J, samples)."""
    cuts = np.arange(3)[:, None]
    s = np.where(codes[:, None, :] > cuts, 1.0, -1.0)
    return s * (codes != MISSING)[:, None, :] * (cuts < n_cuts[:, None, None])


def margin_density(part, i, params, inv_lam, s, w, b, points=80_001):
    """Grid, and the density of margin i given 1/lam and means of w and b, from the definition."""
    eps = np.linspace(1e-12, 2.0, points)
    usual = 0.02 * 32 / params.n_cuts[i]
    log_density = (part.margin_shape - 1) * np.log(eps) - part.margin_shape / usual * eps
    for j in range(params.n_cuts[i]):
        for n in np.flatnonzero(s[i, j]):
            u = eps - s[i, j, n] * (w[i, n] - b[i, j])
            log_density += -0.5 * inv_lam[i, j, n] * u**2 - u
    density = np.exp(log_density - log_density.max())
    return eps, density / np.trapezoid(density, eps)


@pytest.mark.parametrize("shape", [1.0, 4.5])
def test_law_of_the_margin_is_that_of_the_augmented_bound(shape):
    """Also where the rows have moved since the statistics were taken."""
    part, codes, params, design, rng = inferred_case(shape)
    old, new = rng.standard_normal((2, 2, 2))
    w, var_w = old @ design.mean.T, rng.random((2, 25))
    statistics = part.statistics(Tile(codes, w, var_w, params), design)
    inv_lam = reference.margin_rank_sites(
        codes,
        w,
        var_w,
        params.mean,
        params.variance + params.margin_variance[:, None],
        params.n_cuts,
        params.margin,
    )[2]
    updated = part.update(statistics, Normal.isotropic(new, 0.1), params)
    s = sides(codes, params.n_cuts)
    w = new @ design.mean.T
    # Cut points first, at the margins as they were.
    precision = part.cut_precision + inv_lam.sum(axis=2)
    pull = inv_lam * (w[:, None, :] - s * params.margin[:, None, None]) - s
    assert_allclose(updated.mean, pull.sum(axis=2) / precision * params.used, rtol=1e-9)
    for i in range(2):
        eps, density = margin_density(part, i, params, inv_lam, s, w, updated.mean)
        mean = np.trapezoid(density * eps, eps)
        assert_allclose(updated.margin[i], mean, rtol=1e-5)
        variance = np.trapezoid(density * (eps - mean) ** 2, eps)
        assert_allclose(updated.margin_variance[i], variance, rtol=1e-4)
    # The rows' system has the new margins and cut points in it.
    target = updated.mean[:, :, None] + s * updated.margin[:, None, None]
    rho = (inv_lam * target + s).sum(axis=1)
    assert_allclose(part.system(statistics, updated)[1], rho @ design.mean, rtol=1e-9)


def test_variance_of_the_margin_is_in_the_sites():
    part, codes, params, _, rng = inferred_case(2.0)
    w, var_w = rng.standard_normal((2, 25)), rng.random((2, 25))
    s = sides(codes, params.n_cuts)
    u = params.margin[:, None, None] - s * (w[:, None, :] - params.mean[:, :, None])
    spread = var_w[:, None, :] + params.variance[:, :, None] + params.margin_variance[:, None, None]
    expected = (np.abs(s) / np.sqrt(u**2 + spread)).sum(axis=1)
    assert_allclose(part.sites(Tile(codes, w, var_w, params)).tau, expected, rtol=1e-8)


@pytest.mark.parametrize("shape", [1.0, 4.5])
@pytest.mark.quick_cases("4.5")
def test_drawn_margins_follow_their_conditional(shape):
    """At drawn cut points, which differ from copy to copy: by the distribution function's value."""
    part, codes, params, design, rng = inferred_case(shape)
    copies = 500
    params = CutPoints(
        params.mean, np.zeros((2, 3)), params.n_cuts, params.margin, params.noise
    ).take(np.repeat([0, 1], copies))
    loadings = np.repeat(rng.standard_normal((2, 2)), copies, axis=0)
    rows = Normal(loadings, np.zeros((2 * copies, 3)), np.zeros(2 * copies))
    codes, w = np.repeat(codes, copies, axis=0), loadings @ design.mean.T
    chance = Chance(Stream.from_seed(1), 0, 0)
    statistics = part.statistics(Tile(codes, w, 0 * w, params, chance), design)
    drawn = part.draw_params(statistics, rows, params, Stream.from_seed(2))
    assert_array_equal(drawn.margin_variance, 0.0)
    inv_lam = np.zeros((*params.mean.shape, w.shape[1]))
    margin_rank_sites(
        codes,
        w,
        0 * w,
        params.mean,
        params.variance,
        params.n_cuts,
        params.margin,
        inv_lam,
        chance.stream.word,
        0,
        0,
    )
    s = sides(codes, params.n_cuts)
    for start in (0, copies):
        places = []
        for i in range(start, start + copies):
            eps, density = margin_density(part, i, params, inv_lam, s, w, drawn.mean, 4001)
            below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
            places.append(np.interp(drawn.margin[i], eps, below * (eps[1] - eps[0])))
        assert kstest(places, "uniform").pvalue > LEVEL / 4


def test_pooled_margins_have_the_moments_of_the_draws():
    _, _, params, _, rng = inferred_case(1.0)
    draws = [
        CutPoints(params.mean, 0 * params.mean, params.n_cuts, margin, params.noise)
        for margin in rng.random((5, 2))
    ]
    pooled = CutPoints.pool(draws)
    margins = np.array([one.margin for one in draws])
    assert_allclose(pooled.margin, margins.mean(axis=0))
    assert_allclose(pooled.margin_variance, margins.var(axis=0))
    same = CutPoints.pool([draws[0]] * 3)
    assert_array_equal(same.margin, draws[0].margin)
    assert_array_equal(same.margin_variance, 0.0)


def test_a_chain_begins_at_positive_margins_of_the_right_spread():
    _, _, params, _, _ = inferred_case(1.0)
    many = params.take(np.repeat([0, 1], 20_000))
    drawn = many.draw(Stream.from_seed(0)).margin.reshape(2, -1)
    assert (drawn > 0).all()
    assert_allclose(drawn.mean(axis=1), params.margin, rtol=0.02)
    assert_allclose(drawn.var(axis=1), params.margin_variance, rtol=0.05)
    certain = CutPoints(params.mean, params.variance, params.n_cuts, params.margin, params.noise)
    assert_array_equal(certain.draw(Stream.from_seed(0)).margin, params.margin)


@pytest.mark.parametrize("shape", [0.5, -1.0, float("inf"), float("nan"), "wide", True])
def test_shapes_that_are_no_prior_are_refused(shape):
    with pytest.raises(InputError, match="margin_shape must be None or a number of at least 1"):
        Model(2, MarginRank(margin_shape=shape))
