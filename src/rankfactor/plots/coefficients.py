"""Coefficients of classifiers with their intervals, of one task or all: the paper's figure."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankfactor.interpret import coefficient_table
from rankfactor.plots.select import classifiers_of, shown_factors, task_number
from rankfactor.plots.style import (
    FAINT,
    MUTED,
    PALETTE,
    UNCLEAR,
    figure_style,
    finish,
    new_figure,
    percent,
    plain,
    shorten,
    tidy,
)
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import is_clear
from rankfactor.typing import Floats

_SHOWN = ["coefficient", "low", "high", "lfsr"]


def coefficient_figure(posterior: Posterior, task: int | str = 0) -> Figure:
    """Draw the coefficient of every factor in use, with its 90 % interval.

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
        deviation of the factor's scores, so that factors can be compared. Clear
        coefficients (local false sign rate below 0.05) are filled and have the colour of the class
        they speak for; the others are hollow and grey.
    """
    number = task_number(posterior, task)
    classifiers = classifiers_of(posterior)
    classes = [shorten(label, 16) for label in classifiers.tasks[number].classes]
    rows = classifiers.rows_of(number)
    factors = shown_factors(posterior)
    # The table has one line a classifier and factor, in the order of the classifiers.
    found = coefficient_table(posterior)[_SHOWN].to_numpy(float)
    values = found.reshape(-1, posterior.n_factors, 4)[rows][:, factors]  # (panels, factors, 4)
    n_panels = len(values)
    across = min(n_panels, 3)
    down = -(-n_panels // across)
    with figure_style():
        height = down * (0.95 + 0.215 * len(factors))
        figure = new_figure(5.0 if across == 1 else 1.5 + 2.1 * across, max(height, 1.8))
        panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False)
        names = [f"{posterior.factor_names[k]} ({percent(posterior.shares[k])})" for k in factors]
        for panel, axes in enumerate(panels.flat):
            if panel >= n_panels:
                axes.set_visible(False)
                continue
            if n_panels == 1:
                colours, sides = (PALETTE[0], PALETTE[1]), (classes[0], classes[1])
            else:
                colours = (MUTED, PALETTE[panel % len(PALETTE)])
                sides = ("", classes[panel])
            _draw(axes, values[panel], colours, panel)
            axes.set_yticks(np.arange(len(factors)), names)
            if sides[0]:
                axes.set_title(f"← {sides[0]}", loc="left", color=colours[0], fontsize=9)
            axes.set_title(f"{sides[1]} →", loc="right", color=colours[1], fontsize=9)
            axes.set_xlabel("Coefficient per sd of the factor")
            axes.tick_params(labelbottom=True)
        panels[0, 0].set_ylim(len(factors) - 0.4, -0.6)
        return finish(figure)


def joint_coefficient_figure(posterior: Posterior, *, title: str = "") -> Figure:
    """Draw the coefficients of all tasks beside one another: which factor speaks for what.

    Parameters
    ----------
    posterior : Posterior
        A model fitted with labels.
    title : str, optional
        Stands above the panels.

    Returns
    -------
    Figure
        One panel for every classifier, as in `coefficient_figure`, with the factors in the same
        rows; the task is above its panels. A task of more than two classes has a panel for each.
        Scales differ between panels, and each is symmetric around zero.
    """
    tasks = classifiers_of(posterior).tasks
    factors = shown_factors(posterior)
    found = coefficient_table(posterior)[_SHOWN].to_numpy(float)
    values = found.reshape(-1, posterior.n_factors, 4)[:, factors]  # (panels, factors, 4)
    with figure_style():
        figure = new_figure(
            1.6 + 2.3 * len(values), 1.2 + 0.215 * len(factors) + (0.3 if title else 0.0)
        )
        if title:
            figure.suptitle(plain(title), fontsize=10, fontweight="bold")
        panels = figure.subplots(1, len(values), sharey=True, squeeze=False)[0]
        names = [f"{posterior.factor_names[k]} ({percent(posterior.shares[k])})" for k in factors]
        places = [(task, row) for task in tasks for row in range(task.n_rows)]
        for panel, (axes, (task, row)) in enumerate(zip(panels, places, strict=True)):
            two = task.n_rows == 1
            colours = (PALETTE[0], PALETTE[1]) if two else (MUTED, PALETTE[row % len(PALETTE)])
            _draw(axes, values[panel], colours, panel)
            axes.set_yticks(np.arange(len(factors)), names)
            limit = 1.06 * float(np.abs(values[panel, :, :3]).max()) or 1.0
            axes.set_xlim(-limit, limit)
            # The second line is for the sides.
            axes.set_title(f"{shorten(task.name, 26)}\n", loc="center", fontsize=9)
            if two:
                axes.set_title(
                    f"← {shorten(task.classes[0], 14)}", loc="left", color=colours[0], fontsize=8
                )
            label = task.classes[1] if two else task.classes[row]
            axes.set_title(f"{shorten(label, 14)} →", loc="right", color=colours[1], fontsize=8)
        panels[0].set_ylim(len(factors) - 0.4, -0.6)
        figure.supxlabel(
            "Coefficient per standard deviation of the factor, 90 % interval", fontsize=9
        )
        return finish(figure)


def _draw(axes: Axes, values: Floats, colours: tuple[str, str], panel: int) -> None:
    """Means, ends of the intervals and sign rates of one classifier, shape (factors, 4)."""
    tidy(axes)
    axes.axvline(0, color=MUTED, linewidth=0.9, zorder=1)
    for k, (mean, low, high, lfsr) in enumerate(values):
        clear = bool(is_clear(lfsr))
        axes.axhline(k, color=FAINT, linewidth=0.6, zorder=0)
        colour = colours[int(mean > 0)] if clear else UNCLEAR
        axes.plot([low, high], [k, k], color=colour, linewidth=2)
        face = colour if clear else "white"
        (point,) = axes.plot(mean, k, "o", color=colour, markerfacecolor=face, markersize=5)
        point.set_gid(f"point-{panel}-{k}")
    axes.spines["left"].set_visible(False)
    axes.tick_params(axis="y", length=0)
