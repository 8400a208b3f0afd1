"""Symmetric K x K matrices as rows of K (K + 1) / 2 numbers: the upper triangle, row by row.

A sum over samples of ``tau_n E[z_n z_n^T]`` is then one matrix product with half the columns, and
the inner product of two symmetric matrices is a dot product once the off-diagonal entries of one
of them are doubled (`pair_weights`).
"""

from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Reals = NDArray[np.floating[Any]]  # in working precision


def packed_size(order: int) -> int:
    """Length of the packed upper triangle of an ``order`` x ``order`` matrix."""
    return order * (order + 1) // 2


def packed_order(size: int) -> int:
    """Order K of the matrices whose packed length is ``size``."""
    return (int(np.sqrt(8 * size + 1)) - 1) // 2


def diagonal_positions(order: int) -> NDArray[np.int64]:
    """Positions of the diagonal entries within a packed row, shape (K,)."""
    k = np.arange(order)
    return k * order - k * (k - 1) // 2


def pair_weights(order: int) -> Floats:
    """1 at diagonal entries and 2 elsewhere: the weights of an inner product, shape (P,)."""
    weights = np.full(packed_size(order), 2.0)
    weights[diagonal_positions(order)] = 1.0
    return weights


@cache
def places(order: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and column of every packed entry, each of shape (P,)."""
    first, last = np.triu_indices(order)
    return first, last


def unpack(packed: Reals) -> Floats:
    """Full symmetric matrices, shape (n, K, K), of packed rows, shape (n, P)."""
    order = packed_order(packed.shape[1])
    upper = places(order)
    full = np.empty((len(packed), order, order))
    full[:, upper[0], upper[1]] = packed
    full[:, upper[1], upper[0]] = packed
    return full


def pack(full: Floats) -> Floats:
    """Packed rows, shape (n, P), of symmetric matrices, shape (n, K, K)."""
    upper = places(full.shape[1])
    return np.ascontiguousarray(full[:, upper[0], upper[1]])


@njit(cache=True, nogil=True)
def add_outer(mean, packed):  # type: ignore[no-untyped-def]
    """``packed + mean mean^T`` for every row: second moments from means (n, K) and covariances."""
    n, order = mean.shape
    second = np.empty_like(packed)
    for i in range(n):
        p = 0
        for k in range(order):
            for m in range(k, order):
                second[i, p] = packed[i, p] + mean[i, k] * mean[i, m]
                p += 1
    return second


@njit(cache=True, nogil=True)
def times(packed, x):  # type: ignore[no-untyped-def]
    """Symmetric matrices, packed (n, P), times a vector each, shape (n, K)."""
    n, order = x.shape
    product = np.zeros_like(x)
    for i in range(n):
        p = 0
        for k in range(order):
            product[i, k] += packed[i, p] * x[i, k]
            p += 1
            for m in range(k + 1, order):
                product[i, k] += packed[i, p] * x[i, m]
                product[i, m] += packed[i, p] * x[i, k]
                p += 1
    return product


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def lay_out(mean, packed, first, last, weights, second, cov, outer):  # type: ignore[no-untyped-def]
    """Moments of every row in the precision of the arrays to fill, times ``weights`` (P,).

    Parameters
    ----------
    mean : array, shape (n, K)
    packed : array, shape (n, P)
        Covariances.
    first, last : int array, shape (P,)
        Row and column of every packed entry. Looking the two means up makes one long loop, which
        becomes vector instructions; the K short ones of `add_outer` do not.
    second, cov, outer : array, shape (n, P)
        Filled with E[x x^T], Cov(x) and E[x] E[x]^T; one without rows is left out.
    """
    n, order = mean.shape
    size = len(first)
    x = np.empty(order, second.dtype)
    for i in range(n):
        for k in range(order):
            x[k] = mean[i, k]
        for p in range(size):
            second[i, p] = weights[p] * (second.dtype.type(packed[i, p]) + x[first[p]] * x[last[p]])
        if len(cov):
            for p in range(size):
                cov[i, p] = weights[p] * second.dtype.type(packed[i, p])
        if len(outer):
            for p in range(size):
                outer[i, p] = weights[p] * x[first[p]] * x[last[p]]


@njit(cache=True, nogil=True)
def append_one(mean, packed):  # type: ignore[no-untyped-def]
    """Moments of (z, 1): the constant makes a row's last entry an intercept."""
    n, order = mean.shape
    mean_one = np.ones((n, order + 1), mean.dtype)
    packed_one = np.zeros((n, (order + 1) * (order + 2) // 2), packed.dtype)
    for i in range(n):
        p, q = 0, 0
        for k in range(order):
            mean_one[i, k] = mean[i, k]
            for _ in range(k, order):
                packed_one[i, q] = packed[i, p]
                p += 1
                q += 1
            q += 1
    return mean_one, packed_one
