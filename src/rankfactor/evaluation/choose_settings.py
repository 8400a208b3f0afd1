"""`ChooseSettings` and `ChooseFactors`: classifiers with settings chosen by cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import clone

from rankfactor.choosing import Choice
from rankfactor.errors import AUTO, InputError, check_count
from rankfactor.evaluation.crossvalidation import cross_validate
from rankfactor.evaluation.wrapper import Wrapper, fit_with_groups
from rankfactor.folds import drawn_by_class, group_numbers, possible_folds, smallest_training_part
from rankfactor.tasks import encode_labels
from rankfactor.typing import Integers

Settings = Mapping[str, Any]


class _Choosing(Wrapper):
    """Base class: choose settings on the training samples, then fit to all of them."""

    estimator: Any
    random_state: int | None
    settings_: dict[str, Any]
    folds_: pd.DataFrame

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Choose the settings, then fit to all samples; groups stay together in the inner folds."""
        self.choose(X, y, groups)
        self._n_tasks = 1 if np.ndim(y) == 1 else np.shape(y)[1]
        self.estimator_ = fit_with_groups(self._with(self.settings_), X, y, groups)
        return self

    @property
    def chosen_(self) -> list[str]:
        """The settings chosen, in words, once for every label column."""
        return [in_words(self.settings_)] * self._n_tasks

    def _with(self, settings: Settings) -> Any:
        return clone(self.estimator).set_params(**settings)

    def _scores(
        self,
        candidates: Sequence[Settings],
        table: pd.DataFrame,
        labels: pd.DataFrame,
        measure: str,
        n_folds: int,
        groups: Integers | None,
        n_repeats: int = 1,
    ) -> list[float]:
        """Measure of every candidate: mean over folds, then over label columns."""
        # Calibration does not change the measures, so it is skipped.
        spared = {"calibration": "none"} if "calibration" in self.estimator.get_params() else {}
        result = cross_validate(
            {in_words(one): self._with({**one, **spared}) for one in candidates},
            table.reset_index(drop=True),
            labels.reset_index(drop=True),
            n_folds=n_folds,
            n_repeats=n_repeats,
            groups=groups,
            random_state=self.random_state,
        )
        if not result.complete:
            raise KeyboardInterrupt
        self.folds_ = result.folds
        means = result.summary().groupby("model")[measure].mean()
        return [float(means[in_words(one)]) for one in candidates]


