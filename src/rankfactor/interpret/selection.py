"""What is asked for and what is worth showing: tasks, factors and features, in their order."""

from __future__ import annotations

import numbers

import numpy as np

from rankfactor.errors import InputError
from rankfactor.posterior import Classifiers, Posterior
from rankfactor.typing import Integers


def classifiers_of(posterior: Posterior) -> Classifiers:
    """Classifiers of a model that was fitted with labels."""
    if posterior.classifiers is None:
        raise InputError("this model was fitted without labels: it has no coefficients to show.")
    return posterior.classifiers


def task_number(posterior: Posterior, task: int | str) -> int:
    """Number of a task given by its name or number."""
    names = [one.name for one in classifiers_of(posterior).tasks]
    if isinstance(task, str):
        if task not in names:
            raise InputError(f"there is no task {task!r}: choose one of {', '.join(names)}.")
        return names.index(task)
    if not 0 <= task < len(names):
        raise InputError(f"there is no task number {task}: the model has {len(names)}, from 0.")
    return int(task)


def shown_factors(posterior: Posterior, factor: int | str | None = None) -> list[int]:
    """Numbers of the factors asked for: one by name or number, or all in use (all if none is)."""
    names = posterior.factor_names
    if factor is None:
        return np.flatnonzero(posterior.active).tolist() or list(range(len(names)))
    if isinstance(factor, str):
        if factor not in names:
            raise InputError(
                f"there is no factor {factor!r}: choose one of {names[0]} to {names[-1]}."
            )
        return [names.index(factor)]
    whole = isinstance(factor, numbers.Integral) and not isinstance(factor, bool)
    if not (whole and 0 <= factor < len(names)):
        raise InputError(f"there is no factor number {factor}: the model has {len(names)}, from 0.")
    return [int(factor)]


def leading_rows(posterior: Posterior, factor: int) -> Integers:
    """Features in the model by the size of their standardised loading, the largest first."""
    size = np.abs(posterior.standardised_loadings[posterior.coding.columns, factor])
    return np.asarray(np.argsort(-size, kind="stable"), np.int64)


def table_rows(posterior: Posterior) -> Integers:
    """Features in the model that are the table's own, not covariates that were added to it."""
    return np.flatnonzero(posterior.coding.columns < len(posterior.table_features))
