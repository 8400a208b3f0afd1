"""Rows of lanes, against NumPy."""

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from rankfactor.kernels.lanes import WIDTH, reduce_row, wide_vectors


@njit
def reduced(out, c, left, a, right, b, count, scale, s):
    reduce_row(out, c, left, a, right, b, count, scale, s)


@njit
def doubled(x):
    wide_vectors()
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = 2 * x[i]
    return out


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_row_is_reduced_by_products_of_rows(kind, count):
    rng = np.random.default_rng(count)
    shape = (8, WIDTH // np.dtype(kind).itemsize)
    out, left, right, scale = rng.standard_normal((4, *shape)).astype(kind)
    expected = out.copy()
    total = (left[2 : 2 + count] * right[1 : 1 + count]).sum(axis=0)
    expected[3] = (out[3] - total) * scale[6]
    reduced(out, 3, left, 2, right, 1, count, scale, 6)
    assert_allclose(out, expected, rtol=1e-5 if kind is np.float32 else 1e-13, atol=1e-6)


def test_a_row_may_be_one_of_those_it_is_made_of():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4, WIDTH // 8))
    expected = (rows[2] - rows[0] * rows[0] - rows[1] * rows[1]) * rows[3]
    reduced(rows, 2, rows, 0, rows, 0, 2, rows, 3)
    assert_allclose(rows[2], expected, rtol=1e-13)


def test_wide_vectors_change_no_number():
    x = np.random.default_rng(0).standard_normal(37)
    assert_array_equal(doubled(x), 2 * x)