@dataclass(eq=False, repr=False)
class ChooseSettings(_Choosing):
    """A classifier whose settings are chosen by cross-validation within the training samples.

    Parameters
    ----------
    estimator : classifier
    candidates : sequence of mapping
        Settings to choose from; ties go to the first. Candidates with more factors than an inner
        training part has samples are not compared.
    measure : {"auc", "accuracy"}, default "auc"
        Mean over folds, then over label columns.
    n_folds : int, default 3
        Inner folds; fewer if a class or the number of groups is smaller. With fewer than two folds
        or candidates, the first candidate is taken.
    n_repeats : int, default 1
        Repeats of the inner cross-validation, each with new folds.
    most_samples : int, default 3000
        Larger training parts are subsampled to this size, drawn by class of the first label column.
    random_state : int or None, default 0

    Attributes
    ----------
    estimator_ : classifier
        Fitted with the chosen settings to all training samples.
    settings_ : dict
    scores_ : list of float
        Measure of every candidate, NaN if it was not compared; empty if there was nothing to
        choose.
    folds_ : DataFrame
        Measures of every candidate in every inner fold, as in
        `rankfactor.evaluation.Evaluation.folds`; only if candidates were compared.
    """

    estimator: Any
    candidates: Sequence[Settings]
    measure: str = "auc"
    n_folds: int = 3
    n_repeats: int = 1
    most_samples: int = 3000
    random_state: int | None = 0

    def choose(self, X: Any, y: Any, groups: Any = None) -> dict[str, Any]:
        """Choose the settings without fitting to all samples; arguments as for `fit`."""
        if self.measure not in ("auc", "accuracy"):
            raise InputError(f"measure must be 'auc' or 'accuracy', not {self.measure!r}.")
        if not self.candidates:
            raise InputError("candidates is empty: give at least one setting.")
        self.scores_ = self._compare(pd.DataFrame(X), pd.DataFrame(y), groups)
        self.settings_ = dict(Choice(self.candidates, self.scores_).best)
        return self.settings_

    def _compare(self, table: pd.DataFrame, labels: pd.DataFrame, groups: Any) -> list[float]:
        """Measure of every candidate on the same inner folds."""
        if len(self.candidates) == 1:
            return []
        _, class_index = encode_labels(labels, len(table))
        some = np.arange(len(table))
        if len(some) > self.most_samples:
            some = np.sort(drawn_by_class(class_index[:, 0], self.most_samples, self.random_state))
        inside = None if groups is None else group_numbers(groups, table.index)[some]
        n_folds = possible_folds(class_index[some], inside, self.n_folds)
        most = smallest_training_part(len(some), inside, n_folds)
        numbers = [one.get("n_factors", AUTO) for one in self.candidates]
        possible = [i for i, number in enumerate(numbers) if number == AUTO or number <= most]
        if n_folds < 2 or len(possible) < 2:
            return []
        candidates = [self.candidates[i] for i in possible]
        part, answers, division = table.iloc[some], labels.iloc[some], (n_folds, inside)
        scores = np.full(len(self.candidates), np.nan)
        scores[possible] = self._scores(
            candidates, part, answers, self.measure, *division, self.n_repeats
        )
        return list(map(float, scores))


@dataclass(eq=False, repr=False)
class ChooseFactors(_Choosing):
    """A factor model whose ``n_factors`` is chosen within the training data.

    Every number is cross-validated on the same folds of the training samples; the one with the
    highest AUC (mean over folds, then over label columns) is fitted to all of them. Ties go to the
    smallest number.

    Parameters
    ----------
    estimator : RankFactorClassifier
    n_factors : sequence of int, default (5, 10, 20, 40)
        Numbers to choose from. Numbers too large for the samples of an inner training part are left
        out, with a warning.
    n_folds : int, default 5
        Inner folds; fewer if a class or the number of groups is smaller.
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

    estimator: Any
    n_factors: Sequence[int] = (5, 10, 20, 40)
    n_folds: int = 5
    random_state: int | None = None

    def choose(self, X: Any, y: Any, groups: Any = None) -> int:
        """Choose the number of factors without fitting to all samples; arguments as for `fit`."""
        numbers = sorted({check_count("n_factors", one) for one in self.n_factors})
        if not numbers:
            raise InputError("n_factors is empty: give at least one number.")
        self.aucs_: dict[int, float] = {}
        if len(numbers) > 1:
            self.aucs_ = self._compare(numbers, X, y, groups)
        # Ties go to the smallest; without any AUC the smallest is the safest.
        tried = list(self.aucs_) or numbers
        self.n_factors_ = Choice(tried, list(self.aucs_.values())).best
        self.settings_ = {"n_factors": self.n_factors_}
        return self.n_factors_

    def _with(self, settings: Settings) -> Any:
        estimator = super()._with(settings)
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
                f"using {numbers[0]}.",
                UserWarning,
                stacklevel=3,
            )
            return {}
        # Without groups the size of a fold is known exactly.
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
        candidates = [{"n_factors": number} for number in possible]
        scores = self._scores(candidates, table, labels, "auc", n_folds, groups)
        return dict(zip(possible, scores, strict=True))

    def predict_proba(self, X: Any) -> Any:
        """Class probabilities of new samples."""
        return self._fitted.predict_proba(X)


def in_words(settings: Settings) -> str:
    """Settings as "n_factors=20, training=predictive"."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())
