"""The site of the max-margin rank likelihood, fused over cuts, and its derivatives.

For an entry with predictor w (mean ``w``, variance ``var_w``), cut points b (``b``, ``var_b``) and
sign s = +1 above the cut, -1 below:

    u_j = eps - s_j (w - b_j) = -s_j r_j,      r_j = w - b_j - s_j eps
    E[1/lam_j] = 1 / sqrt(r_j^2 + var_w + var_b_j)
    tau = sum_j E[1/lam_j],   rho = sum_j ( E[1/lam_j] (b_j + s_j eps) + s_j )
    bound = - sum_j ( u_j + sqrt(E[u_j^2]) )

Missing entries (code 255) have weight zero rather than a branch, so that the loop over samples can
become vector instructions.

The Gibbs sampler draws 1/lam ~ IG(1/|u|, 1) instead of its expectation, at fixed w and b. This is
the only branch of the loop, decided at compile time by whether there is a ``key``. The bound is
then the log pseudo-likelihood itself, -2 sum_j max(0, u_j).

All kernels of this likelihood take a tile of t features by n samples: ``codes`` (uint8), ``w`` and
``var_w`` of shape (t, n); ``b`` and ``var_b`` (t, J), of which the first ``n_cuts`` (t,) of a row
count; the margins ``eps`` (t,). Those that draw take the stream's ``key`` and the numbers of the
tile's first feature, ``row``, and first sample: these, not the tiling, decide the draws.

At fixed variances, v_j = var_w + var_b_j, an entry's bound has the derivatives in w

    push      =  d/dw     =  sum_j ( s_j - r_j / sqrt(r_j^2 + v_j) )  =  rho - tau w
    curvature = -d^2/dw^2 =  sum_j v_j / (r_j^2 + v_j)^(3/2),

and tau bounds the curvature from above: it is that of the quadratic that lies below the bound and
touches it.

An uncertain margin adds its variance to that of every u, like a cut point: ``var_b`` is then the
sum of both. `margin_sums` computes the further sums for its update from the stored 1/lam, so that a
fixed margin has no extra cost.
"""

import numpy as np
from numba import njit

from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.noise import fill_noise, inverse_gaussian_from
from rankfactor.kernels.rng import derive

