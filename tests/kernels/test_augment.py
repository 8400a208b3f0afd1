"""All 1/lam, then cut points, then sites: the kernel against its slow reference, and its draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from tests import reference

from rankfactor.kernels import augment
from rankfactor.kernels.noise import fill_noise, inverse_gaussian_from
from rankfactor.kernels.rng import derive


def margin_rank_augment(codes, w, var_w, *rest):
    """The kernel writes to its arguments."""
    return augment.margin_rank_augment(codes, w.copy(), var_w.copy(), *rest)


PRECISION = 0.01
KEY = np.uint64(7)


@pytest.fixture
def tile():
    rng = np.random.default_rng(0)
    t, n, j = 5, 13, 4
    n_cuts = np.array([4, 1, 0, 3, 4])
    codes = (rng.random((t, n)) * (n_cuts[:, None] + 1)).astype(np.uint8)
    codes[rng.random((t, n)) < 0.2] = 255
    b = np.sort(rng.standard_normal((t, j)), axis=1)
    eps = 0.2 * np.arange(1.0, 6.0)
    return (
        codes,
        rng.standard_normal((t, n)),
        rng.random((t, n)),
        b,
        rng.random((t, j)),
        n_cuts,
        eps,
    )


def slow(tile, inv_lam, noise=None):
    """Cut points, one by one, then sites at these."""
    codes, w, *_, n_cuts, eps = tile
    tau, rho = np.zeros(w.shape), np.zeros(w.shape)
    mean, variance = np.zeros((5, 4)), np.full((5, 4), 1 / PRECISION)
    for i in range(5):
        for j in range(n_cuts[i]):
            precision, shift = PRECISION, 0.0
            for m in np.flatnonzero(codes[i] != 255):
                s, q = (1.0 if codes[i, m] > j else -1.0), inv_lam[i, j, m]
                precision += q
                shift += q * (w[i, m] - s * eps[i]) - s
            mean[i, j], variance[i, j] = shift / precision, 1 / precision
            if noise is not None:
                mean[i, j] += noise[i, j] / np.sqrt(precision)
            for m in np.flatnonzero(codes[i] != 255):
                s, q = (1.0 if codes[i, m] > j else -1.0), inv_lam[i, j, m]
                tau[i, m] += q
                rho[i, m] += q * (mean[i, j] + s * eps[i]) + s
    return tau, rho, mean, variance


def expectations(tile):
    return margin_rank_augment(*tile, PRECISION)


def test_agrees_with_the_slow_twin(tile):
    *_, inv_lam, weight, _, bound = reference.margin_rank_sites(*tile)
    fast = expectations(tile)
    for one, other in zip(fast, slow(tile, inv_lam), strict=False):
        assert_allclose(one, other, rtol=1e-11, atol=1e-11)
    assert_allclose(fast[4], weight, rtol=1e-12)
    assert_array_equal(fast[5], (tile[0] != 255).sum(axis=1))
    assert_allclose(fast[6], bound, rtol=1e-12)


def test_sums_over_many_parts_are_those_over_one():
    """The same samples thrice, more of them than fit one part."""
    rng, n = np.random.default_rng(1), augment.PART // 2
    codes = rng.integers(0, 3, (1, n)).astype(np.uint8)
    w, var_w = rng.standard_normal((1, n)), rng.random((1, n))
    rest = (np.array([[-0.5, 0.5]]), np.full((1, 2), 0.1), np.array([2]), np.array([0.3]))
    once = margin_rank_augment(codes, w, var_w, *rest, 0.0)
    many = [np.tile(one, 3) for one in (codes, w, var_w)]
    thrice = margin_rank_augment(*many, *rest, 0.0)
    assert_allclose(thrice[2], once[2], rtol=1e-12)
    assert_allclose(thrice[3], once[3] / 3, rtol=1e-12)
    assert_array_equal(thrice[5], 3 * once[5])
    assert_allclose(thrice[6], 3 * once[6], rtol=1e-12)


def test_single_precision_agrees_with_double(tile):
    codes, *parts, n_cuts, eps = tile
    single = [part.astype(np.float32) for part in parts]
    given = (codes, *single, n_cuts, eps.astype(np.float32))
    ours = margin_rank_augment(*given, PRECISION)
    for one, other in zip(ours, expectations(tile), strict=True):
        assert_allclose(one, other, rtol=2e-5, atol=2e-5)
    assert [part.dtype for part in ours] == [np.float32] * 2 + [np.float64] * 3 + [
        np.int64,
        np.float64,
    ]


def test_draws_are_those_of_the_noise(tile):
    """1/lam from the stream of (row, cut), cut points from the normals given, sites from both."""
    codes, w, _, b, _, n_cuts, eps = tile
    noise = np.random.default_rng(2).standard_normal((5, 4))
    first = 3
    inv_lam = np.zeros((5, 4, 13))
    for i in range(5):
        for j in range(n_cuts[i]):
            y, s = np.empty(13, np.float32), np.empty(13, np.float32)
            row = np.uint64(derive(KEY, first + i))
            fill_noise(np.uint64(derive(row, j)), 0, y, s)
            for m in np.flatnonzero(codes[i] != 255):
                side = 1.0 if codes[i, m] > j else -1.0
                u = abs(w[i, m] - b[i, j] - side * eps[i])
                inv_lam[i, j, m] = inverse_gaussian_from(u, y[m], s[m])
    fast = margin_rank_augment(*tile, PRECISION, noise, KEY, first)
    for one, other in zip(fast[:3], slow(tile, inv_lam, noise), strict=False):
        assert_allclose(one, other, rtol=1e-6, atol=1e-6)
    assert_array_equal(fast[3][np.arange(4) < n_cuts[:, None]], 0.0)


def test_drawn_cut_points_have_the_conditional_law(tile):
    """Rows that are all alike, with different streams: cut points given w, lam drawn too."""
    codes, w, var_w, b, var_b, n_cuts, eps = (part[:1] for part in tile)
    t = 4000
    many = [np.repeat(part, t, axis=0) for part in (codes, w, var_w, b, var_b, n_cuts, eps)]
    noise = np.random.default_rng(3).standard_normal((t, 4))
    drawn = margin_rank_augment(*many, PRECISION, noise, KEY, 0)
    weight = drawn[4]  # sum of 1/lam: the cut point's precision without its prior
    sum_of_draws = drawn[0].sum(axis=1)
    assert_allclose(weight.sum(axis=1), sum_of_draws, rtol=1e-10)
    # Given lam a cut point is normal; what is left after its mean is standard.
    without = margin_rank_augment(*many, PRECISION, np.zeros_like(noise), KEY, 0)
    standard = (drawn[2] - without[2]) * np.sqrt(PRECISION + weight)
    assert stats.kstest(standard.ravel(), "norm").pvalue > 1e-3
    assert_array_equal(drawn[0], without[0])  # lam does not see the noise of the cut points
