"""One feature as the rank likelihood sees it: the paper's figure 1.

Values enter through their order only: a value counts by the cuts that it lies above. On the other
side stands w, the weighted sum of the factors, with a latent cut point for every cut; the fit wants
w above the cut points of all cuts that the value is above, and below the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.stats import rankdata

from rankfactor.errors import InputError
from rankfactor.plots.style import (
    FAINT,
    MANY_POINTS,
    MUTED,
    PALETTE,
    figure_style,
    finish,
    new_figure,
    shorten,
    tidy,
)
from rankfactor.posterior import Posterior
from rankfactor.typing import Floats


def rank_figure(posterior: Posterior, values: Any, feature: str | int) -> Figure:
    """Draw the values of a feature, their ranks, and w with its cut points.

    Parameters
    ----------
    posterior : Posterior
    values : array-like, shape (N,)
        The feature's values of the samples that the model was fitted to, in their order; NaN where
        missing.
    feature : str or int
        Its name or number.

    Returns
    -------
    Figure
        Left, values against their ranks, with the cuts; right, w (posterior mean at the label-free
        scores) against the ranks, with the latent cut points. A likelihood that has no cuts gets
        neither.

    Raises
    ------
    InputError
        If there is no such feature, it is not in the model, or the values are not those of as many
        samples.
    """
    posterior.check_samples("scores of training samples to draw")
    number = _number(posterior, feature)
    x = np.asarray(values, float)
    if x.shape != (len(posterior.sample_names),):
        raise InputError(
            f"values must be one number for each of the {len(posterior.sample_names)} samples that "
            f"the model was fitted to, not of shape {x.shape}."
        )
    place = np.flatnonzero(posterior.coding.columns == number)
    if not place.size:
        raise InputError(f"feature {feature!r} did not vary, so the model leaves it out.")
    row = int(place[0])
    known = ~np.isnan(x)
    w = _latent(posterior, row)
    ranks = rankdata(x[known])
    cuts, points = _cuts(posterior, row)
    with figure_style():
        figure = new_figure(8.2, 3.9)
        left, right = figure.subplots(1, 2, sharex=True)
        many = int(known.sum()) > MANY_POINTS
        for axes, vertical in ((left, x[known]), (right, w[known])):
            tidy(axes)
            axes.scatter(
                ranks,
                vertical,
                s=6 if many else 14,
                color=PALETTE[0],
                alpha=0.7,
                linewidths=0,
                rasterized=many,
                zorder=3,
            )
            axes.set_xlabel("Rank of the value")
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        # A value lies above so many cuts: each cut is a border between two ranks.
        for cut, point in zip(cuts, points, strict=True):
            border = float((x[known] <= cut).sum()) + 0.5
            left.axhline(cut, color=FAINT, linewidth=0.9, zorder=0)
            right.axhline(point, color=FAINT, linewidth=0.9, zorder=0)
            right.plot(border, point, marker="D", markersize=4, color=PALETTE[1], zorder=4)
        left.set_title(f"Values of {shorten(posterior.feature_names[number], 30)}")
        right.set_title("Latent w" + (" and its cut points" if len(cuts) else ""))
        left.set_ylabel("Value" + (" (lines: cuts)" if len(cuts) else ""))
        right.set_ylabel("w")
        if len(cuts):
            right.plot([], [], "D", markersize=4, color=PALETTE[1], label="cut point")
            right.plot([], [], "o", markersize=4, color=PALETTE[0], label="sample")
            figure.legend(*right.get_legend_handles_labels(), loc="outside upper right", ncols=2)
        for axes in (left, right):
            axes.spines["left"].set_color(MUTED)
        return finish(figure)


def _number(posterior: Posterior, feature: str | int) -> int:
    names = posterior.feature_names
    if isinstance(feature, str):
        found = np.flatnonzero(names == feature)
        if not found.size:
            raise InputError(f"there is no feature {feature!r} in the model.")
        return int(found[0])
    if not 0 <= feature < len(names):
        raise InputError(f"there is no feature number {feature}: the model has {len(names)}.")
    return int(feature)


def _latent(posterior: Posterior, row: int) -> Floats:
    """Posterior mean of w at the samples, shape (N,)."""
    mean = posterior.rows.mean[row]
    k = posterior.n_factors
    intercept = float(mean[k]) if len(mean) > k else 0.0
    return np.asarray(posterior.scores.mean @ mean[:k] + intercept)


def _cuts(posterior: Posterior, row: int) -> tuple[Floats, Floats]:
    """Cut values and latent cut points of a feature; none where the likelihood has none."""
    coding: Any = posterior.coding
    params: Any = posterior.params
    if not hasattr(coding, "n_cuts") or not hasattr(params, "used"):
        return np.zeros(0), np.zeros(0)
    points = params.mean if hasattr(params, "mean") else params.h
    n = min(int(coding.n_cuts[row]), points.shape[1])
    return np.asarray(coding.values[row, :n]), np.asarray(points[row, :n])
