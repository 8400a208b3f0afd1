"""Beta laws: ``p(v) prop. v^(a-1) (1-v)^(b-1)`` on (0, 1), for the sticks of a Dirichlet process.

A draw is ``g / (g + h)`` of two Gamma draws of shapes a and b. It stores 1 - v as ``h / (g + h)``:
near one, 1 - v computed from v has no correct digits, and both logarithms are needed.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import betaln, digamma

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.point import Point
from rankfactor.typing import Floats


@dataclass(frozen=True)
class Share(Point):
    """A drawn share, in place of its distribution."""

    rest: Floats  # 1 - value

    @property
    def log_rest(self) -> Floats:
        """Logarithm of one minus the share."""
        return np.asarray(np.log(self.rest))


@dataclass(frozen=True)
class Beta:
    """Independent Beta laws of parameters ``first`` and ``second``, of one shape."""

    first: Floats
    second: Floats

    @property
    def mean(self) -> Floats:
        """E[v]."""
        return np.asarray(self.first / (self.first + self.second))

    @property
    def log_mean(self) -> Floats:
        """E[log v]."""
        return np.asarray(digamma(self.first) - digamma(self.first + self.second))

    @property
    def log_rest(self) -> Floats:
        """E[log (1 - v)]."""
        return np.asarray(digamma(self.second) - digamma(self.first + self.second))

    def draw(self, stream: Stream, first: int = 0) -> Share:
        """One draw of every element; element i has the index ``first + i`` in the stream."""
        g = Gamma(self.first, np.ones_like(self.first)).draw(stream.child("share"), first)
        h = Gamma(self.second, np.ones_like(self.second)).draw(stream.child("rest"), first)
        return Share(g / (g + h), h / (g + h))

    def entropy(self) -> float:
        """Sum of the differential entropies."""
        a, b = self.first, self.second
        terms = betaln(a, b) - (a - 1) * self.log_mean - (b - 1) * self.log_rest
        return float(np.sum(terms))
