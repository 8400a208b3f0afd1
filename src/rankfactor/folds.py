"""Folds that keep the classes of several tasks balanced, and groups of samples together.

The rule of stratification, the same for every seed:

1. every combination of the tasks' labels is a level, if each has at least as many samples as there
   are folds; a missing label is a separate class here;
2. otherwise the levels are those of the first task, in the order given, whose classes and missing
   labels each have that many samples;
3. otherwise they are the classes of the first task, with its few missing labels counted in its
   largest class.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rankfactor.errors import InputError, check_count, counted
from rankfactor.tasks import Task
from rankfactor.typing import Integers


class Fold(NamedTuple):
    """One split: repeat and fold from 1, positions of its samples, and its own seed."""

    repeat: int
    number: int
    train: Integers
    test: Integers
    seed: int

    def name(self, n_repeats: int) -> str:
        """Readable name: "fold 3", or "repeat 2, fold 3"."""
        fold = f"fold {self.number}"
        return fold if n_repeats == 1 else f"repeat {self.repeat}, {fold}"


def make_folds(
    tasks: Sequence[Task],
    class_index: Integers,
    *,
    n_folds: int,
    n_repeats: int,
    groups: Integers | None,
    random_state: int | None,
) -> list[Fold]:
    """Folds of all repeats.

    Parameters
    ----------
    tasks : sequence of Task
    class_index : int array, shape (n_samples, n_tasks)
        Class numbers, -1 where a label is missing.
    n_folds, n_repeats : int
    groups : int array, shape (n_samples,), or None
        Group numbers; a group is never split.
    random_state : int or None
    """
    check_count("n_folds", n_folds, least=2)
    check_count("n_repeats", n_repeats)
    if random_state is not None:
        check_count("random_state", random_state, least=0)
    _check_class_sizes(tasks, class_index, n_folds)
    if groups is not None and groups.max() + 1 < n_folds:
        raise InputError(
            f"there are {counted(groups.max() + 1, 'group')}, too few for {n_folds} folds: lower "
            "n_folds."
        )
    levels = strata(class_index, n_folds)
    folds = []
    for repeat, source in enumerate(np.random.SeedSequence(random_state).spawn(n_repeats), 1):
        shuffle, *seeds = (int(seed) for seed in source.generate_state(n_folds + 1))
        splits = divided(levels, groups, n_folds, shuffle)
        for number, ((train, test), seed) in enumerate(zip(splits, seeds, strict=True), 1):
            folds.append(Fold(repeat, number, train, test, seed))
    return folds


def divided(
    levels: Integers, groups: Integers | None, n_folds: int, random_state: Any
) -> list[tuple[Integers, Integers]]:
    """Training and test parts of samples with levels (n,), stratified; groups (n,) stay whole."""
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    splitter = kind(n_folds, shuffle=True, random_state=random_state)
    return list(splitter.split(levels, levels, groups))


def possible_folds(class_index: Integers, groups: Integers | None, n_folds: int) -> int:
    """Largest number of folds up to ``n_folds`` such that every class of every task fits in each.

    Arguments as for `make_folds`: samples of a group count as one.
    """
    units = np.arange(len(class_index)) if groups is None else groups
    least = min(
        len(np.unique(units[column == number]))
        for column in class_index.T
        for number in np.unique(column[column >= 0])
    )
    return min(n_folds, least)


def smallest_training_part(n_samples: int, groups: Integers | None, n_folds: int) -> int:
    """Minimum size of a training part: folds are equal up to one sample or group."""
    largest = 1 if groups is None else int(np.bincount(groups).max())
    return n_samples - -(-n_samples // n_folds) - largest


def drawn_by_class(levels: Any, n_samples: int, random_state: Any) -> Integers:
    """Positions of a stratified sample of the given size, with levels (n,)."""
    from sklearn.utils import resample

    options = {"n_samples": n_samples, "stratify": levels, "random_state": random_state}
    return np.asarray(resample(np.arange(len(levels)), replace=False, **options))


def strata(class_index: Integers, n_folds: int) -> Integers:
    """Level of every sample, shape (n_samples,), by the rule of the module's description."""
    _, levels = np.unique(class_index, axis=0, return_inverse=True)
    if np.bincount(levels).min() >= n_folds:
        return np.asarray(levels)
    for column in class_index.T:
        counts = np.bincount(column + 1)
        if counts[counts > 0].min() >= n_folds:
            return np.asarray(column)
    first = class_index[:, 0]
    largest = np.bincount(first[first >= 0]).argmax()
    return np.where(first >= 0, first, largest)


def group_numbers(groups: Any, index: pd.Index[Any]) -> Integers:
    """Groups as numbers from 0, shape (n_samples,)."""
    if isinstance(groups, pd.Series) and not groups.index.equals(index):
        raise InputError(
            "groups does not have the index of the table: reorder it, for example "
            "groups.loc[table.index]."
        )
    values = pd.Series(np.asarray(groups, dtype=object))
    if len(values) != len(index):
        raise InputError(
            f"there are {len(values)} groups for {counted(len(index), 'sample')}: give one each."
        )
    if values.isna().any():
        sample = index[int(values.isna().to_numpy().argmax())]
        raise InputError(
            f"sample {str(sample)!r} has no group: give it one of its own if it belongs to none."
        )
    return np.asarray(pd.factorize(values)[0], np.int64)


def warn_of_gaps(tasks: Sequence[Task], class_index: Integers, folds: Sequence[Fold]) -> None:
    """Warn of folds without an AUC, with the reason.

    Warnings point to the caller's caller.
    """
    n_repeats = folds[-1].repeat
    for fold in folds:
        for task, problem in zip(tasks, gaps(tasks, class_index, fold), strict=True):
            if problem:
                warnings.warn(
                    f"{fold.name(n_repeats)}, task {task.name!r}: {problem}, so its AUC is left "
                    "out of the means.",
                    UserWarning,
                    stacklevel=3,
                )


def gaps(tasks: Sequence[Task], class_index: Integers, fold: Fold) -> list[str | None]:
    """Reason why a fold has no AUC, or None, for every task."""
    pairs = zip(tasks, class_index.T, strict=True)
    return [gap(task, column[fold.train], column[fold.test]) for task, column in pairs]


def gap(task: Task, train: Integers, test: Integers) -> str | None:
    """Reason why a fold has no AUC for a task, or None, from the class numbers of both parts."""
    counts = np.bincount(train[train >= 0], minlength=len(task.classes))
    if counts.min() == 0:
        return f"the training part has no sample of class {str(task.classes[counts.argmin()])!r}"
    present = np.unique(test[test >= 0])
    if len(present) == 0:
        return "the test part has no labelled sample"
    if len(present) == 1:
        return f"the test part has samples of class {str(task.classes[present[0]])!r} only"
    return None


def _check_class_sizes(tasks: Sequence[Task], class_index: Integers, n_folds: int) -> None:
    for task, column in zip(tasks, class_index.T, strict=True):
        counts = np.bincount(column[column >= 0], minlength=len(task.classes))
        least = int(counts.min())
        if least < n_folds:
            advice = f"lower n_folds to {least}" if least > 1 else "add samples of the class"
            label = str(task.classes[counts.argmin()])
            raise InputError(
                f"task {task.name!r} has {counted(least, 'sample')} of class {label!r}, too few "
                f"for {n_folds} folds: {advice}, or leave out the class {label!r}."
            )
