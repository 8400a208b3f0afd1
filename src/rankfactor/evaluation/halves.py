"""Complementary halves of a table's samples, balanced by class, with groups kept whole.

Units (samples, or groups of them) come in random order, and each goes to the half where it reduces
the imbalance: first of the levels of `rankfactor.folds.strata`, then of the classes of every task
and of the number of samples; ties are broken at random. Without groups, the halves of a level
differ by at most one sample. A split that leaves a half without a class of a task is drawn again.

scikit-learn's StratifiedGroupKFold assigns groups in the order of their composition, so that
repeated splits hardly differ. Splits must differ for their spread to be a sampling spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError, counted
from rankfactor.folds import strata
from rankfactor.tasks import Task
from rankfactor.typing import Floats, Integers

_ATTEMPTS = 1000


class Halves(NamedTuple):
    """One split: its number from 0, positions of the samples, and seeds of the two fits."""

    number: int
    first: Integers
    second: Integers
    seeds: tuple[int, int]


def make_halves(
    tasks: Sequence[Task],
    class_index: Integers,
    *,
    n_pairs: int,
    groups: Integers | None,
    random_state: int | None,
) -> list[Halves]:
    """Splits of the samples into complementary halves.

    The first splits do not depend on their number.

    Parameters
    ----------
    tasks : sequence of Task
    class_index : int array, shape (n_samples, n_tasks)
        Class numbers, -1 where a label is missing; no columns without labels.
    n_pairs : int
    groups : int array, shape (n_samples,), or None
        Group numbers; a group is never split.
    random_state : int or None

    Raises
    ------
    InputError
        If a class has a single sample or group, or no split gives both halves every class.
    """
    units = np.arange(len(class_index)) if groups is None else groups
    _check_units(tasks, class_index, units, "sample" if groups is None else "group")
    primary, secondary = _balanced(class_index, units)
    halves = []
    for number, source in enumerate(np.random.SeedSequence(random_state).spawn(n_pairs)):
        shuffle, *seeds = source.spawn(3)
        rng = np.random.default_rng(shuffle)
        second = _divided(tasks, class_index, units, (primary, secondary), rng)
        pair = np.flatnonzero(~second), np.flatnonzero(second)
        one, other = (int(seed.generate_state(1)[0]) for seed in seeds)
        halves.append(Halves(number, *pair, (one, other)))
    return halves


def _balanced(class_index: Integers, units: Integers) -> tuple[Floats, Floats]:
    """Contribution of each unit to the levels (units, levels), and to the classes and the size."""
    n_units = int(units.max()) + 1
    levels = np.zeros(len(class_index), np.int64)
    if class_index.shape[1]:
        levels = np.unique(strata(class_index, 2), return_inverse=True)[1]
    columns = [column + 1 for column in class_index.T] + [np.zeros(len(units), np.int64)]

    def counts(column: Integers) -> Floats:
        table = np.zeros((n_units, int(column.max()) + 1))
        np.add.at(table, (units, column), 1.0)
        return table

    return counts(levels), np.hstack([counts(column) for column in columns])


def _divided(
    tasks: Sequence[Task],
    class_index: Integers,
    units: Integers,
    added: tuple[Floats, Floats],
    rng: np.random.Generator,
) -> NDArray[np.bool_]:
    """Which samples are in the second half, shape (n_samples,)."""
    task = label = ""
    for _ in range(_ATTEMPTS):
        side = _sides(added, rng)  # (units,): -1 or 1
        second = np.asarray(side[units] > 0)
        lacking = _lacking(tasks, class_index, second)
        if lacking is None:
            return second
        task, label = lacking
    raise InputError(
        f"no split of the samples gives both halves all classes (task {task!r}, class "
        f"{label!r}): add samples of the class, or leave out the class {label!r}."
    )


def _sides(added: tuple[Floats, Floats], rng: np.random.Generator) -> Floats:
    """The half of every unit, -1 or 1: where it reduces the imbalance."""
    n_units = len(added[0])
    surplus = [np.zeros(one.shape[1]) for one in added]  # of the second half over the first
    side, coins = np.empty(n_units), rng.integers(0, 2, n_units) * 2.0 - 1.0
    for unit in rng.permutation(n_units).tolist():
        # |surplus + added|^2 < |surplus - added|^2 exactly where this product is negative.
        gains = (float(own @ one[unit]) for own, one in zip(surplus, added, strict=True))
        side[unit] = next((-np.sign(gain) for gain in gains if gain), coins[unit])
        for own, one in zip(surplus, added, strict=True):
            own += side[unit] * one[unit]
    return side


def _lacking(
    tasks: Sequence[Task], class_index: Integers, second: NDArray[np.bool_]
) -> tuple[str, str] | None:
    """Task and class that one of the halves lacks, None if both have all."""
    for task, column in zip(tasks, class_index.T, strict=True):
        for half in (~second, second):
            known = column[half & (column >= 0)]
            counts = np.bincount(known, minlength=len(task.classes))
            if counts.min() == 0:
                return task.name, str(task.classes[counts.argmin()])
    return None


def _check_units(tasks: Sequence[Task], class_index: Integers, units: Integers, noun: str) -> None:
    """Refuse classes that cannot be in both halves."""
    n_units = len(np.unique(units))
    if n_units < 4:
        raise InputError(f"halves need at least 4 {noun}s, and there are {n_units}: add {noun}s.")
    for task, column in zip(tasks, class_index.T, strict=True):
        for number, label in enumerate(task.classes):
            count = len(np.unique(units[column == number]))
            if count < 2:
                name = str(label)
                raise InputError(
                    f"task {task.name!r} has {counted(count, noun)} of class {name!r}, and both "
                    f"halves need one: add {noun}s of the class, or leave out the class {name!r}."
                )
