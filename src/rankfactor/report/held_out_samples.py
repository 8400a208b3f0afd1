"""What cross-validation said of every sample while the model had not seen it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from rankfactor.interpret.accuracy import known_decisions
from rankfactor.interpret.wording import plain
from rankfactor.posterior import Posterior
from rankfactor.tasks import Task
from rankfactor.typing import Integers, Strings

_COLUMNS = ("sample", "task", "model", "label", "decision")


def held_out(
    posterior: Posterior, decisions: pd.DataFrame | None, names: Strings
) -> list[dict[str, Any]]:
    """Predicted class and probability of samples, task by task.

    Parameters
    ----------
    posterior : Posterior
    decisions : DataFrame or None
        As `rankfactor.report.write_report` takes them; those of the first model count.
    names : array of str
        The samples.

    Returns
    -------
    list of dict
        One per task, empty where nothing is known: ``predicted`` (class numbers, -1 where not
        known), ``said`` and ``of`` (headings), ``probability`` (a list with None where not known;
        left out if no sample has one). Of repeats the majority and the mean.
    """
    tasks = () if posterior.classifiers is None else posterior.classifiers.tasks
    if decisions is None or decisions.empty:
        return [{} for _ in tasks]
    decisions = known_decisions(decisions, _COLUMNS)
    return [_of_task(task, decisions, pd.Index(names.astype(str))) for task in tasks]


def misclassified(
    class_index: Integers, found: dict[str, Any]
) -> tuple[Integers, int] | tuple[None, int]:
    """Numbers of samples with a class predicted that is not theirs, and how many have one."""
    if "predicted" not in found:
        return None, 0
    predicted = np.array(found["predicted"])
    known = (predicted >= 0) & (class_index >= 0)
    return np.flatnonzero(known & (predicted != class_index)), int(known.sum())


def _of_task(task: Task, decisions: pd.DataFrame, names: pd.Index[str]) -> dict[str, Any]:
    part = decisions[decisions["task"].astype(str) == task.name]
    if part.empty:
        return {}
    part = part[part["model"] == part["model"].iloc[0]]
    part = part.assign(sample=part["sample"].astype(str))
    number = {str(label): code for code, label in enumerate(task.classes)}
    two = task.n_rows == 1
    if two:
        part = _for_second(part, task)
    elif "positive" not in part or "predicted" not in part:
        return {}
    if "predicted" in part:
        part = part.assign(said=[number.get(str(label), -1) for label in part["predicted"]])
    else:
        part = part.assign(said=(part["decision"].to_numpy(float) > 0).astype(int))
    # The most frequent class over repeats; the smaller number if two are as frequent.
    votes = part.groupby("sample")["said"].agg(lambda codes: int(np.bincount(codes + 1).argmax()))
    predicted = votes.reindex(names).fillna(0).to_numpy(int) - 1
    own = plain(task.classes[1]) if two else "predicted class"
    result: dict[str, Any] = {
        "predicted": predicted.tolist(),
        "said": "Predicted",
        "of": f"P({own})",
    }
    if "probability" not in part:
        return result
    if not two:
        part = part[part["positive"].astype(str).map(number) == part["said"]]
    chance = part.groupby("sample")["probability"].mean().reindex(names).to_numpy(float)
    if np.isfinite(chance).any():
        rounded = np.round(chance, 3).tolist()
        result["probability"] = [None if one != one else one for one in rounded]
    return result


def _for_second(part: pd.DataFrame, task: Task) -> pd.DataFrame:
    """Decisions and probabilities of the task's second class, whichever was asked for."""
    if "positive" not in part:
        return part
    other = part["positive"].astype(str).to_numpy() == str(task.classes[0])
    turned = {"decision": part["decision"].where(~other, -part["decision"])}
    if "probability" in part:
        turned["probability"] = part["probability"].where(~other, 1 - part["probability"])
    return part.assign(**turned)
