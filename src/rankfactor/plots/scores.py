"""Scores of the samples on two factors."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.interpret.directions import effects_on
from rankfactor.interpret.selection import classifiers_of, shown_factors, task_number
from rankfactor.interpret.sentences import factor_label
from rankfactor.plots.style import (
    FAINT,
    MANY_POINTS,
    PALETTE,
    UNCLEAR,
    colour,
    drawing,
    marker,
    shorten,
    tidy,
)
from rankfactor.posterior import Posterior

# Samples that look the same: their name, numbers, colour and shape.
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
        Numbers of the factors, from 0. By default the two that matter most for the task or,
        without one, the two with the largest share.

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
        chosen = [effect.factor for effect in effects_on(posterior, task)[:2]]
    groups = _groups(posterior, task)
    scores = posterior.scores.mean
    vertical = np.zeros(len(scores))
    if len(chosen) == 2:
        vertical = scores[:, chosen[1]]
    else:  # a line per group, with its points spread in a pattern
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
