"""Normal scores, principal components and a linear SVM: a cheap alternative to a rank factor model.

A value x of a feature with n known training values becomes the normal quantile of its mid-rank,

    Phi^-1((number below x + half the number equal to x) / n),

clipped to [1/2n, 1 - 1/2n]; missing values and constant features become 0. The result is invariant
to increasing transforms of a feature, as in the rank likelihood, and its first ``n_factors``
principal components are label-free scores. Unlike the factor models it has no likelihood, no
shrinkage, and no factors shaped by labels.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numba import njit
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline, make_pipeline
from threadpoolctl import threadpool_limits

from rankfactor.errors import check_count
from rankfactor.evaluation.baselines.svm import LinearSVM
from rankfactor.typing import Floats


@njit(cache=True, nogil=True)
def _twice_ranks(values, ordered, known):  # type: ignore[no-untyped-def]
    """Number below plus number up to every value (N, D), among the first known (D,) ordered ones.

    For a missing value it is the number of known ones, i.e. the middle.
    """
    n, d = values.shape
    found = np.empty((n, d))
    for i in range(d):
        count = known[i]
        column = ordered[i, :count]
        for s in range(n):
            value = values[s, i]
            if value != value:
                found[s, i] = count
                continue
            below = np.searchsorted(column, value, side="left")
            found[s, i] = below + np.searchsorted(column, value, side="right")
    return found


class NormalScores(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Values to normal scores by the ranks of the training values, feature by feature."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the training values of an array (N, D); NaN = missing."""
        self.ordered_ = np.sort(np.asarray(X, float).T, axis=1)  # (D, N), NaN last
        self.known_ = (~np.isnan(self.ordered_)).sum(axis=1)  # (D,)
        return self

    def transform(self, X: Any) -> Floats:
        """Normal scores of an array (N, D), of the same shape."""
        twice = _twice_ranks(np.asarray(X, float), self.ordered_, self.known_)
        count = np.maximum(self.known_, 1)
        shares = np.clip(0.5 * twice / count, 0.5 / count, 1.0 - 0.5 / count)
        # A feature without known values gets the middle rank.
        return np.asarray(ndtri(np.where(self.known_ > 0, shares, 0.5)))


class _Components(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Deterministic principal components, up to ``most``.

    By the eigenvectors of the smaller of the two Gram matrices of the centred table: a complete
    singular value decomposition takes many times as long, and LAPACK's threads slow one another
    down on a busy machine.
    """

    def __init__(self, most: int = 20) -> None:
        self.most = most

    def fit(self, X: Floats, y: Any = None) -> Self:
        """Learn the components of an array (N, D)."""
        n, d = X.shape
        count = min(self.most, n - 1, d)
        self.mean_ = X.mean(axis=0)
        centred = X - self.mean_
        with threadpool_limits(limits=1, user_api="blas"):
            if n > d:
                axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :count].T
            else:
                squares, vectors = np.linalg.eigh(centred @ centred.T)
                length = np.sqrt(np.maximum(squares[::-1][:count], 0.0))
                # Directions without variance are rounding errors and stay zero.
                some = length > 1e-7 * max(length.max(initial=0.0), 1e-300)
                axes = np.zeros((count, d))
                axes[some] = (centred.T @ vectors[:, ::-1][:, :count][:, some]).T
                axes[some] /= length[some, None]
        self.axes_ = axes  # (count, D)
        return self

    def transform(self, X: Floats) -> Floats:
        """Scores of an array (N, D), shape (N, number of components)."""
        return np.asarray((X - self.mean_) @ self.axes_.T)


class NormalScoresPCASVM(LinearSVM):
    """Normal scores, principal components and linear SVMs, one per label column.

    The cost C is chosen as in `LinearSVM`, which has the same attributes; normal scores and
    components are part of each inner fold.

    Parameters
    ----------
    n_factors : int, default 20
        Principal components; fewer if there are fewer samples or features.
    random_state : int, RandomState or None, default 0
        Seed of the inner folds.
    """

    uses_values = False

    def __init__(self, n_factors: int = 20, random_state: Any = 0) -> None:
        super().__init__(random_state)
        self.n_factors = n_factors

    def _preparation(self) -> Pipeline:
        return make_pipeline(NormalScores(), _Components(check_count("n_factors", self.n_factors)))
