"""Cross-validated prediction of every held-out sample."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rankfactor.interpret.held_out import sample_table
from rankfactor.interpret.wording import plain
from rankfactor.posterior import Posterior
from rankfactor.tasks import Task
from rankfactor.typing import Integers, Strings


def held_out(
    posterior: Posterior, decisions: pd.DataFrame | None, names: Strings
) -> list[dict[str, Any]]:
    """Predicted class and probability of samples, task by task.

    Parameters
    ----------
    posterior : Posterior
    decisions : DataFrame or None
        As `rankfactor.report.write_report` takes them; the first model's decisions are used.
    names : array of str
        The samples.

    Returns
    -------
    list of dict
        One per task, empty if there are no predictions: ``predicted`` (class numbers, -1 where
        unknown), ``said`` and ``of`` (headings), ``probability`` (a list with None where unknown;
        left out if no sample has one).
    """
    tasks = () if posterior.classifiers is None else posterior.classifiers.tasks
    if decisions is None or decisions.empty or "predicted" not in decisions:
        return [{} for _ in tasks]
    table = sample_table(posterior, decisions)
    return [_of_task(task, table, pd.Index(names.astype(str))) for task in tasks]


def misclassified(
    class_index: Integers, found: dict[str, Any]
) -> tuple[Integers, int] | tuple[None, int]:
    """Indices of misclassified samples, and the number of samples with a prediction."""
    if "predicted" not in found:
        return None, 0
    predicted = np.array(found["predicted"])
    known = (predicted >= 0) & (class_index >= 0)
    return np.flatnonzero(known & (predicted != class_index)), int(known.sum())


def _of_task(task: Task, table: pd.DataFrame, names: pd.Index[str]) -> dict[str, Any]:
    part = table[table["task"] == task.name]
    if part.empty:
        return {}
    part = part.set_index(part["sample"].astype(str)).reindex(names)
    labels = [str(label) for label in task.classes]
    predicted = pd.Categorical(part["predicted"], labels).codes.astype(int)
    own = plain(task.classes[1]) if task.n_rows == 1 else "predicted"
    result: dict[str, Any] = {
        "predicted": predicted.tolist(),
        "said": "Predicted",
        "of": f"P({own})",
    }
    columns = [f"probability of {label}" for label in labels]
    chances = part.reindex(columns=columns).to_numpy(float)
    # With more than two classes: the probability of the predicted class.
    column = np.ones(len(part), int) if task.n_rows == 1 else np.maximum(predicted, 0)
    chance = np.where(predicted >= 0, chances[np.arange(len(part)), column], np.nan)
    if np.isfinite(chance).any():
        rounded = np.round(chance, 3).tolist()
        result["probability"] = [None if one != one else one for one in rounded]
    return result
