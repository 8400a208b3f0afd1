"""Receiver operating characteristics of out-of-fold decisions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.metrics import roc_auc_score, roc_curve

from rankfactor.errors import InputError
from rankfactor.plots.style import (
    DASHES,
    FAINT,
    MUTED,
    PALETTE,
    figure_style,
    finish,
    new_figure,
    shorten,
    tidy,
)

_COLUMNS = ("task", "model", "label", "decision")


def roc_figure(decisions: pd.DataFrame, task: str, *, positive: object = None) -> Figure:
    """Draw the ROC of every model on a task with two classes.

    Parameters
    ----------
    decisions : DataFrame
        Columns ``task``, ``model``, ``label`` and ``decision``: one row per sample and model. The
        decisions of all folds are taken together.
    task : str
    positive : object, optional
        Class that large decisions mean; by default the larger label.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        If a column is missing, or the task's labels are not of two classes.
    """
    lacking = [column for column in _COLUMNS if column not in decisions]
    if lacking:
        raise InputError(f"the decisions lack the column {lacking[0]!r}.")
    part = decisions[decisions["task"].astype(str) == task]
    part = part[np.isfinite(part["decision"].to_numpy(float)) & part["label"].notna().to_numpy()]
    classes = sorted(part["label"].unique().tolist(), key=lambda v: (type(v).__name__, v))
    if len(classes) != 2:
        raise InputError(f"an ROC needs two classes, but task {task!r} has {len(classes)} here.")
    hit = str(classes[1] if positive is None else positive)
    if hit not in {str(label) for label in classes}:
        raise InputError(f"{hit!r} is no class of the decisions of task {task!r}.")
    with figure_style():
        figure = new_figure(4.6, 4.5)
        axes = figure.subplots()
        tidy(axes)
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=0)
        axes.annotate("chance", (0.9, 0.87), color=MUTED, fontsize=8.5, ha="right", rotation=45)
        for number, model in enumerate(part["model"].unique()):
            rows = part[part["model"] == model]
            is_hit = rows["label"].astype(str).to_numpy() == hit
            if is_hit.all() or not is_hit.any():
                continue
            decision = rows["decision"].to_numpy(float)
            false_rate, true_rate, _ = roc_curve(is_hit, decision)
            auc = float(roc_auc_score(is_hit, decision))
            axes.plot(
                false_rate,
                true_rate,
                color=PALETTE[number % len(PALETTE)],
                linestyle=DASHES[number % len(DASHES)],
                linewidth=2.2 if number == 0 else 1.5,
                zorder=10 - number,
                label=f"{shorten(model, 26)} ({auc:.2f})",
            )
        axes.set_aspect("equal")
        axes.set_xlim(-0.01, 1.01)
        axes.set_ylim(-0.01, 1.01)
        axes.set_xlabel("False positive rate")
        axes.set_ylabel(f"True positive rate ({shorten(hit, 22)})")
        axes.legend(loc="lower right", handlelength=2.6)
        return finish(figure)
