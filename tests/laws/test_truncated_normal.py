import numpy as np
from mpmath import mp
from numpy.testing import assert_allclose
from scipy.stats import norm, truncnorm
from tests.laws.goodness import N, assert_mean, assert_slices_equal_whole

from rankfactor.kernels.rng import Stream
from rankfactor.laws.truncated_normal import OneSidedNormal


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


def test_draws_have_the_means():
    m, sign = np.array([-1e6, -3.0, 0.0, 2.0]), np.array([1.0, 1.0, -1.0, -1.0])
    draws = OneSidedNormal(np.tile(m, (N, 1)), sign).draw(Stream.from_seed(5))
    assert (draws * sign > 0).all()
    assert_mean(draws, OneSidedNormal(m, sign).mean)


def test_slices_equal_whole():
    rng, stream = np.random.default_rng(0), Stream.from_seed(2)
    m, sign = rng.standard_normal((13, 4)), np.sign(rng.standard_normal((13, 4)))
    assert_slices_equal_whole(
        OneSidedNormal(m, sign), lambda a, b: OneSidedNormal(m[a:b], sign[a:b]), stream
    )
