"""What the baselines share: tables checked and matched by name, one or more label columns.

A baseline says how it learns from an array and what it decides for one; everything else, columns of
words, names, missing labels and the form of the answers, is here and as in the factor models.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from rankfactor.errors import InputError
from rankfactor.features.matching import column_names, match_columns, refuse_limits, table_values
from rankfactor.features.words import coded
from rankfactor.kernels.packed import Floats
from rankfactor.tasks import Task, encode_labels, side_by_side

Integers = NDArray[np.int64]


class ColumnClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of one or more label columns, on a table with holes."""

    uses_values: ClassVar[bool] = True  # whether it needs more of a column than its order

    @abstractmethod
    def _learn(
        self,
        values: Floats,
        tasks: tuple[Task, ...],
        class_index: Integers,
        groups: Integers | None,
    ) -> None:
        """Learn from values (N, D), class numbers (N, n_tasks; -1 = unknown) and groups (N,)."""

    @abstractmethod
    def _decisions(self, values: Floats) -> list[Floats]:
        """Decisions of every label column: (N,) for two classes, else (N, n_classes)."""

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit to one or more label columns.

        Parameters
        ----------
        X : DataFrame or array-like, shape (n_samples, n_features)
            NaN = missing; columns of words as in `rankfactor.features.words`.
        y : array-like, Series or DataFrame, shape (n_samples,) or (n_samples, n_tasks)
            One or more label columns; NaN or None = unknown, left out for that column.
        groups : array-like, shape (n_samples,), optional
            Samples of one group stay together where settings are chosen by cross-validation.
        """
        table, self._indicators = coded(X)
        values = table_values(table, estimator=self)
        if len(values) < 2:
            raise InputError(
                f"Found array with n_samples={len(values)}, 1 sample is not enough: at least 2 "
                "are needed."
            )
        if self.uses_values:
            refuse_limits(values, column_names(table), type(self).__name__)
        tasks, class_index = encode_labels(y, len(values))
        self._single = np.asarray(y, object).ndim == 1
        self._classes = [task.classes for task in tasks]
        together = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        # Threads of BLAS gain nothing on tables of this size, and on a busy machine they wait for
        # one another: many times slower than one thread.
        with threadpool_limits(limits=1, user_api="blas"):
            self._learn(values, tasks, class_index, together)
        self._names = column_names(table)
        self._n_values = values.shape[1]
        self.n_features_in_ = values.shape[1] if self._indicators is None else X.shape[1]
        names = column_names(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self

    @property
    def classes_(self) -> Any:
        """Labels in increasing order; a list with several label columns."""
        if not hasattr(self, "n_features_in_"):
            raise AttributeError(f"this {type(self).__name__} is not fitted yet.")
        return self._classes[0] if self._single else self._classes

    def decision_function(self, X: Any) -> Any:
        """Decisions of new samples.

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
        decisions = self._decide(X)
        parts = []
        for classes, decision in zip(self._classes, decisions, strict=True):
            two = decision.ndim == 1
            parts.append(classes[(decision > 0).astype(int) if two else decision.argmax(axis=1)])
        return np.asarray(parts[0]) if self._single else side_by_side(parts)

    def _match(self, X: Any) -> Floats:
        """Values of a new table in the columns of the model, shape (N, D)."""
        check_is_fitted(self, "n_features_in_")
        if self._indicators is not None and isinstance(X, pd.DataFrame):
            X = self._indicators.apply(X)
        values = match_columns(X, self._names, self._n_values, "error", estimator=self)
        if self.uses_values:
            refuse_limits(values, self._names, type(self).__name__)
        return np.asarray(values)

    def _decide(self, X: Any) -> list[Floats]:
        with threadpool_limits(limits=1, user_api="blas"):
            return self._decisions(self._match(X))

    def __sklearn_tags__(self) -> Any:
        """Missing values and several label columns are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.single_output = True
        tags.target_tags.multi_output = True
        return tags
