"""A linear support vector machine per label column: what most users would try first."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import check_is_fitted

from rankfactor.errors import InputError
from rankfactor.features import column_names, match_columns, table_values
from rankfactor.kernels.packed import Floats
from rankfactor.tasks import encode_labels

GRID = (1e-3, 1e-2, 1e-1, 1.0, 1e1)
INNER_FOLDS = 5
# Used where a class is too small to choose C by cross-validation: the middle of the grid.
FALLBACK_C = 1e-1
# Enough for liblinear's Newton method on standardised features; if not, its warning is passed on.
MAX_ITER = 20_000


class LinearSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Linear support vector machines, one per label column, tuned inside the training data.

    For every label column the samples with a known label go through median imputation,
    standardisation and a linear SVM (squared hinge, one against the rest for more than two
    classes). The cost C is chosen from 0.001, 0.01, ..., 10 by a stratified cross-validation with
    five folds (fewer if a class is smaller) within these samples, by the area under the ROC curve
    for two classes and by balanced accuracy for more; imputation and scaling are part of each
    inner fold, and the smallest of equally good C is taken.

    Parameters
    ----------
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

    Examples
    --------
    >>> from rankfactor import load_alzheimer
    >>> from rankfactor.baselines import LinearSVM
    >>> data = load_alzheimer()
    >>> model = LinearSVM().fit(data.table, data.labels)
    >>> [decision.shape for decision in model.decision_function(data.table)]
    [(333,), (333,)]
    """

    def __init__(self, random_state: Any = 0) -> None:
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit one machine per label column.

        Parameters
        ----------
        X : DataFrame or array-like, shape (n_samples, n_features)
            NaN = missing.
        y : array-like, Series or DataFrame, shape (n_samples,) or (n_samples, n_tasks)
            One or more label columns; NaN or None = unknown, left out for that column.
        """
        values = table_values(X, estimator=self)
        if len(values) < 2:
            raise InputError(
                f"Found array with n_samples={len(values)}, 1 sample is not enough: at least 2 "
                "are needed."
            )
        tasks, codes = encode_labels(y, len(values))
        self._single = np.asarray(y, object).ndim == 1
        self._classes = [task.classes for task in tasks]
        fitted = []
        for number in codes.T:
            known = number >= 0
            fitted.append(self._fit_one(values[known], number[known]))
        self.pipelines_ = [pipeline for pipeline, _ in fitted]
        self.C_ = [cost for _, cost in fitted]
        self.n_features_in_ = values.shape[1]
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _fit_one(self, values: Floats, numbers: NDArray[np.int64]) -> tuple[Pipeline, float]:
        """Fitted steps and the chosen C, of the values (n, D) and class numbers (n,)."""
        cost = self._choose_cost(values, numbers)
        return make_pipeline(*_preparation(), _machine(cost)).fit(values, numbers), cost

    def _choose_cost(self, values: Floats, numbers: NDArray[np.int64]) -> float:
        counts = np.bincount(numbers)
        n_folds = min(INNER_FOLDS, int(counts.min()))
        if n_folds < 2:
            return FALLBACK_C
        score = get_scorer("roc_auc" if len(counts) == 2 else "balanced_accuracy")
        inner = StratifiedKFold(n_folds, shuffle=True, random_state=self.random_state)
        total = np.zeros(len(GRID))
        for train, test in inner.split(values, numbers):
            # Imputed and scaled once for all C: a third of the time of a grid search.
            prepare = make_pipeline(*_preparation())
            known, new = prepare.fit_transform(values[train]), prepare.transform(values[test])
            total += [
                score(_machine(cost).fit(known, numbers[train]), new, numbers[test])
                for cost in GRID
            ]
        # Rounded, so that equally good costs are equal; the first is then the smallest.
        return GRID[int(np.argmax((total / n_folds).round(12)))]

    @property
    def classes_(self) -> Any:
        """Labels in increasing order; a list with several label columns."""
        if not hasattr(self, "pipelines_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return self._classes[0] if self._single else self._classes

    def decision_function(self, X: Any) -> Any:
        """Signed distances of new samples.

        Returns
        -------
        array, or list of arrays with several label columns
            Shape (n_samples,) for two classes, where positive means ``classes_[1]``, else
            (n_samples, n_classes).
        """
        parts = self._decide(X)
        return parts[0] if self._single else parts

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of new samples, shape (n_samples,) or (n_samples, n_tasks)."""
        parts = []
        for classes, decision in zip(self._classes_of_fit(), self._decide(X), strict=True):
            two = decision.ndim == 1
            parts.append(classes[(decision > 0).astype(int) if two else decision.argmax(axis=1)])
        if self._single:
            return np.asarray(parts[0])
        same = len({part.dtype.kind for part in parts}) == 1
        return np.column_stack(parts if same else [part.astype(object) for part in parts])

    def _decide(self, X: Any) -> list[Floats]:
        check_is_fitted(self, "pipelines_")
        names = getattr(self, "feature_names_in_", None)
        values = match_columns(X, names, self.n_features_in_, "error", estimator=self)
        return [np.asarray(pipeline.decision_function(values)) for pipeline in self.pipelines_]

    def _classes_of_fit(self) -> list[NDArray[Any]]:
        check_is_fitted(self, "pipelines_")
        return self._classes

    def __sklearn_tags__(self) -> Any:
        """Missing values and several label columns are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags


def _preparation() -> tuple[SimpleImputer, StandardScaler]:
    return SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()


def _machine(cost: float) -> LinearSVC:
    # The primal problem needs no random numbers, and converges within some hundred iterations at
    # the largest C of the grid, where liblinear's dual takes thousands.
    return LinearSVC(C=cost, dual=False, max_iter=MAX_ITER)
