import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose
from scipy.stats import norm, truncnorm
from tests.laws.goodness import N, assert_mean, assert_slices_equal_whole

from rankfactor.kernels.rng import Stream
from rankfactor.laws.truncated_normal import OneSidedNormal, TwoSidedNormal


def test_mean_and_normaliser():
    m = np.array([-3.0, -0.5, 0.0, 2.0])
    above = OneSidedNormal(m, np.ones(4))
    assert_allclose(above.mean, truncnorm(-m, np.inf, loc=m).mean(), rtol=1e-9)
    assert_allclose(above.log_normaliser, norm.logcdf(m))
    below = OneSidedNormal(m, -np.ones(4))
    assert_allclose(below.mean, truncnorm(-np.inf, -m, loc=m).mean(), rtol=1e-9)


def test_far_tail_stays_right():
    # For m -> -inf the mean of the positive side is -1/m + 2/m^3 + O(m^-5).
    m = np.array([-1e3, -30.0])
    law = OneSidedNormal(m, np.ones(2))
    assert_allclose(law.mean, -1 / m + 2 / m**3, rtol=2e-5)
    assert (law.mean > 0).all()


def test_one_sided_mean_has_all_digits():
    m = np.array([-1e8, -1e4, -101.0, -99.0, -40.0, -3.0, 0.0, 8.0, 50.0])
    with mp.workdps(60):
        expected = [
            float(x + mp.npdf(x) / mp.erfc(-x / mp.sqrt(2)) * 2) for x in map(mp.mpf, m[1:])
        ]
    assert_allclose(OneSidedNormal(m[1:], np.ones(8)).mean, expected, rtol=1e-12)
    assert_allclose(OneSidedNormal(-m[1:], -np.ones(8)).mean, np.negative(expected), rtol=1e-12)
    assert_allclose(OneSidedNormal(m[:1], np.ones(1)).mean, 1e-8)


def exact(m, low, high):
    """Log normaliser and mean, with enough digits to subtract."""
    with mp.workdps(80):
        m, low, high = mp.mpf(m), mp.mpf(low), mp.mpf(high)
        a, b, side = low - m, high - m, 1
        if a + b > 0:  # into the lower tail, where the normal distribution function is small
            a, b, side = -b, -a, -1
        total = mp.ncdf(b) - mp.ncdf(a)
        return float(mp.log(total)), float(m + side * (mp.npdf(a) - mp.npdf(b)) / total)


INTERVALS = [
    (0.0, -1.0, 1.0),
    (0.3, -np.inf, np.inf),
    (0.3, -np.inf, 2.0),
    (0.3, 1.0, np.inf),
    (0.0, -8.9, np.inf),
    (0.1, -9.1, 30.0),
    (0.0, -7.0, 0.5),
    (0.0, -0.5, 7.0),
    (3.0, -20.0, 0.0),
    (-30.0, 0.0, np.inf),
    (-30.0, 0.0, 0.01),
    (1000.0, -1.0, 0.0),
    (2.0, 0.0, 1e-9),
    (0.0, -1e-9, 2e-9),
    (50.0, 0.0, 1.0),
]


@pytest.mark.parametrize(("m", "low", "high"), INTERVALS)
def test_two_sided_mean_and_normaliser(m, low, high):
    law = TwoSidedNormal(np.array(m), np.array(low), np.array(high))
    log_normaliser, mean = exact(m, low, high)
    assert_allclose(law.log_normaliser, log_normaliser, rtol=1e-13, atol=1e-13)
    assert_allclose(law.mean, mean, rtol=1e-12, atol=1e-14 if high - low > 1 else 0)


def test_draws_have_the_means():
    m, low, high = np.array(INTERVALS).T
    draws = TwoSidedNormal(np.tile(m, (N, 1)), low, high).draw(Stream.from_seed(5))
    assert_mean(draws, TwoSidedNormal(m, low, high).mean)
    m, sign = np.array([-1e6, -3.0, 0.0, 2.0]), np.array([1.0, 1.0, -1.0, -1.0])
    draws = OneSidedNormal(np.tile(m, (N, 1)), sign).draw(Stream.from_seed(5))
    assert (draws * sign > 0).all()
    assert_mean(draws, OneSidedNormal(m, sign).mean)


def test_slices_equal_whole():
    rng, stream = np.random.default_rng(0), Stream.from_seed(2)
    m, sign = rng.standard_normal((13, 4)), np.sign(rng.standard_normal((13, 4)))
    low, high = np.sort(rng.standard_normal((2, 13, 4)), axis=0)
    assert_slices_equal_whole(
        OneSidedNormal(m, sign), lambda a, b: OneSidedNormal(m[a:b], sign[a:b]), stream
    )
    assert_slices_equal_whole(
        TwoSidedNormal(m, low, high),
        lambda a, b: TwoSidedNormal(m[a:b], low[a:b], high[a:b]),
        stream,
    )
