"""Moments of products and the sums that go with them, against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests import reference

from rankfactor.kernels.packed import pack, unpack
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import BareColumns, Columns, Rows, multiply, sum_over


def laws(n, order, seed):
    rng = np.random.default_rng(seed)
    half = rng.standard_normal((n, order, order + 1))
    return Normal(rng.standard_normal((n, order)), pack(half @ half.mT / order), np.zeros(n))


ROWS, COLUMNS = laws(4, 3, 0), laws(7, 3, 1)


@pytest.mark.parametrize(
    ("columns", "digits"),
    [
        (Columns.of(COLUMNS, np.float64), 1e-12),
        (Columns.of(COLUMNS, np.float32), 1e-5),
        (BareColumns(COLUMNS.mean, COLUMNS.cov), 1e-12),
    ],
)
def test_moments_and_sums(columns, digits):
    rows = Rows.of(ROWS, columns.mean.dtype)
    w, var_w = multiply(rows, columns, variance=True)
    mean, variance = reference.product_moments(
        ROWS.mean, unpack(ROWS.cov), COLUMNS.mean, unpack(COLUMNS.cov)
    )
    assert_allclose(w, mean, rtol=digits, atol=digits)
    assert_allclose(var_w, variance, rtol=digits)
    weight = np.random.default_rng(2).random((4, 7)).astype(columns.mean.dtype)
    for found, expected in [
        (rows.sum_second(weight), np.einsum("in,ip->np", weight, ROWS.second)),
        (columns.sum_second(weight), np.einsum("in,np->ip", weight, COLUMNS.second)),
        (columns.second, COLUMNS.second),
    ]:
        assert_allclose(found, expected, rtol=digits, atol=digits)
    for seen in (np.ones((4, 7), bool), weight > 0.3):
        expected = np.einsum("in,np->ip", seen, COLUMNS.second)
        assert_allclose(sum_over(columns, seen), expected, rtol=digits, atol=digits)


def test_weights_that_all_samples_share_are_used_once():
    rows, weight = Rows.of(ROWS, np.float64), np.random.default_rng(3).random((4, 1))
    found = rows.sum_second(np.broadcast_to(weight, (4, 7)))
    assert_allclose(found, rows.sum_second(np.repeat(weight, 7, axis=1)), rtol=1e-12)
    assert found.strides[0] == 0


def test_what_is_not_asked_for_is_not_made():
    rows, columns = Rows.of(ROWS, np.float32, False), Columns.of(COLUMNS, np.float32, False)
    w, var_w = multiply(rows, columns, variance=False)
    assert_allclose(w, ROWS.mean @ COLUMNS.mean.T, rtol=1e-5, atol=1e-5)
    assert var_w.size == columns.pairs.size == 0
    assert rows.pairs.shape == ROWS.cov.shape
