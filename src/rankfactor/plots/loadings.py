"""How much each factor explains, and the loadings of the leading features as a heat map."""

from __future__ import annotations

from typing import Literal

import numpy as np
from matplotlib.figure import Figure
from scipy.cluster.hierarchy import dendrogram

from rankfactor.interpret.loading_map import loading_map
from rankfactor.interpret.selection import shown_factors
from rankfactor.interpret.wording import percent
from rankfactor.plots.style import (
    MUTED,
    PALETTE,
    colour_bar,
    drawing,
    name_rows,
    shorten,
    tidy,
)
from rankfactor.posterior import Posterior


def share_figure(posterior: Posterior) -> Figure:
    """Draw the share of the table's variance that every factor in use explains."""
    factors = shown_factors(posterior)
    shares = posterior.shares[factors]
    with drawing(5.0, 0.6 + 0.215 * len(factors)) as figure:
        axes = figure.subplots()
        tidy(axes)
        bars = axes.barh(range(len(factors)), 100 * shares, height=0.68, color=PALETTE[0])
        axes.bar_label(bars, [percent(float(share)) for share in shares], padding=4, fontsize=8.5)
        name_rows(axes, [posterior.factor_names[k] for k in factors])
        axes.set_xlim(0, 100 * max(float(shares.max()), 1e-3) * 1.14)
        axes.set_xlabel("Variance explained (%)")
    return figure


def loading_figure(
    posterior: Posterior,
    *,
    features_per_factor: int = 4,
    most_features: int = 60,
    order: Literal["factor", "cluster"] = "factor",
) -> Figure:
    """Draw the loadings of the leading features on the factors in use.

    Parameters
    ----------
    features_per_factor : int, default 4
        Leading features per factor.
    most_features : int, default 60
        Maximum number of features.
    order : {"factor", "cluster"}
        Order of the rows: by the factor that a feature is typical of, or by hierarchical clustering
        of the loadings (average linkage of Euclidean distances), with a dendrogram.

    Returns
    -------
    Figure
        Rows are features, columns are factors.
    """
    features, factors, values, tree = loading_map(
        posterior, features_per_factor, most_features, order
    )
    limit = float(np.abs(values).max()) or 1.0
    n_rows, n_columns = values.shape
    width = min(max(3.2 + 0.24 * n_columns, 4.6), 12.0) + (0.0 if tree is None else 1.0)
    with drawing(width, 1.3 + 0.175 * n_rows) as figure:
        if tree is None:
            axes = figure.subplots()
        else:
            # The dendrogram is to the left of the rows, which are numbered downwards from 0.
            side, axes = figure.subplots(1, 2, width_ratios=(1, max(n_columns, 8) / 3.5))
            drawn = dendrogram(tree, no_plot=True)
            for heights, places in zip(drawn["dcoord"], drawn["icoord"], strict=True):
                # SciPy puts leaves at 5, 15, 25, ...
                side.plot(heights, (np.asarray(places) - 5) / 10, color=MUTED, linewidth=0.8)
            side.set_ylim(n_rows - 0.5, -0.5)
            side.set_xlim(1.02 * float(tree[:, 2].max()) or 1.0, 0)
            side.set_axis_off()
        tidy(axes)
        image = axes.imshow(values, "RdBu_r", aspect="auto", interpolation="none")
        image.set(clim=(-limit, limit), gid="cells")  # the report finds the cells by this id
        # White lines between the cells.
        axes.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=0.8)
        axes.tick_params(which="minor", length=0)
        axes.spines[:].set_visible(False)
        axes.set_yticks(np.arange(n_rows), [shorten(posterior.feature_names[i]) for i in features])
        # Numbers above and below, since the map may be taller than the screen.
        axes.set_xticks(np.arange(n_columns), [str(k + 1) for k in factors])
        axes.tick_params(length=0, top=True, labeltop=True)
        if n_columns > 40:
            axes.tick_params(axis="x", labelsize=6, labelrotation=90)
        axes.set_xlabel("Factor")
        where = {"location": "top", "shrink": 0.6, "aspect": 30, "pad": 0.01}
        colour_bar(figure, image, axes, "Loading (correlation of feature and factor)", **where)
    return figure
