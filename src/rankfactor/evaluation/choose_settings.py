"""`ChooseSettings`: a classifier whose settings are chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone

from rankfactor.choosing import Choice
from rankfactor.errors import InputError
from rankfactor.evaluation.crossvalidation import cross_validate
from rankfactor.evaluation.wrapper import Wrapper, fit_with_groups
from rankfactor.folds import drawn_by_class, possible_folds, smallest_training_part
from rankfactor.tasks import encode_labels

Settings = Mapping[str, Any]


def compare(
    estimator: Any,
    candidates: Sequence[Settings],
    table: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    measure: str = "auc",
    n_folds: int,
    groups: Any,
    random_state: int | None,
) -> list[float]:
    """Measure of an estimator with every candidate's settings: mean over folds, then over tasks."""
    # A scale of the decisions changes no measure, so its time can be saved.
    spared = {"calibration": "none"} if "calibration" in estimator.get_params() else {}
    result = cross_validate(
        {in_words(one): clone(estimator).set_params(**one, **spared) for one in candidates},
        table.reset_index(drop=True),
        labels.reset_index(drop=True),
        n_folds=n_folds,
        groups=groups,
        random_state=random_state,
    )
    if not result.complete:
        raise KeyboardInterrupt
    means = result.summary().groupby("model")[measure].mean()
    return [float(means[in_words(one)]) for one in candidates]


def in_words(settings: Settings) -> str:
    """Settings as "n_factors=20, training=predictive"."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


class ChooseSettings(Wrapper):
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
        candidates: Sequence[Settings],
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
        self.settings_ = dict(Choice(self.candidates, self.scores_).best)
        self._n_tasks = 1 if np.ndim(y) == 1 else np.shape(y)[1]
        estimator = clone(self.estimator).set_params(**self.settings_)
        self.estimator_ = fit_with_groups(estimator, X, y, groups)
        return self

    @property
    def chosen_(self) -> list[str]:
        """The settings chosen, in words, once for every label column."""
        return [in_words(self.settings_)] * self._n_tasks

    def _compare(self, table: pd.DataFrame, labels: pd.DataFrame, groups: Any) -> list[float]:
        """Measure of every candidate on the same inner folds."""
        if len(self.candidates) == 1:
            return []
        _, class_index = encode_labels(labels, len(table))
        some = np.arange(len(table))
        if len(some) > self.most_samples:
            some = np.sort(drawn_by_class(class_index[:, 0], self.most_samples, self.random_state))
        inside = None
        if groups is not None:
            inside = np.unique(np.asarray(groups), return_inverse=True)[1][some]
        n_folds = possible_folds(class_index[some], inside, self.n_folds)
        if n_folds < 2:
            return []
        most = smallest_training_part(len(some), inside, n_folds)
        possible = [i for i, one in enumerate(self.candidates) if one.get("n_factors", 0) <= most]
        if len(possible) < 2:
            return []
        scores = np.full(len(self.candidates), np.nan)
        scores[possible] = compare(
            self.estimator,
            [self.candidates[i] for i in possible],
            table.iloc[some],
            labels.iloc[some],
            measure=self.measure,
            n_folds=n_folds,
            groups=inside,
            random_state=self.random_state,
        )
        return [float(one) for one in scores]
