"""Inverse Gaussian of mean 1/u and shape 1: ``p(x) prop. x^(-3/2) exp(-(u x - 1)^2 / (2 x))``.

It is the conditional law of 1/lam in the augmentation of Polson and Scott (2011),
``exp(-2 max(0, u)) = int N(u; -lam, lam) dlam``, with ``abs(u)`` for u. At u = 0 it is the law of
1/chi2_1, which has no mean.
"""

from dataclasses import dataclass

import numpy as np

from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_elements, draw_inverse_gaussian
from rankfactor.typing import Floats


@dataclass(frozen=True)
class InverseGaussian:
    """Independent laws with reciprocal means ``u`` >= 0."""

    u: Floats

    @property
    def mean(self) -> Floats:
        """E[x], infinite at u = 0."""
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / self.u)

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every element; element i has the index ``first + i`` in the stream."""
        return draw_elements(draw_inverse_gaussian, stream, first, self.u)
