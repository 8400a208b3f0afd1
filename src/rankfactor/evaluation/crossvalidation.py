"""`cross_validate`: several models on several tasks, on the same folds."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from rankfactor.errors import InputError
from rankfactor.evaluation.fold_store import Answer, FoldFit, FoldFolder, described
from rankfactor.evaluation.result import DECISION_COLUMNS, FOLD_COLUMNS, GROUP, MEASURES, Evaluation
from rankfactor.evaluation.running import in_short, run, seeded, without_checkpoint
from rankfactor.evaluation.watch import recorded
from rankfactor.evaluation.wrapper import fit_with_groups
from rankfactor.features.suspects import LabelWarning, check_labels
from rankfactor.folds import Fold, gap, group_numbers, make_folds, warn_of_gaps
from rankfactor.measures import accuracy, balanced_accuracy, mean_area
from rankfactor.posterior.convergence import Convergence
from rankfactor.tasks import Task, encode_labels, positive_classes
from rankfactor.typing import Integers


class _Problem(NamedTuple):
    """Data of a cross-validation, from which every fold takes its part."""

    table: pd.DataFrame
    labels: pd.DataFrame
    tasks: tuple[Task, ...]
    class_index: Integers  # (n_samples, n_tasks), -1 where a label is missing
    groups: Integers | None  # (n_samples,)
    positive: dict[str, int]  # number of the positive class, for tasks where it is not the second


def cross_validate(
    models: Mapping[str, Any],
    table: pd.DataFrame,
    labels: pd.DataFrame,
    *,
    n_folds: int = 10,
    n_repeats: int = 1,
    groups: Any = None,
    positive: Mapping[str, Any] | None = None,
    random_state: int | None = 0,
    n_jobs: int = 1,
    progress: Callable[[str, int, int], None] | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Evaluation:
    """Cross-validate several models on several tasks at once.

    Every model is cloned and fitted once per fold, on all tasks together, using only the training
    part. All models have the same folds.

    Parameters
    ----------
    models : mapping from name to estimator
        Classifiers with ``fit``, ``predict`` and ``decision_function`` (or ``predict_proba``) that
        take a DataFrame of labels and return a list, like `RankFactorClassifier`. With one task
        they get a Series, so that any scikit-learn classifier works. If ``random_state`` of a model
        is None, it is set from the seed of the fold. If ``fit`` accepts ``groups``, it gets those
        of the training part for its inner folds.
    table : DataFrame, shape (n_samples, n_features)
        NaN = missing.
    labels : DataFrame, shape (n_samples, n_tasks)
        The same index; one column per task, NaN = unknown.
    n_folds : int, default 10
    n_repeats : int, default 1
        Number of repeats, each with new folds.
    groups : array-like or Series, optional
        Samples of one group stay in one fold, for example those of one patient.
    positive : mapping from task to class, optional
        The positive class of a task with two classes; by default the second.
    random_state : int or None, default 0
        Seed of the folds. Results do not depend on ``n_jobs``.
    n_jobs : int, default 1
        Parallel fits, in separate processes; the models' own threads come on top.
    progress : callable, optional
        Called with the name of a model, how many of its folds are finished, and how many there
        are: once for every model before the first fold, then after every fit.
    folder : path, optional
        Folder that finished fits are written to.
    resume : bool, default False
        Read the finished fits in ``folder`` and compute only the others. The result is that of an
        uninterrupted run. Fits of another table or of other settings are refused.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        If the labels do not belong to the table or a class has fewer samples than there are folds.

    Warns
    -----
    UserWarning
        If a fold has no AUC because its training part lacks a class or its test part has only one.
        A task with one class left in the training part is not fitted in that fold.
    LabelWarning
        If a column of the table separates classes perfectly by itself, or classes differ only in
        case or blanks (`rankfactor.features.suspects`).

    Notes
    -----
    Folds are stratified on the combinations of all tasks' labels if each of them has at least
    ``n_folds`` samples (a missing label is a class of its own here), else on the first task for
    which that is true of its classes, else on the classes of the first task.

    Warnings of the models are reported once per kind, with the number of folds. Ctrl-C keeps the
    folds that all models have finished, with a warning; without any, it is raised.
    """
    if not models:
        raise InputError("there is no model to evaluate: give at least one.")
    if not table.index.equals(labels.index):
        raise InputError(
            "the labels do not have the index of the table: reorder them, for example "
            "labels.loc[table.index]."
        )
    if labels.shape[1] == 0:
        raise InputError("there is no task: labels needs at least one column.")
    tasks, class_index = encode_labels(labels, len(table))
    chosen = positive_classes(tasks, positive or {})
    together = None if groups is None else group_numbers(groups, table.index)
    folds = make_folds(
        tasks,
        class_index,
        n_folds=n_folds,
        n_repeats=n_repeats,
        groups=together,
        random_state=random_state,
    )
    store = _store(folder, random_state)
    if store is not None:
        division = {"n_folds": n_folds, "n_repeats": n_repeats, "seed": random_state}
        store.open(
            described(models, table, tasks, class_index, together, chosen, **division), resume
        )
    warn_of_gaps(tasks, class_index, folds)
    check_labels(table, tasks, class_index)
    problem = _Problem(table, labels, tasks, class_index, together, chosen)
    # All models of a fold before the next fold, so that an interruption leaves complete folds.
    jobs = [(name, models[name], fold, problem) for fold in folds for name in models]
    done = _done(jobs, store, n_jobs, len(models), progress or (lambda model, done, total: None))
    # Of a fold that not all models have finished, nothing is kept.
    finished = [fold for fold in range(len(folds)) if _numbers(fold, models) <= set(done)]
    complete = len(finished) == len(folds)
    if not complete:
        warnings.warn(
            f"interrupted: {len(finished)} of {len(folds)} folds were finished by all models, and "
            "only these are kept.",
            UserWarning,
            stacklevel=2,
        )
    kept = sorted(number for fold in finished for number in _numbers(fold, models))
    for name in models:
        heard = [done[number].heard for number in kept if jobs[number][0] == name]
        for category, text in in_short(heard, "folds", name):
            warnings.warn(text, category, stacklevel=2)
    columns = DECISION_COLUMNS if together is None else [*DECISION_COLUMNS, GROUP]
    nothing = pd.DataFrame(columns=columns)
    judged = [_judged(jobs[number][0], jobs[number][2], problem, done[number]) for number in kept]
    parts = [part for _, frames in judged for part in frames] or [nothing]
    return Evaluation(
        pd.DataFrame([row for rows, _ in judged for row in rows], columns=FOLD_COLUMNS),
        pd.concat(parts, ignore_index=True)[columns],
        complete,
        len(folds),
    )


def _store(folder: Any, random_state: int | None) -> FoldFolder | None:
    if folder is not None and random_state is None:
        raise InputError(
            "a folder of folds can be resumed only with the same folds: set random_state to a "
            "whole number."
        )
    return None if folder is None else FoldFolder(Path(folder))


def _numbers(fold: int, models: Mapping[str, Any]) -> set[int]:
    """Numbers of the jobs of a fold."""
    return {*range(fold * len(models), (fold + 1) * len(models))}


def _done(
    jobs: list[tuple[str, Any, Fold, _Problem]],
    store: FoldFolder | None,
    n_jobs: int,
    n_models: int,
    tell: Callable[[str, int, int], None],
) -> dict[int, FoldFit]:
    """Finished fits by number of the job; all of them, or those of a fold at least after Ctrl-C."""
    done: dict[int, FoldFit] = {}
    for number in range(len(jobs)):
        found = None if store is None else store.read(number)
        if found is not None:
            done[number] = found

    def told(name: str) -> None:
        tell(name, sum(jobs[number][0] == name for number in done), len(jobs) // n_models)

    for name, *_ in jobs[:n_models]:
        told(name)
    missing = [number for number in range(len(jobs)) if number not in done]
    try:
        outcomes = run(_run_one, [jobs[number] for number in missing], n_jobs)
        for number, outcome in zip(missing, outcomes, strict=True):
            # Written here, since workers of a cluster need not see the folder.
            if store is not None:
                store.write(number, outcome)
            done[number] = outcome
            told(jobs[number][0])
    except KeyboardInterrupt:
        if not {*range(n_models)} <= set(done):
            raise
    return done


def _run_one(name: str, estimator: Any, fold: Fold, problem: _Problem) -> FoldFit:
    """Fit one model to the training part of a fold, and predict the test part."""
    started = time.perf_counter()
    with recorded() as heard:
        model = without_checkpoint(seeded(clone(estimator), fold.seed))
        answers = _fit_and_predict(model, fold, problem)
    # Problems of the labels were already reported for the whole table.
    heard = [one for one in heard if not issubclass(one.category, LabelWarning)]
    seconds = time.perf_counter() - started
    return FoldFit(answers, seconds, _state(model) if answers else "", heard)


def _judged(
    name: str, fold: Fold, problem: _Problem, fit: FoldFit
) -> tuple[list[dict[str, Any]], list[pd.DataFrame]]:
    """Measures of a fit on the test part, one row a task, and the decisions behind them."""
    rows, decisions = [], []
    for number, task in enumerate(problem.tasks):
        train, test = (problem.class_index[part, number] for part in (fold.train, fold.test))
        known = test >= 0
        place: dict[str, Any] = {"model": name, "task": task.name}
        place |= {"repeat": fold.repeat, "fold": fold.number}
        row = {
            **place,
            "n_train": int((train >= 0).sum()),
            "n_test": int(known.sum()),
            **dict.fromkeys(MEASURES, np.nan),
            "seconds": fit.seconds,
            "chosen": "",
            "convergence": fit.convergence,
        }
        if answer := fit.answers.get(number):
            truth = test[known]
            row["chosen"] = answer.chosen
            if gap(task, train, test) is None:
                row["auc"] = mean_area(truth, answer.positives, answer.decisions)
            row["accuracy"] = accuracy(truth, answer.predicted)
            row["balanced_accuracy"] = balanced_accuracy(truth, answer.predicted)
            tested = fold.test[known]
            frame = _long(task, problem.table.index[tested], truth, answer).assign(**place)
            if problem.groups is not None:
                frame[GROUP] = np.repeat(problem.groups[tested], len(answer.positives))
            decisions.append(frame)
        rows.append(row)
    return rows, decisions


def _state(model: Any) -> str:
    """How a model's fit ended; for a wrapper, that of the model inside."""
    ended = getattr(getattr(model, "estimator_", model), "convergence_", None)
    return ended.state if isinstance(ended, Convergence) else ""


