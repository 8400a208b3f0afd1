"""Reliability of probabilities: how often what was given a probability came true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from rankfactor.errors import InputError
from rankfactor.plots.style import (
    DASHES,
    FAINT,
    MARKERS,
    PALETTE,
    figure_style,
    finish,
    new_figure,
    shorten,
    tidy,
)
from rankfactor.typing import Floats


def reliability_figure(
    labels: Any,
    probabilities: Any | Mapping[str, Any],
    *,
    positive: object = None,
    n_bins: int = 10,
) -> Figure:
    """Draw how often the positive class came true by its probability.

    Samples are put into bins of equal width; a point is a bin's share of the positive class at its
    mean probability, and its area grows with the number of samples. A diagonal is what
    calibrated probabilities give.

    Parameters
    ----------
    labels : array-like, shape (n,)
        Labels of two classes; a sample whose label is missing is left out.
    probabilities : array-like, shape (n,), or mapping from name to such
        Probabilities of the positive class, by model.
    positive : object, optional
        The class that probabilities are of; by default the larger label.
    n_bins : int, default 10

    Returns
    -------
    Figure
        The legend gives the expected calibration error: the mean distance from the diagonal,
        weighted by the samples of a bin.

    Raises
    ------
    InputError
        If the labels are not of two classes, or probabilities do not fit them.
    """
    column = pd.Series(np.asarray(labels, object))
    known = column.notna().to_numpy()
    classes = sorted(column[known].unique().tolist(), key=lambda v: (type(v).__name__, v))
    if len(classes) != 2:
        raise InputError(f"reliability needs labels of two classes, but there are {len(classes)}.")
    hit = classes[1] if positive is None else positive
    if hit not in classes:
        raise InputError(f"positive is {hit!r}, which is not a class of the labels.")
    if isinstance(n_bins, bool) or not isinstance(n_bins, int | np.integer) or n_bins < 1:
        raise InputError(f"n_bins must be a whole number of at least 1, not {n_bins!r}.")
    named = probabilities if isinstance(probabilities, Mapping) else {"": probabilities}
    came_true = np.asarray(column[known] == hit, np.float64)
    with figure_style():
        figure = new_figure(4.6, 4.5)
        axes = figure.subplots()
        tidy(axes)
        axes.plot([0, 1], [0, 1], color=FAINT, linewidth=1.2, zorder=0)
        for number, (name, values) in enumerate(named.items()):
            chance = _checked(values, len(column))[known]
            mean, share, count = reliability(came_true, chance, n_bins)
            error = float(count @ np.abs(mean - share) / count.sum())
            color = PALETTE[number % len(PALETTE)]
            axes.plot(
                mean,
                share,
                color=color,
                linestyle=DASHES[number % len(DASHES)],
                linewidth=1.5,
                label=f"{shorten(name, 26)} ({error:.3f})" if name else f"error {error:.3f}",
            )
            size = 10 + 120 * count / count.sum()
            marker, name_ = MARKERS[number % len(MARKERS)], f"bins-{number}"
            axes.scatter(mean, share, s=size, color=color, marker=marker, gid=name_)
        axes.plot([], [], color=FAINT, linewidth=1.2, label="ideal")
        axes.set_aspect("equal")
        axes.set_xlim(-0.03, 1.03)
        axes.set_ylim(-0.03, 1.03)
        axes.set_xlabel(f"Probability of {shorten(str(hit), 22)}")
        axes.set_ylabel("Share that came true")
        axes.legend(loc="upper left", handlelength=2.6)
        return finish(figure)


def reliability(came_true: Floats, chance: Floats, n_bins: int) -> tuple[Floats, Floats, Floats]:
    """Mean probability, share that came true and number of samples of every bin that has some."""
    place = np.minimum((chance * n_bins).astype(int), n_bins - 1)
    count = np.bincount(place, minlength=n_bins).astype(float)
    some = count > 0
    mean = np.bincount(place, chance, n_bins)[some] / count[some]
    share = np.bincount(place, came_true, n_bins)[some] / count[some]
    return mean, share, count[some]


def _checked(values: Any, n: int) -> Floats:
    chance = np.asarray(values, float)
    if chance.shape != (n,):
        raise InputError(
            f"probabilities must be one number a sample, ({n},), not of shape {chance.shape}: give "
            "those of the positive class."
        )
    if not ((chance >= 0) & (chance <= 1)).all():
        raise InputError("probabilities must lie between 0 and 1.")
    return chance
