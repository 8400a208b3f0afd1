"""Many small symmetric systems at once.

For every row n: mean ``m = P^-1 h``, covariance ``P^-1`` and ``log det P^-1`` from a packed
precision P (K x K) and a shift h. By Cholesky, P = L L^T; then V = L^-1, and V^T V.

A draw of N(P^-1 h, P^-1) needs no inverse: for standard normal e, ``x = L^-T (L^-1 h + e)`` has the
mean L^-T L^-1 h = P^-1 h and the covariance L^-T L^-1 = P^-1, at a third of the work.

Systems are laid out in parallel lanes, and every step works on a whole row of lanes
(`rankfactor.kernels.lanes`). L is packed by its rows and V by its columns, so that all sums run
over neighbouring rows of lanes:

    L_ij = (P_ij - sum_{t<j} L_it L_jt) / L_jj
    V_ij = -(sum_{j<=t<i} L_it V_tj) / L_ii
    (V^T V)_km = sum_{t>=m} V_tk V_tm,    k <= m

The result of a lane does not depend on the others.

Functions called only by compiled code are inlined, so that they are not compiled twice.
"""

import numpy as np
from numba import njit

from rankfactor.kernels.lanes import WIDTH, reduce_row
from rankfactor.typing import Floats, Reals

_LOGS = 4  # pivots per logarithm: their product stays in range


def lanes_of(systems: Reals) -> int:
    """Number of systems laid out in parallel."""
    return WIDTH // systems.itemsize


