"""Slow NumPy references of fast code: full matrices, explicit loops, one formula per line."""

from __future__ import annotations

import numpy as np


def codes(values, cuts):
    """#{j : c_j < x}, 255 where missing, for one feature."""
    return np.array([255 if np.isnan(x) else sum(c < x for c in cuts) for x in values], np.uint8)


def margin_rank_sites(codes, w, var_w, b, var_b, n_cuts, eps):
    """tau, rho, inv_lam, weight, signed, bound by a loop over every entry and cut; eps (t,)."""
    t, n = w.shape
    tau, rho = np.zeros((t, n)), np.zeros((t, n))
    inv_lam = np.zeros((t, b.shape[1], n))
    weight, signed, bound = np.zeros(b.shape), np.zeros(b.shape), np.zeros(t)
    for i in range(t):
        for m in range(n):
            if codes[i, m] == 255:
                continue
            for j in range(n_cuts[i]):
                s = 1.0 if codes[i, m] > j else -1.0
                u = eps[i] - s * (w[i, m] - b[i, j])
                q = 1 / np.sqrt(u**2 + var_w[i, m] + var_b[i, j] + 1e-10)
                inv_lam[i, j, m] = q
                tau[i, m] += q
                rho[i, m] += q * (b[i, j] + s * eps[i]) + s
                weight[i, j] += q
                signed[i, j] += s * (eps[i] * q + 1)
                bound[i] -= u + 1 / q
    return tau, rho, inv_lam, weight, signed, bound


def second(mean, cov):
    """E[x x^T] of rows, shape (n, K, K)."""
    return mean[:, :, None] * mean[:, None, :] + cov


def product_moments(a, cov_a, z, cov_z):
    """Mean and variance of a . z for all pairs, by the definition of the variance."""
    w = a @ z.T
    squares = np.einsum("ikl,nkl->in", second(a, cov_a), second(z, cov_z))
    return w, squares - w**2


def gaussian_rows(tau, rho, mean, moment, prior):
    """Posterior of rows with sites (rows, cols), given the columns' moments."""
    out_mean, out_cov = [], []
    for i in range(len(tau)):
        precision = np.diag(prior[i]) + np.einsum("n,nkl->kl", tau[i], moment)
        cov = np.linalg.inv(precision)
        out_cov.append(cov)
        out_mean.append(cov @ (rho[i] @ mean))
    return np.array(out_mean), np.array(out_cov)
