"""The move that changes the units of the factors, against its density by brute force.

That a whole sweep with the move leaves the joint law alone is in `test_geweke`; that a chain with
it does not depend on threads, blocks or interruptions, in `test_gibbs` and `test_checkpoint`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gamma, norm
from tests.engine.hand_built import FixedNormal, certain
from tests.laws.goodness import assert_fits, integrated_cdf

from rankfactor.engine.expansion import change_units, draw_units, unit_law
from rankfactor.kernels.rng import Stream
from rankfactor.laws.point import Point
from rankfactor.likelihoods import Gaussian, NoParameters, ObservedArray, Probit
from rankfactor.model import View, ViewState
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD
from rankfactor.shrinkage.multiplicative_gamma import MultiplicativeGammaScales
from rankfactor.shrinkage.normal import NormalScales
from rankfactor.shrinkage.tpbn import TPBNScales
from rankfactor.steps.score import ObservedView

N, K = 7, 3


def log_gamma(x, shape, rate):
    return gamma.logpdf(x, shape, scale=1.0 / rate).sum()


def variables(prior, scales):
    """The scales that the prior is a density of."""
    if isinstance(prior, TPBN):
        return [scales.xi, scales.eta.mean, scales.phi.mean, scales.top.mean]
    if isinstance(prior, NormalARD):
        return [scales.alpha.mean]
    if isinstance(prior, MultiplicativeGamma):
        return [scales.phi.mean, scales.delta.mean]
    return []


def log_density(prior, a, scales):
    """Log of p(a, scales), written out; with a slab, up to a constant."""
    if isinstance(prior, TPBN):
        xi, eta, phi, top = variables(prior, scales)
        total = norm.logpdf(a, scale=np.sqrt(xi)).sum() + log_gamma(xi, prior.r, eta)
        if prior.slab is not None:
            total -= 0.5 * (a**2).sum() / prior.slab**2
        return (
            total + log_gamma(eta, prior.s, phi) + log_gamma(phi, 0.5, top) + log_gamma(top, 0.5, 1)
        )
    if isinstance(prior, NormalARD):
        alpha = scales.alpha.mean
        return norm.logpdf(a, scale=alpha**-0.5).sum() + log_gamma(alpha, prior.shape, prior.rate)
    if isinstance(prior, MultiplicativeGamma):
        phi, delta = variables(prior, scales)
        shapes = np.array([prior.a1, *[prior.a2] * (K - 1)])
        total = norm.logpdf(a, scale=(phi * np.cumprod(delta)) ** -0.5).sum()
        return total + log_gamma(phi, 0.5 * prior.nu, 0.5 * prior.nu) + log_gamma(delta, shapes, 1)
    return norm.logpdf(a, scale=prior.value**-0.5).sum()


def draw_scales(rng, prior, n_rows):
    """Some scales, all positive; no law is meant."""

    def some(*shape):
        return Point(np.exp(rng.standard_normal(shape)))

    by_factor = getattr(prior, "scope", None) == "factor"
    shared = (1, K) if by_factor else (n_rows, 1)
    if isinstance(prior, TPBN):
        xi = some(n_rows, K).mean
        top = some(*((1, 1) if by_factor else (n_rows, 1)))
        return TPBNScales(xi, 1.0 / xi, some(n_rows, K), some(*shared), top)
    if isinstance(prior, NormalARD):
        return NormalScales(some(*shared), (n_rows, K))
    if isinstance(prior, MultiplicativeGamma):
        return MultiplicativeGammaScales(some(n_rows, K), some(K))
    return prior.start(n_rows, K)


PAIRS = {
    "horseshoe": (TPBN(), TPBN(scope="row")),
    "horseshoe with slabs": (TPBN(slab=1.5), TPBN(scope="row", slab=0.6)),
    "other shapes": (TPBN(1.3, 0.7), TPBN(0.8, 1.4, "row")),
    "scopes exchanged": (TPBN(0.8, 1.4, "row"), TPBN(1.3, 0.7)),
    "normal": (NormalARD(2.0, 3.0), NormalARD(3.0, 2.0, "row")),
    "normal and horseshoe": (NormalARD(2.0, 3.0), TPBN(scope="row")),
    "multiplicative gamma": (MultiplicativeGamma(), TPBN(scope="row")),
    "fixed": (FixedNormal(2.0), FixedNormal(0.3)),
}


@pytest.fixture(params=PAIRS)
def state(request):
    """Views of four and two rows, and scores."""
    rng = np.random.default_rng(0)
    views = []
    for prior, likelihood, n_rows in zip(
        PAIRS[request.param], (Gaussian(), Probit()), (4, 2), strict=True
    ):
        rows = certain(2.0 * rng.standard_normal((n_rows, K + 1)))
        scales = draw_scales(rng, prior, n_rows)
        nothing = ObservedArray(np.empty((n_rows, 0)))
        view = View(likelihood, prior)
        views.append(ObservedView(view, nothing, ViewState(rows, NoParameters(), scales)))
    return views, certain(1.5 * rng.standard_normal((N, K)))


def copied(views, z):
    return [
        ObservedView(
            one.view, one.observed, ViewState(one.state.rows.copy(), None, one.state.scales)
        )
        for one in views
    ], z.copy()


def contents(views, z):
    """All that a move may change, in one vector, and the log of its joint density."""
    parts, total = [z.mean], norm.logpdf(z.mean).sum()
    for item in views:
        prior, scales, a = item.view.shrinkage, item.state.scales, item.state.rows.mean[:, :K]
        parts += [a, *variables(prior, scales)]
        total += log_density(prior, a, scales)
    return np.concatenate([np.ravel(part) for part in parts]), total


def brute_force(views, z, k, grid):
    """Log density of log u_k: of the moved state, times the Jacobian of the move.

    A move multiplies every variable by a number, so its Jacobian is the product of these numbers.
    """
    before, _ = contents(views, z)
    values = []
    for u in grid:
        moved = copied(views, z)
        change_units(*moved, np.where(np.arange(K) == k, u, 1.0))
        after, total = contents(*moved)
        values.append(total + np.log(after / before).sum())
    return np.array(values)


def test_law_is_the_density_of_the_moved_state(state):
    views, z = state
    law = unit_law(views, z)
    grid = np.exp(np.linspace(-4, 4, 33))
    for k in range(K):
        expected = brute_force(views, z, k, grid)
        found = law.p * np.log(grid) - 0.5 * (law.a[k] * grid + law.b[k] / grid)
        assert_allclose(found - found[0], expected - expected[0], rtol=1e-9, atol=1e-9)


def test_factors_move_independently(state):
    """The law of one factor's u does not change when another's unit does."""
    views, z = state
    before = unit_law(views, z)
    change_units(views, z, np.array([1.0, 3.0, 0.2]))
    after = unit_law(views, z)
    assert_allclose([after.a[0], after.b[0]], [before.a[0], before.b[0]], rtol=1e-12)


def test_draws_fit(state):
    views, z = state
    law, stream, draws = unit_law(views, z), Stream.from_seed(1), []
    for number in range(1000):
        moved = copied(views, z)
        draw_units(*moved, stream.child(number))
        draws.append((z.mean[0] / moved[1].mean[0]) ** 2)
    for k in range(K):

        def log_density(t, a=law.a[k], b=law.b[k]):
            return law.p * t - 0.5 * (a * np.exp(t) + b * np.exp(-t))

        cdf = integrated_cdf(log_density, np.linspace(-20, 20, 4001))
        assert_fits(np.log(np.array(draws)[:, k]), cdf, n_cases=K * len(PAIRS))


def test_predictors_and_intercepts_stay(state):
    views, z = state
    moved = copied(views, z)
    draw_units(*moved, Stream.from_seed(2))
    assert not (moved[1].mean == z.mean).any()
    for new, old in zip(moved[0], views, strict=True):
        w = old.state.rows.mean[:, :K] @ z.mean.T
        assert_allclose(new.state.rows.mean[:, :K] @ moved[1].mean.T, w, rtol=1e-12, atol=1e-12)
        assert_array_equal(new.state.rows.mean[:, K], old.state.rows.mean[:, K])
        precision = new.view.shrinkage.precision(new.state.scales)
        assert precision.shape == (len(w), K)
        assert (precision > 0).all()
