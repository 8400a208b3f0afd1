"""First and second derivatives of the max-margin rank likelihood's bound in the predictor.

With u_j = -s_j r_j and v_j = var_w + var_b_j (`rankfactor.kernels.sites`), an entry's bound
``-sum_j ( u_j + sqrt(u_j^2 + v_j) )`` has at fixed variances

    push      =  d/dw    =  sum_j ( s_j - r_j / sqrt(r_j^2 + v_j) )  =  rho - tau w
    curvature = -d^2/dw^2 =  sum_j v_j / (r_j^2 + v_j)^(3/2)

The site's precision tau bounds the curvature from above: it is the curvature of the quadratic that
lies below the bound and touches it.
"""

import numpy as np
from numba import njit

from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.sites import FAST, TINY


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
            level[m] = codes[i, m]
            seen[m] = 0 if codes[i, m] == MISSING else 1
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
