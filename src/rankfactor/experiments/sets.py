"""The sets of the suite as problems: those of the library, or of a user's folder.

Sets are those of `rankfactor.data.collection`, or the NumPy archives of a folder in the format of
`rankfactor.data.npz`: ``X``, the label ``y``, and columns ``lab_*``. A column named patient,
individual, subject, donor or groups keeps samples together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from rankfactor.data import read_table
from rankfactor.data.collection import list_datasets, load
from rankfactor.errors import InputError, did_you_mean
from rankfactor.experiments.problem import Problem
from rankfactor.experiments.rnaseq import sepsis_tasks
from rankfactor.features.plan import FeaturePlan
from rankfactor.folds import drawn_by_class

GROUPS = ("patient", "individual", "subject", "donor", "groups")


def load_problems(
    folder: Path | None, sets: Sequence[str], max_samples: int, random_state: int
) -> tuple[list[Problem], list[str]]:
    """Problems to run, and a note for every set that is left out.

    Parameters
    ----------
    folder : Path or None
        Folder of ``.npz`` archives, instead of the library's sets.
    sets : sequence of str
        Names of the sets to use; by default all.
    max_samples : int
        Larger sets are subsampled to this size, drawn by class.
    random_state : int

    Raises
    ------
    InputError
        If a set does not exist, or there is none.
    """
    notes: list[str] = []
    found = _known(sets, notes) if folder is None else _of_folder(folder, sets)
    problems = [_at_most(problem, max_samples, random_state) for problem in found]
    if not problems:
        raise InputError("no data set is available: set RANKFACTOR_DATA.")
    return problems, notes


def _known(sets: Sequence[str], notes: list[str]) -> Iterator[Problem]:
    """The library's sets, or those named; unavailable ones are left out with a note."""
    infos = {info.name: info for info in list_datasets()}
    for name in sets:
        if name not in infos:
            raise InputError(
                f"there is no data set '{name}'; choose among {', '.join(infos)}."
                f"{did_you_mean(name, infos)}"
            )
    for name in sets or infos:
        try:
            data = load(name)
        except InputError as error:
            if sets:
                raise
            notes.append(f"{name} is left out: {error}")
            continue
        if name == "sepsis_gse13015":
            # Its second column has classes of three samples; the two large ones are the hard task.
            yield Problem(name, data.table, sepsis_tasks(data.labels))
            continue
        table, words = data.table, list(infos[name].words)
        if words:
            # 0/1 features from all samples: they use the words that occur, not the classes.
            plan, whole = FeaturePlan.learn(table.join(data.labels[words]))
            table = pd.DataFrame(whole.values, table.index, plan.names)
        yield _problem(name, table, data.labels, list(infos[name].labels))


def _of_folder(folder: Path, sets: Sequence[str]) -> Iterator[Problem]:
    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder: give one with .npz archives.")
    files = {path.stem: path for path in sorted(folder.glob("*.npz"))}
    if not files:
        raise InputError(f"{folder} has no .npz archive: put tables of the form X, y into it.")
    for name in sets:
        if name not in files:
            raise InputError(f"{folder} has no {name}.npz; it has {', '.join(files)}.")
    for name in sets or files:
        table = read_table(files[name])
        if "y" not in table.annotations:
            raise InputError(f"{files[name]} has no array 'y' of labels; add it.")
        yield _problem(name, table.values, table.annotations, ["y"])


def _problem(
    name: str, table: pd.DataFrame, annotations: pd.DataFrame, tasks: list[str]
) -> Problem:
    groups = next(
        (c for c in annotations.columns if str(c).lower() in GROUPS and c not in tasks), None
    )
    kept = None if groups is None else annotations[groups]
    notes: tuple[str, ...] = ()
    if kept is not None:
        # A sample without a group forms its own group.
        kept = kept.where(kept.notna(), pd.Series(table.index, index=table.index).astype(str))
        notes = (f"samples of the same '{groups}' are kept together.",)
    return Problem(name, table, annotations[tasks], kept, notes)


def _at_most(problem: Problem, most: int, random_state: int) -> Problem:
    n = len(problem.table)
    if n <= most:
        return problem
    first = problem.labels.iloc[:, 0].astype(str)
    some = np.sort(drawn_by_class(first, most, random_state))
    return replace(
        problem,
        table=problem.table.iloc[some],
        labels=problem.labels.iloc[some],
        groups=None if problem.groups is None else problem.groups.iloc[some],
        notes=(*problem.notes, f"{most} of {n} samples, drawn by class."),
    )
