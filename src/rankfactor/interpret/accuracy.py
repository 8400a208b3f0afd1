"""Cross-validated accuracy of a model and its competitors, in numbers and sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd

from rankfactor.auc import Difference, comparisons, fold_aucs
from rankfactor.errors import InputError, counted
from rankfactor.interpret.wording import number, plain
from rankfactor.posterior import Posterior

_COMPARISON = ("task", "model", "auc", "auc_sd", "accuracy", "accuracy_sd", "seconds")
_DECISIONS = ("sample", "task", "model", "label", "decision")
# Columns that comparisons written by earlier versions lack.
_NEWER = ("auc_low", "auc_high", "balanced_accuracy")
# Baselines by name, and what sentences call them. Any other model belongs to this package or to the
# user, and is called by its name.
_BASELINES = {
    "l-svm": "the linear SVM",
    "linear svm": "the linear SVM",
    "rbf-svm": "the RBF-SVM",
    "rf": "the random forest",
    "ns-pca-svm": "the SVM on principal components of normal scores (NS-PCA-SVM)",
    "pfa-l-bsvm": "Poisson factor analysis (PFA-L-BSVM)",
}


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
        Sentences on why the numbers may not describe this model: settings that differ, folds that
        are missing, or facts that could not be checked.
    """

    sentence: str = ""
    settings: Mapping[str, object] = field(default_factory=dict)
    flaws: tuple[str, ...] = ()


class Score(NamedTuple):
    """Cross-validated numbers of a model on a task; NaN where unknown."""

    model: str
    auc: float
    auc_sd: float
    accuracy: float
    accuracy_sd: float
    seconds: float
    best: bool
    auc_low: float = float("nan")
    auc_high: float = float("nan")
    balanced_accuracy: float = float("nan")


def scores_by_task(
    comparison: pd.DataFrame | None, decisions: pd.DataFrame | None = None
) -> dict[str, list[Score]]:
    """Rows of every task in their order; the best AUC of a task is marked.

    If decisions are given by fold, the AUC, its interval and the balanced accuracy are computed
    from them; otherwise they are taken from the comparison, if present.
    """
    if comparison is None or comparison.empty:
        return {}
    check_columns("comparison", comparison, _COMPARISON)
    found = _from_decisions(decisions)
    result: dict[str, list[Score]] = {}
    columns = [*_COMPARISON[2:], *(name for name in _NEWER if name in comparison)]
    for task, part in comparison.groupby("task", sort=False):
        try:
            values = part[columns].to_numpy(float)
        except (TypeError, ValueError) as error:
            raise InputError(
                f"the comparison of task {task!r} contains a value that is not a number: {error}."
            ) from error
        rows = [
            dict(zip(columns, row, strict=True)) | found.get((str(task), str(model)), {})
            for model, row in zip(part["model"], values.tolist(), strict=True)
        ]
        best = np.fmax.reduce([row["auc"] for row in rows])
        result[plain(task)] = [
            Score(plain(model), best=bool(row["auc"] == best), **row)
            for model, row in zip(part["model"], rows, strict=True)
        ]
    return result


def _from_decisions(decisions: pd.DataFrame | None) -> dict[tuple[str, str], dict[str, float]]:
    """AUC with its interval and balanced accuracy by task and model; empty without folds."""
    if decisions is None or decisions.empty or "fold" not in decisions:
        return {}
    known = known_decisions(decisions, _DECISIONS)
    result: dict[tuple[str, str], dict[str, float]] = {}
    for place, area in fold_aucs(known).items():
        auc, low, high = area.interval()
        result[place] = {"auc": auc, "auc_low": low, "auc_high": high}
        result[place]["auc_sd"] = float(area.folds.std())
    if "predicted" in known:
        keys = [key for key in ("repeat", "fold") if key in known]
        for (task, model), part in known.groupby(["task", "model"], sort=False):
            once = part.drop_duplicates([*keys, "sample"])
            right = (once["label"].astype(str) == once["predicted"].astype(str)).groupby(
                [*(once[key] for key in keys), once["label"].astype(str)]
            )
            by_fold = right.mean().groupby(level=list(range(len(keys)))).mean()
            values = result.setdefault((str(task), str(model)), {})
            values["balanced_accuracy"] = float(by_fold.mean())
    return result


