"""How well new samples are told apart: the figures and the table of a cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rankfactor.plots import comparison_figure, reliability_figure, roc_figure
from rankfactor.plots.style import plain
from rankfactor.posterior import Posterior
from rankfactor.report.comparison import Score, finite_decisions
from rankfactor.report.figures import InlineFigure, inline_figure
from rankfactor.report.words import joined, number
from rankfactor.typing import Floats

_TWO = 2  # classes of an ROC and of a calibration curve


def comparison_overview(comparison: pd.DataFrame) -> InlineFigure | None:
    """Figure of all models' AUC, if any is known."""
    if not np.isfinite(comparison["auc"].to_numpy(float)).any():
        return None
    tasks = joined([plain(task) for task in comparison["task"].unique()])
    tips = {}
    for panel, (_, part) in enumerate(comparison.groupby("task", sort=False)):
        values = part[["auc", "auc_sd"]].to_numpy(float)
        for row, (model, (auc, sd)) in enumerate(zip(part["model"], values.tolist(), strict=True)):
            text = f"{plain(model)}\nAUC {number(auc, 3)} ± {number(sd, 3)}"
            tips[f"point-{panel}-{row}"] = [text] * int(np.isfinite(auc))
    return inline_figure(
        comparison_figure(comparison),
        "fig-comparison",
        f"Cross-validated AUC of every model on {tasks}, with one standard deviation over folds "
        "to either side; the numbers are in the table.",
        "AUC, mean over folds; bars reach one standard deviation over folds to either side. "
        "They show how much folds differ, and are no test of a difference.",
        tips,
    )


def roc_figures(posterior: Posterior, decisions: pd.DataFrame | None) -> list[InlineFigure]:
    """ROC of every task with two classes in the decisions; the first model has a band."""
    figures = []
    for place, task, part, positive in _two_class_tasks(posterior, decisions):
        models = joined([plain(model) for model in part["model"].unique()])
        first = plain(part["model"].iloc[0])
        caption = (
            f"{plain(task)}: ROC of the out-of-fold decisions of all folds together; in "
            "parentheses its AUC, which can differ a little from the mean over folds."
        )
        if "fold" in part and len(part["fold"].unique()) > 1:
            caption += (
                f" Band: the true positive rate of {first} in single folds, mean and one standard "
                "deviation to either side."
            )
        figures.append(
            inline_figure(
                roc_figure(part, task, positive=positive),
                f"fig-roc-{place}",
                f"ROC of {plain(task)} for {models}, from decisions on samples outside the fit.",
                caption,
            )
        )
    return figures


def calibration_figures(posterior: Posterior, decisions: pd.DataFrame | None) -> list[InlineFigure]:
    """Calibration curve of every task with two classes, where the decisions have probabilities."""
    if decisions is None or "probability" not in decisions:
        return []
    figures = []
    for place, task, part, positive in _two_class_tasks(posterior, decisions):
        chances: dict[str, Floats] = {}
        labels: NDArray[Any] | None = None
        for model, rows in part.groupby("model", sort=False):
            chance = rows["probability"].to_numpy(float)
            own = rows["label"].astype(str).to_numpy(object)
            inside = np.isfinite(chance) & (chance >= 0) & (chance <= 1)
            # One curve beside another needs the same samples in the same order.
            if not inside.all() or (labels is not None and not np.array_equal(labels, own)):
                continue
            labels, chances[plain(model)] = own, chance
        if labels is None:
            continue
        hit = str(positive) if positive is not None else None
        figures.append(
            inline_figure(
                reliability_figure(labels, chances, positive=hit),
                f"fig-calibration-{place}",
                f"Calibration of {plain(task)} for {joined(list(chances))}: share of samples that "
                "came true by the probability they were given outside the fit.",
                f"{plain(task)}: how often a class came true, by the probability that samples "
                "outside the fit were given. On the diagonal, probabilities mean what they say. "
                "Larger marks have more samples; in parentheses, the mean distance.",
            )
        )
    return figures


def _two_class_tasks(
    posterior: Posterior, decisions: pd.DataFrame | None
) -> Iterator[tuple[int, str, pd.DataFrame, object]]:
    """Number, name, decisions and positive class of every task with two classes."""
    known = finite_decisions(decisions)
    if known is None:
        return
    classes = {
        task.name: task.classes
        for task in (posterior.classifiers.tasks if posterior.classifiers is not None else ())
    }
    for place, (task, part) in enumerate(known.groupby("task", sort=False)):
        if part["label"].nunique() != _TWO:
            continue
        own = classes.get(str(task))
        positive = own[1] if own is not None and len(own) == _TWO else None
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


def formatted(scores: dict[str, list[Score]]) -> list[tuple[str, list[dict[str, object]]]]:
    """Lines of the comparison table, task by task."""
    return [
        (
            task,
            [
                {
                    "model": score.model,
                    "best": score.best,
                    "auc": number(score.auc, 3),
                    "auc_sd": number(score.auc_sd, 3),
                    "accuracy": number(score.accuracy, 3),
                    "accuracy_sd": number(score.accuracy_sd, 3),
                    "seconds": _seconds(score.seconds),
                }
                for score in rows
            ],
        )
        for task, rows in scores.items()
    ]


def _seconds(value: float) -> str:
    return number(value, 0 if value >= 100 else 1 if value >= 1 else 2)
