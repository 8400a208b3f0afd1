"""Coefficients of classifiers with their spread, for one task or all: the paper's figure."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankfactor.interpret.overview import shown_coefficients
from rankfactor.interpret.selection import classifiers_of, row_classes, shown_factors, task_number
from rankfactor.interpret.sentences import factor_label
from rankfactor.plots.style import (
    FAINT,
    MUTED,
    PALETTE,
    UNCLEAR,
    colour,
    drawing,
    name_rows,
    shorten,
    tidy,
)
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import Certainty, assessed
from rankfactor.tasks import Task


def coefficient_figure(posterior: Posterior, task: int | str = 0) -> Figure:
    """Draw the coefficient of every factor in use, with its spread if assessed.

    Parameters
    ----------
    posterior : Posterior
        A model fitted with labels.
    task : int or str, default 0
        Number or name of the task.

    Returns
    -------
    Figure
        One panel for two classes, else one per class: the change of the decision for one standard
        deviation of the factor's scores, so that factors are comparable, with its spread (90 %
        limits) if assessed. Clear coefficients are filled and have the colour of the class they
        favour; others are hollow and grey. Without an assessment all are hollow, without limits.
    """
    number = task_number(posterior, task)
    own = classifiers_of(posterior).tasks[number]
    found = shown_coefficients(posterior, number)
    n_panels, n_factors = found.mean.shape
    across = min(n_panels, 3)
    down = -(-n_panels // across)
    height = max(down * (0.95 + 0.215 * n_factors), 1.8)
    with drawing(5.0 if across == 1 else 1.5 + 2.1 * across, height) as figure:
        panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).flat
        for panel, axes in enumerate(panels):
            if panel >= n_panels:
                axes.set_visible(False)
                continue
            _draw(axes, posterior, own, panel, found.at(panel), panel)
            axes.set_xlabel("Coefficient per sd of the factor")
            axes.tick_params(labelbottom=True)
    return figure


def joint_coefficient_figure(posterior: Posterior, *, title: str = "") -> Figure:
    """Draw the coefficients of all tasks side by side.

    Parameters
    ----------
    posterior : Posterior
        A model fitted with labels.
    title : str, optional
        Title above the panels.

    Returns
    -------
    Figure
        One panel per classifier, as in `coefficient_figure`, with the factors in the same rows; the
        task is above its panels. A task with more than two classes has one panel per class. Each
        panel has its own scale, symmetric around zero.
    """
    found = shown_coefficients(posterior)
    n_panels, n_factors = found.mean.shape
    places = [(task, row) for task in classifiers_of(posterior).tasks for row in range(task.n_rows)]
    with drawing(1.6 + 2.3 * n_panels, 1.2 + 0.215 * n_factors, title) as figure:
        panels = figure.subplots(1, n_panels, sharey=True, squeeze=False)[0]
        for panel, (axes, (task, row)) in enumerate(zip(panels, places, strict=True)):
            own = found.at(panel)
            limit = 1.06 * float(np.nanmax(np.abs([own.mean, own.low, own.high]))) or 1.0
            axes.set_xlim(-limit, limit)
            # The second line is reserved for the names of the sides.
            axes.set_title(f"{shorten(task.name, 26)}\n", loc="center", fontsize=9)
            _draw(axes, posterior, task, row, own, panel, length=14, fontsize=8)
        limits = ", 90 % limits" if assessed(posterior) else ""
        figure.supxlabel(f"Coefficient per standard deviation of the factor{limits}", fontsize=9)
    return figure


def _draw(
    axes: Axes,
    posterior: Posterior,
    task: Task,
    row: int,
    found: Certainty,
    panel: int,
    *,
    length: int = 16,
    fontsize: float = 9,
) -> None:
    """Draw the coefficients of one classifier of a task, and name the classes on its sides."""
    tidy(axes)
    colours = side_colours(task, row)
    axes.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
    every = zip(found.mean, found.low, found.high, found.clear, strict=True)
    known = assessed(posterior)
    for k, (mean, low, high, clear) in enumerate(every):
        axes.axhline(k, color=FAINT, linewidth=0.6, zorder=0)
        own = colours[int(mean > 0)] if clear or not known else UNCLEAR
        if known:
            axes.plot([low, high], [k, k], color=own, linewidth=2)
        face, name = own if clear else "white", f"point-{panel}-{k}"
        axes.plot(mean, k, "o", color=own, markerfacecolor=face, markersize=5, gid=name)
    name_rows(axes, [factor_label(posterior, k) for k in shown_factors(posterior)])
    name_sides(axes, task, row, length, fontsize)


def side_colours(task: Task, row: int) -> tuple[str, str]:
    """Colours left and right of zero in the panel of a classifier."""
    return (PALETTE[0], PALETTE[1]) if task.n_rows == 1 else (MUTED, colour(row))


def name_sides(axes: Axes, task: Task, row: int, length: int = 16, fontsize: float = 9) -> None:
    """Name the classes beside zero above a panel; with more than two, only the right one."""
    left, right = side_colours(task, row)
    if task.n_rows == 1:
        name = f"← {shorten(task.classes[0], length)}"
        axes.set_title(name, loc="left", color=left, fontsize=fontsize)
    name = f"{shorten(row_classes(task)[row], length)} →"
    axes.set_title(name, loc="right", color=right, fontsize=fontsize)
