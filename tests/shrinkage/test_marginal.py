"""The prior of an entry without its own scales, against numerical integration over them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gamma, norm

from rankfactor.kernels.rng import Stream
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD, ShrinkageByBlock

ROWS, K = 3, 2
SQUARES = np.random.default_rng(0).gamma(0.5, size=(ROWS, K))
ENTRIES = np.array([1e-4, 0.03, 0.4, 1.0, 3.0, 40.0])


def drawn(prior):
    scales = prior.start(ROWS, K)
    for step in range(3):
        scales = prior.update(scales, SQUARES, Stream.from_seed(1).child(step))
    return scales


def integrated(log_density):
    """Log of an integral over a positive variable, from its log density at the variable's log."""
    line = np.linspace(-60.0, 60.0, 24_001)
    values = log_density(line)
    # Smooth, and nothing at both ends: the trapezoidal rule has all digits.
    top = values.max()
    return top + np.log(np.trapezoid(np.exp(values - top), line))


def horseshoe(a, phi):
    """Over xi, under the law that Ga(1/2, eta) and Ga(1/2, phi) make of it."""

    def log_density(t):
        xi = np.exp(t)
        local = -0.5 * t - np.log(xi + phi) + 0.5 * np.log(phi) - np.log(np.pi)
        with np.errstate(over="ignore"):
            return norm.logpdf(a / np.sqrt(xi)) - 0.5 * t + local + t

    return integrated(log_density)


def student(a, tau, nu):
    """Over the entry's own precision."""

    def log_density(t):
        x = np.exp(t)
        return norm.logpdf(a, scale=(x * tau) ** -0.5) + gamma.logpdf(x, nu / 2, scale=2 / nu) + t

    return integrated(log_density)


def differences(prior, scales, expected):
    """Differences of log densities from the first entry, both ways, at a row and a factor."""
    for i, k in ((0, 0), (ROWS - 1, K - 1)):
        ratio = ENTRIES**2 * prior.marginal_unit(scales)[i, k]
        found = prior.marginal(ratio)
        exact = np.array([expected(a, i, k) for a in ENTRIES])
        yield found - found[0], exact - exact[0]


@pytest.mark.parametrize("prior", [TPBN(), TPBN(scope="row"), TPBN(slab=0.7)], ids=repr)
def test_the_horseshoe_without_xi_and_eta(prior):
    """A slab has no part in it: it is the same for all rotations of a row."""
    scales = drawn(prior)
    phi = np.broadcast_to(scales.phi.mean, (ROWS, K))
    for pair in differences(prior, scales, lambda a, i, k: horseshoe(a, phi[i, k])):
        assert_allclose(*pair, rtol=1e-6, atol=1e-6)


def test_multiplicative_gamma_without_phi():
    prior = MultiplicativeGamma()
    scales = drawn(prior)
    for pair in differences(prior, scales, lambda a, i, k: student(a, scales.tau[k], prior.nu)):
        assert_allclose(*pair, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("prior", [TPBN(1.3, 0.7), NormalARD(), NormalARD(scope="row")], ids=repr)
def test_others_are_given_their_scales(prior):
    scales = drawn(prior)
    sd = np.broadcast_to(prior.precision(scales), (ROWS, K)) ** -0.5
    for pair in differences(prior, scales, lambda a, i, k: norm.logpdf(a, scale=sd[i, k])):
        assert_allclose(*pair, rtol=1e-9, atol=1e-9)


def test_columns_are_compared_at_a_common_constant():
    """Entries change their columns in a rotation, so only constants for both may be left out."""
    scales = drawn(TPBN())
    phi = scales.phi.mean[0]
    unit = TPBN().marginal_unit(scales)[0]

    def density(pair):
        return TPBN().marginal(np.array(pair) ** 2 * unit).sum()

    found = density((0.3, 2.0)) - density((2.0, 0.3))
    exact = [horseshoe(x, phi[0]) + horseshoe(y, phi[1]) for x, y in ((0.3, 2.0), (2.0, 0.3))]
    assert_allclose(found, exact[0] - exact[1], rtol=1e-7)


@pytest.mark.parametrize("base", [TPBN(), MultiplicativeGamma(), NormalARD()], ids=repr)
def test_blocks_have_their_own_units(base):
    prior = ShrinkageByBlock.of(base, [0, 1, 0])
    scales = drawn(prior)
    unit = prior.marginal_unit(scales)
    for block, rows in enumerate(([0, 2], [1])):
        assert_array_equal(unit[rows], base.marginal_unit(scales[block]))
    assert_array_equal(prior.marginal(ENTRIES), base.marginal(ENTRIES))


@pytest.mark.parametrize("prior", [TPBN(), TPBN(scope="row"), MultiplicativeGamma()], ids=repr)
def test_what_is_integrated_out_is_drawn_afresh(prior):
    """Whatever an entry's own scales were: an update gives the same."""
    scales = drawn(prior)
    if isinstance(prior, TPBN):
        other = type(scales)(7 * scales.xi, scales.inv_xi / 7, scales.phi, scales.phi, scales.top)
    else:
        other = type(scales)(type(scales.phi)(7 * scales.phi.mean), scales.delta)
    one, two = (prior.update(x, SQUARES, Stream.from_seed(2)) for x in (scales, other))
    assert_array_equal(prior.precision(one), prior.precision(two))