def _fit_and_predict(model: Any, fold: Fold, problem: _Problem) -> dict[int, Answer]:
    """Answers by number of task; tasks with fewer than two classes left cannot be fitted."""
    train = problem.class_index[fold.train]
    numbers = [i for i, column in enumerate(train.T) if len(np.unique(column[column >= 0])) > 1]
    if not numbers or not len(fold.test):
        return {}
    labels = problem.labels.iloc[fold.train, numbers]
    # With a Series, outputs are those of one label column.
    single = len(problem.tasks) == 1
    groups = None if problem.groups is None else problem.groups[fold.train]
    table, new = problem.table.iloc[fold.train], problem.table.iloc[fold.test]
    fit_with_groups(model, table, labels.iloc[:, 0] if single else labels, groups)
    predicted = np.asarray(model.predict(new), object).reshape(len(new), len(numbers))
    decide = getattr(model, "decision_function", None) or model.predict_proba
    decisions, classes = decide(new), model.classes_
    try:
        chances = model.predict_proba(new)
    except AttributeError:  # the model, or the one it wraps, lacks it
        chances = None if single else [None] * len(numbers)
    if single:
        decisions, classes, chances = [decisions], [classes], [chances]
    answers = {}
    for j, number in enumerate(numbers):
        task, known = problem.tasks[number], problem.class_index[fold.test, number] >= 0
        number_of = {label: i for i, label in enumerate(task.classes.tolist())}
        positives = np.array([number_of[label] for label in np.asarray(classes[j]).tolist()])
        decision = np.asarray(decisions[j], float)[known]
        if decision.ndim == 1:
            decision = np.column_stack([-decision, decision])
        chance = np.full(decision.shape, np.nan)
        if chances[j] is not None:
            chance = np.asarray(chances[j], float)[known]
        if task.n_rows == 1:
            own = positives == problem.positive.get(task.name, 1)
            positives, decision, chance = positives[own], decision[:, own], chance[:, own]
        said = [number_of.get(label, -1) for label in predicted[known, j].tolist()]
        chosen = model.chosen_[j] if hasattr(model, "chosen_") else _by_analysis(model)
        answers[number] = Answer(np.array(said, np.int64), positives, decision, chance, chosen)
    return answers


def _by_analysis(model: Any) -> str:
    """Number of factors chosen by parallel analysis, in words; empty if it was given."""
    count = getattr(getattr(model, "posterior_", None), "factor_count", None)
    return "" if count is None else f"n_factors={count.n_factors}"


def _long(task: Task, samples: pd.Index[Any], truth: Integers, answer: Answer) -> pd.DataFrame:
    """Decisions of a test part with one row per sample and class."""
    labels = task.classes.astype(object)
    n, m = answer.decisions.shape
    return pd.DataFrame(
        {
            "sample": np.repeat(np.asarray(samples, object), m),
            "label": np.repeat(labels[truth], m),
            # -1 would index the last class: an unknown class becomes None.
            "predicted": np.repeat(np.append(labels, [None])[answer.predicted], m),
            "positive": np.tile(labels[answer.positives], n),
            "decision": answer.decisions.ravel(),
            "probability": answer.probabilities.ravel(),
        }
    )
