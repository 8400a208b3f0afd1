"""Models compared over data sets: mean ranks, Friedman's test, Nemenyi's critical difference.

Demsar (2006, JMLR 7): on every set the best of k models has rank 1; ties share the mean of their
ranks. Friedman's test, in the form of Iman and Davenport, tests whether the mean ranks over N sets
differ at all; two models differ at level alpha if their mean ranks differ by more than

    q_alpha sqrt(k (k + 1) / (6 N)),

where q_alpha is the quantile of the studentised range for k groups and infinitely many degrees of
freedom, divided by the square root of 2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import fdtrc
from scipy.stats import studentized_range

from rankfactor.typing import Floats

ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Ranks:
    """Mean ranks over data sets."""

    mean: pd.Series[float]  # by model, the best first
    n_sets: int
    p_value: float = float("nan")  # of Friedman's test; NaN with fewer than two sets or models
    critical: float = float("nan")  # Nemenyi's difference at the level of 5 %; NaN likewise

    def as_good(self, model: str) -> list[str]:
        """Models not significantly different from a model in mean rank, itself included."""
        if np.isnan(self.critical):
            return [str(one) for one in self.mean.index]
        near = (self.mean - self.mean[model]).abs() <= self.critical
        return [str(one) for one in self.mean.index[near.to_numpy()]]


def mean_ranks(scores: pd.DataFrame) -> Ranks:
    """Ranks of models (columns) on data sets (rows); a higher score is better.

    Sets on which a model has no score are left out.
    """
    whole = scores.dropna()
    ranks = whole.rank(axis=1, ascending=False)
    n, k = ranks.shape
    mean = ranks.mean().sort_values(kind="stable")
    if n < 2 or k < 2:
        return Ranks(mean, n)
    quantile = studentized_range.ppf(1.0 - ALPHA, k, np.inf)
    critical = float(quantile * np.sqrt(k * (k + 1) / (12.0 * n)))
    return Ranks(mean, n, friedman(ranks.to_numpy()), critical)


def friedman(ranks: Floats) -> float:
    """P value of Friedman's test in the form of Iman and Davenport, of ranks (N, k).

    Ties are corrected for; if all models are equal on every set it is 1.
    """
    n, k = ranks.shape
    centred = ranks - 0.5 * (k + 1)
    # With ties the spread of ranks within a set is smaller than k (k^2 - 1) / 12.
    spread = float((centred**2).sum()) / (n * (k - 1))
    if spread == 0:
        return 1.0
    chi2 = n * float((centred.mean(axis=0) ** 2).sum()) / spread
    most = n * (k - 1)
    if chi2 >= most * (1.0 - 1e-12):  # the same order on every set
        return 0.0
    return float(fdtrc(k - 1, (k - 1) * (n - 1), (n - 1) * chi2 / (most - chi2)))
