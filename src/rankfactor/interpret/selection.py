"""Selection and order of tasks, factors and features to show."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence

import numpy as np

from rankfactor.errors import InputError
from rankfactor.posterior import Classifiers, Posterior
from rankfactor.posterior.certainty import assessed
from rankfactor.tasks import Task
from rankfactor.typing import Integers


def classifiers_of(posterior: Posterior) -> Classifiers:
    """Classifiers of a model that was fitted with labels."""
    if posterior.classifiers is None:
        raise InputError("this model was fitted without labels: it has no coefficients to show.")
    return posterior.classifiers


def number_of(kind: str, given: int | str, names: Sequence[str], hint: str) -> int:
    """Number of an item given by name or number; ``hint`` ends the message for a wrong name."""
    if isinstance(given, str):
        if given not in names:
            raise InputError(f"there is no {kind} {given!r}{hint}.")
        return names.index(given)
    whole = isinstance(given, numbers.Integral) and not isinstance(given, bool)
    if not (whole and 0 <= given < len(names)):
        raise InputError(f"there is no {kind} number {given}: the model has {len(names)}, from 0.")
    return int(given)


def task_number(posterior: Posterior, task: int | str) -> int:
    """Number of a task given by its name or number."""
    names = [one.name for one in classifiers_of(posterior).tasks]
    return number_of("task", task, names, f": choose one of {', '.join(names)}")


def row_classes(task: Task) -> list[object]:
    """Class that a positive coefficient favours, by classifier of a task."""
    return list(task.classes[-task.n_rows :])


def targets(posterior: Posterior) -> list[tuple[str, str]]:
    """Task and class that a positive decision favours, for every classifier row."""
    tasks = classifiers_of(posterior).tasks
    return [(task.name, str(label)) for task in tasks for label in row_classes(task)]


def shown_factors(posterior: Posterior, factor: int | str | None = None) -> list[int]:
    """Numbers of the factors asked for: one by name or number, or all in use (all if none is)."""
    names = posterior.factor_names
    if factor is None:
        return np.flatnonzero(posterior.active).tolist() or list(range(len(names)))
    return [number_of("factor", factor, names, f": choose one of {names[0]} to {names[-1]}")]


def leading_rows(posterior: Posterior, factor: int) -> Integers:
    """Features in the model by the size of their correlation with a factor, the largest first."""
    size = np.abs(posterior.structure[posterior.coding.columns, factor])
    return np.asarray(np.argsort(-size, kind="stable"), np.int64)


def table_rows(posterior: Posterior) -> Integers:
    """Features in the model that come from the table, without added covariates."""
    return np.flatnonzero(posterior.coding.columns < len(posterior.table_features))


def row_names(posterior: Posterior, rows: Integers) -> list[str]:
    """Names of features in the model."""
    return list(posterior.feature_names[posterior.coding.columns[rows]].tolist())


def supported_words(posterior: Posterior) -> str:
    """Words for a loading that `rankfactor.posterior.certainty.supported_loadings` accepts."""
    if assessed(posterior):
        return "a clear loading"
    return "a loading beyond chance"


def warn_of_lfsr() -> None:
    """Warn that an argument of earlier versions has no effect."""
    warnings.warn(
        "lfsr is deprecated and has no effect: features take part if their loading is clear or, "
        "where stability was not assessed, beyond chance.",
        FutureWarning,
        stacklevel=3,
    )
