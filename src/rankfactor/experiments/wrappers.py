"""Classifiers around classifiers: the log scale where a table needs it, settings by choice.

Both learn from training samples alone, and pass everything else on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import resample
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from rankfactor.errors import InputError
from rankfactor.evaluation import cross_validate
from rankfactor.tasks import encode_labels

# A non-negative table that reaches beyond it is of raw intensities or counts of molecules; pixels
# (255) and log scales do not.
RAW_SCALE = 1000.0


class _Around(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """What wrappers share: answers are those of the fitted classifier inside."""

    estimator_: Any

    def _table(self, X: Any) -> Any:
        return X

    @property
    def classes_(self) -> Any:
        """Labels in increasing order; a list with several label columns."""
        return self.estimator_.classes_

    @property
    def chosen_(self) -> list[str]:
        """What the classifier inside chose, in words, for every label column."""
        return list(self.estimator_.chosen_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of new samples."""
        check_is_fitted(self, "estimator_")
        return np.asarray(self.estimator_.predict(self._table(X)))

    def decision_function(self, X: Any) -> Any:
        """Decisions of new samples."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.decision_function(self._table(X))


class LogScale(_Around):
    """A classifier on log2(1 + x), if the training table is of raw intensities or counts.

    That is the case if all its values are at least 0 and the largest exceeds 1000. New values
    below zero count as zero.

    Parameters
    ----------
    estimator : classifier

    Attributes
    ----------
    estimator_ : classifier
    logged_ : bool
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Fit the classifier to the table, or to its logarithm."""
        self.logged_ = is_raw(X)
        self.estimator_ = _fitted(clone(self.estimator), self._table(X), y, groups)
        return self

    def _table(self, X: Any) -> Any:
        return np.log2(1.0 + np.maximum(X, 0.0)) if self.logged_ else X


def is_raw(X: Any) -> bool:
    """Whether a table is of raw intensities or counts, by its known values."""
    if isinstance(X, pd.DataFrame) and not all(map(pd.api.types.is_numeric_dtype, X.dtypes)):
        return False
    values = np.asarray(X, float)
    known = values[~np.isnan(values)]
    return bool(known.size and known.min() >= 0 and known.max() > RAW_SCALE)


class ChooseSettings(_Around):
    """A classifier whose settings are chosen by cross-validation within the training samples.

    Parameters
    ----------
    estimator : classifier
    candidates : sequence of mapping
        Settings to choose from; of equally good ones the first is taken. One with more factors
        than an inner training part has samples is not compared.
    measure : {"auc", "accuracy"}, default "auc"
        Mean over folds, then over label columns.
    n_folds : int, default 3
        Inner folds; fewer where a class or the number of groups is smaller. With fewer than two
        folds, or candidates to compare, the first candidate is taken.
    most_samples : int, default 3000
        Larger training parts are represented by as many samples, drawn by class of the first label
        column.
    random_state : int or None, default 0

    Attributes
    ----------
    estimator_ : classifier
        Fitted with the chosen settings to all training samples.
    settings_ : dict
    scores_ : list of float
        Measure of every candidate, NaN if it was not compared; empty if there was nothing to
        choose.
    """

    def __init__(
        self,
        estimator: Any,
        candidates: Sequence[Mapping[str, Any]],
        measure: str = "auc",
        n_folds: int = 3,
        most_samples: int = 3000,
        random_state: int | None = 0,
    ) -> None:
        self.estimator = estimator
        self.candidates = candidates
        self.measure = measure
        self.n_folds = n_folds
        self.most_samples = most_samples
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Choose the settings, then fit to all samples."""
        if self.measure not in ("auc", "accuracy"):
            raise InputError(f"measure must be 'auc' or 'accuracy', not {self.measure!r}.")
        if not self.candidates:
            raise InputError("candidates names no settings to choose from: give at least one.")
        self.scores_ = self._compare(pd.DataFrame(X), pd.DataFrame(y), groups)
        known = [i for i, score in enumerate(self.scores_) if not np.isnan(score)]
        best = max(known, key=lambda i: round(self.scores_[i], 12), default=0)
        self.settings_ = dict(self.candidates[best])
        self._n_tasks = 1 if np.ndim(y) == 1 else np.shape(y)[1]
        self.estimator_ = _fitted(self._with(self.settings_), X, y, groups)
        return self

    @property
    def chosen_(self) -> list[str]:
        """The settings chosen, in words, once for every label column."""
        return [in_words(self.settings_)] * self._n_tasks

    def _with(self, settings: Mapping[str, Any]) -> Any:
        return clone(self.estimator).set_params(**settings)

    def _compare(self, table: pd.DataFrame, labels: pd.DataFrame, groups: Any) -> list[float]:
        """Measure of every candidate on the same inner folds."""
        if len(self.candidates) == 1:
            return []
        together = None if groups is None else np.unique(np.asarray(groups), return_inverse=True)[1]
        _, class_index = encode_labels(labels, len(table))
        some = np.arange(len(table))
        if len(some) > self.most_samples:
            some = np.sort(
                resample(
                    some,
                    replace=False,
                    n_samples=self.most_samples,
                    stratify=class_index[:, 0],
                    random_state=self.random_state,
                )
            )
        inside = None if together is None else together[some]
        n_folds = possible_folds(class_index[some], inside, self.n_folds)
        if n_folds < 2:
            return []
        possible = self._possible(len(some), inside, n_folds)
        if len(possible) < 2:
            return []
        # A scale of the decisions changes neither measure, so its time can be saved.
        names = self.estimator.get_params()
        spared = {"calibration": "none"} if "calibration" in names else {}
        found = cross_validate(
            {in_words(one): self._with({**one, **spared}) for one in possible},
            table.iloc[some].reset_index(drop=True),
            labels.iloc[some].reset_index(drop=True),
            n_folds=n_folds,
            groups=inside,
            random_state=self.random_state,
        )
        if not found.complete:
            raise KeyboardInterrupt
        means = found.summary().groupby("model")[self.measure].mean()
        return [float(means.get(in_words(one), np.nan)) for one in self.candidates]

    def _possible(
        self, n: int, groups: NDArray[np.int64] | None, n_folds: int
    ) -> list[Mapping[str, Any]]:
        """Candidates whose factors an inner training part has samples for."""
        # Folds are equal up to a sample, or a group.
        largest = 1 if groups is None else int(np.bincount(groups).max())
        least = n - -(-n // n_folds) - largest
        return [one for one in self.candidates if one.get("n_factors", 0) <= least]


def possible_folds(
    class_index: NDArray[np.int64], groups: NDArray[np.int64] | None, n_folds: int
) -> int:
    """At most ``n_folds`` folds, such that every class of every task can be in each of them.

    Parameters
    ----------
    class_index : int array, shape (n_samples, n_tasks)
        Class numbers, -1 where a label is missing.
    groups : int array, shape (n_samples,), or None
        Samples that stay together count as one.
    n_folds : int
    """
    units = np.arange(len(class_index)) if groups is None else groups
    least = min(
        len(np.unique(units[column == number]))
        for column in class_index.T
        for number in np.unique(column[column >= 0])
    )
    return min(n_folds, least)


def in_words(settings: Mapping[str, Any]) -> str:
    """Settings as "n_factors=20, training=predictive"."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _fitted(estimator: Any, X: Any, y: Any, groups: Any) -> Any:
    more = {}
    if groups is not None and has_fit_parameter(estimator, "groups"):
        more["groups"] = groups
    return estimator.fit(X, y, **more)
