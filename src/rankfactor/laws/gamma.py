"""Gamma laws by shape and rate: ``p(x) = rate^shape / Gamma(shape) x^(shape-1) exp(-rate x)``."""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_elements, draw_gamma
from rankfactor.typing import Floats


@dataclass(frozen=True)
class Gamma:
    """Independent Gamma laws; ``shape`` broadcasts against ``rate``."""

    shape: Floats | float
    rate: Floats

    @property
    def mean(self) -> Floats:
        """E[x]."""
        return np.asarray(self.shape / self.rate)

    @property
    def log_mean(self) -> Floats:
        """E[log x]."""
        return np.asarray(digamma(self.shape) - np.log(self.rate))

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every element; element i has the index ``first + i`` in the stream."""
        return draw_elements(draw_gamma, stream, first, self.shape, self.rate)

    def entropy(self) -> float:
        """Sum of the differential entropies."""
        shape = np.broadcast_to(self.shape, np.shape(self.rate))
        terms = shape - np.log(self.rate) + gammaln(shape) + (1 - shape) * digamma(shape)
        return float(np.sum(terms))

    def expected_log_prior(self, shape: float, rate: Floats, log_rate: Floats) -> float:
        """Sum of E[log Ga(x; shape, rate)] where the prior's rate is itself uncertain.

        ``rate`` and ``log_rate`` are E[rate] and E[log rate], broadcast against x.
        """
        terms = shape * log_rate - gammaln(shape) + (shape - 1) * self.log_mean - rate * self.mean
        return float(np.sum(terms))

    def gain_over(self, shape: float, rate: float) -> float:
        """Sum of E[log p] - E[log q], q these laws and p = Ga(shape, rate)."""
        known = np.full(1, rate)
        return self.expected_log_prior(shape, known, np.log(known)) + self.entropy()
