"""Figure of the models' robustness to damage of a table."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.optimize import isotonic_regression

from rankfactor.interpret.accuracy import check_columns
from rankfactor.plots.style import colour, drawing, marker, shorten, tidy
from rankfactor.typing import Floats

_TICK = 10  # characters of a line below the axis
_LINE = 0.17  # inches from one name to the next
_ROOM = 1.5  # width for names to the right of the last form, in units of a form


def stress_figure(rows: pd.DataFrame, *, title: str = "", own: Collection[str] = ()) -> Figure:
    """Draw the AUC of every model by the form of the data, one line per model.

    Parameters
    ----------
    rows : DataFrame
        Columns ``label`` (form of the data), ``model`` and ``auc``.
    title : str
    own : collection of str
        Models to draw with a thicker line.
    """
    check_columns("rows", rows, ("label", "model", "auc"))
    forms = list(dict.fromkeys(rows["label"].astype(str)))
    table = rows.pivot_table("auc", "label", "model", dropna=False).loc[forms]
    models = [one for one in dict.fromkeys(rows["model"]) if table[one].notna().any()]
    last = len(forms) - 1
    with drawing(1.1 * (len(forms) + _ROOM) + 0.5, 3.6, title) as figure:
        axes = figure.subplots()
        tidy(axes, grid="y")
        ends = []
        for number, model in enumerate(models):
            values = table[model].to_numpy(float)
            ours = model in own
            axes.plot(
                range(len(forms)),
                values,
                color=colour(number),
                marker=marker(number),
                markersize=6 if ours else 4.5,
                linewidth=2.2 if ours else 1.1,
                zorder=3 if ours else 2,
                gid=f"line-{number}",
            )
            at = int(np.flatnonzero(~np.isnan(values))[-1])
            ends.append((at, float(values[at])))
        axes.set_xticks(range(len(forms)), [fill(form, _TICK) for form in forms])
        axes.set_xlim(-0.3, last + _ROOM)
        axes.set_ylabel("AUC")
        axes.spines["bottom"].set_bounds(-0.3, last + 0.1)
        axes.margins(y=0.12)  # room for names below and above the last points
        axes.set_ylim(*axes.get_ylim())
        figure.draw_without_rendering()
        low, high = axes.get_ylim()
        gap = _LINE * (high - low) * figure.dpi / axes.get_window_extent().height
        places = _apart(np.array([end for _, end in ends]), gap)
        for number, (model, (at, end), place) in enumerate(zip(models, ends, places, strict=True)):
            shade = colour(number)
            axes.plot([at + 0.08, last + 0.25], [end, place], color=shade, linewidth=0.6, zorder=1)
            axes.text(
                last + 0.3,
                place,
                shorten(model, 22),
                color=shade,
                fontsize=8.5,
                fontweight="bold" if model in own else "normal",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
            )
    return figure


def _apart(values: Floats, gap: float) -> Floats:
    """The closest values (n,) in the same order that are at least ``gap`` apart."""
    order = np.argsort(values, kind="stable")
    steps = gap * np.arange(len(values))
    places = np.empty(len(values))
    places[order] = isotonic_regression(values[order] - steps).x + steps
    return places
