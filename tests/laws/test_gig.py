import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose
from scipy.integrate import quad

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
