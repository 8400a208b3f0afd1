"""Cross-validated experiments: several tables, all tasks of each at once, common folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from rankfactor.errors import InputError
from rankfactor.evaluation import Evaluation, cross_validate
from rankfactor.experiments.entries import CHOSEN, MARGIN, N_FACTORS, Entry, build, entries
from rankfactor.experiments.few_labels import FewLabels
from rankfactor.experiments.outcome import Keep, Outcome, Progress, counted, in_turn
from rankfactor.experiments.paper import Area, beside
from rankfactor.experiments.problem import Problem
from rankfactor.folds import group_numbers, possible_folds, smallest_training_part
from rankfactor.tasks import encode_labels

Published = Mapping[str, Mapping[str, Area]]  # the paper's numbers, by task and model


@dataclass(frozen=True)
class Plan:
    """How models are fitted and evaluated."""

    way: str = "all"  # one of `rankfactor.experiments.entries.WAYS`
    n_folds: int = 10
    n_repeats: int = 1
    n_factors: int = N_FACTORS
    random_state: int = 0
    n_jobs: int = 1
    n_threads: int | None = None
    max_samples: int | None = None  # size to which larger sets are subsampled

    def told(self) -> dict[str, Any]:
        """Settings that determine a result, as written beside it."""
        return {
            "settings": self.way,
            "folds": self.n_folds,
            "repeats": self.n_repeats,
            "n_factors": self.n_factors,
            "seed": self.random_state,
            **({} if self.max_samples is None else {"max_samples": self.max_samples}),
        }


@dataclass
class _Found:
    rows: list[dict[str, Any]] = field(default_factory=list)
    fits: list[pd.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def take(self, known: Outcome, problem: Problem, rows: Sequence[Entry]) -> list[Entry]:
        """Copy an earlier run's results on a problem; return the missing entries."""
        mine = _of(known.rows, problem)
        records: list[dict[str, Any]] = mine.to_dict("records")  # type: ignore[assignment]
        by_key = {(one["task"], one["model"], one["settings"]): one for one in records}

        def has(row: Entry) -> bool:
            return all((task, row.model, row.settings) in by_key for task in problem.labels)

        taken = [row for row in rows if has(row)]
        self.rows += [by_key[t, row.model, row.settings] for t in problem.labels for row in taken]
        if taken:
            fits = _of(known.fits, problem)
            self.fits.append(fits[fits["model"].isin({row.name for row in taken})])
            self.notes += [one for one in known.notes if one.startswith(f"{problem.data}: ")]
        return [row for row in rows if row not in taken]


def run_folds(
    name: str,
    title: str,
    problems: Iterable[Problem],
    *,
    models: Sequence[str],
    published: Published | None = None,
    notes: Sequence[str] = (),
    progress: Progress | None = None,
    keep: Keep | None = None,
    known: Outcome | None = None,
    **settings: Any,
) -> Outcome:
    """Cross-validate models on the problems, one after the other.

    If a class has fewer samples (or groups) than folds, the number of folds is reduced.

    Parameters
    ----------
    name, title : str
    problems : iterable of Problem
    models : sequence of str
    published : mapping, optional
        The paper's numbers, for tasks named as in the paper.
    notes : sequence of str
        Further notes.
    progress : callable, optional
        Called with the name of a step, the part done, and the total.
    keep : callable, optional
        Called with the results so far, an incomplete outcome, after every problem except the last.
    known : Outcome, optional
        An earlier run with the same settings: its results are not computed again.
    settings
        As for `Plan`.

    Raises
    ------
    InputError
        If the earlier run had other settings.
    KeyboardInterrupt
        At Ctrl-C if no problem is finished; otherwise finished problems are kept.
    """
    plan = Plan(**settings)
    rows = entries(models, plan.way, plan.n_factors)
    if known is not None:
        _check_alike(known, name, plan.told())
    found = _Found(notes=list(notes))

    def run(problem: Problem) -> bool:
        first = len(found.rows)
        missing = rows if known is None else found.take(known, problem, rows)
        if not missing:
            return False
        evaluation = _evaluate(problem, missing, found.notes, plan, progress)
        if not evaluation.complete:
            raise KeyboardInterrupt
        found.rows += _rows(problem, missing, evaluation, published or {})
        order = {(row.model, row.settings): number for number, row in enumerate(rows)}
        tasks = list(problem.labels)
        found.rows[first:] = sorted(
            found.rows[first:],
            key=lambda one: (tasks.index(one["task"]), order[one["model"], one["settings"]]),
        )
        n_train = evaluation.folds["n_train"].clip(upper=problem.n_labels)
        found.fits.append(evaluation.folds.assign(n_train=n_train, **problem.place))
        return True

    def outcome(*missing: str) -> Outcome:
        fits = pd.concat(found.fits, ignore_index=True)
        told = (*dict.fromkeys(found.notes), *missing)  # forms of a set share their notes
        table = pd.DataFrame(found.rows)
        return Outcome(name, title, table, fits, plan.told(), told, complete=not missing)

    return in_turn(list(problems), run, outcome, keep)


