"""Figures and the table of a cross-validation: how well new samples are told apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rankfactor.interpret.accuracy import Score, two_class_tasks
from rankfactor.interpret.wording import joined, number, plain
from rankfactor.plots import comparison_figure, reliability_figure, roc_figure
from rankfactor.posterior import Posterior
from rankfactor.report.figures import InlineFigure, inline_figure
from rankfactor.typing import Floats


def comparison_overview(
    comparison: pd.DataFrame | None, scores: dict[str, list[Score]]
) -> InlineFigure | None:
    """Figure of all models' AUC, if any is known."""
    if not any(np.isfinite(score.auc) for rows in scores.values() for score in rows):
        return None
    tips = {
        f"point-{panel}-{row}": [
            f"{score.model}\nAUC {number(score.auc, 3)} ± {number(score.auc_sd, 3)}"
        ]
        * int(np.isfinite(score.auc))
        for panel, rows in enumerate(scores.values())
        for row, score in enumerate(rows)
    }
    assert comparison is not None
    return inline_figure(
        comparison_figure(comparison),
        "fig-comparison",
        f"Cross-validated AUC of every model on {joined(list(scores))}, with one standard "
        "deviation over folds to either side; the numbers are in the table.",
        "AUC, mean over folds. Bars: ±1 standard deviation across folds. Overlap is not a "
        "significance test.",
        tips,
    )


def roc_figures(posterior: Posterior, decisions: pd.DataFrame | None) -> list[InlineFigure]:
    """ROC of every task with two classes in the decisions; the first model has a band."""
    figures = []
    for place, task, part, positive in two_class_tasks(posterior, decisions):
        models = [plain(model) for model in part["model"].unique()]
        caption = (
            f"{plain(task)}: ROC of the out-of-fold decisions of all folds together; in "
            "parentheses its AUC, which can differ a little from the mean over folds."
        )
        if "fold" in part and len(part["fold"].unique()) > 1:
            caption += (
                f" Band: the true positive rate of {models[0]} in single folds, mean and one "
                "standard deviation to either side."
            )
        said = f"ROC of {plain(task)} for {joined(models)}, from decisions on samples outside the"
        figure = roc_figure(part, task, positive=positive)
        figures.append(inline_figure(figure, f"fig-roc-{place}", f"{said} fit.", caption))
    return figures


def calibration_figures(posterior: Posterior, decisions: pd.DataFrame | None) -> list[InlineFigure]:
    """Calibration curve of every task with two classes, where the decisions have probabilities."""
    if decisions is None or "probability" not in decisions:
        return []
    figures = []
    for place, task, part, positive in two_class_tasks(posterior, decisions):
        chances: dict[str, Floats] = {}
        labels: NDArray[Any] | None = None
        for model, rows in part.groupby("model", sort=False):
            chance = rows["probability"].to_numpy(float)
            own = rows["label"].astype(str).to_numpy(object)
            # One curve beside another needs the same samples in the same order.
            if ((chance >= 0) & (chance <= 1)).all() and (
                labels is None or np.array_equal(labels, own)
            ):
                labels, chances[plain(model)] = own, chance
        if labels is None:
            continue
        hit = None if positive is None else str(positive)
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


def formatted(scores: dict[str, list[Score]]) -> list[tuple[str, list[dict[str, object]]]]:
    """Lines of the comparison table, task by task."""
    digits = dict.fromkeys(("auc", "auc_sd", "accuracy", "accuracy_sd"), 3)
    lines: list[tuple[str, list[dict[str, object]]]] = []
    for task, rows in scores.items():
        lines.append((task, []))
        for score in rows:
            digits["seconds"] = 0 if score.seconds >= 100 else 1 if score.seconds >= 1 else 2
            written = {name: number(getattr(score, name), n) for name, n in digits.items()}
            lines[-1][1].append({"model": score.model, "best": score.best, **written})
    return lines
