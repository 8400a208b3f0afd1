"""The weight of the labels in predictive training, chosen by cross-validation.

Every candidate is fitted without each of a few folds of the training data in turn; the one with the
largest area under the ROC curve, averaged over folds and label columns, is taken, the smaller of
equals. Samples that belong together, such as those of one patient, are kept together if their
groups are given; if not, the choice leans towards larger weights.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from rankfactor.choosing import choose
from rankfactor.engine.predictive import Predictive
from rankfactor.errors import InputError
from rankfactor.features.matching import NamedSparse
from rankfactor.folds import Fold, gaps, make_folds
from rankfactor.measures import mean_area
from rankfactor.tasks import Task
from rankfactor.typing import Integers

logger = logging.getLogger(__name__)

CANDIDATES = (0.0, 1.0, 3.0, 10.0)
N_FOLDS = 3


def choose_label_weight(
    estimator: Any,
    table: Any,
    tasks: Sequence[Task],
    class_index: Integers,
    seed: int,
    groups: Integers | None = None,
) -> float:
    """The best of `CANDIDATES` for a table and class numbers (N, n_tasks).

    The arguments of the estimator are those of the fits, but for the weight, the seed and the
    progress. The table is as given, so that covariates and all else are learned within the folds.
    If the groups (N,) leave no fold that has all classes the default is taken, with a warning.
    """
    columns = {}
    for task, column in zip(tasks, class_index.T, strict=True):
        names = task.classes[column].astype(object)
        names[column < 0] = None
        columns[task.name] = names
    labels = pd.DataFrame(columns)
    if groups is not None and groups.max() + 1 < N_FOLDS:
        raise InputError(
            f"label_weight='auto' divides samples into {N_FOLDS} parts, and there are "
            f"{groups.max() + 1} groups only: set a number."
        )
    folds = make_folds(
        tasks, class_index, n_folds=N_FOLDS, n_repeats=1, groups=groups, random_state=seed
    )
    # Groups can leave a part without one of the classes: it has nothing to say.
    folds = [fold for fold in folds if not any(gaps(tasks, class_index, fold))]
    if not folds:
        warnings.warn(
            "the groups leave no part of the samples with all classes, so label_weight='auto' has "
            f"nothing to choose by: {Predictive.label_weight:g} is taken.",
            UserWarning,
            stacklevel=3,
        )
        return Predictive.label_weight

    def measure(fold: Fold) -> Iterator[float]:
        for weight in CANDIDATES:
            yield _area(estimator, weight, table, labels, class_index, fold)

    means = choose(CANDIDATES, folds, measure).scores
    logger.info("areas under the curve for label_weight %s: %s", CANDIDATES, means)
    return CANDIDATES[int(np.argmax(means))]  # not rounded, as in all that is published


def _area(
    estimator: Any,
    weight: float,
    table: Any,
    labels: pd.DataFrame,
    class_index: Integers,
    fold: Fold,
) -> float:
    """Area under the curve on a fold, averaged over tasks."""
    model = clone(estimator).set_params(
        label_weight=weight,
        calibration="none",
        random_state=fold.seed,
        progress=None,
        checkpoint=None,
        memory=None,
        cluster=None,
    )
    train, answers = _take(table, fold.train), labels.iloc[fold.train]
    answers = answers.set_axis(getattr(train, "index", range(len(answers))))
    with warnings.catch_warnings():
        # What is wrong with the table is said of the whole of it.
        warnings.simplefilter("ignore")
        parts = model.fit(train, answers).decision_function(_take(table, fold.test))
    areas = []
    for column, part in zip(class_index[fold.test].T, parts, strict=True):
        known = column >= 0
        decisions = part.reshape(len(column), -1)[known]
        m = decisions.shape[1]
        areas.append(mean_area(column[known], np.arange(m) + (m == 1), decisions))
    return float(np.nanmean(areas))


def _take(table: Any, samples: Integers) -> Any:
    """Some samples of a table of any kind."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[samples]
    return table.take(samples) if isinstance(table, NamedSparse) else table[samples]
