"""The network of features that move together: where its nodes stand, and its drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rankfactor.errors import InputError
from rankfactor.interpret.network import module_members
from rankfactor.plots.placement import place_labels
from rankfactor.plots.style import MUTED, colour, drawing, marker
from rankfactor.typing import Floats

if TYPE_CHECKING:
    import networkx

_DASHED = (0, (3, 2))
# Beyond this many nodes the exact distances of Kamada and Kawai take too long.
_EXACT = 120


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
                ends, values = zip(*drawn, strict=True)
                sizes = 0.2 + 1.2 * np.nan_to_num(np.abs(values), nan=0.5)
                lines = LineCollection(ends, linewidths=sizes, colors=MUTED, linestyles=[style])
                lines.set(alpha=0.3, zorder=1)
                axes.add_collection(lines)
        area = 14 + 46 * degree / max(degree.max(), 1.0)
        for number, members in enumerate(module_members(graph)):
            chosen = [nodes.index(node) for node in members]
            x, y, size = points[chosen, 0], points[chosen, 1], area[chosen]
            marks = axes.scatter(x, y, size, colour(number), marker=marker(number))
            marks.set(edgecolor="white", linewidth=0.6, zorder=5, gid=f"module-{number}")
        (x0, y0), (x1, y1) = points.min(axis=0) - 1.0, points.max(axis=0) + 1.0
        axes.set(xlim=(x0, x1), ylim=(y0, y1))
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


def network_layout(graph: networkx.Graph[Any], seed: int = 0) -> dict[Any, Floats]:
    """Places of the nodes, the same for the same graph and seed; 1 keeps two nodes apart.

    Each connected part is laid out by itself, and the parts stand side by side: a force layout of
    the whole would push parts that no edge holds together out of sight.
    """
    import networkx as nx

    parts = sorted(
        nx.connected_components(graph), key=lambda part: (-len(part), min(map(str, part)))
    )
    places: dict[Any, Floats] = {}
    radii = [1.1 * np.sqrt(len(part)) for part in parts]
    width = 2.2 * np.sqrt(sum(radius**2 for radius in radii)) * 1.25 if parts else 1.0
    x = y = shelf = 0.0
    for part, radius in zip(parts, radii, strict=True):
        if x > 0 and x + 2 * radius > width:
            x, y, shelf = 0.0, y - shelf, 0.0
        shelf = max(shelf, 2 * radius + 0.8)
        centre = np.array([x + radius, y - radius])
        x += 2 * radius + 0.8
        for node, place in _shape(graph, part, seed).items():
            places[node] = centre + radius * place
    return places


def _shape(graph: networkx.Graph[Any], part: set[Any], seed: int) -> dict[Any, Floats]:
    """Places of a connected part's nodes within the unit circle."""
    import networkx as nx

    # Sets have no order of their own, and the layouts follow the order of the nodes.
    own = nx.Graph()
    own.add_nodes_from(node for node in graph if node in part)
    own.add_edges_from((a, b) for a, b in graph.edges(own.nodes) if a in part and b in part)
    if len(own) == 1:
        return dict.fromkeys(own, np.zeros(2))
    if len(own) <= _EXACT:
        found = nx.kamada_kawai_layout(own)
    else:
        found = nx.spring_layout(own, seed=seed, iterations=100, k=1.6 / np.sqrt(len(own)))
    places = np.array([found[node] for node in own], float)
    places -= (places.max(axis=0) + places.min(axis=0)) / 2
    places /= max(float(np.sqrt((places**2).sum(axis=1)).max()), 1e-9)
    return dict(zip(own, places, strict=True))
