"""K_0 and K_1 against SciPy and mpmath, from the smallest arguments to the largest."""

import numpy as np
import pytest
from mpmath import mp, mpf
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import kve

from rankfactor.kernels.bessel import order_zero_log_k0, order_zero_moments

# Where the two expansions meet, and a float on either side.
SWITCH = [np.nextafter(2.0, 0.0), 2.0, np.nextafter(2.0, 3.0)]
POINTS = [1e-300, 1e-160, 1e-20, 1e-3, 0.3, 0.9, 1.6, *SWITCH, 2.3, 4.0, 30.0, 800.0, 1e5]


def ratio(x):
    """K_1(x) / K_0(x): E[x] and E[1/x] of the law with a = b = x."""
    mean, inv_mean = order_zero_moments(x, x)
    assert_array_equal(mean, inv_mean)
    return mean


def exact(x):
    """K_1 / K_0 and log K_0 in 40 digits."""
    with mp.workdps(40):
        k0, k1 = mp.besselk(0, mpf(x)), mp.besselk(1, mpf(x))
        return float(k1 / k0), float(mp.log(k0))


def test_against_scipy():
    x = np.concatenate([np.logspace(-300, 8, 4001), np.linspace(0.01, 4.0, 4000)])
    scaled_k0 = kve(0, x)
    assert_allclose(ratio(x), kve(1, x) / scaled_k0, rtol=1e-13)
    # For large x the logarithm of the scaled function would be lost beside x.
    near = x < 100
    log_k0 = order_zero_log_k0(x[near], x[near])
    assert_allclose(np.exp(log_k0 + x[near]), scaled_k0[near], rtol=1e-13)


@pytest.mark.parametrize("x", POINTS)
def test_against_mpmath(x):
    expected_ratio, expected_log = exact(x)
    at = np.array([x])
    assert_allclose(ratio(at), expected_ratio, rtol=4e-15)
    assert_allclose(order_zero_log_k0(at, at), expected_log, rtol=4e-15, atol=4e-15)


def test_huge_arguments():
    # K_1 / K_0 = 1 + 1/(2x) - ..., and K_0 itself is far below the smallest float.
    x = np.array([1e10, 1e100, 1e300])
    assert_allclose(ratio(x), 1.0 + 0.5 / x, rtol=1e-15)
    assert_allclose(order_zero_log_k0(x, x), -x, rtol=1e-8)
    assert_array_equal(ratio(np.array([1e306])) < 1.0 + 1e-15, True)


def test_parameters_whose_product_is_out_of_range():
    # a b would underflow to 0, or overflow; the square roots do not.
    a = np.array([1e-200, 1e200])
    mean, inv_mean = order_zero_moments(a, a)
    for i, x in enumerate(a):
        expected = exact(x)[0] if x < 1 else 1.0
        assert_allclose(mean[i], expected, rtol=4e-15)
        assert_allclose(inv_mean[i], expected, rtol=4e-15)
    mean, inv_mean = order_zero_moments(np.array([1e150]), np.array([1e-200]))
    expected = exact(1e-25)[0]
    assert_allclose(mean, 1e-175 * expected, rtol=1e-14)
    assert_allclose(inv_mean, 1e175 * expected, rtol=1e-14)


def test_what_is_no_law_gives_nan():
    a = np.array([np.nan, 1.0, -1.0, 0.0, 1.0])
    b = np.array([1.0, np.nan, 1.0, 1.0, 1.0])
    for moments in order_zero_moments(a, b):
        assert_array_equal(np.isnan(moments), [True, True, True, True, False])
    assert_array_equal(np.isnan(order_zero_log_k0(a[:3], b[:3])), True)


def test_shapes_and_layouts():
    rng = np.random.default_rng(0)
    a, b = rng.gamma(1.0, size=(7, 1)), np.asfortranarray(rng.gamma(1.0, size=(7, 5)) * 3)
    full = np.ascontiguousarray(np.broadcast_to(a, (7, 5)))
    whole = order_zero_moments(full, np.ascontiguousarray(b))
    logs = order_zero_log_k0(full, np.ascontiguousarray(b))
    for found, expected in zip(order_zero_moments(a, b), whole, strict=True):
        assert_array_equal(found, expected)
    assert_array_equal(order_zero_log_k0(a, b), logs)


def test_blocks_give_the_same_bits():
    rng = np.random.default_rng(1)
    a, b = rng.gamma(0.5, size=(2, 97))
    b[::9] *= 1e4  # both expansions
    whole = order_zero_moments(a, b)
    for first, last in ((0, 1), (1, 8), (8, 41), (41, 97)):
        part = order_zero_moments(a[first:last], b[first:last])
        for one, all_of_it in zip(part, whole, strict=True):
            assert_array_equal(one, all_of_it[first:last])
