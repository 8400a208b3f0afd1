"""Scores of the samples on two factors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.plots.select import classifiers_of, effects, shown_factors, task_number
from rankfactor.plots.style import (
    FAINT,
    MANY_POINTS,
    MARKERS,
    PALETTE,
    UNCLEAR,
    Floats,
    figure_style,
    finish,
    new_figure,
    percent,
    shorten,
    tidy,
)
from rankfactor.posterior import Posterior


class _Group(NamedTuple):
    """Samples that look the same."""

    name: str
    members: NDArray[np.int64]
    colour: str
    marker: str


def score_figure(
    posterior: Posterior,
    task: int | str | None = None,
    *,
    factors: tuple[int, int] | None = None,
) -> Figure:
    """Draw the samples by their label-free scores on two factors.

    Parameters
    ----------
    posterior : Posterior
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
    chosen = _chosen(posterior, task, factors)
    groups = _groups(posterior, task)
    scores = posterior.scores.mean
    with figure_style():
        legend_lines = 0 if task is None else -(-len(groups) // 2)
        figure = new_figure(4.6, 4.1 + 0.2 * legend_lines)
        axes = figure.subplots()
        tidy(axes)
        axes.axhline(0, color=FAINT, linewidth=0.8, zorder=0)
        axes.axvline(0, color=FAINT, linewidth=0.8, zorder=0)
        vertical = scores[:, chosen[1]] if len(chosen) == 2 else _lines(groups, len(scores))
        many = len(scores) > MANY_POINTS
        # The largest class first, so that it does not hide the others.
        for group in sorted(groups, key=lambda g: -len(g.members)):
            axes.scatter(
                scores[group.members, chosen[0]],
                vertical[group.members],
                s=6 if many else 24,
                c=group.colour,
                marker=group.marker,
                alpha=0.5 if many else 0.75,
                linewidths=0 if many else 0.5,
                edgecolors="white",
                rasterized=many,
            )
        labels = [f"{posterior.factor_names[k]} ({percent(posterior.shares[k])})" for k in chosen]
        axes.set_xlabel(labels[0])
        if len(chosen) == 2:
            axes.set_ylabel(labels[1])
        else:
            axes.set_yticks([])
        if task is not None:
            for group in groups:
                axes.scatter(
                    [],
                    [],
                    s=30,
                    c=group.colour,
                    marker=group.marker,
                    label=f"{group.name} ({len(group.members)})",
                )
            figure.legend(loc="outside upper left", ncols=2, handletextpad=0.2, columnspacing=1.2)
        return finish(figure)


def _chosen(
    posterior: Posterior, task: int | str | None, factors: tuple[int, int] | None
) -> list[int]:
    if factors is not None:
        if any(not 0 <= k < posterior.n_factors for k in factors):
            raise InputError(f"factors must lie between 0 and {posterior.n_factors - 1}.")
        return [int(k) for k in factors]
    if task is None:
        return [int(k) for k in shown_factors(posterior)[:2]]
    return [effect.factor for effect in effects(posterior, task)[:2]]


def _groups(posterior: Posterior, task: int | str | None) -> list[_Group]:
    if task is None:
        return [_Group("", np.arange(len(posterior.scores.mean)), PALETTE[0], "o")]
    number = task_number(posterior, task)
    class_index = classifiers_of(posterior).class_index[:, number]
    classes = classifiers_of(posterior).tasks[number].classes
    groups = [
        _Group(
            shorten(label, 20),
            np.flatnonzero(class_index == c),
            PALETTE[c % len(PALETTE)],
            # Beyond the colours, another marker tells the classes apart.
            MARKERS[(c + c // len(PALETTE)) % len(MARKERS)],
        )
        for c, label in enumerate(classes)
    ]
    unknown = np.flatnonzero(class_index < 0)
    return groups + ([_Group("unknown", unknown, UNCLEAR, ".")] if unknown.size else [])


def _lines(groups: list[_Group], n_samples: int) -> Floats:
    """Heights for a single factor, shape (N,): a line per group, points spread in a pattern."""
    heights = np.zeros(n_samples)
    for line, group in enumerate(groups):
        spread = (np.arange(len(group.members)) * 0.618034) % 1.0 - 0.5
        heights[group.members] = -line + 0.6 * spread
    return heights
