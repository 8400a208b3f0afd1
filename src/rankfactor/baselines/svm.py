"""Support vector machines, one per label column: what most users would try first.

The linear and the radial machine differ in their grid of settings only. Imputation, scaling and the
choice of the settings are learned from the training samples alone.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.impute import SimpleImputer
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.validation import check_is_fitted

from rankfactor.errors import InputError
from rankfactor.features import column_names, match_columns, table_values
from rankfactor.indicators import coded
from rankfactor.kernels.packed import Floats
from rankfactor.tasks import encode_labels

Setting = dict[str, float]

GRID = (1e-3, 1e-2, 1e-1, 1.0, 1e1)
INNER_FOLDS = 5
# Used where a class is too small to choose C by cross-validation: the middle of the grid.
FALLBACK_C = 1e-1
RADIAL_COSTS = (0.1, 1.0, 10.0, 100.0)
# In units of one over the number of features, which for standardised features is about one over
# the mean squared distance.
RADIAL_WIDTHS = (0.1, 1.0, 10.0)
# Enough for liblinear's Newton method on standardised features; if not, its warning is passed on.
MAX_ITER = 20_000


class _TunedSVM(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """What the machines share: one per label column, settings chosen by inner cross-validation."""

    random_state: Any

    @abstractmethod
    def _grid(self, n_features: int) -> Sequence[Setting]:
        """Settings to choose from; the first of equally good ones is taken."""

    @abstractmethod
    def _fallback(self, n_features: int) -> Setting:
        """Setting where a class is too small for cross-validation."""

    @abstractmethod
    def _machine(self, setting: Setting) -> Any:
        """Machine of a setting."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit one machine per label column.

        Parameters
        ----------
        X : DataFrame or array-like, shape (n_samples, n_features)
            NaN = missing; columns of words as in `rankfactor.indicators`.
        y : array-like, Series or DataFrame, shape (n_samples,) or (n_samples, n_tasks)
            One or more label columns; NaN or None = unknown, left out for that column.
        groups : array-like, shape (n_samples,), optional
            Samples of one group stay together in the inner folds.
        """
        table, self._indicators = coded(X)
        values = table_values(table, estimator=self)
        if len(values) < 2:
            raise InputError(
                f"Found array with n_samples={len(values)}, 1 sample is not enough: at least 2 "
                "are needed."
            )
        tasks, codes = encode_labels(y, len(values))
        self._single = np.asarray(y, object).ndim == 1
        self._classes = [task.classes for task in tasks]
        together = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        self.pipelines_: list[Pipeline] = []
        self.settings_: list[Setting] = []
        for number in codes.T:
            known = number >= 0
            kept = None if together is None else together[known]
            setting = self._choose(values[known], number[known], kept)
            steps = make_pipeline(*_preparation(), self._machine(setting))
            self.pipelines_.append(steps.fit(values[known], number[known]))
            self.settings_.append(setting)
        self._names = column_names(table)
        self._n_values = values.shape[1]
        self.n_features_in_ = values.shape[1] if self._indicators is None else X.shape[1]
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    def _choose(
        self, values: Floats, numbers: NDArray[np.int64], groups: NDArray[np.int64] | None
    ) -> Setting:
        """Best setting for values (n, D) and class numbers (n,)."""
        counts = np.bincount(numbers)
        n_features = values.shape[1]
        n_folds = min(INNER_FOLDS, int(counts.min()))
        if groups is not None:
            n_folds = min(
                n_folds, *(len(np.unique(groups[numbers == c])) for c in np.unique(numbers))
            )
        if n_folds < 2:
            return self._fallback(n_features)
        score = get_scorer("roc_auc" if len(counts) == 2 else "balanced_accuracy")
        kind = StratifiedKFold if groups is None else StratifiedGroupKFold
        inner = kind(n_folds, shuffle=True, random_state=self.random_state)
        grid = self._grid(n_features)
        total, used = np.zeros(len(grid)), 0
        for train, test in inner.split(values, numbers, groups):
            # Groups can leave a part without one of the classes: it has nothing to say.
            if any(len(np.unique(numbers[part])) < len(counts) for part in (train, test)):
                continue
            used += 1
            # Imputed and scaled once for all settings: a third of the time of a grid search.
            prepare = make_pipeline(*_preparation())
            known, new = prepare.fit_transform(values[train]), prepare.transform(values[test])
            total += [
                score(self._machine(one).fit(known, numbers[train]), new, numbers[test])
                for one in grid
            ]
        if not used:
            return self._fallback(n_features)
        # Rounded, so that equally good settings are equal; the first is then taken.
        return grid[int(np.argmax((total / used).round(12)))]

    @property
    def chosen_(self) -> list[str]:
        """The setting chosen for every label column, in words."""
        return [", ".join(f"{k}={v:g}" for k, v in one.items()) for one in self.settings_]

    @property
    def C_(self) -> list[float]:  # noqa: N802
        """The cost chosen for every label column."""
        return [one["C"] for one in self.settings_]

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
        if self._indicators is not None and isinstance(X, pd.DataFrame):
            X = self._indicators.apply(X)
        values = match_columns(X, self._names, self._n_values, "error", estimator=self)
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


class LinearSVM(_TunedSVM):
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

    def _grid(self, n_features: int) -> Sequence[Setting]:
        return [{"C": cost} for cost in GRID]

    def _fallback(self, n_features: int) -> Setting:
        return {"C": FALLBACK_C}

    def _machine(self, setting: Setting) -> LinearSVC:
        # The primal problem needs no random numbers, and converges within some hundred iterations
        # at the largest C of the grid, where liblinear's dual takes thousands.
        return LinearSVC(dual=False, max_iter=MAX_ITER, **setting)


class RBFSVM(_TunedSVM):
    """Support vector machines with a radial kernel, one per label column, tuned as `LinearSVM`.

    The cost C is chosen from 0.1, 1, 10 and 100 and the kernel's gamma from 0.1, 1 and 10 over the
    number of features. With more than two classes the decisions are one against the rest.

    Parameters
    ----------
    random_state : int, RandomState or None, default 0
        Seed of the inner folds.

    Attributes
    ----------
    classes_ : array, or list of arrays
        Labels in increasing order; a list with several label columns.
    settings_ : list of dict
        ``C`` and ``gamma`` of every label column.
    pipelines_ : list of Pipeline
        The fitted steps of every label column.
    n_features_in_ : int
    feature_names_in_ : array
        Only if fitted to a DataFrame.
    """

    def __init__(self, random_state: Any = 0) -> None:
        self.random_state = random_state

    def _grid(self, n_features: int) -> Sequence[Setting]:
        return [
            {"C": cost, "gamma": width / n_features}
            for cost in RADIAL_COSTS
            for width in RADIAL_WIDTHS
        ]

    def _fallback(self, n_features: int) -> Setting:
        return {"C": 1.0, "gamma": 1.0 / n_features}

    def _machine(self, setting: Setting) -> SVC:
        return SVC(kernel="rbf", decision_function_shape="ovr", **setting)


def _preparation() -> tuple[SimpleImputer, StandardScaler]:
    return SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
