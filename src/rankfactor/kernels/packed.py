"""Symmetric K x K matrices as rows of K (K + 1) / 2 numbers: the upper triangle, row by row.

A sum over samples of ``tau_n E[z_n z_n^T]`` is then one matrix product with half the columns, and
the inner product of two symmetric matrices is a dot product once the off-diagonal entries of one
of them are doubled (`pair_weights`).
"""

from functools import cache

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankfactor.typing import Floats, Reals


def packed_size(order: int) -> int:
    """Length of the packed upper triangle of an ``order`` x ``order`` matrix."""
    return order * (order + 1) // 2


def packed_order(size: int) -> int:
    """Order K of the matrices whose packed length is ``size``."""
    return (int(np.sqrt(8 * size + 1)) - 1) // 2


@cache
def diagonal_positions(order: int) -> NDArray[np.int64]:
    """Positions of the diagonal entries within a packed row, shape (K,)."""
    k = np.arange(order)
    return k * order - k * (k - 1) // 2


def packed_diagonal(values: Floats, order: int) -> Floats:
    """Values (n,) times the identity, packed, shape (n, P), in Fortran's order."""
    packed = np.zeros((packed_size(order), len(values))).T
    packed[:, diagonal_positions(order)] = values[:, None]
    return packed


@cache
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


def pair_places(order: int) -> NDArray[np.int64]:
    """Position of every pair (k, m) within a packed row, shape (order, order)."""
    place = np.zeros((order, order), np.int64)
    first, last = places(order)
    place[first, last] = place[last, first] = np.arange(len(first))
    return place


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


def packed_transform(matrix: Floats) -> Floats:
    """Matrix that maps packed rows of matrices C to ``F^T C F``, shape (P, P).

    ``F`` is the matrix given, shape (K, K).
    """
    first, last = places(len(matrix))
    rows, columns = np.ix_(first, first), np.ix_(last, last)
    both = matrix[rows] * matrix[columns]
    swapped = matrix[np.ix_(last, first)] * matrix[np.ix_(first, last)]
    return np.asarray(both + np.where(first == last, 0.0, 1.0)[:, None] * swapped)


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


@njit(cache=True, nogil=True, error_model="numpy")
def _times(columns, x):  # type: ignore[no-untyped-def]
    """`times` of columns: matrices (P, n) and vectors (K, n)."""
    order, n = x.shape
    product = np.zeros_like(x)
    p = 0
    for k in range(order):
        for m in range(k, order):
            for i in range(n):
                product[k, i] += columns[p, i] * x[m, i]
            if m > k:
                for i in range(n):
                    product[m, i] += columns[p, i] * x[k, i]
            p += 1
    return product


def times(packed: Floats, x: Floats) -> Floats:
    """Symmetric matrices, packed (n, P), times a vector each, shape (n, K)."""
    return np.asarray(_times(np.ascontiguousarray(packed.T), np.ascontiguousarray(x.T)).T)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def add_outer_columns(mean, cov, second):  # type: ignore[no-untyped-def]
    """`add_outer` of laws side by side: means (K, n), packed covariances and second moments (P, n).

    Laws without variance have None for their covariances. Every step works on n contiguous numbers
    and is vectorised.
    """
    order, n = mean.shape
    p = 0
    for k in range(order):
        for m in range(k, order):
            x, y, out = mean[k], mean[m], second[p]
            for i in range(n):
                out[i] = x[i] * y[i] if cov is None else cov[p, i] + x[i] * y[i]
            p += 1


def append_one(mean: Reals, packed: Reals) -> tuple[Reals, Reals]:
    """Moments of (z, 1): the constant makes a row's last entry an intercept."""
    n, order = mean.shape
    mean_one = np.ones((n, order + 1), mean.dtype)
    mean_one[:, :order] = mean
    first, last = places(order + 1)
    columns = np.zeros((len(first), n), packed.dtype)
    columns[last < order] = packed.T
    return mean_one, columns.T