# Keeps 1/lam finite where the predictor is fixed and exactly on the margin.
TINY = 1e-10
# Reassociation lets the sum of the bound run in vector lanes; no NaN or infinity is assumed away.
FAST = {"reassoc", "contract", "arcp", "nsz"}


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def margin_rank_sites(  # type: ignore[no-untyped-def]
    codes, w, var_w, b, var_b, n_cuts, eps, inv_lam=None, key=None, row=0, sample=0
):
    """Sites of a tile and, where there is an ``inv_lam`` to fill, sums over its samples.

    All but these sums, in float64, is in the precision of ``w``.

    Parameters
    ----------
    inv_lam : array, shape (t, J, n), optional
        Zeros, which become 1/lam where there is a value and a cut.

    Returns
    -------
    tau, rho : array, shape (t, n)
    weight, signed : array, shape (t, J)
        sum_n 1/lam and sum_n s (eps / lam + 1); these and the bound are empty without sums.
    bound : array, shape (t,)
    """
    t, n = w.shape
    number = w.dtype.type
    tau = np.zeros((t, n), w.dtype)
    rho = np.zeros((t, n), w.dtype)
    shape = (0, 0) if inv_lam is None else b.shape
    weight, signed, bound = np.zeros(shape), np.zeros(shape), np.zeros(shape[0])
    level = np.empty(n, w.dtype)
    seen = np.empty(n, w.dtype)
    y, chance = np.empty(n, np.float32), np.empty(n, np.float32)
    for i in range(t):
        for m in range(n):
            level[m], seen[m] = codes[i, m], codes[i, m] != MISSING
        for j in range(n_cuts[i]):
            spread = var_b[i, j] + number(TINY)
            above, below = b[i, j] + eps[i], b[i, j] - eps[i]
            place = number(j)
            total, net, loss = number(0), number(0), number(0)
            if key is not None:
                fill_noise(derive(derive(key, row + i), j), sample, y, chance)
            # Few arrays, unit stride and selects instead of branches: a fit spends most of its time
            # in this loop, which must be vectorised.
            for m in range(n):
                up = level[m] > place
                target = above if up else below
                r = w[i, m] - target
                if key is not None:
                    q = seen[m] * number(inverse_gaussian_from(abs(r), y[m], chance[m]))
                    root = seen[m] * abs(r)
                else:
                    square = r * r + var_w[i, m] + spread
                    q = seen[m] / np.sqrt(square)
                    root = q * square
                tau[i, m] += q
                rho[i, m] += q * target
                if inv_lam is not None:
                    inv_lam[i, j, m] = q
                    total += q
                    net += q if up else -q
                    loss += root - (seen[m] * r if up else -seen[m] * r)
            if inv_lam is not None:
                weight[i, j] = total
                signed[i, j] = eps[i] * net
                bound[i] -= loss
        for m in range(n):
            # sum_j s_j = 2 x code - J
            rho[i, m] += seen[m] * (number(2) * level[m] - number(n_cuts[i]))
        if inv_lam is not None:
            tally = np.zeros(MISSING + 1, np.int64)
            for m in range(n):
                tally[codes[i, m]] += 1
            over = n - tally[MISSING]  # samples above the cut; initially all
            for j in range(n_cuts[i]):
                over -= tally[j]
                signed[i, j] += 2 * over - (n - tally[MISSING])
    return tau, rho, weight, signed, bound


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def margin_rank_slopes(codes, w, var_w, b, var_b, n_cuts, eps):  # type: ignore[no-untyped-def]
    """tau, push and curvature of a tile of features by samples, each of shape (t, n)."""
    t, n = w.shape
    number = w.dtype.type
    tau = np.zeros((t, n), w.dtype)
    push = np.zeros((t, n), w.dtype)
    curvature = np.zeros((t, n), w.dtype)
    level = np.empty(n, w.dtype)
    seen = np.empty(n, w.dtype)
    for i in range(t):
        for m in range(n):
            level[m], seen[m] = codes[i, m], codes[i, m] != MISSING
        for j in range(n_cuts[i]):
            spread = var_b[i, j] + number(TINY)
            above, below = b[i, j] + eps[i], b[i, j] - eps[i]
            place = number(j)
            for m in range(n):
                r = w[i, m] - (above if level[m] > place else below)
                v = var_w[i, m] + spread
                inv_lam = seen[m] / np.sqrt(r * r + v)
                tau[i, m] += inv_lam
                push[i, m] -= inv_lam * r
                curvature[i, m] += v * inv_lam * inv_lam * inv_lam
        for m in range(n):
            # sum_j s_j = 2 x code - J
            push[i, m] += seen[m] * (number(2) * level[m] - number(n_cuts[i]))
    return tau, push, curvature


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def margin_sums(codes, inv_lam):  # type: ignore[no-untyped-def]
    """Sums of s / lam by cut (t, J) and by sample (t, n), from 1/lam (t, J, n).

    The margin multiplies them in the updates of all else.
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


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def margin_rank_scaled(codes, w, b, n_cuts, eps, factor, some):  # type: ignore[no-untyped-def]
    """Log pseudo-likelihood of rows ``some`` (m,) with w and b times a factor (m,), shape (m,)."""
    out = np.empty(len(some))
    n = w.shape[1]
    for place in range(len(some)):
        i, alpha = some[place], factor[place]
        total = 0.0
        for j in range(n_cuts[i]):
            cut, margin = alpha * b[i, j], eps[i]
            for k in range(n):
                code = codes[i, k]
                side = 1.0 if code > j else -1.0
                u = margin - side * (alpha * w[i, k] - cut)
                total += 0.0 if code == MISSING else max(0.0, u)
        out[place] = -2.0 * total
    return out
