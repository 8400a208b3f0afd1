"""Independent multivariate normals, one per row, with packed covariances.

In natural form a row has density ``exp(-x^T P x / 2 + h^T x)``; its mean is ``P^-1 h`` and its
covariance ``P^-1``. Factor scores z_n, loadings a_i and classifier coefficients beta are all rows
of this distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.noise import fill_normal
from rankfactor.kernels.packed import (
    add_outer,
    append_one,
    diagonal_positions,
    pack,
    packed_order,
    packed_size,
    packed_transform,
    pair_weights,
    unpack,
)
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_rows
from rankfactor.kernels.solve import draw_packed, solve_packed
from rankfactor.typing import Floats, Index, Reals

_ROWS = 4096  # rows whose covariances are transformed together
# Rounding error of a precision: of its own type or of single precision if that was summed.
_RIDGES = (float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps), 1e-5)
_SMALL = 32  # order up to which one product with packed covariances is faster


@dataclass(frozen=True)
class Normal:
    """Rows of independent K-dimensional normals.

    Covariances are packed, P = K (K + 1) / 2; in single precision for the many rows of a large fit.
    Fits keep them in Fortran's order (`rankfactor.laws.products`); any other order works.
    """

    mean: Floats  # (n, K)
    cov: Reals  # (n, P)
    log_det: Floats  # (n,): of the covariances

    @classmethod
    def from_natural(cls, precision: Reals, shift: Reals) -> Normal:
        """Law with packed precision (n, P) and shift (n, K), computed in their precision."""
        mean, cov, log_det = solve_packed(precision, shift)
        for size in _RIDGES:
            bad = ~np.isfinite(log_det)
            if not bad.any():
                break
            ridged = _ridged(precision[bad], size)
            mean[bad], cov[bad], log_det[bad] = solve_packed(ridged, shift[bad])
        return cls(mean.astype(np.float64, copy=False), cov, log_det)

    @classmethod
    def draw_natural(cls, precision: Reals, shift: Reals, stream: Stream, first: int = 0) -> Normal:
        """`draw` of `from_natural`, without the law itself: a third of the work, other numbers."""
        order = shift.shape[1]
        noise = np.empty(shift.shape)
        fill_normal(stream.word, first * order, noise.reshape(-1))
        noise = noise.astype(shift.dtype, copy=False)
        mean = draw_packed(precision, shift, noise)
        for size in _RIDGES:
            bad = ~np.isfinite(mean[:, 0])
            if not bad.any():
                break
            mean[bad] = draw_packed(_ridged(precision[bad], size), shift[bad], noise[bad])
        return cls.certain(mean.astype(np.float64, copy=False), precision.dtype)

    @classmethod
    def certain(cls, mean: Floats, kind: Any = np.float64) -> Normal:
        """Distribution without variance, such as a draw.

        Its covariances, of precision ``kind``, are a single broadcast zero that takes no memory;
        ``log_det`` is set to zero, so its entropy is meaningless.
        """
        n, order = mean.shape
        return cls(mean, _nothing(n, packed_size(order), kind), np.zeros(n))

    @classmethod
    def isotropic(cls, mean: Floats, variance: float, kind: Any = np.float64) -> Normal:
        """Law with the given means (n, K) and covariance ``variance`` times the identity.

        ``kind`` is the precision of the covariances.
        """
        n, order = mean.shape
        cov = np.zeros((packed_size(order), n), kind).T
        cov[:, diagonal_positions(order)] = variance
        return cls(mean, cov, np.full(n, order * np.log(variance)))

    @classmethod
    def joined(cls, parts: Sequence[Normal]) -> Normal:
        """Rows of several laws, one after another."""
        return cls(
            np.concatenate([part.mean for part in parts]),
            np.concatenate([part.cov for part in parts]),
            np.concatenate([part.log_det for part in parts]),
        )

    def flipped(self, sign: Floats) -> Normal:
        """Law of ``sign`` (n,) times the rows; signs do not change a covariance."""
        return Normal(self.mean * sign[:, None], self.cov, self.log_det)

    @property
    def order(self) -> int:
        """Dimension K of a row."""
        return int(self.mean.shape[1])

    @property
    def is_certain(self) -> bool:
        """Whether this was made by `certain`; one with its own zeros was not."""
        return not any(self.cov.strides)

    @property
    def variance(self) -> Reals:
        """Marginal variances, shape (n, K)."""
        return self.cov[:, diagonal_positions(self.order)]

    @property
    def second(self) -> Floats:
        """E[x x^T], packed, shape (n, P)."""
        return np.asarray(add_outer(self.mean, np.ascontiguousarray(self.cov)))

    @property
    def squares(self) -> Floats:
        """E[x^2], shape (n, K)."""
        squares = self.mean * self.mean
        if not self.is_certain:
            squares += self.variance
        return np.asarray(squares)

    def draw(self, stream: Stream, first: int = 0) -> Normal:
        """One draw of every row, as a law without variance.

        It can be used like a distribution: its ``second`` is then ``x x^T`` itself. Row i has the
        index ``first + i`` in the stream.
        """
        mean = np.asarray(draw_rows(self.mean, np.ascontiguousarray(self.cov), stream.word, first))
        return Normal.certain(mean, self.cov.dtype)

    def second_products(self, packed: Reals) -> Floats:
        """Inner products of E[x x^T] with packed symmetric matrices (n, P), shape (n,)."""
        return np.asarray(np.einsum("ip,ip,p->i", self.second, packed, pair_weights(self.order)))

    def take(self, rows: Index) -> Normal:
        """Some of the rows."""
        return Normal(self.mean[rows], self.cov[rows], self.log_det[rows])

    def with_one(self) -> Normal:
        """Law of (x, 1); the constant adds nothing to ``log_det``."""
        if self.is_certain:
            longer = np.ones((len(self.mean), self.order + 1))
            longer[:, :-1] = self.mean
            return Normal.certain(longer, self.cov.dtype)
        mean, cov = append_one(self.mean, self.cov)
        return Normal(np.asarray(mean, np.float64), cov, self.log_det)

    def reordered(self, order: NDArray[np.int64], sign: Floats) -> Normal:
        """Law of the coordinates ``sign * x[order]``."""
        # In C order, as read from a model file: rounding of products depends on it.
        mean = np.ascontiguousarray(self.mean[:, order] * sign)
        if self.is_certain:
            return Normal.certain(mean)
        first, second = np.triu_indices(self.order)
        old_first = np.minimum(order[first], order[second])
        old_second = np.maximum(order[first], order[second])
        positions = diagonal_positions(self.order)[old_first] + old_second - old_first
        cov = self.cov[:, positions] * (sign[first] * sign[second])
        return Normal(mean, cov, self.log_det)

    def transformed(self, matrix: Floats) -> Normal:
        """Law of the coordinates ``x @ matrix``, where the matrix (K, K) is invertible."""
        mean = self.mean @ matrix
        if self.is_certain or not self.cov.any():  # a draw has no covariance
            return Normal.certain(mean)
        log_det = self.log_det + 2 * np.linalg.slogdet(matrix)[1]
        if np.count_nonzero(matrix) == len(matrix):  # order, sign and unit
            order = np.abs(matrix).argmax(axis=0)
            moved = self.reordered(order, matrix[order, np.arange(len(order))])
            return Normal(mean, moved.cov.astype(self.cov.dtype, copy=False), log_det)
        cov = np.empty_like(self.cov)
        factor = packed_transform(matrix) if self.order <= _SMALL else None
        for first in range(0, len(mean), _ROWS):
            rows = slice(first, first + _ROWS)
            if factor is None:
                cov[rows] = pack(matrix.T @ unpack(self.cov[rows]) @ matrix)
            else:
                cov[rows] = self.cov[rows] @ factor  # in double precision
        return Normal(mean, cov, log_det)

    def put(self, rows: Index, part: Normal) -> None:
        """Overwrite some of the rows in place."""
        self.mean[rows], self.log_det[rows] = part.mean, part.log_det
        if self.is_certain and part.is_certain:
            return
        if self.is_certain:  # until now
            object.__setattr__(self, "cov", np.zeros(self.cov.shape, self.cov.dtype))
        self.cov[rows] = part.cov

    def copy(self) -> Normal:
        """Distribution with separate arrays."""
        cov = self.cov if self.is_certain else self.cov.copy("K")
        return Normal(self.mean.copy(), cov, self.log_det.copy())

    def entropy(self) -> float:
        """Sum of the rows' differential entropies."""
        n, order = self.mean.shape
        return float(0.5 * (n * order * (1.0 + np.log(2 * np.pi)) + self.log_det.sum()))


