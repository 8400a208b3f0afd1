"""Figure of how well methods recover known factors."""

from __future__ import annotations

from collections.abc import Collection
from textwrap import fill

import pandas as pd
from matplotlib.figure import Figure

from rankfactor.interpret.accuracy import check_columns
from rankfactor.plots.style import FAINT, MUTED, PALETTE, drawing, name_rows, tidy

_HEADING = 10  # characters of a line above a panel
_LOW = 0.4  # where the axis begins unless a value is smaller


def recovery_figure(rows: pd.DataFrame, *, title: str = "", own: Collection[str] = ()) -> Figure:
    """Draw the cosine with the true loadings for every method, one panel per form of the data.

    Parameters
    ----------
    rows : DataFrame
        Columns ``label`` (form of the data), ``model`` and ``cosine``.
    title : str
    own : collection of str
        Models to draw as coloured circles; the others are grey squares. The largest cosines of a
        panel, as printed, are bold.
    """
    check_columns("rows", rows, ("label", "model", "cosine"))
    forms = list(dict.fromkeys(rows["label"].astype(str)))
    models = list(dict.fromkeys(rows["model"].astype(str)))
    low = min(_LOW, float(rows["cosine"].min()) - 0.05)
    with drawing(2.0 + 1.0 * len(forms), 0.75 + 0.27 * len(models), title) as figure:
        panels = figure.subplots(1, len(forms), sharex=True, sharey=True, squeeze=False)[0]
        for panel, (axes, form) in enumerate(zip(panels, forms, strict=True)):
            tidy(axes, grid="x")
            part = rows[rows["label"] == form]
            values = dict(zip(part["model"], part["cosine"].astype(float), strict=True))
            best = round(max(values.values()), 2)
            for row, model in enumerate(models):
                axes.axhline(row, color=FAINT, linewidth=0.6, zorder=0)
                if model not in values:
                    continue
                value, ours = values[model], model in own
                shade, shape = (PALETTE[0], "o") if ours else (MUTED, "s")
                name = f"point-{panel}-{row}"
                axes.plot(value, row, shape, color=shade, markersize=5, gid=name)
                axes.annotate(
                    f"{value:.2f}",
                    (value, row),
                    (-5, 0),
                    textcoords="offset points",
                    ha="right",
                    va="center",
                    fontsize=8,
                    color=shade,
                    fontweight="bold" if round(value, 2) == best else "normal",
                )
            axes.set_title(fill(form, _HEADING), fontsize=8.5)
            axes.set_xticks([0.5, 1.0], ["0.5", "1"])
        name_rows(panels[0], models)
        for axes in panels[1:]:
            axes.tick_params(axis="y", length=0)
            axes.spines["left"].set_visible(False)
        panels[0].set_xlim(low - 0.25, 1.04)
        figure.supxlabel("Mean absolute cosine (1 = the true loadings)", fontsize=9)
    return figure
