"""Scree plot: eigenvalues of a table against those of permuted tables."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from rankfactor.errors import InputError, counted
from rankfactor.plots.style import DASHES, MUTED, PALETTE, UNCLEAR, drawing, tidy
from rankfactor.posterior import Posterior

_FEWEST = 10  # smallest number of eigenvalues to draw, if available


def scree_figure(posterior: Posterior) -> Figure:
    """Draw the eigenvalues of the normal scores against those of permuted tables.

    Parameters
    ----------
    posterior : Posterior
        Fitted with ``n_factors="auto"``.

    Returns
    -------
    Figure
        Eigenvalues on a log scale. Filled marks exceed the dashed line, the 95 % quantile of
        permuted tables; a vertical line separates them from the others.
    """
    count = posterior.factor_count
    if count is None:
        raise InputError(
            "the number of factors of this model was given, so it has no eigenvalues: fit it with "
            'n_factors="auto".'
        )
    shown = min(len(count.eigenvalues), max(_FEWEST, 2 * count.common + 2))
    # Missing values can make small eigenvalues negative, which a log scale cannot show.
    shown = max(int((count.eigenvalues[:shown] > 0).sum()), 1)
    place = np.arange(1, shown + 1)
    eigenvalues, chance = count.eigenvalues[:shown], count.chance[:shown]
    more = place <= count.common
    with drawing(5.4, 3.2) as figure:
        axes = figure.subplots()
        tidy(axes, grid="y")
        axes.plot(place, eigenvalues, color=UNCLEAR, linewidth=1.0)
        axes.plot(
            place,
            chance,
            color=PALETTE[1],
            linestyle=DASHES[1],
            linewidth=1.6,
            label="permuted tables, 95 % quantile",
        )
        marks: dict[str, Any] = {"markersize": 5.5, "linestyle": "none", "zorder": 3}
        if more.any():
            axes.plot(
                place[more],
                eigenvalues[more],
                "o",
                color=PALETTE[0],
                label="this table, above chance",
                **marks,
            )
        axes.plot(
            place[~more],
            eigenvalues[~more],
            "o",
            markerfacecolor="white",
            markeredgecolor=MUTED,
            label="this table, not above chance",
            **marks,
        )
        axes.axvline(count.common + 0.5, color=MUTED, linewidth=1, linestyle=DASHES[2])
        axes.annotate(
            counted(count.common, "factor"),
            (count.common + 0.5, 1.0),
            (0, 3),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            ha="center",
            va="bottom",
        )
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_locator(MaxNLocator(10, integer=True))
        axes.set_xlim(0.3, shown + 0.7)
        axes.set_xlabel("Eigenvalue number")
        axes.set_ylabel("Eigenvalue (log scale)")
        figure.legend(loc="outside upper left", ncols=1)
    return figure