def _nothing(n: int, size: int, kind: Any) -> Reals:
    """One zero that is seen everywhere, shape (n, size); `numpy.broadcast_to` takes far longer."""
    seen = np.ndarray((n, size), kind, np.zeros(1, kind), 0, (0, 0))
    seen.flags.writeable = False
    return seen


def dual(matrix: Floats, order: int) -> Floats:
    """Matrix for rows (n, order) if scores are multiplied by a matrix (K, K).

    Its inverse, transposed, so that ``a . z`` stays; an intercept at the end of the rows stays.
    """
    return with_intercept(np.asarray(np.linalg.inv(matrix).T, np.float64), order)


def with_intercept(matrix: Floats, order: int) -> Floats:
    """A matrix (K, K) for the rows of an order that may end in an intercept, which stays."""
    full = np.eye(order)
    full[: len(matrix), : len(matrix)] = matrix
    return full


def _ridged(precision: Reals, size: float) -> Reals:
    """Precisions that rounding made indefinite, with a ridge on the diagonal.

    The ridge has the size of that rounding: the smallest change that restores a valid precision. It
    is in proportion to each entry, like rounding: those of a horseshoe differ by many powers of
    ten.
    """
    ridged = precision.copy()
    positions = diagonal_positions(packed_order(precision.shape[1]))
    ridged[:, positions] *= 1 + 100 * packed_order(precision.shape[1]) * size
    return ridged
