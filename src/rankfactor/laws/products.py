"""Products of rows and columns: moments of ``w = a . z`` in working precision.

    E[w] = E[a] . E[z],     Var(w) = <E[a a^T], Cov z> + <Cov a, E[z] E[z]^T>

The variance is a sum of positive terms, whereas ``E[w^2] - E[w]^2`` loses digits, so single
precision is enough; a fit's large matrix products all begin here and take half the time in it. Rows
and columns are laid out once for these products and used many times: both terms of the variance
are one product of length 2 P, and its first half serves the sums over rows as well.

Packed moments are in Fortran order: entry p of neighbouring laws is contiguous, as in
`rankfactor.kernels.solve`. The layout then takes only long loops.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.packed import (
    add_outer,
    add_outer_columns,
    packed_size,
    pair_weights,
    places,
    unpack,
)
from rankfactor.laws.normal import Normal
from rankfactor.typing import Floats, Reals


@dataclass(frozen=True)
class Rows:
    """Laws of rows a_i, shape (d, K), laid out for products."""

    mean: Reals  # (d, K)
    pairs: Reals  # (d, 2 P): E[a a^T] and Cov(a), packed; without variances (d, P), the former

    @classmethod
    def of(cls, law: Normal, kind: Any, variance: bool = True) -> Self:
        """Laws in the precision ``kind``."""
        n, size = law.cov.shape
        mean = np.ascontiguousarray(law.mean.T, kind)
        pairs = np.empty((2 * size if variance else size, n), kind)
        if variance:
            pairs[size:] = law.cov.T
        cov = pairs[size:] if variance else np.ascontiguousarray(law.cov.T, kind)
        add_outer_columns(mean, None if law.is_certain else cov, pairs[:size])
        return cls(mean.T, pairs.T)

    def take(self, rows: slice) -> Rows:
        """Some of the rows."""
        return Rows(self.mean[rows], self.pairs[rows])

    def sum_second(self, weight: Reals) -> Reals:
        """``sum_i weight_in E[a_i a_i^T]``, packed, shape (n, P), of weights (d, n)."""
        second, n = self.pairs[:, : packed_size(self.mean.shape[1])], weight.shape[1]
        if n > 1 and weight.strides[1] == 0:  # every sample has the same weights
            return np.broadcast_to(weight[:, 0] @ second, (n, second.shape[1]))
        return np.asarray((second.T @ weight).T)


@dataclass(frozen=True)
class Columns:
    """Laws of columns z_n, shape (N, K), laid out for products."""

    mean: Reals  # (N, K)
    second: Reals  # (N, P): E[z z^T], packed
    # (2 P, N): Cov(z) above E[z] E[z]^T, off-diagonal entries doubled; empty without variances
    pairs: Reals

    @classmethod
    def of(cls, law: Normal, kind: Any, variance: bool = True) -> Self:
        """Laws in the precision ``kind``."""
        n, size = law.cov.shape
        mean = np.ascontiguousarray(law.mean.T, kind)
        second = np.empty((size, n), kind)
        add_outer_columns(mean, None, second)
        pairs = np.empty((2 * size, n if variance else 0), kind)
        if variance:
            pairs[:size], pairs[size:] = law.cov.T, second
            pairs *= np.tile(pair_weights(law.order).astype(kind), 2)[:, None]
        if not law.is_certain:
            second += law.cov.T
        return cls(mean.T, second.T, pairs)

    def take(self, columns: slice) -> Columns:
        """Some of the columns."""
        return Columns(self.mean[columns], self.second[columns], self.pairs[:, columns])

    def sum_second(self, weight: Reals) -> Reals:
        """``sum_n weight_in E[z_n z_n^T]``, packed, shape (rows, P), of weights (rows, N)."""
        return np.asarray((self.second.T @ weight.T).T)


@dataclass(frozen=True)
class BareColumns:
    """Laws of columns z_n without a layout, for a few rows."""

    mean: Floats  # (N, K)
    cov: Reals  # (N, P)

    @property
    def second(self) -> Floats:
        """E[z z^T], packed, shape (N, P)."""
        return np.asarray(add_outer(self.mean, np.ascontiguousarray(self.cov)))

    def variances(self, rows: Rows) -> Floats:
        """Var(w), shape (rows, N)."""
        size = self.cov.shape[1]
        found = (rows.pairs[:, :size] * pair_weights(self.mean.shape[1])) @ self.cov.T
        for one, cov in zip(found, unpack(rows.pairs[:, size:]), strict=True):
            one += np.einsum("nk,nk->n", self.mean @ cov, self.mean)
        return found

    def sum_second(self, weight: Floats) -> Floats:
        """``sum_n weight_in E[z_n z_n^T]``, packed, shape (rows, P), of weights (rows, N)."""
        first, last = places(self.mean.shape[1])
        found = weight @ self.cov
        for one, values in zip(found, weight, strict=True):
            one += ((self.mean.T * values) @ self.mean)[first, last]
        return found


AnyColumns = Columns | BareColumns


def sum_over(columns: AnyColumns, seen: NDArray[np.bool_]) -> Reals:
    """Sum of E[z_n z_n^T], packed, over the samples that each row has, of ``seen`` (rows, N)."""
    if seen.all():
        return np.tile(columns.second.sum(axis=0), (len(seen), 1))
    return np.asarray(seen.astype(columns.second.dtype) @ columns.second)


def multiply(rows: Rows, columns: AnyColumns, variance: bool) -> tuple[Any, Any]:
    """Mean and variance of w for every row and column, each of shape (rows, columns).

    The variance is empty unless ``variance`` is true.
    """
    w = rows.mean @ columns.mean.T
    if not variance:
        return w, np.empty((0, 0), w.dtype)
    if isinstance(columns, BareColumns):
        var_w = columns.variances(rows)
    else:
        var_w = rows.pairs @ columns.pairs
    return w, np.maximum(var_w, 0, out=var_w)


def product_moments(rows: Normal, columns: Normal, variance: bool = True) -> tuple[Floats, Floats]:
    """`multiply` for a few laws, in double precision."""
    bare = BareColumns(columns.mean, columns.cov)
    return multiply(Rows.of(rows, np.float64, variance), bare, variance)
