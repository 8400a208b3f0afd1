"""Gibbs sampling of ordinal and ranked features, against quadrature and plain rejection.

As in `test_gibbs`, a view of many equal rows is as many independent chains, run in one call.
"""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from tests.engine.hand_built import FixedNormal, certain, failures, z_score
from tests.engine.test_gibbs import assert_same_chain, chain_of, fitted, loadings_of, reference_of
from tests.simulate import simulate, with_holes

from rankfactor.engine.chain import Gibbs
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rank_draws import draw_cut_points
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import (
    Hinge,
    Likelihood,
    NeighbourRank,
    ObservedArray,
    OrdinalProbit,
    OrdinaryRank,
)
from rankfactor.likelihoods.neighbour_rank import NeighbourBounds
from rankfactor.likelihoods.ordinal_probit import Thresholds
from rankfactor.model import Model, View, ViewState
from rankfactor.steps.row import update_view
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers

COPIES = 400  # independent chains
SCORES = np.array([-1.5, -0.9, -0.4, 0.1, 0.3, 0.8, 1.1, 1.9])
CODES = np.array([0, 1, 0, 1, MISSING, 1, 2, 2], np.uint8)


def moments_and_tails(values, centre):
    """Named functions of (..., dimensions) whose averages are compared."""
    x = values - centre
    named = {}
    for i in range(x.shape[-1]):
        named[f"mean {i}"] = x[..., i]
        named[f"tail {i}"] = np.tanh(2 * x[..., i] - 1)
        for j in range(i, x.shape[-1]):
            named[f"second moment {i} {j}"] = x[..., i] * x[..., j]
    return named


def z_scores(draws, points, mass):
    """Averages of draws (sweeps, copies, dimensions) against the law ``mass`` at ``points``."""
    centre = mass @ points
    expected = {k: float(mass @ v) for k, v in moments_and_tails(points, centre).items()}
    sampled = moments_and_tails(draws, centre)
    return {name: z_score(v.mean(axis=0), expected[name]) for name, v in sampled.items()}


def grid_law(log_density, *grids):
    """Points (cells, dimensions) and their probabilities on a grid that holds all the mass."""
    points = np.stack([g.ravel() for g in np.meshgrid(*grids, indexing="ij")], axis=1)
    values = log_density(*points.T)
    values = np.exp(values - values.max())
    return points, values / values.sum()


def ordinal_log_likelihood(codes, w, first, second):
    """Log probability of the codes 0, 1, 2 at predictors w and two cut points."""
    ends = [-np.inf, first, second, np.inf]
    total = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        for code, m in zip(codes, w, strict=True):
            if code != MISSING:
                total = total + np.log(ndtr(ends[code + 1] - m) - ndtr(ends[code] - m))
    return np.where(first < second, total, -np.inf)


@pytest.mark.slow
def test_loadings_and_cut_points_follow_the_ordinal_posterior():
    """One feature of three levels, eight samples with known scores: (a, h1, h2) by quadrature."""
    precision, cut_precision = 0.5, 0.4
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.standard_normal((COPIES, 3)), axis=1)
    cuts[:, 2] = 0.0  # a column that no row uses
    params = Thresholds(np.where(np.arange(3) == 1, cuts[:, :1] + 1.0, cuts), np.full(COPIES, 2))
    state = ViewState(certain(rng.standard_normal((COPIES, 1))), params, (COPIES, 1))
    view = View(OrdinalProbit(cut_precision=cut_precision), FixedNormal(precision))
    item = ObservedView(view, ObservedArray(np.tile(CODES, (COPIES, 1))), state)
    z, stream, draws = certain(SCORES[:, None]), Stream.from_seed(1), []
    for sweep in range(260):
        update_view(item, z, Workers(), block=5, stream=stream.child(sweep))
        if sweep >= 60:
            draws.append(np.column_stack([item.state.rows.mean, item.state.params.h[:, :2]]))
    assert_array_equal(item.state.params.h[:, 2], 0.0)

    def log_density(a, first, second):
        prior = -0.5 * (precision * a**2 + cut_precision * (first**2 + second**2))
        return prior + ordinal_log_likelihood(CODES, [a * x for x in SCORES], first, second)

    # The edge first = second lies between grid points, which are offset by half a cell.
    grids = np.linspace(-3, 6, 91), np.linspace(-6, 4, 121), np.linspace(-4, 6, 121) + 1 / 24
    assert not failures(z_scores(np.array(draws), *grid_law(log_density, *grids)))


