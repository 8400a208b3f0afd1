"""Simulated tables with known factors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Simulated(NamedTuple):
    X: np.ndarray  # (N, d), skewed
    y: np.ndarray  # (N,), 0 or 1
    loadings: np.ndarray  # (d, K)
    scores: np.ndarray  # (N, K)


def simulate(n=150, d=40, k=3, noise=0.4, seed=0, sparsity=0.5) -> Simulated:
    """Sparse loadings, standard normal scores, increasing transforms that differ by feature."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d, k)) * (rng.random((d, k)) < sparsity)
    scores = rng.standard_normal((n, k))
    w = scores @ loadings.T + noise * rng.standard_normal((n, d))
    X = np.where(np.arange(d) % 3 == 0, np.exp(w), np.where(np.arange(d) % 3 == 1, w**3, w))
    y = (scores[:, 0] - 0.5 * scores[:, 1] + 0.3 * rng.standard_normal(n) > 0).astype(int)
    return Simulated(X, y, loadings, scores)


def with_holes(X, share=0.1, seed=1):
    """The table with some entries missing."""
    holes = np.random.default_rng(seed).random(X.shape) < share
    return np.where(holes, np.nan, X)
