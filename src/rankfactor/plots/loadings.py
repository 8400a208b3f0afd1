"""Heat map of the loadings of the leading features."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.cluster.hierarchy import dendrogram, linkage, optimal_leaf_ordering
from scipy.spatial.distance import pdist

from rankfactor.errors import InputError
from rankfactor.plots.select import features_by_factor, shown_factors
from rankfactor.plots.style import MUTED, figure_style, finish, new_figure, shorten, tidy
from rankfactor.posterior import Posterior
from rankfactor.typing import Floats, Integers


class LoadingMap(NamedTuple):
    """What a heat map shows.

    Attributes
    ----------
    features, factors : int array
        Numbers of the rows and the columns, in their order.
    values : array, shape (features, factors)
        Standardised loadings.
    tree : array or None
        Linkage of the rows, as SciPy has it; None without clustering.
    """

    features: Integers
    factors: Integers
    values: Floats
    tree: Floats | None


def loading_map(
    posterior: Posterior,
    *,
    features_per_factor: int = 4,
    most_features: int = 60,
    order: Literal["factor", "cluster"] = "factor",
) -> LoadingMap:
    """Leading features of the factors in use, their loadings, and the order to show them in."""
    if order not in ("factor", "cluster"):
        raise InputError(f"order must be 'factor' or 'cluster', not {order!r}.")
    factors = shown_factors(posterior)
    features = features_by_factor(posterior, factors, features_per_factor, most_features)
    tree = None
    if order == "cluster" and len(features) > 2:
        rows = posterior.standardised_loadings[np.ix_(features, factors)]
        apart = pdist(rows)
        tree = optimal_leaf_ordering(linkage(apart, "average"), apart)
        features = features[dendrogram(tree, no_plot=True)["leaves"]]
    values = posterior.standardised_loadings[np.ix_(features, factors)]
    return LoadingMap(features, factors, values, tree)


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
    posterior : Posterior
    features_per_factor : int, default 4
        Leading features taken from every factor.
    most_features : int, default 60
        Most features altogether.
    order : {"factor", "cluster"}
        Order of the rows: by the factor that a feature is typical of, or by hierarchical clustering
        of their loadings (average linkage of Euclidean distances), with its dendrogram.

    Returns
    -------
    Figure
        Rows are features, columns are factors.
    """
    shown = loading_map(
        posterior,
        features_per_factor=features_per_factor,
        most_features=most_features,
        order=order,
    )
    features, factors, values, tree = shown
    limit = float(np.abs(values).max()) or 1.0
    n_rows, n_columns = values.shape
    with figure_style():
        width = min(max(3.2 + 0.24 * n_columns, 4.6), 12.0) + (0.0 if tree is None else 1.0)
        figure = new_figure(width, 1.3 + 0.175 * n_rows)
        if tree is None:
            axes = figure.subplots()
        else:
            side, axes = figure.subplots(1, 2, width_ratios=(1, max(n_columns, 8) / 3.5))
            _draw_tree(side, tree)
        tidy(axes)
        image = axes.imshow(
            values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="none"
        )
        image.set_gid("cells")  # the report finds the cells by it
        # White lines between the cells.
        axes.set_xticks(np.arange(n_columns + 1) - 0.5, minor=True)
        axes.set_yticks(np.arange(n_rows + 1) - 0.5, minor=True)
        axes.grid(which="minor", color="white", linewidth=0.8)
        axes.tick_params(which="minor", length=0)
        axes.spines[:].set_visible(False)
        axes.set_yticks(np.arange(n_rows), [shorten(posterior.feature_names[i]) for i in features])
        # The numbers stand above and below: the map may be taller than the screen.
        axes.set_xticks(np.arange(n_columns), [str(k + 1) for k in factors])
        axes.tick_params(length=0, top=True, labeltop=True)
        if n_columns > 40:
            axes.tick_params(axis="x", labelsize=6, labelrotation=90)
        axes.set_xlabel("Factor")
        bar = figure.colorbar(image, ax=axes, location="top", shrink=0.6, aspect=30, pad=0.01)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8, length=2)
        bar.set_label("Standardised loading (posterior mean)")
        return finish(figure)


def _draw_tree(axes: Axes, tree: Floats) -> None:
    """Draw the dendrogram to the left of the rows, which grow downwards from 0."""
    drawn = dendrogram(tree, no_plot=True)
    for heights, places in zip(drawn["dcoord"], drawn["icoord"], strict=True):
        # SciPy puts leaves at 5, 15, 25, ...
        axes.plot(heights, (np.asarray(places) - 5) / 10, color=MUTED, linewidth=0.8)
    axes.set_ylim(len(drawn["leaves"]) - 0.5, -0.5)
    axes.set_xlim(1.02 * float(tree[:, 2].max()) or 1.0, 0)
    axes.set_axis_off()
