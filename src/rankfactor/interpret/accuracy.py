"""Cross-validated numbers of a model beside others: where they come from and what they say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from rankfactor.errors import InputError
from rankfactor.interpret.wording import number, plain
from rankfactor.posterior import Posterior

_COMPARISON = ("task", "model", "auc", "auc_sd", "accuracy", "accuracy_sd", "seconds")
_DECISIONS = ("sample", "task", "model", "label", "decision")
# AUCs that differ by less look the same with two digits.
_LEVEL = 0.005


@dataclass(frozen=True)
class Validation:
    """Where the cross-validated numbers of a report come from.

    Attributes
    ----------
    sentence : str
        Table, samples, folds and repeats, shown beside the numbers.
    settings : mapping
        Settings of the cross-validated models.
    flaws : tuple of str
        Sentences on what keeps the numbers from being those of the model: settings that differ,
        folds that are missing, what could not be checked.
    """

    sentence: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    flaws: tuple[str, ...] = ()


class Score(NamedTuple):
    """Cross-validated numbers of a model on a task; NaN where not known."""

    model: str
    auc: float
    auc_sd: float
    accuracy: float
    accuracy_sd: float
    seconds: float
    best: bool


def scores_by_task(comparison: pd.DataFrame | None) -> dict[str, list[Score]]:
    """Rows of every task in their order; the best AUC of a task is marked."""
    if comparison is None or comparison.empty:
        return {}
    check_columns("comparison", comparison, _COMPARISON)
    result: dict[str, list[Score]] = {}
    columns = list(_COMPARISON[2:])
    for task, part in comparison.groupby("task", sort=False):
        try:
            values = part[columns].to_numpy(float)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the comparison of task {task!r} holds something that is no number: {error}."
            ) from error
        best = np.fmax.reduce(values[:, 0])
        result[plain(task)] = [
            Score(plain(model), best=row[0] == best, **dict(zip(columns, row, strict=True)))
            for model, row in zip(part["model"], values.tolist(), strict=True)
        ]
    return result


def known_decisions(decisions: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """Rows with a label and a finite decision of a frame that has these columns."""
    check_columns("decisions", decisions, columns)
    try:
        values = decisions["decision"].to_numpy(float)
    except (TypeError, ValueError) as error:
        raise InputError(f"a decision is no number: {error}.") from error
    known: pd.DataFrame = decisions[decisions["label"].notna().to_numpy() & np.isfinite(values)]
    return known


def check_columns(what: str, frame: pd.DataFrame, columns: tuple[str, ...]) -> None:
    """Refuse a frame that lacks one of the columns."""
    lacking = [column for column in columns if column not in frame]
    if lacking:
        raise InputError(
            f"the {what} frame lacks the column {lacking[0]!r}: it needs {', '.join(columns)}."
        )


def two_class_tasks(
    posterior: Posterior, decisions: pd.DataFrame | None
) -> Iterator[tuple[int, str, pd.DataFrame, object]]:
    """Number, name, decisions and positive class of every task with two classes."""
    if decisions is None or decisions.empty:
        return
    known = known_decisions(decisions, _DECISIONS)
    tasks = () if posterior.classifiers is None else posterior.classifiers.tasks
    classes = {task.name: task.classes for task in tasks}
    for place, (task, part) in enumerate(known.groupby("task", sort=False)):
        if part["label"].nunique() != 2:
            continue
        own = classes.get(str(task))
        positive = own[1] if own is not None and len(own) == 2 else None
        if str(positive) not in set(part["label"].astype(str)):
            positive = None  # 1 against 1.0: the larger label is the model's second class too
        elif own is not None and "positive" in part:
            # The model's class is spoken of, whichever the cross-validation was asked for.
            same = (part["positive"].astype(str) != str(own[0])).to_numpy()
            turned = {"decision": -part["decision"]}
            if "probability" in part:
                turned["probability"] = 1 - part["probability"]
            part = part.assign(
                **{name: part[name].where(same, new) for name, new in turned.items()}
            )
        yield place, str(task), part, positive


def verdict(task: str, scores: Sequence[Score]) -> str:
    """Say how well a task's model separates, and how it stands beside the baselines.

    A difference counts only if it exceeds the larger of the two standard deviations over folds.
    """
    own, *rest = scores
    others = sorted((s for s in rest if np.isfinite(s.auc)), key=lambda score: -score.auc)
    if not np.isfinite(own.auc):
        return f"{task}: no cross-validated AUC."
    spread = f" (sd {number(own.auc_sd)} over folds)" if np.isfinite(own.auc_sd) else ""
    beside = "".join(f"; {other.model} {number(other.auc)}" for other in others)
    said = f"{task}: cross-validated AUC {number(own.auc)}{spread}{beside}."
    if own.auc <= 0.5:
        said += " That is no better than chance (0.50)."
    elif own.auc - 0.5 <= own.auc_sd:
        said += " That is within the spread over folds of chance (0.50)."
    if not others:
        return said
    best = others[0]
    name = best.model if len(rest) == 1 else f"the best baseline, {best.model}"
    gap, widest = own.auc - best.auc, np.fmax(own.auc_sd, best.auc_sd)
    if abs(gap) < _LEVEL:
        return f"{said} {own.model} and {name} are level."
    if not widest > 0:
        size = "the spread over folds is not known"
    elif abs(gap) <= widest:
        size = "a difference within the spread over folds"
    else:
        size = "more than the spread over folds"
    side = "above" if gap > 0 else "below"
    return f"{said} {own.model} is {number(abs(gap))} {side} {name}: {size}."
