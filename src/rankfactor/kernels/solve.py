"""Many small symmetric systems at once.

For every row n: mean ``m = P^-1 h``, covariance ``P^-1`` and ``log det P^-1`` from a packed
precision P (K x K) and a shift h. ``LANES`` systems are laid side by side so that the innermost
loop runs over systems with unit stride: the compiler turns it into vector instructions, which a
loop over one K x K system does not become (its lengths are short and uneven).
"""

import numpy as np
from numba import njit

LANES = 8


@njit(cache=True, nogil=True, error_model="numpy")
def solve_packed(precision, shift):  # type: ignore[no-untyped-def]
    """Solve rows of packed systems.

    Parameters
    ----------
    precision : array, shape (n, P)
        Packed upper triangles of positive definite matrices.
    shift : array, shape (n, K)

    Returns
    -------
    mean : array, shape (n, K)
    cov : array, shape (n, P)
        Packed inverses.
    log_det : array, shape (n,)
        Log determinant of the inverses; NaN where a matrix is not positive definite.
    """
    n, order = shift.shape
    mean = np.empty((n, order))
    cov = np.empty_like(precision)
    log_det = np.empty(n)
    low = np.zeros((order, order, LANES))  # Cholesky factor, lower triangle
    inv = np.zeros((order, order, LANES))  # its inverse, lower triangle
    rhs = np.zeros((order, LANES))
    total = np.zeros(LANES)
    for first in range(0, n, LANES):
        used = min(LANES, n - first)
        # Lanes past the last system repeat it, so that they stay finite.
        for lane in range(LANES):
            row = first + min(lane, used - 1)
            p = 0
            for k in range(order):
                for m in range(k, order):
                    low[m, k, lane] = precision[row, p]
                    p += 1
                rhs[k, lane] = shift[row, k]
        for k in range(order):
            for m in range(k):
                for lane in range(LANES):
                    low[k, k, lane] -= low[k, m, lane] * low[k, m, lane]
            for lane in range(LANES):
                low[k, k, lane] = np.sqrt(low[k, k, lane])
                inv[k, k, lane] = 1.0 / low[k, k, lane]
            for i in range(k + 1, order):
                for m in range(k):
                    for lane in range(LANES):
                        low[i, k, lane] -= low[i, m, lane] * low[k, m, lane]
                for lane in range(LANES):
                    low[i, k, lane] *= inv[k, k, lane]
        for k in range(order):
            for i in range(k + 1, order):
                for lane in range(LANES):
                    total[lane] = 0.0
                for m in range(k, i):
                    for lane in range(LANES):
                        total[lane] -= low[i, m, lane] * inv[m, k, lane]
                for lane in range(LANES):
                    inv[i, k, lane] = total[lane] * inv[i, i, lane]
        # From here ``low`` holds the inverse, inv^T inv, and ``rhs`` the shift.
        for k in range(order):
            for m in range(k, order):
                for lane in range(LANES):
                    total[lane] = 0.0
                for i in range(m, order):
                    for lane in range(LANES):
                        total[lane] += inv[i, k, lane] * inv[i, m, lane]
                for lane in range(LANES):
                    low[m, k, lane] = total[lane]
        for lane in range(used):
            row = first + lane
            p = 0
            log_det[row] = 0.0
            for k in range(order):
                mean[row, k] = 0.0
                log_det[row] += 2.0 * np.log(inv[k, k, lane])
            for k in range(order):
                for m in range(k, order):
                    value = low[m, k, lane]
                    cov[row, p] = value
                    mean[row, k] += value * rhs[m, lane]
                    if m > k:
                        mean[row, m] += value * rhs[k, lane]
                    p += 1
    return mean, cov, log_det
