"""Categorical laws: one of T categories for every row, by unnormalised log probabilities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, xlogy

from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_choices
from rankfactor.typing import Floats


@dataclass(frozen=True)
class Categorical:
    """Independent laws with probabilities proportional to ``exp(logits)``, shape (n, T)."""

    logits: Floats

    @property
    def mean(self) -> Floats:
        """Probabilities, shape (n, T): the mean of an indicator."""
        return np.asarray(softmax(self.logits, axis=1))

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every row as an indicator; row i has the index ``first + i``."""
        return indicators(draw_choices(self.mean, stream.word, first), self.logits.shape[1])


def indicators(chosen: NDArray[np.int64], count: int) -> Floats:
    """1 at the category chosen and 0 elsewhere, shape (n, count)."""
    return np.asarray(chosen[:, None] == np.arange(count), np.float64)


def entropy(probabilities: Floats) -> float:
    """Sum of the entropies of rows of probabilities, which may be zero."""
    return float(-xlogy(probabilities, probabilities).sum())
