"""Factors that are in use, and those that are switched off."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfactor.laws.normal import Normal
from rankfactor.typing import Floats

LEAST_SPREAD = 0.1  # of the largest: scores that vary less belong to switched-off factors
LEAST_KNOWN = 0.01  # of their posterior standard deviation: scores that vary less tell nothing


def in_use(scores: Floats) -> NDArray[np.bool_]:
    """Which factors, by the spread of their mean scores (N, K), are not switched off."""
    spread = scores.std(axis=0)
    return np.asarray((spread >= LEAST_SPREAD * spread.max()) & (spread > 0))


def informative(z: Normal) -> NDArray[np.bool_]:
    """Which factors of scores (N, K) can take part in a decision.

    Where all factors are switched off, their means are rounding errors beside their variances.
    """
    known = z.mean.var(axis=0) >= LEAST_KNOWN**2 * z.variance.mean(axis=0)
    return np.asarray(in_use(z.mean) & known)
