"""Share of the features' variance due to each factor, and standardised loadings."""

from __future__ import annotations

import numpy as np

from rankfactor.typing import Floats

# A factor counts as active with at least this share of the variance that all factors explain.
ACTIVE_SHARE = 0.02


def second_moment(scores: Floats) -> Floats:
    """E[z z^T] over the samples, shape (K, K), of scores (N, K)."""
    return np.asarray(scores.T @ scores / len(scores))


def loading_units(loadings: Floats, moment: Floats, noise: Floats) -> Floats:
    """Factors that standardise loadings, shape (d, K).

    A standardised loading is ``a_ik sd(z_k) / sd(w_i + noise_i)``: between -1 and 1, comparable
    across features whatever their number of levels, like a correlation. ``moment`` is the scores'
    `second_moment`.
    """
    variance = variance_of(loadings, moment) + noise
    return np.asarray(np.sqrt(np.diag(moment) / variance[:, None]))


def shares_of(loadings: Floats, moment: Floats, variance: Floats) -> Floats:
    """Share of each factor in the squares of all standardised loadings, shape (K,).

    ``variance`` (d,) is the features' total variance.
    """
    power = np.diag(moment) * ((1.0 / variance) @ loadings**2)
    return np.asarray(power / max(power.sum(), np.finfo(float).tiny))


def variance_of(loadings: Floats, moment: Floats) -> Floats:
    """Variance of w by feature, shape (d,)."""
    return np.asarray(np.einsum("ik,ik->i", loadings @ moment, loadings))
