"""Base classes of the priors of the factor scores.

A `Latent` is a frozen dataclass of hyper-parameters. Its state during a fit, for given samples, is
a `ScorePrior`: a normal prior of the scores, which may learn from them. It is immutable; a step
returns a new one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from rankfactor.errors import InputError
from rankfactor.kernels.packed import packed_transform
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.parts import Part
from rankfactor.typing import Floats, Index


class ScorePrior(ABC):
    """The current prior of some samples' scores; a prior that learns nothing stays itself."""

    @abstractmethod
    def natural(self, n_samples: int, n_factors: int) -> tuple[Floats, Floats]:
        """Packed precision (n, P) and shift (n, K) of its samples, in separate arrays."""

    def law(self, n_samples: int, n_factors: int) -> Normal:
        """The same as a law, (n, K): where an encoding starts."""
        return Normal.from_natural(*self.natural(n_samples, n_factors))

    @abstractmethod
    def bound(self, z: Normal) -> float:
        """E[log p(z)] - E[log q(z)], including the learned parameters of the prior."""

    def take(self, samples: Index) -> Self:
        """The prior of some of the samples."""
        return self

    def fresh(self, n_samples: int) -> Self:
        """The prior of unknown samples."""
        return self

    def assign(
        self,
        z: Normal,
        evidence: Floats | None = None,
        stream: Stream | None = None,
        first: int = 0,
    ) -> Self:
        """The prior after updating its state of each sample to the scores (n, K).

        ``evidence`` (n, T) is further knowledge of the samples, as log probabilities. With a
        stream, draws replace distributions; sample i has the index ``first + i`` in it.
        """
        return self

    def update(self, z: Normal, stream: Stream | None = None) -> Self:
        """The prior after updating its global parameters to the scores."""
        return self

    @property
    def n_used(self) -> int:
        """Number of components in use among its samples; 0 if there are none."""
        return 0

    def transformed(self, matrix: Floats) -> ScorePrior:
        """The prior of the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        return InBasis(self, np.eye(len(matrix))).transformed(matrix)

    def turned(self, matrix: Floats) -> Self:
        """The prior of the scores ``z @ matrix``, where the matrix (K, K) is orthogonal.

        A draw of a prior takes any matrix of determinant 1.
        """
        return self

    def moment(self, z: Normal) -> Floats:
        """S (K, K): scores ``z @ M`` have the log density ``-tr(M^T S M) / 2``, up to a constant.

        M has determinant 1, and learned centres are transformed as well (`turned`).
        """
        raise InputError(f"{type(self).__name__} cannot be sampled: define `moment`.")

    def location(self, z: Normal) -> tuple[float, Floats]:
        """Precision and shift (K,) of the law of a vector that is added to all scores (N, K).

        Learned centres are moved as well (`moved`).
        """
        raise InputError(f"{type(self).__name__} cannot be sampled: define `location`.")

    def moved(self, by: Floats) -> Self:
        """A drawn prior of scores to which a vector (K,) was added."""
        return self

    def draw(self, stream: Stream) -> Self:
        """One draw of all that is learned, as laws without variance."""
        return self


@dataclass(frozen=True)
class InBasis(ScorePrior):
    """A prior of scores in other coordinates: ``z @ basis`` has the law of ``inner``."""

    inner: ScorePrior
    basis: Floats  # (K, K)

    @cached_property
    def _precision_factor(self) -> Floats:
        return packed_transform(self.basis.T)

    def natural(self, n_samples: int, n_factors: int) -> tuple[Floats, Floats]:
        """Packed precision (n, P) and shift (n, K) of its samples, in separate arrays."""
        precision, shift = self.inner.natural(n_samples, n_factors)
        return precision @ self._precision_factor, shift @ self.basis.T

    def bound(self, z: Normal) -> float:
        """E[log p(z)] - E[log q(z)], including the learned parameters of the prior."""
        return self.inner.bound(z.transformed(self.basis))

    def take(self, samples: Index) -> InBasis:
        """The prior of some of the samples."""
        return InBasis(self.inner.take(samples), self.basis)

    def fresh(self, n_samples: int) -> InBasis:
        """The prior of unknown samples."""
        return InBasis(self.inner.fresh(n_samples), self.basis)

    def assign(
        self,
        z: Normal,
        evidence: Floats | None = None,
        stream: Stream | None = None,
        first: int = 0,
    ) -> InBasis:
        """The prior after updating its state of each sample to the scores (n, K)."""
        inner = self.inner.assign(z.transformed(self.basis), evidence, stream, first)
        return InBasis(inner, self.basis)

    @property
    def n_used(self) -> int:
        """Number of components in use among its samples; 0 if there are none."""
        return self.inner.n_used

    def transformed(self, matrix: Floats) -> InBasis:
        """The prior of the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        basis = np.asarray(np.linalg.solve(matrix, self.basis), np.float64)
        return InBasis(self.inner, basis)


class Latent(Part, ABC, family="prior of the scores"):
    """Base of all priors of the scores."""

    has_gradient: ClassVar[bool] = False  # predictive training can follow the labels through it

    @property
    def n_components(self) -> int | None:
        """Number of components, each with its own classifiers; None if there are none."""
        return None

    @abstractmethod
    def start(self, z: Normal, centres: Callable[[int], Floats]) -> ScorePrior:
        """The prior at starting scores (N, K); ``centres(T)`` returns T centres, (T, K)."""
