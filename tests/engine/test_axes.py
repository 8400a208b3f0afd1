"""Moves that rotate and shear factors, against densities without the scales of single entries.

The densities of angles and shears, and their draws, are in `tests.kernels.test_slices`; the
marginal density of an entry is in `tests.shrinkage.test_marginal`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import exp1
from scipy.stats import norm
from scipy.stats import t as student
from tests.engine.moved import MODELS, K, log_likelihoods, predictors, score_density, state_of
from tests.kernels.test_slices import exact_draws
from tests.laws.goodness import assert_fits, integrated_cdf

from rankfactor.engine import axes
from rankfactor.engine.axes import angle_spread, draw_axes
from rankfactor.kernels.rng import Stream
from rankfactor.latent import StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Gaussian, NoParameters, ObservedArray, Probit
from rankfactor.model import View, ViewState
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD, ShrinkageByBlock
from rankfactor.steps.score import ObservedView


@pytest.fixture
def rotations_alone(monkeypatch):
    monkeypatch.setattr(axes, "slice_shears", lambda *_: None)


@pytest.mark.parametrize("case", MODELS)
def test_rotations_change_nothing_but_the_priors_of_rows(case, rotations_alone):
    before, after = state_of(case), state_of(case)
    after.prior = draw_axes(after.views, after.z, after.prior, Stream.from_seed(1))
    assert np.abs(after.z.mean - before.z.mean).max() > 1e-3
    assert_allclose((after.z.mean**2).sum(axis=1), (before.z.mean**2).sum(axis=1), rtol=1e-10)
    scores = [score_density(x.z, x.prior) for x in (before, after)]
    assert_allclose(*scores, rtol=1e-10)
    assert_predictors_stay(before, after)


@pytest.mark.parametrize("case", MODELS)
def test_shears_change_nothing_but_the_priors(case, monkeypatch):
    monkeypatch.setattr(axes, "slice_planes", lambda *_: None)
    before, after = state_of(case), state_of(case)
    after.prior = draw_axes(after.views, after.z, after.prior, Stream.from_seed(1))
    matrix = np.linalg.lstsq(before.z.mean, after.z.mean, rcond=None)[0]
    assert np.abs(matrix - np.eye(K)).max() > 1e-3
    assert_allclose(before.z.mean @ matrix, after.z.mean, atol=1e-10)
    assert_allclose(np.linalg.det(matrix), 1.0, rtol=1e-9)
    assert_predictors_stay(before, after)


@pytest.mark.parametrize("case", MODELS)
def test_moment_is_the_law_of_transformed_scores(case):
    """For any matrix of determinant 1, together with the prior's own parameters."""
    state = state_of(case)
    matrix = np.linalg.qr(np.random.default_rng(2).standard_normal((K, K)))[0]
    matrix = matrix + 0.3 * np.outer(matrix[:, 0], matrix[0])
    matrix /= np.abs(np.linalg.det(matrix)) ** (1 / K)
    S = state.prior.moment(state.z)
    moved = score_density(state.z.transformed(matrix), state.prior.turned(matrix))
    expected = -0.5 * np.trace(matrix.T @ S @ matrix) + 0.5 * np.trace(S)
    assert_allclose(moved - score_density(state.z, state.prior), expected, rtol=1e-9)


def assert_predictors_stay(before, after):
    """Predictors, likelihoods and intercepts are unchanged."""
    for one, other in zip(before.views, after.views, strict=True):
        w = [predictors(*pair) for pair in ((one, before.z), (other, after.z))]
        assert_allclose(w[1], w[0], atol=1e-10)
        terms = [
            log_likelihoods(x.view.likelihood, x.observed, x.state.params, w[0])
            for x in (one, other)
        ]
        assert_array_equal(*terms)
        if one.view.has_intercept:
            assert_array_equal(other.state.rows.mean[:, K], one.state.rows.mean[:, K])


def log_horseshoe(a, phi):
    x = 0.5 * a**2 / phi
    return x + np.log(exp1(x)) - 0.5 * np.log(phi)


def horseshoe(rng, n_rows):
    prior = TPBN(slab=0.8)
    scales = prior.update(prior.start(n_rows, 2), rng.gamma(0.5, size=(n_rows, 2)), STREAM)
    return prior, scales, lambda a: log_horseshoe(a, scales.phi.mean) - 0.5 * a**2 / 0.8**2


def horseshoe_by_row(rng, n_rows):
    prior = TPBN(scope="row")
    scales = prior.update(prior.start(n_rows, 2), rng.gamma(0.5, size=(n_rows, 2)), STREAM)
    return prior, scales, lambda a: log_horseshoe(a, scales.phi.mean)


def other_shapes(rng, n_rows):
    prior = TPBN(1.3, 0.7, slab=0.8)
    scales = prior.update(prior.start(n_rows, 2), rng.gamma(0.5, size=(n_rows, 2)), STREAM)
    # Given xi.
    return prior, scales, lambda a: norm.logpdf(a, scale=scales.xi**0.5) - 0.5 * a**2 / 0.8**2


def multiplicative_gamma(rng, n_rows):
    prior = MultiplicativeGamma()
    scales = prior.update(prior.start(n_rows, 2), rng.gamma(0.5, size=(n_rows, 2)), STREAM)
    return prior, scales, lambda a: student.logpdf(a, prior.nu, scale=scales.tau**-0.5)


def normal(rng, n_rows):
    prior = NormalARD()
    scales = prior.update(prior.start(n_rows, 2), np.tile([0.2, 1.0], (n_rows, 1)), STREAM)
    return prior, scales, lambda a: norm.logpdf(a, scale=scales.alpha.mean**-0.5)


