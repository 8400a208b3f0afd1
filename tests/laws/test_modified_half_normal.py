import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose
from scipy.special import gammaln
from scipy.stats import truncnorm
from tests.laws.goodness import N, assert_fits, assert_mean, integrated_cdf

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.modified_half_normal import ModifiedHalfNormal

# Shape, precision and tilt: far below zero, far above, and all between.
CASES = [
    (1.0, 1.0, -300.0),
    (1.0, 1e6, -0.3),
    (1.0, 1.0, 0.0),
    (1.0, 4.0, 10.0),
    (1.0, 1.0, 7.0),
    (1.0, 1e-3, 12.0),
    (1.3, 1.0, -0.5),
    (1.3, 1.0, 5.0),
    (2.5, 1e4, -1e4),
    (2.5, 1e4, 1e3),
    (60.0, 30.0, -200.0),
    (60.0, 1e5, -10.0),
    (60.0, 2.0, 50.0),
    (200.0, 2.0, -30.0),
]


def exact(a, precision, tilt):
    """Log normaliser, mean and variance by the parabolic cylinder function."""
    with mp.workdps(60):
        a, root = mp.mpf(a), mp.sqrt(mp.mpf(precision))
        c = mp.mpf(tilt) / root

        def moment(k):
            return mp.gamma(a + k) * mp.exp(c**2 / 4) * mp.pcfd(-a - k, -c)

        total = moment(0)
        mean, square = moment(1) / total, moment(2) / total
        log_normaliser = mp.log(total) - a * mp.log(root)
        return float(log_normaliser), float(mean / root), float((square - mean**2) / root**2)


@pytest.mark.parametrize(("shape", "precision", "tilt"), CASES)
def test_moments_and_normaliser(shape, precision, tilt):
    law = ModifiedHalfNormal(shape, np.array([precision]), np.array([tilt]))
    log_normaliser, mean, variance = exact(shape, precision, tilt)
    assert_allclose(law.log_normaliser, log_normaliser, rtol=1e-11)
    assert_allclose(law.mean, mean, rtol=1e-11)
    assert_allclose(law.variance, variance, rtol=1e-10)


def test_shape_one_is_a_normal_kept_above_zero():
    precision, location = np.array([4.0, 4.0, 0.25]), np.array([-2.0, 0.1, 3.0])
    law = ModifiedHalfNormal(1.0, precision, precision * location)
    sd = 1 / np.sqrt(precision)
    other = truncnorm(-location / sd, np.inf, location, sd)
    assert_allclose(law.mean, other.mean(), rtol=1e-9)
    assert_allclose(law.variance, other.var(), rtol=1e-7)


def test_gain_is_the_difference_of_expected_log_densities():
    shape, rate = 2.5, np.array([0.7, 30.0])
    law = ModifiedHalfNormal(shape, np.array([3.0, 200.0]), np.array([1.5, -40.0]))
    for i in range(2):
        x = np.linspace(1e-9, 12 * law.mean[i], 400_001)
        log_q = (shape - 1) * np.log(x) - law.precision[i] * x**2 / 2 + law.tilt[i] * x
        log_q = log_q - law.log_normaliser[i]
        log_p = shape * np.log(rate[i]) - gammaln(shape) + (shape - 1) * np.log(x) - rate[i] * x
        expected = np.trapezoid(np.exp(log_q) * (log_p - log_q), x)
        assert_allclose(law.gain_over(rate)[i], expected, rtol=1e-7)
    assert (law.gain_over(rate) < 0).all()


def test_without_a_normal_factor_it_is_the_gamma_law():
    rate = np.array([0.5, 20.0])
    law, gamma = ModifiedHalfNormal(3.0, np.full(2, 1e-12), -rate), Gamma(3.0, rate)
    assert_allclose(law.mean, gamma.mean, rtol=1e-9)
    assert_allclose(law.gain_over(rate), 0.0, atol=1e-9)


@pytest.mark.parametrize(("shape", "precision", "tilt"), CASES)
def test_draws_follow_the_density(shape, precision, tilt):
    law = ModifiedHalfNormal(shape, np.full(N, precision), np.full(N, tilt))
    mean, sd = law.mean[0], np.sqrt(law.variance[0])
    grid = np.linspace(max(mean - 12 * sd, mean * 1e-9), mean + 40 * sd, 200_001)

    def log_density(x):
        return (shape - 1) * np.log(x) - precision * x**2 / 2 + tilt * x

    draws = law.draw(Stream.from_seed(3))
    assert_fits(draws, integrated_cdf(log_density, grid), len(CASES))
    assert_mean(draws, mean)


def test_slices_equal_whole():
    rng, stream = np.random.default_rng(0), Stream.from_seed(2)
    precision, tilt = np.exp(rng.standard_normal(60)), 5 * rng.standard_normal(60)
    for shape in (1.0, 4.0):
        whole = ModifiedHalfNormal(shape, precision, tilt).draw(stream)
        for a, b in ((0, 1), (0, 30), (20, 60)):
            part = ModifiedHalfNormal(shape, precision[a:b], tilt[a:b])
            np.testing.assert_array_equal(part.draw(stream, a), whole[a:b])
        assert not (ModifiedHalfNormal(shape, precision, tilt).draw(stream, 1) == whole).any()


@pytest.mark.parametrize("shape", [1.0, 4.0])
def test_what_is_no_law_gives_nan_and_ends(shape):
    draws = ModifiedHalfNormal(shape, np.array([1.0, 1.0]), np.array([np.nan, 0.0])).draw(
        Stream.from_seed(0)
    )
    assert np.isnan(draws[0])
    assert draws[1] > 0
