"""One feature as the rank likelihood sees it: the paper's figure 1.

Values enter only through their order: a value is coded by the cuts below it. Its counterpart is w,
the weighted sum of the factors, with a latent cut point for every cut. The likelihood favours w
above the cut points of all cuts below the value, and below the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.stats import rankdata

from rankfactor.errors import InputError
from rankfactor.interpret.selection import number_of
from rankfactor.plots.style import FAINT, MANY_POINTS, PALETTE, drawing, shorten, tidy
from rankfactor.posterior import Posterior
from rankfactor.typing import Floats


def rank_figure(posterior: Posterior, values: Any, feature: str | int) -> Figure:
    """Draw the values of a feature, their ranks, and w with its cut points.

    Parameters
    ----------
    values : array-like, shape (N,)
        The feature's values for the training samples, in their order; NaN where missing.
    feature : str or int
        Its name or number.

    Returns
    -------
    Figure
        Left, values against their ranks, with the cuts; right, w (posterior mean at the label-free
        scores) against the ranks, with the latent cut points. Cuts are left out for likelihoods
        without cuts.
    """
    posterior.check_samples("scores of training samples to draw")
    number = number_of("feature", feature, posterior.feature_names.tolist(), " in the model")
    x = np.asarray(values, float)
    if x.shape != (len(posterior.sample_names),):
        raise InputError(
            f"values must be one number for each of the {len(posterior.sample_names)} samples that "
            f"the model was fitted to, not of shape {x.shape}."
        )
    place = np.flatnonzero(posterior.coding.columns == number)
    if not place.size:
        raise InputError(f"feature {feature!r} does not vary, so it is not part of the model.")
    row = int(place[0])
    known = ~np.isnan(x)
    mean, k = posterior.rows.mean[row], posterior.n_factors
    w = posterior.scores.mean @ mean[:k] + mean[k:].sum()  # an intercept comes last, if any
    ranks = rankdata(x[known])
    cuts, points = _cuts(posterior, row)
    with drawing(8.2, 3.9) as figure:
        left, right = figure.subplots(1, 2, sharex=True)
        many = int(known.sum()) > MANY_POINTS
        for axes, vertical in ((left, x[known]), (right, w[known])):
            tidy(axes)
            marks = axes.scatter(ranks, vertical, 6 if many else 14, color=PALETTE[0], alpha=0.7)
            marks.set(linewidth=0, rasterized=many, zorder=3)
            axes.set_xlabel("Rank of the value")
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        # The number of cuts below a value gives its rank: each cut separates two ranks.
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
    return figure


def _cuts(posterior: Posterior, row: int) -> tuple[Floats, Floats]:
    """Cut values and latent cut points of a feature; none for likelihoods without cuts."""
    coding: Any = posterior.coding
    params: Any = posterior.params
    if not hasattr(coding, "n_cuts") or not hasattr(params, "used"):
        return np.zeros(0), np.zeros(0)
    points = params.mean if hasattr(params, "mean") else params.h
    n = min(int(coding.n_cuts[row]), points.shape[1])
    return np.asarray(coding.values[row, :n]), np.asarray(points[row, :n])
