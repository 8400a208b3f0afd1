"""`ChooseFactors`: a factor model whose number of factors is chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from rankfactor.errors import InputError, check_count
from rankfactor.evaluation.crossvalidation import cross_validate
from rankfactor.folds import group_numbers
from rankfactor.tasks import encode_labels


class ChooseFactors(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A factor model whose ``n_factors`` is chosen within the training data.

    Every number is cross-validated on the training samples, on the same folds; the one with the
    highest AUC (mean over folds, then over label columns) is fitted to all of them. Of equally
    good numbers the smallest is taken.

    Parameters
    ----------
    estimator : RankFactorClassifier
    n_factors : sequence of int, default (5, 10, 20, 40)
        Numbers to choose from. Those that an inner training part has too few samples for are left
        out, with a warning.
    n_folds : int, default 5
        Inner folds; fewer where a class or the number of groups is smaller.
    random_state : int or None
        Seed of the inner folds, and of the fits if the estimator has none of its own.

    Attributes
    ----------
    n_factors_ : int
        The number chosen.
    aucs_ : dict from int to float
        Cross-validated AUC of every number; empty if there was nothing to choose.
    estimator_ : RankFactorClassifier
        Fitted with the chosen number to all training samples.
    """

    def __init__(
        self,
        estimator: Any,
        n_factors: Sequence[int] = (5, 10, 20, 40),
        n_folds: int = 5,
        random_state: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.n_factors = n_factors
        self.n_folds = n_folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Choose the number of factors, then fit to all samples.

        Parameters
        ----------
        X : DataFrame or array-like, shape (n_samples, n_features)
        y : array-like, Series or DataFrame, shape (n_samples,) or (n_samples, n_tasks)
        groups : array-like, shape (n_samples,), optional
            Samples of one group stay together in the inner folds.
        """
        self.choose(X, y, groups)
        self.n_tasks_ = 1 if np.ndim(y) == 1 else np.shape(y)[1]
        chosen = self._with(self.n_factors_)
        more = {}
        if groups is not None and has_fit_parameter(chosen, "groups"):
            more["groups"] = groups
        self.estimator_ = chosen.fit(X, y, **more)
        return self

    def choose(self, X: Any, y: Any, groups: Any = None) -> int:
        """Choose the number of factors without fitting to all samples; arguments as for `fit`."""
        numbers = sorted({check_count("n_factors", one) for one in self.n_factors})
        if not numbers:
            raise InputError("n_factors names no number to choose from: give at least one.")
        self.aucs_: dict[int, float] = {}
        if len(numbers) > 1:
            self.aucs_ = self._compare(numbers, X, y, groups)
        # The first of equal ones is the smallest; without any AUC the smallest is the safest.
        known = [number for number, auc in self.aucs_.items() if not np.isnan(auc)]
        self.n_factors_ = max(known, key=lambda one: round(self.aucs_[one], 12), default=numbers[0])
        return self.n_factors_

    def _with(self, n_factors: int, **settings: Any) -> Any:
        estimator = clone(self.estimator).set_params(n_factors=n_factors, **settings)
        if estimator.get_params().get("random_state", 0) is None:
            estimator.set_params(random_state=self.random_state)
        return estimator

    def _compare(self, numbers: list[int], X: Any, y: Any, groups: Any) -> dict[int, float]:
        """AUC of every number by cross-validation within the training samples."""
        if groups is not None:
            groups = group_numbers(groups, pd.DataFrame(X).index)
        table = pd.DataFrame(X).reset_index(drop=True)
        labels = pd.DataFrame(y).reset_index(drop=True)
        _, codes = encode_labels(labels, len(table))
        least = min(int(np.bincount(column[column >= 0]).min()) for column in codes.T)
        n_folds = min(self.n_folds, least)
        if groups is not None:
            n_folds = min(n_folds, len(np.unique(groups)))
        if n_folds < 2:
            warnings.warn(
                f"a class or the groups are too few to choose n_factors by cross-validation: "
                f"{numbers[0]} is taken.",
                UserWarning,
                stacklevel=3,
            )
            return {}
        most = len(table) * (n_folds - 1) // n_folds
        if groups is not None:
            most -= int(np.unique(groups, return_counts=True)[1].max())
        possible = [number for number in numbers if number <= most]
        if len(possible) < len(numbers):
            warnings.warn(
                f"n_factors={numbers[-1]} is more than an inner fold has samples for: at most "
                f"{most} is tried.",
                UserWarning,
                stacklevel=3,
            )
        if not possible:
            return {}
        # A scale of the decisions does not change an AUC, so its time can be saved.
        spared = {"calibration": "none"} if "calibration" in self.estimator.get_params() else {}
        result = cross_validate(
            {_name(number): self._with(number, **spared) for number in possible},
            table,
            labels,
            n_folds=n_folds,
            groups=groups,
            random_state=self.random_state,
        )
        if not result.complete:
            raise KeyboardInterrupt
        means = result.summary().groupby("model")["auc"].mean()
        return {number: float(means[_name(number)]) for number in possible}

    @property
    def chosen_(self) -> list[str]:
        """The number chosen, in words, once for every label column."""
        return [_name(self.n_factors_)] * self.n_tasks_

    @property
    def classes_(self) -> Any:
        """Labels in increasing order; a list with several label columns."""
        return self._fitted.classes_

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of new samples."""
        return np.asarray(self._fitted.predict(X))

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of new samples."""
        return self._fitted.predict_proba(X)

    def decision_function(self, X: Any) -> Any:
        """Decisions of new samples."""
        return self._fitted.decision_function(X)

    @property
    def _fitted(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_


def _name(n_factors: int) -> str:
    return f"n_factors={n_factors}"
