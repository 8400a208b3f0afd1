"""Loadings as images, for tables whose features are pixels: the paper's supplement figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from rankfactor.errors import InputError
from rankfactor.interpret.selection import shown_factors
from rankfactor.interpret.wording import percent, plain
from rankfactor.plots.style import colour_bar, drawing
from rankfactor.posterior import Posterior


def loading_image_figure(
    posterior: Posterior,
    image_shape: tuple[int, int],
    *,
    factors: Sequence[int] | None = None,
    columns: int = 5,
    title: str = "",
) -> Figure:
    """Draw the loadings of every factor as an image.

    Parameters
    ----------
    posterior : Posterior
        Fitted to a table whose features are pixels, row by row.
    image_shape : tuple of two int
        Height and width, for example (16, 16).
    factors : sequence of int, optional
        Numbers of the factors, from 0; by default those in use.
    columns : int, default 5
        Images per row.
    title : str, optional
        Title above the images.

    Returns
    -------
    Figure
        Correlations of pixel and factor: red pixels increase with the factor, blue ones decrease.
        All images share one scale.
    """
    if columns < 1:
        raise InputError(f"columns must be at least 1, not {columns}.")
    chosen = shown_factors(posterior) if factors is None else [int(k) for k in factors]
    if not chosen or any(not 0 <= k < posterior.n_factors for k in chosen):
        raise InputError(f"factors must lie between 0 and {posterior.n_factors - 1}.")
    across = min(columns, len(chosen))
    rows = [("", posterior, chosen[i : i + across]) for i in range(0, len(chosen), across)]
    titles = [f"{k + 1} ({percent(posterior.shares[k])})" for k in chosen]
    label = "Loading (correlation); factor (share)"
    return _drawn(rows, titles, image_shape, title, label, size=1.25, fontsize=8.5)


def compared_images_figure(
    posteriors: Mapping[str, Posterior],
    image_shape: tuple[int, int],
    *,
    most: int = 12,
    title: str = "",
) -> Figure:
    """Draw the leading factors of several models as images, one row per model.

    Parameters
    ----------
    posteriors : mapping from str to Posterior
        Models of the same pixels by name, in the order of the rows.
    image_shape : tuple of two int
        Height and width.
    most : int, default 12
        Factors per model: those with the largest shares, in order.
    title : str, optional
        Title above the images.

    Returns
    -------
    Figure
        As `loading_image_figure`; all models share one scale.
    """
    if not posteriors:
        raise InputError("there is no model to draw: give at least one.")
    if most < 1:
        raise InputError(f"most must be at least 1, not {most}.")
    rows = [(name, one, shown_factors(one)[:most]) for name, one in posteriors.items()]
    titles = [percent(one.shares[k]) for _, one, factors in rows for k in factors]
    label = "Loading (correlation); share of the factor above it"
    return _drawn(rows, titles, image_shape, title, label, size=0.82, fontsize=7.5)


def _drawn(
    rows: Sequence[tuple[str, Posterior, Sequence[int]]],
    titles: Sequence[str],
    image_shape: tuple[int, int],
    title: str,
    label: str,
    *,
    size: float,
    fontsize: float,
) -> Figure:
    """Draw rows of images of ``size`` inches, each with a name, a model and factors."""
    across = max(len(factors) for _, _, factors in rows)
    values = []
    for _, posterior, factors in rows:
        n_features = len(posterior.table_features)  # without covariates
        if len(image_shape) != 2 or int(np.prod(image_shape)) != n_features:
            raise InputError(
                f"image_shape {tuple(image_shape)} does not have as many pixels as the table has "
                f"features, {n_features}."
            )
        values.append(posterior.structure[:n_features, list(factors)])
    limit = max(float(np.abs(part).max()) for part in values) or 1.0
    named = any(name for name, _, _ in rows)
    height = len(rows) * (size * image_shape[0] / image_shape[1] + 0.3) + 0.75
    above = iter(titles)
    with drawing(max(size * across, 2.6) + (1.2 if named else 0.2), height, title) as figure:
        panels = figure.subplots(len(rows), across, squeeze=False)
        for axes in panels.flat:
            axes.set_axis_off()
        for (name, _, _), part, row in zip(rows, values, panels, strict=True):
            for axes, loadings in zip(row, part.T, strict=False):
                image = axes.imshow(loadings.reshape(image_shape), "RdBu_r", interpolation="none")
                image.set_clim(-limit, limit)
                where = "center" if named else "left"
                axes.set_title(next(above), loc=where, fontsize=fontsize, fontweight="normal")
            # As text beside the first image, since an axis label disappears with the axis.
            place = {"xycoords": "axes fraction", "textcoords": "offset points", "ha": "right"}
            row[0].annotate(plain(name), (0, 0.5), (-8, 0), va="center", weight="bold", **place)
        # The height in inches does not depend on the width of the figure.
        bar = {"shrink": 0.7, "aspect": 4.5 * figure.get_figwidth(), "pad": 0.02}
        colour_bar(figure, image, panels, label, location="bottom", **bar)
    return figure
