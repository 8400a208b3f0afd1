"""Loadings as images, for tables whose features are pixels: the paper's supplement figure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from rankfactor.errors import InputError
from rankfactor.plots.select import shown_factors
from rankfactor.plots.style import figure_style, finish, new_figure, percent
from rankfactor.posterior import Posterior


def loading_image_figure(
    posterior: Posterior,
    image_shape: tuple[int, int],
    *,
    factors: Sequence[int] | None = None,
    columns: int = 5,
) -> Figure:
    """Draw the loadings of every factor as an image.

    Parameters
    ----------
    posterior : Posterior
        Of a table whose features are pixels, row by row.
    image_shape : tuple of two int
        Height and width, for example (16, 16).
    factors : sequence of int, optional
        Numbers of the factors, from 0; by default those in use.
    columns : int, default 5
        Images side by side.

    Returns
    -------
    Figure
        Standardised loadings: red pixels are higher where the factor is higher, blue ones lower.
        All images share one scale.

    Raises
    ------
    InputError
        If the shape does not have as many pixels as there are features.
    """
    n_features = len(posterior.table_features)
    if len(image_shape) != 2 or int(np.prod(image_shape)) != n_features:
        raise InputError(
            f"image_shape {tuple(image_shape)} does not have as many pixels as the table has "
            f"features, {n_features}."
        )
    if columns < 1:
        raise InputError(f"columns must be at least 1, not {columns}.")
    chosen = [int(k) for k in (shown_factors(posterior) if factors is None else factors)]
    if not chosen or any(not 0 <= k < posterior.n_factors for k in chosen):
        raise InputError(f"factors must lie between 0 and {posterior.n_factors - 1}.")
    values = posterior.standardised_loadings[:n_features][:, chosen]
    limit = float(np.abs(values).max()) or 1.0
    across = min(columns, len(chosen))
    down = -(-len(chosen) // across)
    with figure_style():
        height, width = image_shape
        figure = new_figure(
            max(1.25 * across, 2.6) + 0.2, down * (1.25 * height / width + 0.3) + 0.75
        )
        panels = figure.subplots(down, across, squeeze=False)
        image = None
        for panel, axes in enumerate(panels.flat):
            axes.set_axis_off()
            if panel >= len(chosen):
                continue
            image = axes.imshow(
                values[:, panel].reshape(image_shape),
                cmap="RdBu_r",
                vmin=-limit,
                vmax=limit,
                interpolation="none",
            )
            k = chosen[panel]
            axes.set_title(
                f"{k + 1} ({percent(posterior.shares[k])})", fontsize=8.5, fontweight="normal"
            )
        assert image is not None
        bar = figure.colorbar(image, ax=panels, location="bottom", shrink=0.7, aspect=30, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(labelsize=8, length=2)
        bar.set_label("Standardised loading; factor (share)")
        return finish(figure)
