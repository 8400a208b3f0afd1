"""The weight of the labels in predictive training, chosen by cross-validation.

Every candidate is fitted without each of a few folds of the training data in turn; the one with the
largest AUC, averaged over folds and label columns, is taken; ties go to the smaller. Samples that
belong together, such as those of one patient, are kept together if groups are given; otherwise the
choice is biased towards larger weights.
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

    The fits use the arguments of the estimator except the weight, the seed and the progress. The
    table is as given, so that covariates and everything else are learned within the folds. If the
    groups (N,) leave no fold with all classes, the default is used, with a warning.
    """
    columns = {}
    for task, column in zip(tasks, class_index.T, strict=True):
        names = task.classes[column].astype(object)
        names[column < 0] = None
        columns[task.name] = names
    labels = pd.DataFrame(columns)
    if groups is not None and groups.max() + 1 < N_FOLDS:
        raise InputError(
            f"label_weight='auto' splits samples into {N_FOLDS} parts, and there are only "
            f"{groups.max() + 1} groups: set a number."
        )
    folds = make_folds(
        tasks, class_index, n_folds=N_FOLDS, n_repeats=1, groups=groups, random_state=seed
    )
    # Groups can leave a part without one of the classes, which then has no score.
    folds = [fold for fold in folds if not any(gaps(tasks, class_index, fold))]
    if not folds:
        warnings.warn(
            "the groups leave no part of the samples with all classes, so label_weight='auto' "
            f"cannot choose: using {Predictive.label_weight:g}.",
            UserWarning,
            stacklevel=3,
        )
        return Predictive.label_weight

    def measure(fold: Fold) -> Iterator[float]:
        for weight in CANDIDATES:
            yield _area(estimator, weight, table, labels, class_index, fold)

    means = choose(CANDIDATES, folds, measure).scores
    logger.info("areas under the curve for label_weight %s: %s", CANDIDATES, means)
    return CANDIDATES[int(np.argmax(means))]  # not rounded, as in the published results


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
        # Problems of the table were already reported for the whole table.
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
