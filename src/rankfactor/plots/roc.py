"""Receiver operating characteristics of out-of-fold decisions."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray
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
from rankfactor.typing import Floats

_COLUMNS = ("task", "model", "label", "decision")


# False positive rates at which the curves of folds are averaged.
_GRID = np.linspace(0.0, 1.0, 101)


def roc_figure(
    decisions: pd.DataFrame, task: str, *, positive: object = None, band: bool = True
) -> Figure:
    """Draw the ROC of every model on a task with two classes.

    Parameters
    ----------
    decisions : DataFrame
        Columns ``task``, ``model``, ``label`` and ``decision``: one row per sample and model. The
        decisions of all folds are taken together.
    task : str
    positive : object, optional
        Class that large decisions mean; by default the larger label.
    band : bool, default True
        Whether to shade how much the curve of the first model differs between folds: the mean
        and one standard deviation to either side of the folds' true positive rates. Needs a
        column ``fold`` with at least two folds that have both classes.

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
        raise InputError(f"{hit!r} is not a class of the decisions of task {task!r}.")
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
            edges = fold_band(rows, is_hit) if band and number == 0 else None
            if edges is not None:
                colour = PALETTE[0]
                name = f"{shorten(model, 20)}: folds ± sd"
                axes.fill_between(
                    _GRID, *edges, color=colour, alpha=0.18, linewidth=0, zorder=1, label=name
                )
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


def fold_band(rows: pd.DataFrame, is_hit: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
    """Lower and upper edge of the band over folds at `_GRID`; None with fewer than two folds.

    Parameters
    ----------
    rows : DataFrame
        Decisions of one model on one task.
    is_hit : bool array, shape (rows,)
        Whether the label is the positive class.
    """
    if "fold" not in rows:
        return None
    curves = []
    decision = rows["decision"].to_numpy(float)
    keys = [key for key in ("repeat", "fold") if key in rows]
    for places in rows.reset_index(drop=True).groupby(keys).indices.values():
        hit = is_hit[places]
        if hit.all() or not hit.any():
            continue
        false_rate, true_rate, _ = roc_curve(hit, decision[places])
        # Where the curve rises at one rate, its upper end counts; it begins at nothing.
        rates = np.interp(_GRID, false_rate, true_rate)
        rates[0] = 0.0
        curves.append(rates)
    if len(curves) < 2:
        return None
    mean, sd = np.mean(curves, axis=0), np.std(curves, axis=0, ddof=1)
    return np.clip(mean - sd, 0, 1), np.clip(mean + sd, 0, 1)
