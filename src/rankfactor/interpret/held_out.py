"""Cross-validated predictions by sample and by class.

All functions take the out-of-fold ``decisions`` of a cross-validation, a frame as
`rankfactor.evaluation.Evaluation.decisions` or the predictions.csv of ``rankfactor cv``. Classes
are text here, as in a file. A sample tested in several repeats counts once: shares and
probabilities are means over repeats.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import roc_curve

from rankfactor.auc import NO_AUC, FoldAUC, fold_aucs
from rankfactor.errors import InputError, listed
from rankfactor.interpret.accuracy import check_columns, known_decisions
from rankfactor.posterior import Posterior
from rankfactor.tasks import Task
from rankfactor.typing import Floats

_COLUMNS = ("sample", "task", "model", "label", "decision")
# False positive rates at which the curves of folds are averaged.
GRID = np.linspace(0.0, 1.0, 201)


def sample_table(
    tasks: Posterior | Sequence[Task] | None, decisions: pd.DataFrame, model: str | None = None
) -> pd.DataFrame:
    """Prediction of every sample while it was held out, one row per task and sample.

    Parameters
    ----------
    tasks : Posterior or sequence of Task, optional
        Gives the order of the classes; by default they are sorted.
    decisions : DataFrame
        Out-of-fold decisions with the column ``predicted`` and, for probabilities, ``positive``
        and ``probability``.
    model : str, optional
        By default the first model of every task.

    Returns
    -------
    DataFrame
        sample, task, label, predicted (the class predicted most often), misclassified,
        share_misclassified (of the repeats), repeats, and "probability of ..." for every class of
        any task: the mean over repeats, NaN where the model gives none.
    """
    check_columns("decisions", decisions, (*_COLUMNS, "predicted"))
    known = known_decisions(decisions, _COLUMNS)
    if known.empty:
        raise InputError("the decisions contain no sample with a label.")
    frames = []
    for task in known["task"].astype(str).unique():
        part = _of_task(known, task, model)
        classes = _classes(part, task, tasks)
        once = _once(part)
        wrong = once["label"] != once["predicted"]
        by_sample = once.assign(wrong=wrong).groupby("sample", sort=False)
        # The predicted class; with several repeats, the class predicted most often.
        frame = pd.DataFrame(
            {
                "task": task,
                "label": by_sample["label"].first(),
                "predicted": _most_often(once).reindex(once["sample"].unique()),
                "misclassified": False,
                "share_misclassified": by_sample["wrong"].mean(),
                "repeats": by_sample.size(),
            }
        )
        frame["misclassified"] = frame["predicted"] != frame["label"]
        chances = _probabilities(part, classes).reindex(frame.index)
        frames.append(frame.join(chances.add_prefix("probability of ")).reset_index())
    return pd.concat(frames, ignore_index=True)


def confusion_table(
    decisions: pd.DataFrame,
    task: str,
    *,
    model: str | None = None,
    shares: bool = False,
    tasks: Posterior | Sequence[Task] | None = None,
) -> pd.DataFrame:
    """Samples by true class (rows) and predicted class (columns) while they were held out.

    Counts are means over repeats, so that they add up to the number of samples; with ``shares``
    they are divided by the number of samples of the true class. Parameters as in `sample_table`.
    """
    part, classes = _chosen(decisions, task, model, tasks)
    table, n = _counts(part, classes)
    if shares:
        table = table.div(n, axis=0)
    return table


def class_table(
    decisions: pd.DataFrame,
    task: str,
    *,
    model: str | None = None,
    tasks: Posterior | Sequence[Task] | None = None,
) -> pd.DataFrame:
    """Accuracy of every class of a task against the others; parameters as in `sample_table`.

    Returns
    -------
    DataFrame
        class, n (samples), sensitivity (share of its samples that were predicted as the class),
        specificity (share of the other samples that were not), precision (share of the predictions
        of the class that are correct), auc (against the rest, mean over folds), auc_low and
        auc_high (its 95 % interval).
    """
    part, classes = _chosen(decisions, task, model, tasks)
    table, n = _counts(part, classes)
    right = pd.Series(np.diag(table), classes)
    said = table.sum()
    areas = [_against_rest(part, label).interval() for label in classes]
    auc, low, high = np.array(areas, float).T
    return pd.DataFrame(
        {
            "class": classes,
            "n": n.fillna(0).round().astype(int).to_numpy(),
            "sensitivity": (right / n).to_numpy(),
            "specificity": (1 - (said - right) / (n.sum() - n)).to_numpy(),
            "precision": (right / said.where(said > 0)).to_numpy(),
            **{"auc": auc, "auc_low": low, "auc_high": high},
        }
    )


def class_curves(
    decisions: pd.DataFrame,
    task: str,
    *,
    model: str | None = None,
    tasks: Posterior | Sequence[Task] | None = None,
) -> pd.DataFrame:
    """ROC curve of every class against the rest; parameters as in `sample_table`.

    Returns
    -------
    DataFrame
        Index: false positive rates. One column per class: the true positive rate, mean over folds,
        whose area is the class's AUC in `class_table`.
    """
    part, classes = _chosen(decisions, task, model, tasks)
    columns = {}
    for label in classes:
        rows = _rest_rows(part, label)
        columns[label] = mean_curve(rows, (rows["label"] == label).to_numpy())
    index = pd.Index(GRID, name="false_positive_rate")
    return pd.DataFrame(columns, index)


def fold_curves(rows: pd.DataFrame, is_hit: NDArray[np.bool_]) -> Iterator[Floats]:
    """True positive rates at `GRID` of every fold that has the class and others.

    Parameters
    ----------
    rows : DataFrame
        Decisions of one model for one class.
    is_hit : bool array, shape (rows,)
        Whether the label is that class.
    """
    decision = rows["decision"].to_numpy(float)
    keys = [key for key in ("repeat", "fold") if key in rows]
    parts = rows.reset_index(drop=True).groupby(keys).indices.values() if keys else [slice(None)]
    for places in parts:
        hit = is_hit[places]
        if hit.any() and not hit.all():
            false_rate, true_rate, _ = roc_curve(hit, decision[places])
            # Where the curve is vertical, take its upper end; it begins at zero.
            rates = np.interp(GRID, false_rate, true_rate)
            rates[0] = 0.0
            yield rates


def mean_curve(rows: pd.DataFrame, is_hit: NDArray[np.bool_]) -> Floats:
    """Mean over folds of the true positive rates at `GRID`; NaN without a fold."""
    curves = list(fold_curves(rows, is_hit))
    return np.mean(curves, axis=0) if curves else np.full(len(GRID), np.nan)


def _chosen(
    decisions: pd.DataFrame,
    task: str,
    model: str | None,
    tasks: Posterior | Sequence[Task] | None,
) -> tuple[pd.DataFrame, list[str]]:
    """Decisions of one model on one task, with classes as text, and the classes in order."""
    check_columns("decisions", decisions, (*_COLUMNS, "predicted"))
    part = _of_task(known_decisions(decisions, _COLUMNS), task, model)
    return part, _classes(part, task, tasks)


def _of_task(known: pd.DataFrame, task: str, model: str | None) -> pd.DataFrame:
    part = known[known["task"].astype(str) == str(task)]
    if part.empty:
        there = listed(known["task"].astype(str).unique())
        raise InputError(f"the decisions have no task {task!r}; they have {there}.")
    names = part["model"].astype(str)
    own = names.iloc[0] if model is None else str(model)
    if own not in set(names):
        raise InputError(
            f"the decisions of task {task!r} have no model {own!r}; they have "
            f"{listed(names.unique())}."
        )
    part = part[names == own]
    text = [name for name in ("label", "predicted", "positive") if name in part]
    return part.assign(**{name: part[name].astype(str) for name in text})


def _classes(part: pd.DataFrame, task: str, tasks: Posterior | Sequence[Task] | None) -> list[str]:
    """Classes of a task as text, in the order of the tasks if known."""
    if isinstance(tasks, Posterior):
        tasks = () if tasks.classifiers is None else tasks.classifiers.tasks
    found = set(part["label"]) | (set(part["positive"]) if "positive" in part else set())
    for one in tasks or ():
        order = [str(label) for label in one.classes]
        if one.name == task and found <= set(order):
            return order
    return sorted(found)


def _once(part: pd.DataFrame) -> pd.DataFrame:
    """One row per sample and repeat, also where there is one per class."""
    return part.drop_duplicates([*(key for key in ("repeat",) if key in part), "sample"])


def _counts(part: pd.DataFrame, classes: list[str]) -> tuple[pd.DataFrame, pd.Series[float]]:
    """Samples by true and predicted class, and by true class; each sample counts once."""
    once = _once(part)
    weight = 1 / once.groupby("sample")["label"].transform("size")
    table = once.assign(n=weight).pivot_table("n", "label", "predicted", "sum", fill_value=0.0)
    table = table.reindex(index=classes, columns=classes, fill_value=0.0)
    n = weight.groupby(once["label"]).sum().reindex(classes, fill_value=0.0)
    return table.rename_axis(index="label", columns="predicted"), n.where(n > 0)


def _most_often(once: pd.DataFrame) -> pd.Series[Any]:
    """Class predicted most often, by sample; ties go to the one predicted first."""
    counts = once.groupby(["sample", "predicted"], sort=False).size().rename("n").reset_index()
    first = counts.sort_values("n", ascending=False, kind="stable").drop_duplicates("sample")
    return first.set_index("sample")["predicted"]


def _probabilities(part: pd.DataFrame, classes: list[str]) -> pd.DataFrame:
    """Mean probability of every class over repeats, samples x classes; NaN where unknown."""
    samples = part["sample"].unique()
    if "probability" not in part or "positive" not in part:
        return pd.DataFrame(np.nan, samples, classes)
    chance = part.pivot_table("probability", "sample", "positive", "mean", dropna=False)
    chance = chance.reindex(index=samples, columns=classes)
    if len(classes) == 2:
        one, other = classes
        chance[one] = chance[one].fillna(1 - chance[other])
        chance[other] = chance[other].fillna(1 - chance[one])
    return chance


def _rest_rows(part: pd.DataFrame, label: str) -> pd.DataFrame:
    """Rows with the decision for one class; with two classes, the other's decision negated."""
    if "positive" not in part:
        given = max(set(part["label"])) if part["label"].nunique() == 2 else None
        part = part.assign(positive=given)
    own = part[part["positive"] == label]
    if own.empty and len(part["positive"].unique()) == 1:
        return part.assign(decision=-part["decision"], positive=label)
    return own


def _against_rest(part: pd.DataFrame, label: str) -> FoldAUC:
    return next(iter(fold_aucs(_rest_rows(part, label)).values()), NO_AUC)
