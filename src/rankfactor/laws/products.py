"""Products of rows and columns: moments of ``w = a . z`` in working precision.

    E[w] = E[a] . E[z],     Var(w) = <E[a a^T], Cov z> + <Cov a, E[z] E[z]^T>

The variance is a sum of positive terms, whereas ``E[w^2] - E[w]^2`` loses digits, so single
precision is enough; a fit's large matrix products all begin here and take half the time in it. Rows
and columns are laid out for these products once, and used many times: both terms of the variance
are one product of length 2 P, and its first half serves the sums over rows as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np

from rankfactor.kernels.packed import (
    Floats,
    Reals,
    add_outer,
    lay_out,
    packed_size,
    pair_weights,
    places,
    unpack,
)
from rankfactor.laws.normal import Normal

_PART = 2048  # columns laid out at once


@dataclass(frozen=True)
class Rows:
    """Laws of rows a_i, shape (d, K), as products need them.

    Attributes
    ----------
    mean : array, shape (d, K)
    pairs : array, shape (d, 2 P)
        E[a a^T] and Cov(a), packed side by side, off-diagonal entries doubled; without variances
        only the former.
    """

    mean: Reals
    pairs: Reals

    @classmethod
    def of(cls, law: Normal, kind: Any, variance: bool = True) -> Self:
        """Laws in the precision ``kind``."""
        n, size = law.cov.shape
        pairs = np.empty((n, 2 * size if variance else size), kind)
        nothing = pairs[:0]
        cov = pairs[:, size:] if variance else nothing
        weights = pair_weights(law.order).astype(kind)
        lay_out(law.mean, law.cov, *places(law.order), weights, pairs[:, :size], cov, nothing)
        return cls(law.mean.astype(kind), pairs)

    def take(self, rows: slice) -> Rows:
        """Some of the rows."""
        return Rows(self.mean[rows], self.pairs[rows])

    def sum_second(self, weight: Reals) -> Reals:
        """``sum_i weight_in E[a_i a_i^T]``, packed, shape (n, P), of weights (d, n)."""
        order = self.mean.shape[1]
        sums = weight.T @ self.pairs[:, : packed_size(order)]
        # Halving is exact, so the doubled entries cost no digit.
        return np.asarray(np.multiply(sums, _halves(order, sums.dtype.char), out=sums))


@dataclass(frozen=True)
class Columns:
    """Laws of columns z_n, shape (N, K), as products need them.

    Attributes
    ----------
    mean : array, shape (N, K)
    second : array, shape (N, P)
        E[z z^T], packed.
    pairs : array, shape (2 P, N)
        Cov(z) and E[z] E[z]^T, one above the other; empty without variances.
    """

    mean: Reals
    second: Reals
    pairs: Reals

    @classmethod
    def of(cls, law: Normal, kind: Any, variance: bool = True) -> Self:
        """Laws in the precision ``kind``."""
        n, size = law.cov.shape
        second = np.empty((n, size), kind)
        pairs = np.empty((2 * size, n if variance else 0), kind)
        where, ones = places(law.order), np.ones(size, kind)
        for first in range(0, n, _PART):
            some = slice(first, first + _PART)
            mean, covariance = law.mean[some], law.cov[some]
            part = np.empty((len(mean) if variance else 0, 2 * size), kind)
            cov, outer = part[:, :size], part[:, size:]
            lay_out(mean, covariance, *where, ones, second[some], cov, outer)
            if variance:
                pairs[:, some] = part.T  # turned, because products then run faster
        return cls(law.mean.astype(kind), second, pairs)

    def sum_second(self, weight: Reals) -> Reals:
        """``sum_n weight_in E[z_n z_n^T]``, packed, shape (rows, P), of weights (rows, N)."""
        return np.asarray(weight @ self.second)


@dataclass(frozen=True)
class BareColumns:
    """Laws of columns z_n as they are, for a few rows, which would not repay a layout.

    Attributes
    ----------
    mean : array, shape (N, K)
    cov : array, shape (N, P)
    """

    mean: Floats
    cov: Reals

    @property
    def second(self) -> Floats:
        """E[z z^T], packed, shape (N, P)."""
        return np.asarray(add_outer(self.mean, self.cov))

    def variances(self, rows: Rows) -> Floats:
        """Var(w), shape (rows, N)."""
        size = self.cov.shape[1]
        found = rows.pairs[:, :size] @ self.cov.T
        for one, cov in zip(
            found, _unpacked(rows.pairs[:, size:], self.mean.shape[1]), strict=True
        ):
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


def _unpacked(doubled: Reals, order: int) -> Floats:
    """Symmetric matrices (n, K, K) of packed rows with their off-diagonal entries doubled."""
    return unpack(np.asarray(doubled * _halves(order, "d"), np.float64))


@cache
def _halves(order: int, kind: str) -> Reals:
    """What undoes the doubling of off-diagonal entries, shape (P,); ``kind`` is NumPy's letter."""
    return np.asarray(1.0 / pair_weights(order), kind)
