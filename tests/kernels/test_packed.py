import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankfactor.kernels import packed


def symmetric(n, order, seed=0):
    a = np.random.default_rng(seed).standard_normal((n, order, order))
    return a + a.transpose(0, 2, 1)


def test_pack_and_unpack_are_inverse():
    full = symmetric(4, 5)
    assert_array_equal(packed.unpack(packed.pack(full)), full)
    assert packed.packed_order(packed.packed_size(5)) == 5


def test_diagonal_positions_point_at_the_diagonal():
    full = symmetric(3, 6)
    rows = packed.pack(full)
    assert_array_equal(rows[:, packed.diagonal_positions(6)], np.einsum("nkk->nk", full))


def test_pair_weights_give_the_inner_product():
    a, b = symmetric(3, 4, 1), symmetric(3, 4, 2)
    product = (packed.pack(a) * packed.pack(b)) @ packed.pair_weights(4)
    assert_allclose(product, np.einsum("nkl,nkl->n", a, b))


def test_add_outer():
    full = symmetric(5, 3)
    mean = np.random.default_rng(3).standard_normal((5, 3))
    expected = full + mean[:, :, None] * mean[:, None, :]
    assert_allclose(packed.unpack(packed.add_outer(mean, packed.pack(full))), expected)


def test_append_one_pads_with_a_constant():
    full = symmetric(5, 3)
    mean = np.random.default_rng(3).standard_normal((5, 3))
    mean_one, packed_one = packed.append_one(mean, packed.pack(full))
    assert_array_equal(mean_one, np.column_stack([mean, np.ones(5)]))
    expected = np.zeros((5, 4, 4))
    expected[:, :3, :3] = full
    assert_array_equal(packed.unpack(packed_one), expected)


def test_times_multiplies_symmetric_matrices():
    rng = np.random.default_rng(3)
    full = rng.standard_normal((4, 5, 5))
    full += full.transpose(0, 2, 1)
    x = rng.standard_normal((4, 5))
    product = packed.times(packed.pack(full), x)
    assert_allclose(product, np.einsum("nkl,nl->nk", full, x), rtol=1e-12)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_moments_by_columns_are_those_by_rows(kind):
    rng = np.random.default_rng(0)
    mean, cov = rng.standard_normal((7, 4)).astype(kind), rng.standard_normal((7, 10)).astype(kind)
    columns, second = np.ascontiguousarray(mean.T), np.empty((10, 7), kind)
    packed.add_outer_columns(columns, np.ascontiguousarray(cov.T), second)
    np.testing.assert_allclose(second.T, packed.add_outer(mean, cov), rtol=1e-6, atol=1e-6)
    packed.add_outer_columns(columns, None, second)
    outer = packed.pack(mean[:, :, None] * mean[:, None, :])
    np.testing.assert_array_equal(second.T, outer)
