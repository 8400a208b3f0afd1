"""Names beside points that neither collide nor leave the axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from rankfactor.plots.style import INK, shorten
from rankfactor.typing import Floats

# Candidate positions of a name, as multiples of the distance, with their alignments: beside the
# point, then above and below, then at the corners.
_PLACES = (
    (1, 0, "left", "center"),
    (-1, 0, "right", "center"),
    (0, 1, "center", "bottom"),
    (0, -1, "center", "top"),
    (0.7, 0.7, "left", "bottom"),
    (-0.7, 0.7, "right", "bottom"),
    (0.7, -0.7, "left", "top"),
    (-0.7, -0.7, "right", "top"),
)
_DISTANCE = 5.0  # from the point to its name, in points of type


def place_labels(axes: Axes, points: Floats, names: Sequence[str]) -> list[int]:
    """Write names beside points; return the indices of the labelled points.

    Points, shape (n, 2), are in data units. Names are in order of importance and belong to the
    first points; those without room are left out. The limits of the axes must be final; the rest of
    the figure is laid out here.
    """
    figure = axes.figure
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    inside = axes.get_window_extent(renderer)
    pixels = axes.transData.transform(points)
    taken: list[Bbox] = []
    placed = []
    for number, name in enumerate(names):
        for right, up, ha, va in _PLACES:
            away = (_DISTANCE * right, _DISTANCE * up)
            text = axes.annotate(
                shorten(name, 22), tuple(points[number]), away, textcoords="offset points"
            )
            text.set(ha=ha, va=va, fontsize=7.5, color=INK, zorder=20)
            # The layout was computed without names: making room for them would move the axes.
            text.set_in_layout(False)
            box = text.get_window_extent(renderer)
            within = np.all(box.min >= inside.min) and np.all(box.max <= inside.max)
            free = not any(box.overlaps(other) for other in taken)
            # A node has an extent: three pixels to every side.
            covered = box.padded(3.0).count_contains(np.delete(pixels, number, axis=0))
            if within and free and not covered:
                taken.append(box)
                placed.append(number)
                break
            text.remove()
    return placed
