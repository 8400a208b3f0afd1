"""Normal scores, principal components and a linear SVM: the cheap rival of a rank factor model.

A value x of a feature with n known training values becomes the normal quantile of its mid-rank,

    Phi^-1((number below x + half the number equal to x) / n),

held between 1/2n and 1 - 1/2n; a missing value and a constant feature become 0. The table then does
not depend on any increasing transform of a feature, as in the rank likelihood, and ``n_factors``
principal components of it are label-free scores. What it lacks is a likelihood, shrinkage, and
labels that shape the factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from rankfactor.baselines.svm import FALLBACK_C, GRID, MAX_ITER, Setting, TunedSVM
from rankfactor.kernels.packed import Floats
from rankfactor.model import check_count


class NormalScores(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Values to normal scores by the ranks of the training values, feature by feature.

    Attributes
    ----------
    sorted_ : list of array
        Known training values of every feature in increasing order.
    """

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the training values of an array (N, D); NaN = missing."""
        self.sorted_ = [np.sort(column[~np.isnan(column)]) for column in np.asarray(X, float).T]
        return self

    def transform(self, X: Any) -> Floats:
        """Normal scores of an array (N, D), of the same shape."""
        values = np.asarray(X, float)
        out = np.zeros(values.shape)
        for i, known in enumerate(self.sorted_):
            if len(known) == 0:
                continue
            below = np.searchsorted(known, values[:, i], "left")
            upto = np.searchsorted(known, values[:, i], "right")
            least = 0.5 / len(known)
            scores = ndtri(np.clip(0.5 * (below + upto) / len(known), least, 1.0 - least))
            out[:, i] = np.where(np.isnan(values[:, i]), 0.0, scores)
        return out


class _Components(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Principal components without random numbers; as many as there can be, up to ``most``.

    By the eigenvectors of the smaller of the two products of the centred table with itself: a
    complete singular value decomposition takes many times as long, and LAPACK's threads get in
    one another's way on a busy machine.
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
                # A direction without variance is rounding, and stays zero.
                some = length > 1e-7 * max(length.max(initial=0.0), 1e-300)
                axes = np.zeros((count, d))
                axes[some] = (centred.T @ vectors[:, ::-1][:, :count][:, some]).T
                axes[some] /= length[some, None]
        self.axes_ = axes  # (count, D)
        return self

    def transform(self, X: Floats) -> Floats:
        """Scores of an array (N, D), shape (N, number of components)."""
        return np.asarray((X - self.mean_) @ self.axes_.T)


class NormalScoresPCASVM(TunedSVM):
    """Normal scores, principal components and linear SVMs, one per label column.

    The cost C is chosen as in `LinearSVM`; normal scores and components are part of each inner
    fold.

    Parameters
    ----------
    n_factors : int, default 20
        Principal components; fewer where there are fewer samples or features.
    random_state : int, RandomState or None, default 0
        Seed of the inner folds.

    Attributes
    ----------
    classes_ : array, or list of arrays
        Labels in increasing order; a list with several label columns.
    C_ : list of float
        The cost chosen for every label column.
    pipelines_ : list of Pipeline
        The fitted steps of every label column.
    n_features_in_ : int
    feature_names_in_ : array
        Only if fitted to a DataFrame.
    """

    def __init__(self, n_factors: int = 20, random_state: Any = 0) -> None:
        self.n_factors = n_factors
        self.random_state = random_state

    def _preparation(self) -> Pipeline:
        return make_pipeline(NormalScores(), _Components(check_count("n_factors", self.n_factors)))

    def _grid(self, n_features: int) -> Sequence[Setting]:
        return [{"C": cost} for cost in GRID]

    def _fallback(self, n_features: int) -> Setting:
        return {"C": FALLBACK_C}

    def _machine(self, setting: Setting) -> LinearSVC:
        return LinearSVC(dual=False, max_iter=MAX_ITER, **setting)
