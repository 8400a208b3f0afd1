"""Many small symmetric systems at once.

For every row n: mean ``m = P^-1 h``, covariance ``P^-1`` and ``log det P^-1`` from a packed
precision P (K x K) and a shift h. By Cholesky, P = U^T U; then V = U^-T, row by row, and V^T V.

A draw of N(P^-1 h, P^-1) needs no inverse: for standard normal e, ``x = U^-1 (U^-T h + e)`` has the
mean U^-1 U^-T h = P^-1 h and the covariance U^-1 U^-T = P^-1, at a third of the work.

Many systems are laid side by side, and every step is one on a whole row of lanes at unit
stride. Sums are taken term by term into their places (the outer-product form of each step), never
over a running total, because only then is a lane's work independent of the last: the compiler
turns such loops into vector instructions, which it cannot do for one K x K system.
"""

import numpy as np
from numba import njit

from rankfactor.kernels.packed import Floats, Reals

# Bytes of a row of lanes: enough for the checks before a vector loop to be worth their while, and
# few enough for the cache. Fewer systems are made up to a whole vector.
WIDTH, VECTOR = 256, 8


def lanes_of(systems: Reals) -> int:
    """How many of some systems, given as rows, are laid side by side."""
    return min(WIDTH // systems.itemsize, -(-max(len(systems), 1) // VECTOR) * VECTOR)


@njit(cache=True, nogil=True)
def _load(rows, first, used, lanes):  # type: ignore[no-untyped-def]
    """Lay some rows side by side; lanes past the last repeat it, so that they stay finite."""
    for p in range(lanes.shape[0]):
        x = lanes[p]
        for lane in range(used):
            x[lane] = rows[first + lane, p]
        for lane in range(used, len(x)):
            x[lane] = x[used - 1]


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _factorise(up, root):  # type: ignore[no-untyped-def]
    """Cholesky factors U in place of packed P, shape (P, lanes), and inverses of U's diagonal."""
    order, lanes = root.shape
    # Row k of the factor, then what it takes from the rows below.
    at = 0
    for k in range(order):
        inverse, pivot = root[k], up[at]
        for lane in range(lanes):
            inverse[lane] = 1 / np.sqrt(pivot[lane])
        for m in range(order - k):
            x = up[at + m]
            for lane in range(lanes):
                x[lane] *= inverse[lane]
        p = at + order - k
        for i in range(1, order - k):
            a = up[at + i]
            for m in range(i, order - k):
                x, c = up[p], up[at + m]
                for lane in range(lanes):
                    x[lane] -= a[lane] * c[lane]
                p += 1
        at += order - k


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _solve(precision, shift, lanes):  # type: ignore[no-untyped-def]
    """`solve_packed` with a number of lanes: were it a constant, the loops would be unrolled."""
    n, order = shift.shape
    size, kind = precision.shape[1], precision.dtype
    mean = np.empty((n, order), kind)
    cov = np.empty_like(precision)
    log_det = np.empty(n)
    up = np.empty((size, lanes), kind)  # the upper factor, packed; in the end the inverse
    low = np.empty((size, lanes), kind)  # inverse of its transpose: lower triangle, row by row
    root = np.empty((order, lanes), kind)  # inverses of the factor's diagonal
    rhs, answer = np.empty((order, lanes), kind), np.empty((order, lanes), kind)
    for first in range(0, n, lanes):
        used = min(lanes, n - first)
        _load(precision, first, used, up)
        _load(shift, first, used, rhs)
        _factorise(up, root)
        # Row k of the factor's inverse, then what it takes from the rows below.
        low[:, :] = 0
        at = 0
        for k in range(order):
            inverse, here = root[k], k * (k + 1) // 2
            low[here + k] = inverse
            for i in range(k):
                x = low[here + i]
                for lane in range(lanes):
                    x[lane] *= inverse[lane]
            for m in range(k + 1, order):
                a, there = up[at + m - k], m * (m + 1) // 2
                for i in range(k + 1):
                    x, c = low[there + i], low[here + i]
                    for lane in range(lanes):
                        x[lane] -= a[lane] * c[lane]
            at += order - k
        up[:, :] = 0
        for row in range(order):
            here = row * (row + 1) // 2
            for k in range(row + 1):
                at = k * order - k * (k - 1) // 2 - k
                a = low[here + k]
                for m in range(k, row + 1):
                    x, c = up[at + m], low[here + m]
                    for lane in range(lanes):
                        x[lane] += a[lane] * c[lane]
        answer[:, :] = 0
        p = 0
        for k in range(order):
            for m in range(k, order):
                x, c, total = up[p], rhs[m], answer[k]
                for lane in range(lanes):
                    total[lane] += x[lane] * c[lane]
                if m > k:
                    c, total = rhs[k], answer[m]
                    for lane in range(lanes):
                        total[lane] += x[lane] * c[lane]
                p += 1
        for p in range(size):
            for lane in range(used):
                cov[first + lane, p] = up[p, lane]
        for k in range(order):
            for lane in range(used):
                mean[first + lane, k] = answer[k, lane]
        for lane in range(used):
            total_log = 0.0
            for k in range(order):
                total_log += np.log(root[k, lane])
            log_det[first + lane] = 2.0 * total_log
    return mean, cov, log_det


def solve_packed(precision: Reals, shift: Reals) -> tuple[Reals, Reals, Floats]:
    """Solve rows of packed systems, in their own precision.

    Cholesky's errors do not depend on the units of the unknowns, and within them the systems of a
    fit are well conditioned: single precision leaves six digits.

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
    mean, cov, log_det = _solve(precision, shift, lanes_of(shift))
    return mean, cov, log_det


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def _draw(precision, shift, noise, lanes):  # type: ignore[no-untyped-def]
    """`draw_packed` with a number of lanes."""
    n, order = shift.shape
    kind = precision.dtype
    out = np.empty((n, order), kind)
    up = np.empty((precision.shape[1], lanes), kind)
    root = np.empty((order, lanes), kind)
    value, eps = np.empty((order, lanes), kind), np.empty((order, lanes), kind)
    for first in range(0, n, lanes):
        used = min(lanes, n - first)
        _load(precision, first, used, up)
        _load(shift, first, used, value)
        _load(noise, first, used, eps)
        _factorise(up, root)
        # Entry k of U^-T h, then what it takes from the entries below; the noise after that.
        at = 0
        for k in range(order):
            x, inverse, e = value[k], root[k], eps[k]
            for lane in range(lanes):
                x[lane] *= inverse[lane]
            for m in range(k + 1, order):
                total, c = value[m], up[at + m - k]
                for lane in range(lanes):
                    total[lane] -= c[lane] * x[lane]
            for lane in range(lanes):
                x[lane] += e[lane]
            at += order - k
        for k in range(order - 1, -1, -1):
            at -= order - k
            total, inverse = value[k], root[k]
            for m in range(k + 1, order):
                x, c = value[m], up[at + m - k]
                for lane in range(lanes):
                    total[lane] -= c[lane] * x[lane]
            for lane in range(lanes):
                total[lane] *= inverse[lane]
        for k in range(order):
            for lane in range(used):
                out[first + lane, k] = value[k, lane]
    return out


def draw_packed(precision: Reals, shift: Reals, noise: Reals) -> Reals:
    """Draw from the normal laws of packed systems.

    Parameters
    ----------
    precision : array, shape (n, P)
        Packed upper triangles of positive definite matrices.
    shift, noise : array, shape (n, K)
        The noise is standard normal.

    Returns
    -------
    array, shape (n, K)
        A row whose matrix is not positive definite begins with a number that is not finite.
    """
    return np.asarray(_draw(precision, shift, noise, lanes_of(shift)))
