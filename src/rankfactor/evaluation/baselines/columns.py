"""Base classes of the baselines: table checks, matching by name, several label columns.

A baseline defines how it learns from an array and how it decides; columns of words, names, missing
labels and output formats are handled here, as in the factor models.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from rankfactor.errors import InputError
from rankfactor.features.plan import FeaturePlan, remember_columns
from rankfactor.tasks import Task, encode_labels, side_by_side
from rankfactor.typing import Floats, Integers

Tasks = tuple[Task, ...]


class ColumnClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of one or more label columns, on a table with missing values."""

    uses_values: ClassVar[bool] = True  # whether it needs values, not only their order

    @abstractmethod
    def _learn(
        self, values: Floats, tasks: Tasks, class_index: Integers, groups: Integers | None
    ) -> None:
        """Learn from values (N, D), class numbers (N, n_tasks; -1 = unknown) and groups (N,)."""

    @abstractmethod
    def _decisions(self, values: Floats) -> list[Floats]:
        """Decisions of every label column: (N,) for two classes, else (N, n_classes)."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit to one or more label columns.

        Parameters
        ----------
        X : DataFrame, array-like, sparse matrix or AnnData, shape (n_samples, n_features)
            NaN = missing; columns of words as in `rankfactor.features.words`. A sparse table is
            densified.
        y : array-like, Series or DataFrame, shape (n_samples,) or (n_samples, n_tasks)
            One or more label columns; NaN or None = unknown, left out for that column.
        groups : array-like, shape (n_samples,), optional
            Samples of a group stay together in the inner cross-validation.
        """
        self._plan, table = FeaturePlan.learn(X, **self._needs())
        values = table.values
        if len(values) < 2:
            raise InputError(
                f"Found array with n_samples={len(values)}, 1 sample is not enough: at least 2 "
                "are needed."
            )
        tasks, class_index = encode_labels(y, len(values))
        self._single = np.asarray(y, object).ndim == 1
        self._classes = [task.classes for task in tasks]
        together = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        # BLAS threads gain nothing on tables of this size, and on a busy machine they wait for one
        # another: many times slower than one thread.
        with threadpool_limits(limits=1, user_api="blas"):
            self._learn(values, tasks, class_index, together)
        remember_columns(self, self._plan)
        return self

    @property
    def classes_(self) -> Any:
        """Labels in increasing order; a list if there are several label columns."""
        if not hasattr(self, "n_features_in_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return self._classes[0] if self._single else self._classes

    def decision_function(self, X: Any) -> Any:
        """Decisions of new samples; a list if there are several label columns.

        Shape (n_samples,) for two classes, where positive means ``classes_[1]``, else (n_samples,
        n_classes).
        """
        check_is_fitted(self, "n_features_in_")
        with threadpool_limits(limits=1, user_api="blas"):
            parts = self._decisions(np.asarray(self._plan.apply(X, **self._needs())))
        return parts[0] if self._single else parts

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of new samples, shape (n_samples,) or (n_samples, n_tasks)."""
        found = self.decision_function(X)
        parts = []
        for classes, one in zip(self._classes, [found] if self._single else found, strict=True):
            parts.append(classes[(one > 0).astype(int) if one.ndim == 1 else one.argmax(axis=1)])
        return np.asarray(parts[0]) if self._single else side_by_side(parts)

    def _needs(self) -> dict[str, Any]:
        """Array of a table: dense and, for some baselines, numeric values rather than ranks."""
        exact = type(self).__name__ if self.uses_values else ""
        return {"estimator": self, "sparse": False, "exact": exact}

    def __sklearn_tags__(self) -> Any:
        """Tags: missing values, sparse matrices and several label columns are supported."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        tags.target_tags.single_output = tags.target_tags.multi_output = True
        return tags


class PipelineClassifier(ColumnClassifier):
    """One scikit-learn pipeline per label column, fitted to the samples with that label.

    Attributes
    ----------
    pipelines_ : list of Pipeline
        The fitted steps of every label column.
    """

    @abstractmethod
    def _pipeline(self, values: Floats, numbers: Integers, groups: Integers | None) -> Pipeline:
        """Steps, not fitted, for values (n, D) and class numbers (n,)."""

    def _learn(
        self, values: Floats, tasks: Tasks, class_index: Integers, groups: Integers | None
    ) -> None:
        self.pipelines_: list[Pipeline] = []
        for numbers in class_index.T:
            known = numbers >= 0
            part = values[known], numbers[known]
            steps = self._pipeline(*part, None if groups is None else groups[known])
            self.pipelines_.append(steps.fit(*part))

    def _decisions(self, values: Floats) -> list[Floats]:
        return [np.asarray(steps.decision_function(values)) for steps in self.pipelines_]