def _of(frame: pd.DataFrame, problem: Problem) -> pd.DataFrame:
    """Rows of a problem."""
    for column, value in problem.place.items():
        frame = frame[frame[column] == value]
    return frame


def _check_alike(known: Outcome, name: str, settings: Mapping[str, Any]) -> None:
    """Refuse an earlier run that had other settings."""
    if known.name != name:
        raise InputError(f"the earlier run is of {known.name}, not of {name}.")
    for setting, value in settings.items():
        if known.settings.get(setting) != value:
            raise InputError(
                f"the earlier run had {setting} {known.settings.get(setting)}, not {value}: "
                "use the same settings, or start in another folder."
            )


def _evaluate(
    problem: Problem,
    rows: Sequence[Entry],
    notes: list[str],
    plan: Plan,
    progress: Progress | None,
) -> Evaluation:
    """Evaluation of one problem; adjustments are added to the notes."""
    n = len(problem.table)
    _, class_index = encode_labels(problem.labels, n)
    groups = None
    if problem.groups is not None:
        groups = group_numbers(problem.groups, problem.table.index)
    folds = possible_folds(class_index, groups, plan.n_folds)
    most = smallest_training_part(n, groups, max(folds, 1))
    notes += [f"{problem.data}: {one}" for one in problem.notes]
    if folds < plan.n_folds:
        notes.append(f"{problem.data}: {folds} folds, because of its smallest class.")
    if most < plan.n_factors:
        notes.append(f"{problem.data}: at most {most} factors, because training parts are small.")

    def tell(model: str, done: int, total: int) -> None:
        if progress is not None:
            progress(f"{problem.name}: {model}", done, total)

    def model(row: Entry) -> Any:
        built = build(
            row,
            n_factors=plan.n_factors,
            most_factors=max(most, 1),
            random_state=plan.random_state,
            # Parallel folds use the cores better than the threads of one small fit.
            n_threads=1 if plan.n_threads is None and plan.n_jobs != 1 else plan.n_threads,
            log=problem.log,
        )
        return built if problem.n_labels is None else FewLabels(built, problem.n_labels)

    return cross_validate(
        {row.name: model(row) for row in rows},
        problem.table,
        problem.labels,
        n_folds=folds,
        n_repeats=plan.n_repeats,
        groups=problem.groups,
        random_state=plan.random_state,
        n_jobs=plan.n_jobs,
        progress=tell,
    )


def _rows(
    problem: Problem, rows: Sequence[Entry], evaluation: Evaluation, published: Published
) -> list[dict[str, Any]]:
    """One row per task and model, with the paper's numbers."""
    by_name = {row.name: row for row in rows}
    chosen = evaluation.folds.groupby(["task", "model"])["chosen"]
    table = []
    for ours in evaluation.summary().to_dict("records"):
        row, task = by_name[ours["model"]], ours["task"]
        theirs = published.get(problem.paper.get(task, ""), {})
        measures = ("auc", "auc_sd", "accuracy", "accuracy_sd", "seconds")
        table.append(
            {
                **problem.place,
                **{"task": task, "n": int(problem.labels[task].notna().sum())},
                **{"model": row.model, "settings": row.settings},
                **{name: float(ours[name]) for name in measures},
                "chosen": counted(chosen.get_group((task, row.name)))
                if row.settings in (CHOSEN, MARGIN)
                else "",
                **beside(theirs.get(row.model, Area())),
            }
        )
    return table
