import mpmath
import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr

from rankfactor.kernels import tails


@njit
def tails_of(x):
    """``excess``, and both numbers of ``upper_tail``, of an array."""
    alone, together, log_mass = np.empty(len(x)), np.empty(len(x)), np.empty(len(x))
    for i in range(len(x)):
        alone[i] = tails.excess(x[i])
        together[i], log_mass[i] = tails.upper_tail(x[i])
    return alone, together, log_mass


def exact_excess(x):
    with mpmath.workdps(60):
        x = mpmath.mpf(x)
        return float(mpmath.npdf(x) / (mpmath.erfc(x / mpmath.sqrt(2)) / 2) - x)


EVERYWHERE = np.concatenate([np.linspace(-12.0, 12.0, 481), [-50.0, -38.0, 40.0, 200.0, 1e4]])


def test_excess_keeps_all_digits_everywhere():
    alone, together, _ = tails_of(EVERYWHERE)
    assert_allclose(alone, [exact_excess(x) for x in EVERYWHERE], rtol=1e-14)
    assert_array_equal(together, alone)


def test_log_of_the_tail():
    assert_allclose(tails_of(EVERYWHERE)[2], log_ndtr(-EVERYWHERE), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("x", [1e100, np.inf])
def test_nothing_is_left_at_the_end_of_the_tail(x):
    c, _, log_mass = tails_of(np.array([x]))
    assert_allclose(c, 1.0 / x, rtol=1e-14)
    assert log_mass[0] < -1e199
