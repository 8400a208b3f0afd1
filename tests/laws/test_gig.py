import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose
from scipy.integrate import quad
from tests.laws.goodness import N, assert_mean, assert_slices_equal_whole

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gig import GeneralisedInverseGaussian


def moment(p, a, b, power):
    """Integral of x^(p - 1 + power) exp(-(a x + b / x) / 2), by quadrature over log x."""

    def integrand(t):
        return np.exp((p + power) * t - 0.5 * (a * np.exp(t) + b * np.exp(-t)))

    centre = 0.5 * np.log(b / a)
    return quad(integrand, centre - 40, centre + 40, points=[centre], limit=500)[0]


@pytest.mark.parametrize("p", [-0.5, 0.0, 0.5, 1.3])
@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (20.0, 0.05), (0.01, 3.0), (4.0, 30.0)])
def test_moments_against_quadrature(p, a, b):
    law = GeneralisedInverseGaussian(p, np.array([a]), np.array([b]))
    total = moment(p, a, b, 0)
    assert_allclose(law.log_normaliser, np.log(total), rtol=1e-7, atol=1e-7)
    assert_allclose(law.mean, moment(p, a, b, 1) / total, rtol=1e-7)
    assert_allclose(law.inv_mean, moment(p, a, b, -1) / total, rtol=1e-7)


@pytest.mark.parametrize(("a", "b"), [(1e-6, 1e-12), (1e4, 1e-14), (1e6, 1e6)])
def test_extremes_of_the_horseshoe(a, b):
    law = GeneralisedInverseGaussian(0.0, np.array([a]), np.array([b]))
    omega = mp.sqrt(mp.mpf(a) * mp.mpf(b))
    ratio = mp.besselk(1, omega) / mp.besselk(0, omega)
    assert_allclose(law.mean, float(mp.sqrt(mp.mpf(b) / a) * ratio), rtol=1e-9)
    assert_allclose(law.inv_mean, float(mp.sqrt(mp.mpf(a) / b) * ratio), rtol=1e-9)
    log_normaliser = float(mp.log(2 * mp.besselk(0, omega)))
    assert_allclose(law.log_normaliser, log_normaliser, rtol=1e-9)


@pytest.mark.parametrize("p", [-5.0, -0.5, 0.0, 0.3, 2.0])
def test_draws_have_the_means(p):
    # For p <= 0 and small omega, or 1/x and p >= 0, the mean is made by a few huge draws.
    a, b = np.array([0.3, 2.0, 400.0]), np.array([5.0, 1.0, 100.0])
    law = GeneralisedInverseGaussian(p, np.tile(a, (N, 1)), np.tile(b, (N, 1)))
    draws = law.draw(Stream.from_seed(3))
    assert_mean(draws, law.mean[0])
    assert_mean(1 / draws, law.inv_mean[0])


def test_slices_equal_whole():
    a, b = np.random.default_rng(0).gamma(1.0, size=(2, 13, 4))
    assert_slices_equal_whole(
        GeneralisedInverseGaussian(0.0, a, b),
        lambda i, j: GeneralisedInverseGaussian(0.0, a[i:j], b[i:j]),
        Stream.from_seed(2),
    )
