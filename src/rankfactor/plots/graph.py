"""The network of features that move together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rankfactor.errors import InputError
from rankfactor.interpret.communities import module_members
from rankfactor.plots.layout import network_layout
from rankfactor.plots.placement import place_labels
from rankfactor.plots.style import MUTED, colour, drawing, marker

if TYPE_CHECKING:
    import networkx

_DASHED = (0, (3, 2))


def network_figure(
    graph: networkx.Graph[Any], *, most_labels: int = 60, seed: int = 0, title: str = ""
) -> Figure:
    """Draw a network of features.

    Parameters
    ----------
    graph : networkx.Graph
        As `rankfactor.interpret.feature_network` gives it: nodes may have ``label`` and
        ``module``, edges ``correlation``.
    most_labels : int, default 60
        Most names; nodes with the most links have theirs first, and a name that would cover
        another or a node is left out.
    seed : int
        Of the layout of large connected parts.
    title : str, optional
        Stands above the network.

    Returns
    -------
    Figure
        Nodes grow with the number of their links; colours and shapes are modules. Links of
        negative correlation are dashed.

    Raises
    ------
    InputError
        If the graph has no node.
    """
    if len(graph) == 0:
        raise InputError("the network has no feature: lower its threshold.")
    places = network_layout(graph, seed)
    nodes = list(graph)
    points = np.array([places[node] for node in nodes])
    degree = np.array([graph.degree(node) for node in nodes], float)
    wide, high = np.ptp(points, axis=0) + 2.0
    links = [
        (np.array([places[a], places[b]]), float(data.get("correlation", np.nan)))
        for a, b, data in graph.edges(data=True)
    ]
    # The height suits the shape of the drawing.
    with drawing(7.6, float(np.clip(7.6 * high / wide, 3.0, 8.5)), title) as figure:
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_aspect("equal")
        for negative, style in ((False, "solid"), (True, _DASHED)):
            drawn = [(ends, value) for ends, value in links if (value < 0) == negative]
            if drawn:
                sizes = np.nan_to_num(np.abs([value for _, value in drawn]), nan=0.5)
                lines = LineCollection(
                    [ends for ends, _ in drawn],
                    linewidths=0.2 + 1.2 * sizes,
                    colors=MUTED,
                    alpha=0.3,
                    linestyles=[style],
                    zorder=1,
                )
                axes.add_collection(lines)
        area = 14 + 46 * degree / max(degree.max(), 1.0)
        for number, members in enumerate(module_members(graph)):
            chosen = [nodes.index(node) for node in members]
            axes.scatter(
                points[chosen, 0],
                points[chosen, 1],
                s=area[chosen],
                c=colour(number),
                marker=marker(number),
                edgecolors="white",
                linewidths=0.6,
                zorder=5,
                gid=f"module-{number}",
            )
        low, high = points.min(axis=0) - 1.0, points.max(axis=0) + 1.0
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        if any(value < 0 for _, value in links):
            handles = [
                Line2D([], [], color=MUTED, label="move together"),
                Line2D([], [], color=MUTED, linestyle=_DASHED, label="move against each other"),
            ]
            figure.legend(handles=handles, loc="outside upper left", ncols=2)
        order = np.argsort(-degree, kind="stable")
        names = [str(graph.nodes[nodes[i]].get("label", nodes[i])) for i in order]
        # All points are obstacles, but only the first have a name to place.
        place_labels(axes, points[order], names[:most_labels])
    return figure
