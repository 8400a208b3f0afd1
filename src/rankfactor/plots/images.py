"""Loadings as images, for tables whose features are pixels: the paper's supplement figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from rankfactor.errors import InputError
from rankfactor.plots.select import shown_factors
from rankfactor.plots.style import figure_style, finish, new_figure, percent, plain
from rankfactor.posterior import Posterior
from rankfactor.typing import Floats


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
        Of a table whose features are pixels, row by row.
    image_shape : tuple of two int
        Height and width, for example (16, 16).
    factors : sequence of int, optional
        Numbers of the factors, from 0; by default those in use.
    columns : int, default 5
        Images side by side.
    title : str, optional
        Stands above the images.

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
    _check_shape(posterior, image_shape)
    if columns < 1:
        raise InputError(f"columns must be at least 1, not {columns}.")
    chosen = [int(k) for k in (shown_factors(posterior) if factors is None else factors)]
    if not chosen or any(not 0 <= k < posterior.n_factors for k in chosen):
        raise InputError(f"factors must lie between 0 and {posterior.n_factors - 1}.")
    values = _loadings(posterior, chosen)
    limit = float(np.abs(values).max()) or 1.0
    across = min(columns, len(chosen))
    down = -(-len(chosen) // across)
    with figure_style():
        height, width = image_shape
        figure = new_figure(
            max(1.25 * across, 2.6) + 0.2,
            down * (1.25 * height / width + 0.3) + 0.75 + (0.3 if title else 0.0),
        )
        if title:
            figure.suptitle(plain(title), fontsize=10, fontweight="bold")
        panels = figure.subplots(down, across, squeeze=False)
        image = None
        for panel, axes in enumerate(panels.flat):
            axes.set_axis_off()
            if panel >= len(chosen):
                continue
            image = _draw(axes, values[:, panel], image_shape, limit)
            k = chosen[panel]
            axes.set_title(
                f"{k + 1} ({percent(posterior.shares[k])})", fontsize=8.5, fontweight="normal"
            )
        assert image is not None
        _add_bar(figure, image, panels, "Standardised loading; factor (share)")
        return finish(figure)


def compared_images_figure(
    posteriors: Mapping[str, Posterior],
    image_shape: tuple[int, int],
    *,
    most: int = 12,
    title: str = "",
) -> Figure:
    """Draw the leading factors of several models as images, one row of images a model.

    Parameters
    ----------
    posteriors : mapping from str to Posterior
        Models of the same pixels by name, in the order of the rows.
    image_shape : tuple of two int
        Height and width.
    most : int, default 12
        Factors of a model, those of the largest shares in their order.
    title : str, optional
        Stands above the images.

    Returns
    -------
    Figure
        As `loading_image_figure`; all models share one scale.
    """
    if not posteriors:
        raise InputError("there is no model to draw: give at least one.")
    if most < 1:
        raise InputError(f"most must be at least 1, not {most}.")
    for posterior in posteriors.values():
        _check_shape(posterior, image_shape)
    chosen = [[int(k) for k in shown_factors(one)[:most]] for one in posteriors.values()]
    values = [
        _loadings(one, factors) for one, factors in zip(posteriors.values(), chosen, strict=True)
    ]
    limit = max(float(np.abs(part).max()) for part in values) or 1.0
    across = max(map(len, chosen))
    height, width = image_shape
    with figure_style():
        figure = new_figure(
            max(0.82 * across, 2.6) + 1.2,
            len(chosen) * (0.8 * height / width + 0.28) + 0.75 + (0.3 if title else 0.0),
        )
        if title:
            figure.suptitle(plain(title), fontsize=10, fontweight="bold")
        panels = figure.subplots(len(chosen), across, squeeze=False)
        image = None
        for name, posterior, factors, part, row in zip(
            posteriors, posteriors.values(), chosen, values, panels, strict=True
        ):
            for axes in row:
                axes.set_axis_off()
            for panel, k in enumerate(factors):
                image = _draw(row[panel], part[:, panel], image_shape, limit)
                row[panel].set_title(
                    percent(posterior.shares[k]), loc="center", fontsize=7.5, fontweight="normal"
                )
            # As text beside the first image: an axis label goes with the axis.
            row[0].annotate(
                plain(name),
                (0, 0.5),
                (-8, 0),
                xycoords="axes fraction",
                textcoords="offset points",
                ha="right",
                va="center",
                fontweight="bold",
            )
        assert image is not None
        _add_bar(figure, image, panels, "Standardised loading; share of the factor above it")
        return finish(figure)


def _check_shape(posterior: Posterior, image_shape: tuple[int, int]) -> None:
    n_features = len(posterior.table_features)
    if len(image_shape) != 2 or int(np.prod(image_shape)) != n_features:
        raise InputError(
            f"image_shape {tuple(image_shape)} does not have as many pixels as the table has "
            f"features, {n_features}."
        )


def _loadings(posterior: Posterior, factors: Sequence[int]) -> Floats:
    """Standardised loadings of the table's own features, shape (pixels, factors)."""
    n_features = len(posterior.table_features)
    return np.asarray(posterior.standardised_loadings[:n_features][:, list(factors)])


def _draw(axes: Axes, loadings: Floats, image_shape: tuple[int, int], limit: float) -> Any:
    return axes.imshow(
        loadings.reshape(image_shape),
        cmap="RdBu_r",
        vmin=-limit,
        vmax=limit,
        interpolation="none",
    )


def _add_bar(figure: Figure, image: Any, panels: Any, label: str) -> None:
    # Of the same height in inches, however wide the figure is.
    aspect = 4.5 * figure.get_figwidth()
    bar = figure.colorbar(image, ax=panels, location="bottom", shrink=0.7, aspect=aspect, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=8, length=2)
    bar.set_label(label)