@njit(nogil=True, inline="always")
def _load(columns, first, used, low):  # type: ignore[no-untyped-def]
    """Lay systems side by side; lanes past the last repeat it, so that they stay finite.

    ``columns`` (P, n) are packed upper triangles, ``low`` (P, lanes) becomes the lower ones.
    """
    p, order = 0, (int(np.sqrt(8 * len(low) + 1)) - 1) // 2
    for k in range(order):
        for m in range(k, order):
            x, given = low[m * (m + 1) // 2 + k], columns[p, first : first + used]
            for lane in range(used):
                x[lane] = given[lane]
            for lane in range(used, len(x)):
                x[lane] = given[used - 1]
            p += 1


@njit(nogil=True, inline="always")
def _load_rows(rows, first, used, lanes):  # type: ignore[no-untyped-def]
    """Lay some rows (n, K) side by side, as `_load` does."""
    for k in range(lanes.shape[0]):
        for lane in range(lanes.shape[1]):
            lanes[k, lane] = rows[first + min(lane, used - 1), k]


@njit(nogil=True, error_model="numpy", inline="always")
def _factorise(low, root, value, one):  # type: ignore[no-untyped-def]
    """Cholesky factors L in place of P, inverses of their diagonals, and L^-1 h in place of h."""
    for i in range(len(root)):
        at = i * (i + 1) // 2
        for j in range(i):
            reduce_row(low, at + j, low, at, low, j * (j + 1) // 2, j, root, j)
        reduce_row(low, at + i, low, at, low, at, i, one, 0)
        inverse, pivot = root[i], low[at + i]
        for lane in range(len(pivot)):
            inverse[lane] = 1 / np.sqrt(pivot[lane])
        reduce_row(value, i, low, at, value, 0, i, root, i)


@njit(cache=True, nogil=True, error_model="numpy")
def _solve(precision, shift, lanes):  # type: ignore[no-untyped-def]
    """`solve_packed` of columns: precisions (P, n), whose inverses are columns, too."""
    n, order = shift.shape
    size, kind = precision.shape[0], precision.dtype
    mean = np.empty((n, order), kind)
    cov = np.empty_like(precision)
    log_det = np.empty(n)
    low = np.empty((size, lanes), kind)  # L, row by row; in the end the inverse's upper triangle
    up = np.empty((size, lanes), kind)  # V, column by column: the upper triangle of V^T
    root = np.empty((order, lanes), kind)  # inverses of L's diagonal
    value, answer = np.empty((order, lanes), kind), np.empty((order, lanes), kind)
    one, minus = np.empty((1, lanes), kind), np.empty((1, lanes), kind)
    one[:, :], minus[:, :] = 1, -1
    for first in range(0, n, lanes):
        used = min(lanes, n - first)
        _load(precision, first, used, low)
        _load_rows(shift, first, used, value)
        _factorise(low, root, value, one)
        up[:, :] = 0
        at = 0
        for j in range(order):
            diagonal, inverse = up[at], root[j]
            for lane in range(lanes):  # an assignment of the row takes numba 2 s to compile
                diagonal[lane] = inverse[lane]
            for i in range(j + 1, order):
                reduce_row(up, at + i - j, low, i * (i + 1) // 2 + j, up, at, i - j, root, i)
            at += order - j
        low[:, :] = 0
        answer[:, :] = 0
        at, p = 0, 0
        for k in range(order):
            there = at
            for m in range(k, order):
                reduce_row(low, p, up, at + m - k, up, there, order - m, minus, 0)
                there += order - m
                p += 1
            reduce_row(answer, k, up, at, value, k, order - k, minus, 0)
            at += order - k
        for p in range(size):
            x, found = low[p], cov[p, first : first + used]
            for lane in range(used):
                found[lane] = x[lane]
        for lane in range(used):
            for k in range(order):
                mean[first + lane, k] = answer[k, lane]
            total = 0.0
            for start in range(0, order, _LOGS):
                product = 1.0
                for k in range(start, min(start + _LOGS, order)):
                    product *= root[k, lane]
                total += np.log(product)
            log_det[first + lane] = 2.0 * total
    return mean, cov, log_det


def solve_packed(precision: Reals, shift: Reals) -> tuple[Reals, Reals, Floats]:
    """Mean (n, K), covariance (n, P) and its log determinant (n,) of packed systems.

    Precisions (n, P) are packed upper triangles of positive definite matrices, best in Fortran's
    order, where entry p of neighbouring systems is in neighbouring places; the covariances are in
    that order. The log determinant is NaN where a matrix is not positive definite.

    All computations are in the precision of the input. Cholesky's errors do not depend on the units
    of the unknowns, and apart from units the systems of a fit are well conditioned: single
    precision leaves six digits.
    """
    given = np.ascontiguousarray(precision.T), np.ascontiguousarray(shift)
    mean, cov, log_det = _solve(*given, lanes_of(shift))
    return mean, cov.T, log_det


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _draw(precision, shift, noise, lanes):  # type: ignore[no-untyped-def]
    """`draw_packed` of columns: precisions (P, n)."""
    n, order = shift.shape
    kind = precision.dtype
    out = np.empty((n, order), kind)
    low = np.empty((precision.shape[0], lanes), kind)
    root = np.empty((order, lanes), kind)
    value, eps = np.empty((order, lanes), kind), np.empty((order, lanes), kind)
    one = np.empty((1, lanes), kind)
    one[:, :] = 1
    for first in range(0, n, lanes):
        used = min(lanes, n - first)
        _load(precision, first, used, low)
        _load_rows(shift, first, used, value)
        _load_rows(noise, first, used, eps)
        _factorise(low, root, value, one)
        value += eps
        # Entry k of L^-T, then what it takes from the entries above.
        for k in range(order - 1, -1, -1):
            x, inverse, at = value[k], root[k], k * (k + 1) // 2
            for lane in range(lanes):
                x[lane] *= inverse[lane]
            for m in range(k):
                total, c = value[m], low[at + m]
                for lane in range(lanes):
                    total[lane] -= c[lane] * x[lane]
        for lane in range(used):
            for k in range(order):
                out[first + lane, k] = value[k, lane]
    return out


def draw_packed(precision: Reals, shift: Reals, noise: Reals) -> Reals:
    """Draws (n, K) from the laws of `solve_packed`, by standard normal noise (n, K).

    A row whose matrix is not positive definite begins with a non-finite number.
    """
    columns = np.ascontiguousarray(precision.T)
    given = np.ascontiguousarray(shift), np.ascontiguousarray(noise)
    return np.asarray(_draw(columns, *given, lanes_of(shift)))