@pytest.mark.slow
def test_cut_points_follow_their_conditional_where_gaps_are_empty_or_narrow():
    """Three cut points, an empty level between two of them, against quadrature."""
    matrix = np.array([[3.0, 0.8, 0.0], [0.8, 4.0, 0.5], [0.0, 0.5, 2.5]])
    linear, within = np.array([0.7, 1.5, 2.0]), np.array([0.0, 5.0, 0.0])

    def tile(values):
        return np.tile(values, (COPIES, 1)).astype(float)

    h = np.sort(np.random.default_rng(2).standard_normal((COPIES, 3)), axis=1)
    beside = np.append(np.diag(matrix, 1), 0.0)
    given = (tile(np.diag(matrix)), tile(beside), tile(linear), tile(within))
    stream, draws = Stream.from_seed(3), []
    for sweep in range(220):
        key = stream.child(sweep).word
        h = draw_cut_points(h, np.full(COPIES, 3), *given, key, 0)
        assert (np.diff(h, axis=1) > 0).all()
        if sweep >= 20:
            draws.append(h)

    def log_density(*h):
        h = np.stack(h)
        gaps = np.diff(h, axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            barrier = np.where(gaps[1] > 0, 5 * np.log(gaps[1]), -np.inf)
        value = linear @ h - 0.5 * np.einsum("in,ij,jn->n", h, matrix, h) + barrier
        return np.where(gaps.min(axis=0) > 0, value, -np.inf)

    axis = np.linspace(-4, 5, 181)
    grids = axis, axis + 0.025, axis + 0.0125
    assert not failures(z_scores(np.array(draws), *grid_law(log_density, *grids)))


COLUMN = np.array([2.0, 1.0, np.nan, 2.0, 3.0])  # a tie and a hole


def test_loadings_and_latent_values_follow_the_rank_posterior():
    """Four values in order, one tie: (a, w*) against rejection from the prior."""
    precision, scores = 0.7, np.array([0.4, -1.0, 2.0, -0.3, 1.2])
    seen = np.flatnonzero(~np.isnan(COLUMN))
    likelihood = OrdinaryRank()
    table = np.tile(COLUMN[:, None], (1, COPIES))
    coding = likelihood.learn(table)
    observed = coding.observe(table)
    params = likelihood.start(coding, observed, np.zeros((COPIES, 1)))
    start = certain(np.random.default_rng(0).standard_normal((COPIES, 1)))
    state = ViewState(start, params, (COPIES, 1))
    item = ObservedView(View(likelihood, FixedNormal(precision)), observed, state)
    stream, draws = Stream.from_seed(4), []
    for sweep in range(240):
        update_view(item, certain(scores[:, None]), Workers(), 2, stream.child(sweep))
        latent = item.state.params.latent
        if sweep >= 40:
            draws.append(np.column_stack([item.state.rows.mean, latent[:, seen]]))
    assert np.isnan(latent[:, 2]).all()

    rng = np.random.default_rng(1)
    a = rng.standard_normal((2_000_000, 1)) / np.sqrt(precision)
    values = a * scores[seen] + rng.standard_normal((len(a), 4))
    tied = np.minimum(values[:, 0], values[:, 2]), np.maximum(values[:, 0], values[:, 2])
    kept = (values[:, 1] < tied[0]) & (tied[1] < values[:, 3])
    exact = np.column_stack([a, values])[kept]

    centre = exact.mean(axis=0)
    right = moments_and_tails(exact, centre)
    scores_of = {}
    for name, value in moments_and_tails(np.array(draws), centre).items():
        one = value.mean(axis=0)
        error = np.hypot(one.std() / np.sqrt(COPIES), right[name].std() / np.sqrt(kept.sum()))
        scores_of[name] = (one.mean() - right[name].mean()) / error
    assert not failures(scores_of)


class Held(NeighbourRank):
    """With fixed bounds, for which it is a density."""

    refresh = Likelihood.refresh


@pytest.mark.slow
def test_loadings_follow_the_printed_hinges_at_held_bounds():
    precision, margin = 0.5, 0.4
    bounds = np.array([[-np.inf, -0.3, 0.5], [0.2, 0.9, np.inf]])
    one = np.ones(COPIES)
    low, high = (np.tile(bound, (COPIES, 1)) for bound in bounds)
    params = NeighbourBounds(low, high, one, one, one, one > 1)
    start = certain(np.random.default_rng(0).standard_normal((COPIES, 1)))
    observed = ObservedArray(np.tile(CODES, (COPIES, 1)))
    view = View(Held(margin=margin), FixedNormal(precision))
    item = ObservedView(view, observed, ViewState(start, params, (COPIES, 1)))
    stream, draws = Stream.from_seed(6), []
    for sweep in range(160):
        update_view(item, certain(SCORES[:, None]), Workers(), 3, stream.child(sweep))
        if sweep >= 30:
            draws.append(item.state.rows.mean.copy())

    def log_density(a):
        total = -0.5 * precision * a**2
        for code, score in zip(CODES, SCORES, strict=True):
            if code != MISSING:
                w = a * score
                total = total - 2 * np.maximum(0.0, margin + bounds[0, code] - w)
                total = total - 2 * np.maximum(0.0, w + margin - bounds[1, code])
        return total

    points, mass = grid_law(log_density, np.linspace(-5, 6, 20001))
    assert not failures(z_scores(np.array(draws), points, mass))


MODELS = {
    "ordinary rank": Model(3, OrdinaryRank(), Hinge()),
    "ordinal": Model(3, OrdinalProbit(max_cuts=4), Hinge()),
    "neighbour rank": Model(3, NeighbourRank(), Hinge()),
}


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    """A model and a start of more than one block of samples and one tile of features."""
    model = MODELS[request.param]
    simulated = simulate(n=300, d=140, seed=4)
    return model, fitted(model, simulated, with_holes(simulated.X), max_iter=3, tol=0.0)


def test_threads_leave_every_bit_alone(case):
    settings = Gibbs(n_draws=3, burn_in=1, n_chains=2)
    assert_same_chain(chain_of(*case, settings), chain_of(*case, settings, n_threads=2))


def test_blocks_change_a_chain_by_rounding_only(case):
    few, blocks = (
        Gibbs(n_draws=2, burn_in=1, n_chains=2),
        Gibbs(n_draws=2, burn_in=1, block=37, n_chains=2),
    )
    one, other = chain_of(*case, few), chain_of(*case, blocks)
    assert_allclose(loadings_of(other), loadings_of(one), rtol=1e-4, atol=1e-5)
    assert_allclose(other.state.z.mean, one.state.z.mean, rtol=1e-4, atol=1e-5)
    assert_allclose(other.log_likelihood, one.log_likelihood, rtol=1e-6)


def test_chains_do_not_share_their_latent_values(case):
    """Two chains on the same observations, in turn or one after the other."""
    settings = Gibbs(n_draws=2, burn_in=1, n_chains=2)
    first = chain_of(*case, settings, seed=1)
    again = chain_of(*case, settings, seed=2), chain_of(*case, settings, seed=1)
    assert_same_chain(first, again[1])


@pytest.mark.parametrize(
    "data", [OrdinaryRank(), OrdinalProbit(max_cuts=6)], ids=["ordinary rank", "ordinal"]
)
@pytest.mark.slow
def test_variational_bayes_and_gibbs_agree(data):
    simulated = simulate(n=150, d=24, k=2, noise=0.8, seed=11)
    model = Model(2, data)
    fit = fitted(model, simulated, tol=1e-6, max_iter=300)
    chain = chain_of(model, fit, Gibbs(n_draws=150, burn_in=150, n_chains=2))
    mean, expected = loadings_of(chain).mean(axis=0), reference_of(fit)
    assert np.corrcoef(mean.ravel(), expected.ravel())[0, 1] > 0.97
    assert 0.8 < np.std(mean) / np.std(expected) < 1.25
    scores = chain.scores.law().mean
    for k in range(2):
        assert np.corrcoef(scores[:, k], fit.z.mean[:, k])[0, 1] > 0.97
