"""The site of the max-margin rank likelihood, fused over cuts.

For an entry with predictor w (mean ``w``, variance ``var_w``), cut points b (``b``, ``var_b``) and
sign s = +1 above the cut, -1 below:

    u_j = eps - s_j (w - b_j) = -s_j r_j,      r_j = w - b_j - s_j eps
    E[1/lam_j] = 1 / sqrt(r_j^2 + var_w + var_b_j)
    tau = sum_j E[1/lam_j],   rho = sum_j ( E[1/lam_j] (b_j + s_j eps) + s_j )
    bound = - sum_j ( u_j + sqrt(E[u_j^2]) )

Missing entries (code 255) have weight zero rather than a branch, so that the loop over samples can
become vector instructions.

The Gibbs sampler draws 1/lam ~ IG(1/|u|, 1) in place of its expectation, at certain w and b. That
is the one branch of the loop; it is decided when the kernel is compiled, twice, from the same
source. The bound is then the log pseudo-likelihood itself, -2 sum_j max(0, u_j).

An uncertain margin adds its variance to that of every u, as a cut point does: ``var_b`` is then the
sum of both. What its update needs besides, `margin_sums` takes from the 1/lam that were kept, so
that a fixed margin costs nothing more.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.noise import fill_noise, inverse_gaussian_from
from rankfactor.kernels.rng import derive

# Keeps 1/lam finite where the predictor is certain and sits exactly on the margin.
TINY = 1e-10
# Reassociation lets the sum of the bound run in vector lanes; no NaN or infinity is assumed away.
FAST = {"reassoc", "contract", "arcp", "nsz"}


def _compile(draws: bool, sums: bool) -> Callable[..., Any]:
    """The kernel that draws 1/lam or takes its expectation, with the sums over samples or without.

    Everything is in the precision of ``w``; sums over a tile's samples are handed on in float64.
    """

    @njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
    def sites(codes, w, var_w, b, var_b, n_cuts, eps, key=0, row=0, sample=0):  # type: ignore[no-untyped-def]
        """Sites of a tile of features by samples.

        Parameters
        ----------
        codes : uint8 array, shape (t, n)
        w, var_w : array, shape (t, n)
        b, var_b : array, shape (t, J)
        n_cuts : int array, shape (t,)
        eps : array, shape (t,)
        key : uint64
            The stream of the draws; of no account where expectations are taken.
        row, sample : int
            Numbers of the tile's first feature and sample: they, not the tiling, decide the draws.

        Returns
        -------
        tau, rho : array, shape (t, n)
        inv_lam : array, shape (t, J, n)
            1/lam, zero where the value is missing or the cut unused; this and what follows is
            empty without sums.
        weight : array, shape (t, J)
            sum_n 1/lam.
        signed : array, shape (t, J)
            sum_n s (eps / lam + 1).
        bound : array, shape (t,)
        """
        t, n = w.shape
        number = w.dtype.type
        tau = np.zeros((t, n), w.dtype)
        rho = np.zeros((t, n), w.dtype)
        inv_lam = np.zeros((t, b.shape[1], n) if sums else (0, 0, 0), w.dtype)
        weight = np.zeros(b.shape if sums else (0, 0))
        signed = np.zeros(b.shape if sums else (0, 0))
        bound = np.zeros(t if sums else 0)
        level = np.empty(n, w.dtype)
        seen = np.empty(n, w.dtype)
        y = np.empty(n if draws else 0, np.float32)
        chance = np.empty(n if draws else 0, np.float32)
        tally = np.zeros(MISSING + 1, np.int64)
        for i in range(t):
            row_key = derive(key, row + i)
            for m in range(n):
                level[m] = codes[i, m]
                seen[m] = 0 if codes[i, m] == MISSING else 1
            for j in range(n_cuts[i]):
                spread = var_b[i, j] + number(TINY)
                above, below = b[i, j] + eps[i], b[i, j] - eps[i]
                place = number(j)
                total, net, loss = number(0), number(0), number(0)
                if draws:
                    fill_noise(derive(row_key, j), sample, y, chance)
                # Few arrays, unit stride and selects in place of branches: this loop is what a fit
                # spends its time in, and has to become vector instructions.
                for m in range(n):
                    up = level[m] > place
                    target = above if up else below
                    r = w[i, m] - target
                    if draws:
                        q = seen[m] * number(inverse_gaussian_from(abs(r), y[m], chance[m]))
                        root = seen[m] * abs(r)
                    else:
                        square = r * r + var_w[i, m] + spread
                        q = seen[m] / np.sqrt(square)
                        root = q * square
                    tau[i, m] += q
                    rho[i, m] += q * target
                    if sums:
                        inv_lam[i, j, m] = q
                        total += q
                        net += q if up else -q
                        loss += root - (seen[m] * r if up else -seen[m] * r)
                if sums:
                    weight[i, j] = total
                    signed[i, j] = eps[i] * net
                    bound[i] -= loss
            for m in range(n):
                # sum_j s_j = 2 x code - J
                rho[i, m] += seen[m] * (number(2) * level[m] - number(n_cuts[i]))
            if sums:
                tally[:] = 0
                for m in range(n):
                    tally[codes[i, m]] += 1
                over = n - tally[MISSING]  # samples above the cut; all are at first
                for j in range(n_cuts[i]):
                    over -= tally[j]
                    signed[i, j] += 2 * over - (n - tally[MISSING])
        return tau, rho, inv_lam, weight, signed, bound

    return sites


margin_rank_sites = _compile(draws=False, sums=False)
margin_rank_sums = _compile(draws=False, sums=True)
margin_rank_site_draws = _compile(draws=True, sums=False)
margin_rank_sum_draws = _compile(draws=True, sums=True)


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def margin_sums(codes, inv_lam):  # type: ignore[no-untyped-def]
    """Sums of s / lam, which the margin multiplies in the updates of all else.

    Parameters
    ----------
    codes : uint8 array, shape (t, n)
    inv_lam : array, shape (t, J, n)
        Zero where the value is missing or the cut unused.

    Returns
    -------
    by_cut : array, shape (t, J)
    by_sample : array, shape (t, n)
    """
    t, width, n = inv_lam.shape
    by_cut, by_sample = np.zeros((t, width)), np.zeros((t, n))
    for i in range(t):
        for j in range(width):
            total = 0.0
            for m in range(n):
                q = inv_lam[i, j, m] if codes[i, m] > j else -inv_lam[i, j, m]
                by_sample[i, m] += q
                total += q
            by_cut[i, j] = total
    return by_cut, by_sample