def by_block(rng, n_rows):
    prior = ShrinkageByBlock.of(TPBN(), np.arange(n_rows) % 2)
    scales = prior.update(prior.start(n_rows, 2), rng.gamma(0.5, size=(n_rows, 2)), STREAM)
    phi = np.concatenate([one.phi.mean for one in scales])[np.arange(n_rows) % 2]
    return prior, scales, lambda a: log_horseshoe(a, phi)


STREAM = Stream.from_seed(3)
PAIRS = {
    "horseshoe": (horseshoe, horseshoe_by_row),
    "other shapes": (other_shapes, horseshoe_by_row),
    "multiplicative gamma": (multiplicative_gamma, normal),
    "blocks": (by_block, horseshoe),
}


def rotation(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]])


@pytest.mark.parametrize("case", PAIRS)
def test_angles_follow_the_density_of_the_rotated_rows(case, rotations_alone):
    """If the angle has its law before the move, it has it afterwards."""
    rng = np.random.default_rng(4)
    parts, z = [], rng.standard_normal((5, 2))
    for make, likelihood, n_rows in zip(PAIRS[case], (Gaussian(), Probit()), (4, 2), strict=True):
        rows = rng.standard_normal((n_rows, 3)) * np.array([0.5, 1.0, 1.0])
        parts.append((*make(rng, n_rows), likelihood, rows))
    grid = np.linspace(0.0, np.pi, 3001)

    def at(angle):
        return sum(f(rows[:, :2] @ rotation(angle).T).sum() for _, _, f, _, rows in parts)

    values = np.array([at(angle) for angle in grid])
    cdf = integrated_cdf(lambda _: values, grid)
    stream, after = Stream.from_seed(5), []
    for number, angle in enumerate(exact_draws(cdf, grid, 3000)):
        views = []
        for prior, scales, _, likelihood, rows in parts:
            turned = np.column_stack([rows[:, :2] @ rotation(angle).T, rows[:, 2]])
            state = ViewState(Normal(turned, np.zeros((len(rows), 6)), np.zeros(0)), None, scales)
            state.params = NoParameters()
            nothing = ObservedArray(np.empty((len(rows), 0)))
            views.append(ObservedView(View(likelihood, prior), nothing, state))
        scores = Normal(z @ rotation(angle).T, np.zeros((5, 3)), np.zeros(0))
        draw_axes(views, scores, StandardNormal(), stream.child(number))
        # z_new = z R(t)^T
        turn = np.linalg.lstsq(z, scores.mean, rcond=None)[0].T
        after.append(np.arctan2(turn[0, 1], turn[0, 0]))
        if number < 3:
            assert_allclose(turn @ turn.T, np.eye(2), atol=1e-10)
            for item, (*_, rows) in zip(views, parts, strict=True):
                assert_allclose(item.state.rows.mean[:, :2], rows[:, :2] @ turn.T, atol=1e-10)
    assert_fits(np.mod(after, np.pi), cdf, len(PAIRS))


def test_one_factor_has_no_plane():
    prior = TPBN()
    rows = Normal(np.ones((3, 2)), np.zeros((3, 3)), np.zeros(0))
    state = ViewState(rows, NoParameters(), prior.start(3, 1))
    item = ObservedView(View(Gaussian(), prior), ObservedArray(np.empty((3, 0))), state)
    z = Normal(np.arange(4.0)[:, None], np.zeros((4, 1)), np.zeros(0))
    draw_axes([item], z, StandardNormal(), Stream.from_seed(6))
    assert_array_equal(z.mean[:, 0], np.arange(4.0))
    assert_array_equal(rows.mean, 1.0)


def test_every_pair_of_factors_is_turned_in_time():
    state, seen = state_of("gaussian"), np.zeros((K, K), bool)
    for number in range(30):
        before = state.z.mean.copy()
        draw_axes(state.views, state.z, state.prior, Stream.from_seed(7).child(number))
        turn = np.linalg.lstsq(before, state.z.mean, rcond=None)[0]
        seen |= np.abs(turn) > 1e-6
    assert seen.all()


def table_view(rows):
    """A view of Gaussian features under a horseshoe, and the scales of its two columns."""
    prior = TPBN(slab=None)
    scales = prior.update(prior.start(*rows.shape), rows**2, STREAM)
    law = Normal(np.column_stack([rows, np.ones(len(rows))]), np.zeros((len(rows), 6)), np.zeros(0))
    nothing = ObservedArray(np.empty((len(rows), 0)))
    item = ObservedView(View(Gaussian(), prior), nothing, ViewState(law, NoParameters(), scales))
    return item, scales.phi.mean


def test_the_spread_of_axes_is_that_of_their_density():
    rows = np.random.default_rng(6).standard_normal((3, 2))
    item, phi = table_view(rows)
    angles = np.arange(20_000) * (np.pi / 20_000)
    log_density = [log_horseshoe(rows @ rotation(t).T, phi).sum() for t in angles]
    weight = np.exp(np.array(log_density) - max(log_density))
    mean = np.abs(weight @ np.exp(4j * angles)) / weight.sum()
    expected = np.sqrt(-2 * np.log(mean)) / 4
    # A degree at a time; the density has a pole wherever a loading is zero.
    assert_allclose(angle_spread([item], 2), expected * (1 - np.eye(2)), rtol=0.03)


def test_axes_of_sparse_loadings_are_told_apart():
    rng = np.random.default_rng(7)
    sparse = np.where(np.arange(40)[:, None] % 2 == [0, 1], rng.standard_normal((40, 2)), 0.003)
    free = rng.standard_normal((4, 2))
    for rows, low, high in ((sparse, 0.0, 0.02), (free, 0.2, 1.0)):
        assert low <= angle_spread([table_view(rows)[0]], 2)[0, 1] < high
