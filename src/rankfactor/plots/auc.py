"""Cross-validated AUC of several models, with the spread over folds."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rankfactor.interpret.accuracy import check_columns
from rankfactor.plots.style import FAINT, MUTED, PALETTE, drawing, name_rows, shorten, tidy

_COLUMNS = ("task", "model", "auc", "auc_sd")


def comparison_figure(comparison: pd.DataFrame) -> Figure:
    """Draw the AUC of every model, a panel per task.

    Parameters
    ----------
    comparison : DataFrame
        Columns ``task``, ``model``, ``auc`` and ``auc_sd`` (standard deviation over folds). The
        first model of each task is drawn in colour.
    """
    check_columns("comparison", comparison, _COLUMNS)
    parts = [(str(task), part) for task, part in comparison.groupby("task", sort=False)]
    rows = [len(part) for _, part in parts]
    auc, auc_sd = (comparison[name].to_numpy(float) for name in ("auc", "auc_sd"))
    low = np.nanmin(auc - np.nan_to_num(auc_sd))
    with drawing(5.4, 0.5 + sum(0.45 + 0.25 * n for n in rows)) as figure:
        panels = figure.subplots(len(parts), 1, sharex=True, squeeze=False, height_ratios=rows)
        for panel, (axes, (task, part)) in enumerate(zip(panels[:, 0], parts, strict=True)):
            tidy(axes, grid="x")
            axes.axvline(0.5, color=MUTED, linewidth=1, linestyle=(0, (4, 3)))
            spread = np.nan_to_num(part["auc_sd"].to_numpy(float))
            for row, (mid, sd) in enumerate(zip(part["auc"].to_numpy(float), spread, strict=True)):
                colour, marker = (PALETTE[0], "o") if row == 0 else (MUTED, "s")
                axes.axhline(row, color=FAINT, linewidth=0.6, zorder=0)
                axes.plot([mid - sd, mid + sd], [row, row], color=colour, linewidth=2)
                name = f"point-{panel}-{row}"
                axes.plot(mid, row, marker, color=colour, markersize=5.5, gid=name)
            name_rows(axes, [shorten(model, 28) for model in part["model"]])
            axes.set_title(shorten(task, 44))
        panels[-1, 0].set_xlim(min(0.48, float(low) - 0.02), 1.005)
        panels[-1, 0].set_xlabel("AUC (dashed: chance)")
    return figure
