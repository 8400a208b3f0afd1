"""The suite: every data set there is, all models, and what can be said over all of them.

Sets are those of `rankfactor.data.collection`, or the NumPy archives of a folder of the user's own,
of the form of `rankfactor.data.npz`: ``X``, the label ``y``, and columns ``lab_*``, of which one
with the name patient, individual, subject, donor or groups keeps samples together. A set counts
once in the ranks, with the mean AUC over its tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.data import read_table
from rankfactor.data.collection import list_datasets, load
from rankfactor.errors import InputError, did_you_mean
from rankfactor.experiments.crossvalidated import run_folds
from rankfactor.experiments.entries import CHOSEN
from rankfactor.experiments.outcome import Keep, Outcome
from rankfactor.experiments.problem import Problem
from rankfactor.experiments.ranks import Ranks, mean_ranks
from rankfactor.experiments.rnaseq import sepsis_tasks
from rankfactor.features.plan import FeaturePlan
from rankfactor.folds import drawn_by_class

MODELS = (
    *("R-L-BSVM", "R-NL-BSVM", "G-L-BSVM", "PFA-L-BSVM", "NS-PCA-SVM"),
    *("L-SVM", "RBF-SVM", "RF"),
)
PLAIN = ("L-SVM", "RBF-SVM")
GROUPS = ("patient", "individual", "subject", "donor", "groups")
MOST_SAMPLES = 1000


def run(
    models: Sequence[str] = MODELS,
    *,
    folder: Path | None = None,
    sets: Sequence[str] = (),
    max_samples: int = MOST_SAMPLES,
    random_state: int = 0,
    keep: Keep | None = None,
    **settings: Any,
) -> Outcome:
    """Run the suite; settings as for `run_folds`.

    Parameters
    ----------
    models : sequence of str
    folder : Path, optional
        Folder of ``.npz`` archives, in place of the library's sets.
    sets : sequence of str
        Names of the sets to take; by default all.
    max_samples : int
        Larger sets are represented by as many samples, drawn by class.
    random_state : int
    keep : callable, optional
        Called with what is finished so far after every set but the last, its ranks included.
    """
    notes: list[str] = []
    problems = list(_known(sets, notes) if folder is None else _of_folder(folder, sets))
    if not problems:
        raise InputError("the suite has no data set that can be had: set RANKFACTOR_DATA.")
    fewer = [_at_most(problem, max_samples, random_state) for problem in problems]

    def ranked(found: Outcome) -> Outcome:
        ranks = mean_ranks(by_set(found.rows))
        return replace(
            found,
            summary=_summary(found.rows, ranks),
            notes=(*sentences(found.rows, ranks), *found.notes),
        )

    found = run_folds(
        "suite",
        "Suite: AUC and accuracy by cross-validation",
        fewer,
        models=models,
        notes=notes,
        random_state=random_state,
        max_samples=max_samples,
        keep=None if keep is None else lambda part: keep(ranked(part)),
        **settings,
    )
    return ranked(found)


def by_set(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC over the tasks of every set (rows), by model and settings (columns)."""
    named = rows.assign(model=_names(rows))
    table = named.pivot_table("auc", "data", "model", sort=False, dropna=False)
    return table[list(dict.fromkeys(named["model"]))]


def sentences(rows: pd.DataFrame, ranks: Ranks) -> list[str]:
    """What the ranks say, and where a plain SVM wins, in plain words."""
    told = []
    best = str(ranks.mean.index[0])
    n = f"{ranks.n_sets} data set{'s' if ranks.n_sets != 1 else ''}"
    if np.isnan(ranks.critical):
        told.append(f"{n} and {len(ranks.mean)} models are too few for a test of mean ranks.")
    else:
        told.append(
            f"Over {n} the mean ranks "
            f"{'differ' if ranks.p_value < 0.05 else 'do not differ'} "
            f"(Friedman, p = {ranks.p_value:.2g}); two models differ at 5 % if their mean ranks "
            f"are {ranks.critical:.2f} apart (Nemenyi), so "
            f"{best} is not to be told from {', '.join(ranks.as_good(best)[1:]) or 'no other'}."
        )
    table = by_set(rows)
    plain = [name for name in table.columns if name in PLAIN]
    factors = [name for name in table.columns if str(name).startswith(("R-", "OR-", "G-"))]
    if plain and factors:
        ahead = table[plain].max(axis=1) > table[factors].max(axis=1)
        where = [str(name) for name in table.index[ahead.to_numpy()]]
        told.append(
            f"A plain SVM ({' or '.join(plain)}) has a higher mean AUC than every factor model on "
            f"{len(where)} of {len(table)} sets" + (f": {', '.join(where)}." if where else ".")
        )
    return told


def _names(rows: pd.DataFrame) -> list[str]:
    """Name of every row: its model, with the settings where they are chosen or one of several."""
    several = rows.drop_duplicates(["model", "settings"])["model"].value_counts() > 1
    return [
        f"{model} ({settings})" if settings == CHOSEN or several[model] else str(model)
        for model, settings in zip(rows["model"], rows["settings"], strict=True)
    ]


def _summary(rows: pd.DataFrame, ranks: Ranks) -> pd.DataFrame:
    """Models and settings by mean rank, with means over sets."""
    named, order = rows.assign(name=_names(rows)), list(ranks.mean.index)
    measures = ["auc", "accuracy", "seconds"]
    means = named.groupby(["data", "name"])[measures].mean().groupby("name").mean()
    table = named.drop_duplicates("name").set_index("name").loc[order, ["model", "settings"]]
    near = ranks.as_good(str(order[0]))
    return table.assign(
        mean_rank=ranks.mean,
        **means.loc[order],
        as_good_as_the_best=["yes" if one in near else "no" for one in order],
    ).reset_index(drop=True)


def _known(sets: Sequence[str], notes: list[str]) -> Iterator[Problem]:
    """The library's sets, or those named; one that cannot be had is left out with a note."""
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
            # 0/1 features of all samples: they say which words there are, and nothing of classes.
            plan, whole = FeaturePlan.learn(table.join(data.labels[words]))
            table = pd.DataFrame(whole.values, table.index, plan.names)
        yield _problem(name, table, data.labels, list(infos[name].labels))


def _of_folder(folder: Path, sets: Sequence[str]) -> Iterator[Problem]:
    if not folder.is_dir():
        raise InputError(f"{folder} is no folder: give one that holds .npz archives.")
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
        # A sample without a group belongs to none but its own.
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
