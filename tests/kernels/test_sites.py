import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests import reference

from rankfactor.kernels.sites import margin_rank_sites, margin_sums


def margin_rank_sums(codes, w, var_w, b, *rest):
    """Sites with 1/lam and the sums over samples, in the order of the slow reference."""
    inv_lam = np.zeros((*b.shape, w.shape[1]), w.dtype)
    tau, rho, *sums = margin_rank_sites(codes, w, var_w, b, *rest, inv_lam)
    return tau, rho, inv_lam, *sums


@pytest.fixture
def tile():
    rng = np.random.default_rng(0)
    t, n, j = 5, 13, 4
    n_cuts = np.array([4, 1, 0, 3, 4])
    codes = (rng.random((t, n)) * (n_cuts[:, None] + 1)).astype(np.uint8)
    codes[rng.random((t, n)) < 0.2] = 255
    b = np.sort(rng.standard_normal((t, j)), axis=1)
    return codes, rng.standard_normal((t, n)), rng.random((t, n)), b, rng.random((t, j)), n_cuts


@pytest.mark.parametrize("eps", [0.05, 1.0])
def test_agrees_with_the_slow_twin(tile, eps):
    eps = eps * np.arange(1.0, 6.0)
    fast = margin_rank_sums(*tile, eps)
    slow = reference.margin_rank_sites(*tile, eps)
    for one, other in zip(fast, slow, strict=True):
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    for one, other in zip(margin_rank_sites(*tile, eps)[:2], slow, strict=False):
        assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def test_single_precision_agrees_with_double(tile):
    codes, w, var_w, b, var_b, n_cuts = tile
    eps = np.full(5, 0.1)
    single = (part.astype(np.float32) for part in (w, var_w, b, var_b))
    w4, var_w4, b4, var_b4 = single
    ours = margin_rank_sums(codes, w4, var_w4, b4, var_b4, n_cuts, eps.astype(np.float32))
    for one, other in zip(ours, margin_rank_sums(*tile, eps), strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-5)
    assert [part.dtype for part in ours] == [np.float32] * 3 + [np.float64] * 3


def test_certain_predictor_on_the_margin_stays_finite():
    codes, zero = np.array([[1]], np.uint8), np.zeros((1, 1))
    result = margin_rank_sums(codes, zero + 0.1, zero, zero, zero, np.array([1]), np.array([0.1]))
    assert all(np.isfinite(part).all() for part in result)


def test_sums_for_the_margin_agree_with_the_slow_twin(tile):
    codes, n_cuts = tile[0], tile[-1]
    inv_lam = reference.margin_rank_sites(*tile, np.full(5, 0.3))[2]
    by_cut, by_sample = np.zeros((5, 4)), np.zeros((5, 13))
    for i in range(5):
        for m in range(13):
            for j in range(n_cuts[i]):
                if codes[i, m] != 255:
                    s = 1.0 if codes[i, m] > j else -1.0
                    by_cut[i, j] += s * inv_lam[i, j, m]
                    by_sample[i, m] += s * inv_lam[i, j, m]
    fast = margin_sums(codes, inv_lam)
    assert_allclose(fast[0], by_cut, rtol=1e-12, atol=1e-12)
    assert_allclose(fast[1], by_sample, rtol=1e-12, atol=1e-12)
