"""Normals between two ends: their means and draws."""

import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose
from tests.laws.goodness import N, assert_mean

from rankfactor.kernels.rank_draws import between
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_elements, draw_truncated_normal


def exact(m, low, high):
    """The mean, with enough digits to subtract."""
    with mp.workdps(80):
        m, low, high = mp.mpf(m), mp.mpf(low), mp.mpf(high)
        a, b, side = low - m, high - m, 1
        if a + b > 0:  # into the lower tail, where the normal distribution function is small
            a, b, side = -b, -a, -1
        total = mp.ncdf(b) - mp.ncdf(a)
        return float(m + side * (mp.npdf(a) - mp.npdf(b)) / total)


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
def test_mean_between_two_ends(m, low, high):
    tolerance = 1e-14 if high - low > 1 else 0
    assert_allclose(between(m, low, high), exact(m, low, high), rtol=1e-12, atol=tolerance)


def test_draws_have_the_means():
    m, low, high = np.array(INTERVALS).T
    means = [exact(*one) for one in INTERVALS]
    at = np.tile(m, (N, 1))
    assert_mean(draw_elements(draw_truncated_normal, Stream.from_seed(5), 0, at, low, high), means)
