"""`ChooseFactors`: a factor model whose number of factors is chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone

from rankfactor.choosing import Choice
from rankfactor.errors import InputError
from rankfactor.evaluation.choose_settings import compare, in_words
from rankfactor.evaluation.wrapper import Wrapper, fit_with_groups
from rankfactor.folds import group_numbers, possible_folds, smallest_training_part
from rankfactor.model import check_count
from rankfactor.tasks import encode_labels


class ChooseFactors(Wrapper):
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
        self._n_tasks = 1 if np.ndim(y) == 1 else np.shape(y)[1]
        estimator = self._seeded().set_params(n_factors=self.n_factors_)
        self.estimator_ = fit_with_groups(estimator, X, y, groups)
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
        tried = list(self.aucs_) or numbers
        self.n_factors_ = Choice(tried, list(self.aucs_.values())).best
        return self.n_factors_

    def _seeded(self) -> Any:
        estimator = clone(self.estimator)
        if estimator.get_params().get("random_state", 0) is None:
            estimator.set_params(random_state=self.random_state)
        return estimator

    def _compare(self, numbers: list[int], X: Any, y: Any, groups: Any) -> dict[int, float]:
        """AUC of every number by cross-validation within the training samples."""
        table, labels = pd.DataFrame(X), pd.DataFrame(y)
        _, class_index = encode_labels(labels, len(table))
        n_folds = possible_folds(class_index, None, self.n_folds)
        if groups is not None:
            groups = group_numbers(groups, table.index)
            n_folds = min(n_folds, int(groups.max()) + 1)
        if n_folds < 2:
            warnings.warn(
                f"a class or the groups are too few to choose n_factors by cross-validation: "
                f"{numbers[0]} is taken.",
                UserWarning,
                stacklevel=3,
            )
            return {}
        # Without groups the size of a fold is known to the sample.
        most = smallest_training_part(len(table), groups, n_folds) + (groups is None)
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
        scores = compare(
            self._seeded(),
            [{"n_factors": number} for number in possible],
            table,
            labels,
            n_folds=n_folds,
            groups=groups,
            random_state=self.random_state,
        )
        return dict(zip(possible, scores, strict=True))

    @property
    def chosen_(self) -> list[str]:
        """The number chosen, in words, once for every label column."""
        return [in_words({"n_factors": self.n_factors_})] * self._n_tasks

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of new samples."""
        return self._fitted.predict_proba(X)