def differences_by_task(decisions: pd.DataFrame | None) -> dict[str, dict[str, Difference]]:
    """Paired differences between the first model and each other one, by task and model name."""
    if decisions is None or decisions.empty or "fold" not in decisions:
        return {}
    result: dict[str, dict[str, Difference]] = {}
    frame = comparisons(known_decisions(decisions, _DECISIONS))
    for task, _, other, *numbers in frame.itertuples(index=False, name=None):
        result.setdefault(plain(task), {})[plain(other)] = Difference(*numbers)
    return result


def known_decisions(decisions: pd.DataFrame, columns: tuple[str, ...]) -> pd.DataFrame:
    """Rows with a label and a finite decision of a frame that has these columns."""
    check_columns("decisions", decisions, columns)
    try:
        values = decisions["decision"].to_numpy(float)
    except (TypeError, ValueError) as error:
        raise InputError(f"a decision is not a number: {error}.") from error
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
            positive = None  # e.g. 1 and 1.0: the larger label is also the model's second class
        elif own is not None and "positive" in part:
            # Use the model's positive class, whichever one the cross-validation used.
            same = (part["positive"].astype(str) != str(own[0])).to_numpy()
            turned = {"decision": -part["decision"]}
            if "probability" in part:
                turned["probability"] = 1 - part["probability"]
            part = part.assign(
                **{name: part[name].where(same, new) for name, new in turned.items()}
            )
        yield place, str(task), part, positive


def how_well(
    task: str, scores: Sequence[Score], differences: Mapping[str, Difference] | None = None
) -> str:
    """Sentences on how well a task's first model predicts and how it compares with the others.

    It is compared with the best baseline and with the best of the other models, by the paired
    differences given (the task's entry of `differences_by_task`).
    """
    own, *rest = scores
    if not np.isfinite(own.auc):
        return f"{task}: no cross-validated AUC."
    said = f"{task}: AUC {_with_interval(own.auc, own.auc_low, own.auc_high)}"
    said += " on held-out samples"
    if np.isfinite(own.balanced_accuracy):
        said += f"; balanced accuracy {number(own.balanced_accuracy)}"
    parts = [f"{said}.", _beside_chance(own)]
    others = sorted((s for s in rest if np.isfinite(s.auc)), key=lambda score: -score.auc)
    baselines = [one for one in others if one.model.casefold() in _BASELINES]
    for group in (baselines, [one for one in others if one not in baselines]):
        if group:
            best = group[0]
            name = _BASELINES.get(best.model.casefold(), best.model)
            if group is baselines and len(group) > 1:
                name = f"the best baseline, {name},"
            parts.append(_compared(own, best, name, (differences or {}).get(best.model)))
    return " ".join(part for part in parts if part)


def _beside_chance(own: Score) -> str:
    """Sentence on an interval that does not lie above chance; empty otherwise."""
    if own.auc_high < 0.5:
        return "This is worse than chance (0.50): check the labels and the folds."
    if own.auc_low <= 0.5 or (np.isnan(own.auc_low) and own.auc <= 0.5):
        return "This is not significantly better than chance (0.50)."
    return ""


def _compared(own: Score, other: Score, name: str, found: Difference | None) -> str:
    """One sentence on the difference from another model; its subject won more of the folds."""
    start = name[:1].upper() + name[1:]
    if found is None or not found.folds:
        return f"{start.rstrip(',')}: AUC {number(other.auc)}; the difference was not tested."
    folds, equal, better = found.folds, found.folds_equal, found.folds_better
    worse, difference, low, high = folds - better - equal, found.difference, found.low, found.high
    if equal == folds:
        said = f"Equal to {name} {_in_folds(folds, folds)}"
    else:
        said = f"Better than {name} {_in_folds(better, folds)}"
        if worse > better:
            said = f"{start} was better {_in_folds(worse, folds)}"
            difference, low, high = -difference, -high, -low
        if equal:
            said += f" and equal in {equal}"
    sign = "+" if difference >= 0.005 else ""
    said += f", difference {sign}{_with_interval(difference, low, high)}"
    if np.isnan(low):
        return f"{said}."
    if low > 0:
        return f"{said}: significantly better."
    if high < 0:
        return f"{said}: significantly worse."
    return f"{said}: no significant difference."


def _in_folds(some: int, folds: int) -> str:
    """In how many of the folds, in words where in all of them."""
    if some < folds:
        return f"in {some} of {counted(folds, 'fold')}"
    return {1: "in the only fold", 2: "in both folds"}.get(folds, f"in all {folds} folds")


def _with_interval(value: float, low: float, high: float) -> str:
    """A number with its interval in brackets, if known."""
    if np.isnan(low):
        return number(value)
    return f"{number(value)} [{number(low)}, {number(high)}]"
