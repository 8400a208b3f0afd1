"""Heat map of the loadings of the leading features."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from rankfactor.plots.select import features_by_factor, shown_factors
from rankfactor.plots.style import figure_style, finish, new_figure, shorten, tidy
from rankfactor.posterior import Posterior


def loading_figure(
    posterior: Posterior, *, features_per_factor: int = 4, most_features: int = 60
) -> Figure:
    """Draw the loadings of the leading features on the factors in use.

    Parameters
    ----------
    posterior : Posterior
    features_per_factor : int, default 4
        Leading features taken from every factor.
    most_features : int, default 60
        Most features altogether.

    Returns
    -------
    Figure
        Rows are features, in the order of the factor they are typical of; columns are factors.
    """
    factors = shown_factors(posterior)
    features = features_by_factor(posterior, factors, features_per_factor, most_features)
    values = posterior.standardised_loadings[np.ix_(features, factors)]
    limit = float(np.abs(values).max()) or 1.0
    n_rows, n_columns = values.shape
    with figure_style():
        width = min(max(3.2 + 0.24 * n_columns, 4.6), 12.0)
        figure = new_figure(width, 1.3 + 0.175 * n_rows)
        axes = figure.subplots()
        tidy(axes)
        image = axes.imshow(
            values, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto", interpolation="none"
        )
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
