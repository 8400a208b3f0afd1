"""Normal prior with an unknown precision per factor or row: automatic relevance determination.

    a_ik ~ N(0, 1/alpha_k),   alpha_k ~ Ga(shape, rate)                  (shape, rate)

Conjugate: with n entries that share an alpha,

    q(alpha) = Ga(shape + n/2, rate + sum E[a^2] / 2),    E[1/xi] = E[alpha].

``scope="factor"`` shares alpha down each column, so a factor that explains nothing is switched off
as a whole (Bishop 1999, Variational principal components); ``scope="row"`` shares it along each
row, one ridge penalty per label. All entries of a column are shrunk equally: no sparsity within it.

When a column or a row is stretched, a^2 by u, its own alpha changes by 1/u, and in the joint
density only the prior of alpha depends on u: ``u^-shape exp(-rate alpha / u)``.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.point import Point, settle
from rankfactor.shrinkage.base import ScopedShrinkage, Stretch
from rankfactor.typing import Floats


@dataclass(frozen=True)
class NormalScales:
    """Law of the precisions, shape (1, K) or (rows, 1), and the shape they broadcast to."""

    alpha: Gamma | Point
    size: tuple[int, int]  # rows, K


@dataclass(frozen=True)
class NormalARD(ScopedShrinkage[NormalScales]):
    """Normal prior of unknown precision.

    Attributes
    ----------
    shape, rate : float
        Prior of a precision; the default is vague.
    scope : {"factor", "row"}
        Whether a precision belongs to a factor (column) or to a row.
    """

    shape: float = 1e-3
    rate: float = 1e-3
    scope: Literal["factor", "row"] = "factor"

    name: ClassVar[str] = "normal"
    phrase: ClassVar[str] = "normal prior with a separate precision for each factor"
    scales: ClassVar[type] = NormalScales

    @property
    def rotation_invariant(self) -> bool:
        """Whether one precision is shared along a row, so that the prior is spherical."""
        return self.scope == "row"

    @property
    def kept_dims(self) -> dict[str, tuple[str, ...]]:
        """The precisions."""
        return {"alpha": (self.scope,)}

    @property
    def kept_powers(self) -> dict[str, int]:
        """Precisions of a factor change by the inverse square of the unit."""
        return {"alpha": -2 if self.scope == "factor" else 0}

    def kept(self, scales: NormalScales) -> dict[str, Floats]:
        """The precisions at a draw."""
        return {"alpha": scales.alpha.mean.ravel()}

    def start(self, n_rows: int, n_factors: int) -> NormalScales:
        """Initial scales: unit precision."""
        one = np.ones((1, n_factors) if self.scope == "factor" else (n_rows, 1))
        return NormalScales(Gamma(one, one), (n_rows, n_factors))

    def update(
        self, scales: NormalScales, squares: Floats, stream: Stream | None = None
    ) -> NormalScales:
        """Scales given E[a^2], shape (rows, K); with a stream, draws of them."""
        shared = squares.shape[self._axis]
        summed = squares.sum(axis=self._axis, keepdims=True)
        law = Gamma(self.shape + 0.5 * shared, self.rate + 0.5 * summed)
        return NormalScales(settle(law, stream, "alpha"), scales.size)

    def precision(self, scales: NormalScales) -> Floats:
        """E[1/xi], shape (rows, K)."""
        return np.broadcast_to(scales.alpha.mean, scales.size)

    def stretch(self, scales: NormalScales, squares: Floats, axis: int = 0) -> Stretch:
        """Density of u; an alpha that others share stays."""
        if axis != self._axis:
            return super().stretch(scales, squares, axis)
        inverse = self.rate * scales.alpha.mean.ravel()
        return Stretch(-self.shape, np.zeros_like(inverse), inverse)

    def stretched(self, scales: NormalScales, u: Floats, axis: int = 0) -> NormalScales:
        """Scales of stretched rows."""
        if axis != self._axis:
            return scales
        return NormalScales(Point(scales.alpha.mean / np.expand_dims(u, axis)), scales.size)

    def bound(self, scales: NormalScales, squares: Floats) -> float:
        """E[log p(a, scales)] - E[log q(scales)] at the squares of the last `update`."""
        alpha = scales.alpha
        assert isinstance(alpha, Gamma)
        entries = alpha.log_mean - np.log(2 * np.pi) - alpha.mean * squares  # (rows, K)
        return 0.5 * float(entries.sum()) + alpha.gain_over(self.shape, self.rate)
