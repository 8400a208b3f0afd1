"""Correlations of the factors' scores as a heat map."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rankfactor.interpret.selection import shown_factors
from rankfactor.interpret.wording import number
from rankfactor.plots.style import INK, colour_bar, drawing
from rankfactor.posterior import Posterior

_MOST_NUMBERS = 12  # largest number of factors with numbers in the cells
_DARK = 0.6  # above this correlation, cells need light letters


def factor_correlation_figure(posterior: Posterior) -> Figure:
    """Draw the correlations of the label-free scores of the factors in use.

    Returns
    -------
    Figure
        Red: positive; blue: negative. The scale ends at -1 and 1. The diagonal is left empty.
    """
    used = shown_factors(posterior)
    values = posterior.factor_correlations[np.ix_(used, used)].copy()
    np.fill_diagonal(values, np.nan)
    names = [posterior.factor_names[k].removeprefix("Factor ") for k in used]
    size = float(np.clip(1.2 + 0.28 * len(used), 2.6, 5.0))
    with drawing(size + 0.6, size) as figure:
        axes = figure.subplots()
        image = axes.imshow(values, cmap="RdBu_r", vmin=-1, vmax=1, aspect="equal")
        image.set_gid("cells")
        axes.set_xticks(range(len(used)), names)
        axes.set_yticks(range(len(used)), names)
        axes.set(xlabel="Factor", ylabel="Factor")
        axes.tick_params(length=0, labelsize=8.5)
        for side in axes.spines.values():
            side.set_visible(False)
        if len(used) <= _MOST_NUMBERS:
            for i, j in np.argwhere(np.isfinite(values)).tolist():
                shade = "white" if abs(values[i, j]) > _DARK else INK
                text = number(float(values[i, j])).replace("0.", ".")
                axes.text(j, i, text, ha="center", va="center", fontsize=7, color=shade)
        colour_bar(figure, image, axes, "Correlation", shrink=0.8)
    return figure
