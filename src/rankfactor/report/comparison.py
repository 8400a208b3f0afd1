"""The comparison and the decisions, checked."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from rankfactor.errors import InputError
from rankfactor.plots.style import plain

COMPARISON_COLUMNS = ("task", "model", "auc", "auc_sd", "accuracy", "accuracy_sd", "seconds")
DECISION_COLUMNS = ("sample", "task", "model", "label", "decision")


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
    """Rows of every task in their order; the best AUC of a task is marked.

    Raises
    ------
    InputError
        If a column is missing or holds no numbers.
    """
    if comparison is None or comparison.empty:
        return {}
    check_columns("comparison", comparison, COMPARISON_COLUMNS)
    result: dict[str, list[Score]] = {}
    for task, part in comparison.groupby("task", sort=False):
        try:
            values = part[list(COMPARISON_COLUMNS[2:])].to_numpy(float)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the comparison of task {task!r} holds something that is no number: {error}."
            ) from error
        known = values[:, 0][np.isfinite(values[:, 0])]
        best = float(known.max()) if known.size else np.nan
        result[plain(task)] = [
            Score(plain(model), auc, auc_sd, accuracy, accuracy_sd, seconds, best=auc == best)
            for model, (auc, auc_sd, accuracy, accuracy_sd, seconds) in zip(
                part["model"], values.tolist(), strict=True
            )
        ]
    return result


def finite_decisions(decisions: pd.DataFrame | None) -> pd.DataFrame | None:
    """Rows with a label and a finite decision; None if there are none.

    Raises
    ------
    InputError
        If a column is missing or a decision is no number.
    """
    if decisions is None or decisions.empty:
        return None
    check_columns("decisions", decisions, DECISION_COLUMNS)
    try:
        values = decisions["decision"].to_numpy(float)
    except (TypeError, ValueError) as error:
        raise InputError(f"a decision is no number: {error}.") from error
    known = decisions[decisions["label"].notna().to_numpy() & np.isfinite(values)]
    return None if known.empty else known


def check_columns(what: str, frame: pd.DataFrame, columns: tuple[str, ...]) -> None:
    """Refuse a frame that lacks one of the columns."""
    lacking = [column for column in columns if column not in frame]
    if lacking:
        raise InputError(
            f"the {what} frame lacks the column {lacking[0]!r}: it needs {', '.join(columns)}."
        )
