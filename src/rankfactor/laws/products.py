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
from numpy.typing import NDArray

from rankfactor.kernels.packed import Floats, lay_out, packed_size, pair_weights
from rankfactor.laws.normal import Normal

Reals = NDArray[np.floating[Any]]


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
        lay_out(law.mean, law.cov, *_places(law.order), weights, pairs[:, :size], cov, nothing)
        return cls(law.mean.astype(kind), pairs)

    def take(self, rows: slice) -> Rows:
        """Some of the rows."""
        return Rows(self.mean[rows], self.pairs[rows])

    def sum_second(self, weight: Reals) -> Reals:
        """``sum_i weight_in E[a_i a_i^T]``, packed, shape (n, P), of weights (d, n)."""
        order = self.mean.shape[1]
        sums = weight.T @ self.pairs[:, : packed_size(order)]
        # Halving is exact, so the doubled entries cost no digit.
        return np.asarray(np.multiply(sums, _halves(order, sums.dtype.name), out=sums))


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
    def of(cls, law: Normal, kind: Any, variance: bool = True, many: bool = True) -> Self:
        """Laws in the precision ``kind``; ``many`` says whether the rows to come are.

        It pays to turn the pairs for them, since products then run faster.
        """
        n, size = law.cov.shape
        second = np.empty((n, size), kind)
        pairs = np.empty((n if variance else 0, 2 * size), kind)
        cov, outer = pairs[:, :size], pairs[:, size:]
        ones = np.ones(size, kind)
        lay_out(law.mean, law.cov, *_places(law.order), ones, second, cov, outer)
        turned = np.ascontiguousarray(pairs.T) if many else pairs.T
        return cls(law.mean.astype(kind), second, turned)


def multiply(rows: Rows, columns: Columns, variance: bool) -> tuple[Any, Any]:
    """Mean and variance of w for every row and column, each of shape (rows, columns).

    The variance is empty unless ``variance`` is true.
    """
    w = rows.mean @ columns.mean.T
    if not variance:
        return w, np.empty((0, 0), w.dtype)
    var_w = rows.pairs @ columns.pairs
    return w, np.maximum(var_w, 0, out=var_w)


def product_moments(rows: Normal, columns: Normal, variance: bool = True) -> tuple[Floats, Floats]:
    """`multiply` for a few laws, in double precision."""
    kind = np.float64
    turned = Columns.of(columns, kind, variance, many=False)
    return multiply(Rows.of(rows, kind, variance), turned, variance)


@cache
def _places(order: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Row and column of every packed entry, each of shape (P,)."""
    first, last = np.triu_indices(order)
    return first, last


@cache
def _halves(order: int, kind: str) -> Reals:
    """What undoes the doubling of off-diagonal entries, shape (P,)."""
    return np.asarray(1.0 / pair_weights(order), kind)
