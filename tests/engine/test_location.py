"""The move that shifts all scores, against the joint density of the shifted state.

That a whole sweep with the move leaves the joint law alone is in `test_geweke` and
`test_exact_start`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import chi2
from tests.engine.moved import (
    MODELS,
    K,
    joint_density,
    log_likelihoods,
    predictors,
    state_of,
)
from tests.laws.goodness import assert_fits

from rankfactor.engine.location import draw_location, location_law, location_of, shift_scores
from rankfactor.kernels.rng import Stream
from rankfactor.latent import Mixture
from rankfactor.likelihoods import NeighbourRank, OrdinaryRank

# Latent values are of single precision.
LOOSE = {"ordinary rank": 1e-3, "ranked blocks": 1e-3}
DELTAS = np.random.default_rng(0).standard_normal((6, K)) * np.array(
    [[0.1], [0.3], [1], [1], [2], [3]]
)


def moved(state, delta):
    """The state shifted by delta, in place."""
    shift_scores(state.views, [location_of(one) for one in state.views], state.z, delta)
    state.prior = state.prior.moved(delta)
    return state


def likelihoods(state):
    """Log likelihoods of all rows of all views."""
    return [
        log_likelihoods(x.view.likelihood, x.observed, x.state.params, predictors(x, state.z))
        for x in state.views
    ]


@pytest.mark.parametrize("case", MODELS)
def test_law_is_the_density_of_the_moved_state(case):
    state = state_of(case)
    known = [location_of(one) for one in state.views]
    precision, shift = location_law(state.views, known, state.z, state.prior)
    start = joint_density(state)
    for delta in DELTAS:
        found = shift @ delta - 0.5 * delta @ precision @ delta
        expected = joint_density(moved(state_of(case), delta)) - start
        assert_allclose(found, expected, rtol=1e-7, atol=LOOSE.get(case, 1e-6))


@pytest.mark.parametrize("case", MODELS)
def test_no_likelihood_changes(case):
    before, after = state_of(case), state_of(case)
    after.prior = draw_location(after.views, after.z, after.prior, Stream.from_seed(1))
    shift = after.z.mean - before.z.mean
    assert np.abs(shift[0]).max() > 1e-3
    assert_allclose(shift, np.tile(shift[0], (len(shift), 1)), atol=1e-12)
    for one, other in zip(likelihoods(before), likelihoods(after), strict=True):
        assert_allclose(other, one, rtol=1e-9, atol=LOOSE.get(case, 1e-8))
    for one, other in zip(before.views, after.views, strict=True):
        assert_array_equal(other.state.rows.mean[:, :K], one.state.rows.mean[:, :K])
        precision = [x.view.shrinkage.precision(x.state.scales) for x in (one, other)]
        assert_array_equal(*precision)
    if isinstance(after.prior, Mixture):
        moved_by = after.prior.centres.mean - before.prior.centres.mean
        assert_allclose(moved_by, np.tile(shift[0], (len(moved_by), 1)), atol=1e-12)


@pytest.mark.parametrize("case", ["gaussian", "blocks", "mixture"])
def test_draws_fit(case):
    """The distance of a draw from the mean of its law, in the law's own unit, is chi-squared."""
    state = state_of(case)
    known = [location_of(one) for one in state.views]
    precision, shift = location_law(state.views, known, state.z, state.prior)
    centre, stream, draws = np.linalg.solve(precision, shift), Stream.from_seed(2), []
    one = state_of(case)
    for number in range(1000):
        one.z.mean[:] = state.z.mean
        for item, old in zip(one.views, state.views, strict=True):
            item.state.rows.mean[:] = old.state.rows.mean
            item.state.params = old.state.params
        draw_location(one.views, one.z, state.prior, stream.child(number))
        draws.append(one.z.mean[0] - state.z.mean[0])
    white = (np.array(draws) - centre) @ np.linalg.cholesky(precision)
    for k in range(K):
        assert_fits(white[:, k], "norm", 4 * 3)
    assert_fits((white**2).sum(axis=1), chi2(K).cdf, 4 * 3)


def test_ranks_keep_their_order():
    state = state_of("ordinary rank")
    ranks = state.data.observed.ranks
    moved(state, np.array([0.7, -1.3, 0.2]))
    for row, latent in zip(ranks, state.data.state.params.latent, strict=True):
        seen = row >= 0
        assert_array_equal(np.isnan(latent), ~seen)
        assert (np.diff(latent[seen][np.argsort(row[seen], kind="stable")]) >= 0).all()


def test_rows_that_cannot_follow_keep_the_scores_in_place():
    state = state_of("gaussian")
    place, rows = state.z.mean.copy(), state.labels.state.rows.mean.copy()
    view = state.data.view
    state.data.view = type(view)(NeighbourRank(), view.shrinkage)
    assert location_of(state.data) is None
    assert location_of(state.labels) is not None
    draw_location(state.views, state.z, state.prior, Stream.from_seed(3))
    assert_array_equal(state.z.mean, place)
    assert_array_equal(state.labels.state.rows.mean, rows)


def test_latent_values_have_no_prior_of_their_own():
    found = location_of(state_of("ordinary rank").data)
    assert isinstance(MODELS["ordinary rank"].data, OrdinaryRank)
    assert_array_equal(found.precision, 0.0)
    assert_array_equal(found.pull, 0.0)
    assert found.by_parameters.all()
