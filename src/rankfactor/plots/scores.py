"""Scores of the samples: on two factors, and on single factors by class."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.interpret.directions import directions_on
from rankfactor.interpret.selection import classifiers_of, shown_factors, task_number
from rankfactor.interpret.sentences import factor_label
from rankfactor.plots.style import (
    FAINT,
    INK,
    MANY_POINTS,
    PALETTE,
    UNCLEAR,
    colour,
    drawing,
    marker,
    name_rows,
    shorten,
    tidy,
)
from rankfactor.posterior import Posterior
from rankfactor.typing import Floats

# Samples drawn alike: their name, indices, colour and shape.
_Group = tuple[str, NDArray[np.int64], str, str]


def score_figure(
    posterior: Posterior,
    task: int | str | None = None,
    *,
    factors: tuple[int, int] | None = None,
) -> Figure:
    """Draw the samples by their label-free scores on two factors.

    Parameters
    ----------
    task : int, str or None
        Task whose classes colour the points; None draws all points alike.
    factors : tuple of two int, optional
        Numbers of the factors, from 0. By default the two strongest factors of the task or, without
        a task, the two with the largest shares.

    Returns
    -------
    Figure
        With a single factor, one line of points per class.
    """
    posterior.check_samples("scores of training samples to draw")
    if factors is not None:
        if any(not 0 <= k < posterior.n_factors for k in factors):
            raise InputError(f"factors must lie between 0 and {posterior.n_factors - 1}.")
        chosen = [int(k) for k in factors]
    elif task is None:
        chosen = shown_factors(posterior)[:2]
    else:
        chosen = [one.factor for one in directions_on(posterior, task)[:2]]
    groups = _groups(posterior, task)
    scores = posterior.scores.mean
    vertical = np.zeros(len(scores))
    if len(chosen) == 2:
        vertical = scores[:, chosen[1]]
    else:  # one line per group, with its points spread in a fixed pattern
        for line, (_, members, _, _) in enumerate(groups):
            vertical[members] = 0.6 * ((np.arange(len(members)) * 0.618034) % 1.0 - 0.5) - line
    legend_lines = 0 if task is None else -(-len(groups) // 2)
    with drawing(4.6, 4.1 + 0.2 * legend_lines) as figure:
        axes = figure.subplots()
        tidy(axes)
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
        axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
        many = len(scores) > MANY_POINTS
        size, alpha, edge = (6, 0.5, 0.0) if many else (24, 0.75, 0.5)
        # The largest class first, so that it does not hide the others.
        for _, members, own, shape in sorted(groups, key=lambda group: -len(group[1])):
            x, y = scores[members, chosen[0]], vertical[members]
            marks = axes.scatter(x, y, size, own, marker=shape, alpha=alpha)
            marks.set(edgecolor="white", linewidth=edge, rasterized=many)
        axes.set_xlabel(factor_label(posterior, chosen[0]))
        if len(chosen) == 2:
            axes.set_ylabel(factor_label(posterior, chosen[1]))
        else:
            axes.set_yticks([])
        if task is not None:
            for name, members, own, shape in groups:
                axes.scatter([], [], 30, own, marker=shape, label=f"{name} ({len(members)})")
            figure.legend(loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.2)
    return figure


def _groups(posterior: Posterior, task: int | str | None) -> list[_Group]:
    if task is None:
        return [("", np.arange(len(posterior.scores.mean)), PALETTE[0], "o")]
    number, classifiers = task_number(posterior, task), classifiers_of(posterior)
    class_index = classifiers.class_index[:, number]
    groups = [
        (shorten(label, 20), np.flatnonzero(class_index == c), colour(c), marker(c))
        for c, label in enumerate(classifiers.tasks[number].classes)
    ]
    unknown = np.flatnonzero(class_index < 0)
    return groups + ([("unknown", unknown, UNCLEAR, ".")] if unknown.size else [])


def distribution_figure(posterior: Posterior, task: int | str = 0, *, most: int = 6) -> Figure:
    """Draw the scores by class for the strongest factors of a task.

    Parameters
    ----------
    posterior : Posterior
        A model fitted with labels, with its training samples.
    task : int or str, default 0
        Number or name of the task.
    most : int, default 6
        Maximum number of factors.

    Returns
    -------
    Figure
        One panel per factor: all samples of a class as points, and a box from the first to the
        third quartile with a line at the median.
    """
    posterior.check_samples("scores of training samples to draw")
    groups = [group for group in _groups(posterior, task) if len(group[1])]
    factors = [one.factor for one in directions_on(posterior, task)[:most]]
    across = min(len(factors), 2)
    down = -(-len(factors) // across)
    with drawing(5.4, down * (0.62 + 0.34 * len(groups))) as figure:
        panels = figure.subplots(down, across, sharey=True, squeeze=False).flat
        for place, axes in enumerate(panels):
            if place >= len(factors):
                axes.set_visible(False)
                continue
            _boxes(axes, posterior.scores.mean[:, factors[place]], groups)
            axes.set_title(factor_label(posterior, factors[place]), fontsize=9)
            name_rows(axes, [name for name, *_ in groups])
    return figure


def _boxes(axes: Axes, scores: Floats, groups: Sequence[_Group]) -> None:
    """Draw one line of points and one box for every group."""
    tidy(axes)
    axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
    for line, (_, members, own, shape) in enumerate(groups):
        values = scores[members]
        # Spread in a fixed pattern, for reproducible figures.
        height = line + 0.5 * ((np.arange(len(values)) * 0.618034) % 1.0 - 0.5)
        many = len(scores) > MANY_POINTS // 10
        marks = axes.scatter(values, height, 7, own, marker=shape, alpha=0.4)
        marks.set(linewidth=0, rasterized=many)
        low, middle, high = np.quantile(values, (0.25, 0.5, 0.75))
        axes.plot([low, high, high, low, low], line + 0.3 * np.array([-1, -1, 1, 1, -1]))
        axes.lines[-1].set(color=INK, linewidth=1.0)
        axes.plot([middle, middle], [line - 0.3, line + 0.3], color=INK, linewidth=2.0)
