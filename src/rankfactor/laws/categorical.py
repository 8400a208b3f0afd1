"""Categorical laws: one of T categories for every row, by unnormalised log probabilities."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax, xlogy

from rankfactor.kernels.choices import draw_choices
from rankfactor.kernels.rng import Stream
from rankfactor.typing import Floats


@dataclass(frozen=True)
class Categorical:
    """Independent laws with probabilities proportional to ``exp(logits)``, shape (n, T)."""

    logits: Floats

    @property
    def mean(self) -> Floats:
        """Probabilities, shape (n, T): the mean of an indicator."""
        return np.asarray(softmax(self.logits, axis=1))

    @property
    def log_mean(self) -> Floats:
        """Log probabilities, shape (n, T)."""
        top = self.logits.max(axis=1, keepdims=True)
        rest = self.logits - top
        return np.asarray(rest - np.log(np.exp(rest).sum(axis=1, keepdims=True)))

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every row as an indicator; row i has the index ``first + i``."""
        return indicators(
            np.asarray(draw_choices(self.mean, stream.word, first)), self.logits.shape[1]
        )

    def entropy(self) -> float:
        """Sum of the rows' entropies."""
        return entropy(self.mean)


def indicators(chosen: NDArray[np.int64], count: int) -> Floats:
    """1 at the category chosen and 0 elsewhere, shape (n, count)."""
    return np.asarray(chosen[:, None] == np.arange(count), np.float64)


def entropy(probabilities: Floats) -> float:
    """Sum of the entropies of rows of probabilities, which may be zero."""
    return float(-xlogy(probabilities, probabilities).sum())
