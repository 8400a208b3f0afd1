"""Products of rows and columns: moments of ``w = a . z`` in working precision.

    E[w] = E[a] . E[z],     Var(w) = <E[a] E[a]^T, Cov z> + <Cov a, E[z z^T]>

The variance is a sum of positive terms, whereas ``E[w^2] - E[w]^2`` loses digits, so single
precision is enough; a fit's large matrix products all begin here and take half the time in it. Rows
and columns are laid out for these products once, and used many times.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.packed import Floats, add_outer, pair_weights
from rankfactor.laws.normal import Normal

Reals = NDArray[np.floating[Any]]


@dataclass(frozen=True)
class Rows:
    """Laws of rows a_i, shape (d, K), as products need them.

    Attributes
    ----------
    mean : array, shape (d, K)
    second : array, shape (d, P)
        E[a a^T].
    outer, cov : array, shape (d, P)
        E[a] E[a]^T and Cov(a) with off-diagonal entries doubled, or empty without variances.
    """

    mean: Reals
    second: Reals
    outer: Reals
    cov: Reals

    @classmethod
    def of(cls, law: Normal, kind: Any, variance: bool = True) -> Self:
        """Laws in the precision ``kind``."""
        second = law.second.astype(kind)
        if not variance:
            nothing = np.empty((0, 0), kind)
            return cls(law.mean.astype(kind), second, nothing, nothing)
        weights = pair_weights(law.order)
        outer = add_outer(law.mean, np.zeros_like(law.cov)) * weights
        return cls(
            law.mean.astype(kind), second, outer.astype(kind), (law.cov * weights).astype(kind)
        )

    def take(self, rows: slice) -> Rows:
        """Some of the rows."""
        return Rows(*(getattr(self, field.name)[rows] for field in fields(self)))


@dataclass(frozen=True)
class Columns:
    """Laws of columns z_n, shape (N, K), as products need them.

    Attributes
    ----------
    mean : array, shape (N, K)
    second, cov : array, shape (N, P)
        E[z z^T] and Cov(z).
    """

    mean: Reals
    second: Reals
    cov: Reals

    @classmethod
    def of(cls, law: Normal, kind: Any) -> Self:
        """Laws in the precision ``kind``."""
        return cls(law.mean.astype(kind), law.second.astype(kind), law.cov.astype(kind))


def multiply(rows: Rows, columns: Columns, variance: bool) -> tuple[Any, Any]:
    """Mean and variance of w for every row and column, each of shape (rows, columns).

    The variance is empty unless ``variance`` is true.
    """
    w = rows.mean @ columns.mean.T
    if not variance:
        return w, np.empty((0, 0), w.dtype)
    var_w = rows.outer @ columns.cov.T
    var_w += rows.cov @ columns.second.T
    return w, np.maximum(var_w, 0, out=var_w)


def product_moments(rows: Normal, columns: Normal, variance: bool = True) -> tuple[Floats, Floats]:
    """`multiply` for a few laws, in double precision."""
    kind = np.float64
    return multiply(Rows.of(rows, kind, variance), Columns.of(columns, kind), variance)
