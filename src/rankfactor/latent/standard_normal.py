"""Standard normal factor scores: z_n ~ N(0, I)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rankfactor.kernels.packed import packed_diagonal
from rankfactor.latent.base import Latent, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.typing import Floats


@dataclass(frozen=True)
class StandardNormal(Latent, ScorePrior):
    """Independent standard normal scores: nothing to learn, so it is its own state."""

    name: ClassVar[str] = "standard_normal"
    phrase: ClassVar[str] = "standard normal prior"
    has_gradient: ClassVar[bool] = True

    def start(self, z: Normal, centres: Callable[[int], Floats]) -> StandardNormal:
        """The prior itself."""
        return self

    def law(self, n_samples: int, n_factors: int) -> Normal:
        """The prior as the distribution of every sample's scores."""
        return Normal.isotropic(np.zeros((n_samples, n_factors)), 1.0)

    def natural(self, n_samples: int, n_factors: int) -> tuple[Floats, Floats]:
        """Packed precision (n, P) and shift (n, K) of the prior, in separate arrays."""
        precision = packed_diagonal(np.ones(n_samples), n_factors)
        return precision, np.zeros((n_samples, n_factors))

    def moment(self, z: Normal) -> Floats:
        """S (K, K): the scores' own."""
        return np.asarray(z.mean.T @ z.mean)

    def location(self, z: Normal) -> tuple[float, Floats]:
        """Precision and shift (K,) of the law of a vector that is added to all scores (N, K)."""
        return float(len(z.mean)), -z.mean.sum(axis=0)

    def bound(self, z: Normal) -> float:
        """E[log p(z)] - E[log q(z)]."""
        n, order = z.mean.shape
        prior = -0.5 * (n * order * np.log(2 * np.pi) + float(z.squares.sum()))
        return float(prior + z.entropy())
