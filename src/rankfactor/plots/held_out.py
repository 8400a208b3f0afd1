"""Figures of held-out samples: AUC of several models, ROC, reliability of probabilities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from sklearn.metrics import roc_curve

from rankfactor.auc import fold_aucs
from rankfactor.errors import InputError, check_count
from rankfactor.interpret.accuracy import check_columns, known_decisions
from rankfactor.interpret.held_out import GRID, class_curves, class_table, fold_curves, mean_curve
from rankfactor.interpret.wording import number
from rankfactor.plots.style import (
    FAINT,
    MUTED,
    PALETTE,
    UNCLEAR,
    colour,
    drawing,
    line,
    marker,
    name_rows,
    shorten,
    tidy,
)
from rankfactor.typing import Floats

MOST_CLASSES = 8  # classes with their own colour in an ROC


def comparison_figure(comparison: pd.DataFrame) -> Figure:
    """Draw the AUC of every model with its interval, a panel per task.

    Parameters
    ----------
    comparison : DataFrame
        Columns ``task``, ``model``, ``auc`` and ``auc_sd`` (standard deviation across folds) or
        ``auc_low`` and ``auc_high`` (95 % interval): bars show the interval if known, else ±1
        standard deviation. The first model of each task is drawn in colour.
    """
    check_columns("comparison", comparison, ("task", "model", "auc", "auc_sd"))
    ends = _bars(comparison)
    parts = [(str(task), part) for task, part in ends.groupby("task", sort=False)]
    rows = [len(part) for _, part in parts]
    with drawing(4.3, 0.5 + sum(0.45 + 0.25 * n for n in rows)) as figure:
        panels = figure.subplots(len(parts), 1, sharex=True, squeeze=False, height_ratios=rows)
        for panel, (axes, (task, part)) in enumerate(zip(panels[:, 0], parts, strict=True)):
            tidy(axes, grid="x")
            axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
            values = part[["auc", "low", "high"]].to_numpy(float)
            for row, (mid, low, high) in enumerate(values):
                shade, shape = (PALETTE[0], "o") if row == 0 else (MUTED, "s")
                axes.axhline(row, color=FAINT, linewidth=0.6, zorder=0)
                axes.plot([low, high], [row, row], color=shade, linewidth=2)
                name = f"point-{panel}-{row}"
                axes.plot(mid, row, shape, color=shade, markersize=5.5, gid=name)
            name_rows(axes, [shorten(model, 20) for model in part["model"]])
            axes.set_title(shorten(task, 36))
        panels[-1, 0].set_xlim(min(0.48, float(np.nanmin(ends["low"])) - 0.02), 1.005)
        panels[-1, 0].set_xlabel("AUC (dashed: chance)")
    return figure


def _bars(comparison: pd.DataFrame) -> pd.DataFrame:
    """The frame with the ends of the bars, ``low`` and ``high``."""
    auc, sd = (comparison[name].to_numpy(float) for name in ("auc", "auc_sd"))
    ends = {"low": auc - np.nan_to_num(sd), "high": auc + np.nan_to_num(sd)}
    for name, other in ends.items():
        if f"auc_{name}" in comparison:
            own = comparison[f"auc_{name}"].to_numpy(float)
            ends[name] = np.where(np.isnan(own), other, own)
    return comparison.assign(**ends)


def roc_figure(
    decisions: pd.DataFrame,
    task: str,
    *,
    positive: object = None,
    band: bool = True,
    model: str | None = None,
) -> Figure:
    """Draw the ROC of every model on a task with two classes, or of every class for one model.

    Parameters
    ----------
    decisions : DataFrame
        Columns ``task``, ``model``, ``label`` and ``decision``: one row per sample and model. With
        a column ``fold``, curves and AUC are means over folds. With more than two classes there is
        one row per class, named by ``positive``, and each class is drawn against the rest.
    task : str
    positive : object, optional
        With two classes, the class that large decisions favour; by default the larger label.
    band : bool, default True
        Whether to shade ±1 standard deviation across folds around the mean true positive rate of
        the first model. Needs a column ``fold`` with at least two folds that have both classes.
    model : str, optional
        With more than two classes, the model to draw; by default the first.
    """
    part = known_decisions(decisions, ("task", "model", "label", "decision"))
    part = part[part["task"].astype(str) == task]
    classes = _classes(part["label"])
    if len(classes) > 2 and "positive" in part:
        return _rest_figure(part, task, model)
    if len(classes) != 2:
        raise InputError(f"an ROC needs two classes, but task {task!r} has {len(classes)} here.")
    hit = str(classes[1] if positive is None else positive)
    if hit not in map(str, classes):
        raise InputError(f"{hit!r} is not a class of the decisions of task {task!r}.")
    with drawing(4.3, 4.2) as figure:
        axes = _roc_axes(figure)
        for place, (name, rows) in enumerate(part.groupby("model", sort=False)):
            is_hit = (rows["label"].astype(str) == hit).to_numpy()
            if is_hit.all() or not is_hit.any():
                continue
            edges = fold_band(rows, is_hit) if band and place == 0 else None
            if edges is not None:
                text = f"{shorten(name, 20)}: folds ± sd"
                shade = axes.fill_between(GRID, *edges, color=colour(0), linewidth=0, label=text)
                shade.set(alpha=0.18, zorder=1)
            text = f"{shorten(name, 26)} ({number(_area(rows, is_hit))})"
            (curve,) = axes.plot(*_curve(rows, is_hit), label=text, **line(place))
            curve.set(linewidth=2.2 if place == 0 else 1.5, zorder=10 - place)
        axes.set_ylabel(f"True positive rate ({shorten(hit, 22)})")
        axes.legend(loc="lower right", handlelength=2.6)
    return figure


def _rest_figure(part: pd.DataFrame, task: str, model: str | None) -> Figure:
    """Every class against the rest; of many classes, those with the lowest AUC are coloured."""
    told = part if "predicted" in part else part.assign(predicted=part["label"])
    curves = class_curves(told, task, model=model)
    areas = class_table(told, task, model=model).set_index("class")["auc"].to_dict()
    order = sorted((one for one in areas if np.isfinite(areas[one])), key=areas.__getitem__)
    named = order if len(order) <= MOST_CLASSES else order[:MOST_CLASSES]
    with drawing(4.3, 4.2) as figure:
        axes = _roc_axes(figure)
        for label in order[len(named) :]:
            axes.plot(curves.index, curves[label], color=UNCLEAR, linewidth=0.8, zorder=1)
        for place, label in enumerate(one for one in areas if one in named):
            text = f"{shorten(label, 22)} ({number(areas[label])})"
            axes.plot(curves.index, curves[label], linewidth=1.5, label=text, **line(place))
        if len(named) < len(order):
            text = f"{len(order) - len(named)} more classes"
            axes.plot([], [], color=UNCLEAR, linewidth=0.8, label=text)
        axes.set_ylabel("True positive rate (class against the rest)")
        axes.legend(loc="lower right", handlelength=2.6, fontsize=7.5)
    return figure


def _roc_axes(figure: Figure) -> Axes:
    axes = _unit_square(figure, room=0.01)
    axes.annotate("chance", (0.9, 0.87), color=MUTED, fontsize=8.5, ha="right", rotation=45)
    axes.set_xlabel("False positive rate")
    return axes


def _curve(rows: pd.DataFrame, is_hit: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """False and true positive rates: mean over folds or, without folds, of all rows."""
    if "fold" not in rows:
        false_rate, true_rate, _ = roc_curve(is_hit, rows["decision"].to_numpy(float))
        return false_rate, true_rate
    return GRID, mean_curve(rows, is_hit)


def _area(rows: pd.DataFrame, is_hit: NDArray[np.bool_]) -> float:
    """AUC, the mean over folds."""
    turned = rows.assign(label=is_hit, positive=True, sample=np.arange(len(rows)))
    return next(iter(fold_aucs(turned).values())).value


def fold_band(rows: pd.DataFrame, is_hit: NDArray[np.bool_]) -> tuple[Floats, Floats] | None:
    """Lower and upper edge of the band over folds at `GRID`; None with fewer than two folds.

    Parameters
    ----------
    rows : DataFrame
        Decisions of one model on one task.
    is_hit : bool array, shape (rows,)
        Whether the label is the positive class.
    """
    curves = list(fold_curves(rows, is_hit)) if "fold" in rows else []
    if len(curves) < 2:
        return None
    mean, sd = np.mean(curves, axis=0), np.std(curves, axis=0, ddof=1)
    return np.clip(mean - sd, 0, 1), np.clip(mean + sd, 0, 1)


def reliability_figure(
    labels: Any,
    probabilities: Any | Mapping[str, Any],
    *,
    positive: object = None,
    n_bins: int = 10,
) -> Figure:
    """Draw the observed frequency of the positive class by its predicted probability.

    Samples are grouped in bins of equal width; a point shows a bin's share of the positive class at
    its mean probability, and its area grows with the number of samples. Calibrated probabilities
    lie on the diagonal.

    Parameters
    ----------
    labels : array-like, shape (n,)
        Labels of two classes; a sample whose label is missing is left out.
    probabilities : array-like, shape (n,), or mapping from name to such
        Probabilities of the positive class, by model.
    positive : object, optional
        The class that the probabilities refer to; by default the larger label.
    n_bins : int, default 10

    Returns
    -------
    Figure
        The legend shows the expected calibration error: the mean distance from the diagonal,
        weighted by the number of samples in a bin.
    """
    column = pd.Series(np.asarray(labels, object))
    known = column.notna().to_numpy()
    classes = _classes(column[known])
    if len(classes) != 2:
        raise InputError(f"reliability needs labels of two classes, but there are {len(classes)}.")
    hit = classes[1] if positive is None else positive
    if hit not in classes:
        raise InputError(f"positive is {hit!r}, which is not a class of the labels.")
    check_count("n_bins", n_bins)
    named = probabilities if isinstance(probabilities, Mapping) else {"": probabilities}
    came_true = np.asarray(column[known] == hit, np.float64)
    with drawing(4.6, 4.5) as figure:
        axes = _unit_square(figure, room=0.03)
        for place, (name, values) in enumerate(named.items()):
            chance = np.asarray(values, float)
            if chance.shape != column.shape:
                raise InputError(
                    f"probabilities must be one number per sample, {column.shape}, not of shape "
                    f"{chance.shape}: give those of the positive class."
                )
            if not ((chance >= 0) & (chance <= 1)).all():
                raise InputError("probabilities must lie between 0 and 1.")
            mean, share, count = _reliability(came_true, chance[known], n_bins)
            error = float(count @ np.abs(mean - share) / count.sum())
            label = f"{shorten(name, 26)} ({error:.3f})" if name else f"error {error:.3f}"
            axes.plot(mean, share, linewidth=1.5, label=label, **line(place))
            size, shape = 10 + 120 * count / count.sum(), marker(place)
            part = f"bins-{place}"
            axes.scatter(mean, share, size, colour(place), marker=shape, gid=part)
        axes.plot([], [], color=FAINT, linewidth=1.2, label="ideal")
        axes.set_xlabel(f"Probability of {shorten(str(hit), 22)}")
        axes.set_ylabel("Observed frequency")
        axes.legend(loc="upper left", handlelength=2.6)
    return figure


def _reliability(came_true: Floats, chance: Floats, n_bins: int) -> tuple[Floats, Floats, Floats]:
    """Mean probability, observed frequency and number of samples of every non-empty bin."""
    place = np.minimum((chance * n_bins).astype(int), n_bins - 1)
    count = np.bincount(place, minlength=n_bins).astype(float)
    some = count > 0
    mean, share = (np.bincount(place, of, n_bins)[some] / count[some] for of in (chance, came_true))
    return mean, share, count[some]


def _classes(labels: pd.Series[Any]) -> list[Any]:
    """Distinct labels in order; mixed types are grouped by type."""
    return sorted(labels.unique().tolist(), key=lambda value: (type(value).__name__, value))


def _unit_square(figure: Figure, room: float) -> Axes:
    """Axes from 0 to 1 with a margin of ``room``, and the diagonal."""
    axes = figure.subplots()
    tidy(axes)
    axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=0)
    axes.set(aspect="equal", xlim=(-room, 1 + room), ylim=(-room, 1 + room))
    return axes
