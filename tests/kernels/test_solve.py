import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankfactor.kernels.packed import pack, unpack
from rankfactor.kernels.solve import draw_packed, lanes_of, solve_packed

LANES = lanes_of(np.empty((1000, 1)))


@pytest.mark.parametrize("n", [1, LANES - 1, LANES, 3 * LANES + 2])
@pytest.mark.parametrize("order", [1, 2, 7, 20])
def test_agrees_with_numpy(n, order):
    rng = np.random.default_rng(n * 100 + order)
    a = rng.standard_normal((n, order, order + 3))
    precision = a @ a.transpose(0, 2, 1) + 0.1 * np.eye(order)
    shift = rng.standard_normal((n, order))
    mean, cov, log_det = solve_packed(pack(precision), shift)
    inverse = np.linalg.inv(precision)
    assert_allclose(unpack(cov), inverse, rtol=1e-8, atol=1e-10)
    assert_allclose(mean, np.einsum("nkl,nl->nk", inverse, shift), rtol=1e-8, atol=1e-10)
    assert_allclose(log_det, np.linalg.slogdet(inverse)[1], rtol=1e-8, atol=1e-10)


def test_a_system_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(0)
    a = rng.standard_normal((LANES + 3, 4, 6))
    precision, shift = pack(a @ a.transpose(0, 2, 1)), rng.standard_normal((LANES + 3, 4))
    whole = solve_packed(precision, shift)
    alone = solve_packed(precision[5:6], shift[5:6])
    for one, other in zip(whole, alone, strict=True):
        np.testing.assert_array_equal(one[5:6], other)


def test_indefinite_matrix_is_reported_by_nan():
    precision = pack(np.array([np.diag([1.0, -1.0]), np.eye(2)]))
    _, _, log_det = solve_packed(precision, np.zeros((2, 2)))
    assert np.isnan(log_det[0])
    assert log_det[1] == 0.0


@pytest.mark.parametrize("n", [1, LANES - 1, LANES, 3 * LANES + 2])
@pytest.mark.parametrize("order", [1, 2, 7, 20])
def test_draws_agree_with_numpy(n, order):
    rng = np.random.default_rng(n * 100 + order)
    a = rng.standard_normal((n, order, order + 3))
    precision = a @ a.transpose(0, 2, 1) + 0.1 * np.eye(order)
    shift, noise = rng.standard_normal((2, n, order))
    upper = np.linalg.cholesky(precision).transpose(0, 2, 1)
    pushed = np.linalg.solve(upper.transpose(0, 2, 1), shift[:, :, None]) + noise[:, :, None]
    expected = np.linalg.solve(upper, pushed)[:, :, 0]
    assert_allclose(draw_packed(pack(precision), shift, noise), expected, rtol=1e-8, atol=1e-10)


def test_a_draw_does_not_depend_on_its_neighbours():
    rng = np.random.default_rng(0)
    n = LANES + 3
    a = rng.standard_normal((n, 4, 6))
    precision, (shift, noise) = pack(a @ a.transpose(0, 2, 1)), rng.standard_normal((2, n, 4))
    whole = draw_packed(precision, shift, noise)
    for rows in (slice(5, 6), slice(3, 20), slice(n - 1, n)):
        assert_array_equal(draw_packed(precision[rows], shift[rows], noise[rows]), whole[rows])


@pytest.mark.parametrize("bad", range(3))
@pytest.mark.parametrize("pivot", [-1.0, 0.0])
def test_a_draw_of_an_indefinite_matrix_is_not_finite(bad, pivot):
    diagonal = np.ones(3)
    diagonal[bad] = pivot
    precision = pack(np.array([np.diag(diagonal), np.eye(3)]))
    x = draw_packed(precision, np.zeros((2, 3)), np.ones((2, 3)))
    assert not np.isfinite(x[0, 0])
    assert_array_equal(x[1], np.ones(3))


def test_single_precision_keeps_six_digits_whatever_the_units():
    """Cholesky is stable although prior precisions of a horseshoe differ by many powers of ten."""
    rng = np.random.default_rng(0)
    n, order = LANES + 5, 20
    a = rng.standard_normal((n, order, 3 * order))
    unit = 10.0 ** rng.uniform(-3, 4, (n, order))
    precision = a @ a.transpose(0, 2, 1) * unit[:, :, None] * unit[:, None, :]
    shift = unit * rng.standard_normal((n, order))
    mean, cov, log_det = solve_packed(pack(precision), shift)
    single = solve_packed(pack(precision).astype(np.float32), shift.astype(np.float32))
    assert [part.dtype for part in single] == [np.float32, np.float32, np.float64]
    first, last = np.triu_indices(order)
    assert_allclose(single[0] * unit, mean * unit, atol=1e-5 * np.abs(mean * unit).max())
    scaled = unit[:, first] * unit[:, last]
    assert_allclose(single[1] * scaled, cov * scaled, atol=1e-5 * np.abs(cov * scaled).max())
    assert_allclose(single[2], log_det, atol=1e-4)
