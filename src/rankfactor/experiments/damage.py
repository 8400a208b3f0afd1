"""Damage to a table: raw scale, outliers, missing values; NaN stays NaN."""

from __future__ import annotations

import numpy as np

from rankfactor.typing import Floats

OUTLIERS, MOVED = 0.01, 20.0  # share of cells, and by how many standard deviations they are moved
# Larger standardised values would exceed the range of single precision; tables with fewer than
# 1,600 samples have none.
LARGEST = 40.0


def exponentiated(y: Floats) -> Floats:
    """Standardised values (n, d) on a raw scale, exp(2 y)."""
    return np.asarray(np.exp(2.0 * np.minimum(y, LARGEST)))


def with_outliers(y: Floats, rng: np.random.Generator, sd: Floats | float = 1.0) -> Floats:
    """Values (n, d), some of them moved by 20 standard deviations (d,), up or down."""
    moved = rng.random(y.shape) < OUTLIERS
    return np.asarray(y + sd * MOVED * moved * rng.choice([-1.0, 1.0], y.shape))


def with_missing(y: Floats, rng: np.random.Generator, share: float) -> Floats:
    """Values (n, d), of which a share is missing, at random."""
    return np.where(rng.random(y.shape) < share, np.nan, y)
