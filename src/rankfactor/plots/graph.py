"""Layout and drawing of the network of features."""

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
# With more nodes, the exact distances of Kamada and Kawai take too long.
_EXACT = 120
_ROOM = np.array([2.0, 0.7])  # width and height that a node takes with its name
_MOVES = 150  # most rounds of moving close nodes apart
_INCHES = (0.62, 0.42)  # of a unit of the layout, across and up, in a drawing that fits the page
_WIDEST = 9.2


def network_figure(
    graph: networkx.Graph[Any], *, most_labels: int = 150, seed: int = 0, title: str = ""
) -> Figure:
    """Draw a network of features.

    Parameters
    ----------
    graph : networkx.Graph
        As returned by `rankfactor.interpret.feature_network`: nodes may have ``label`` and
        ``module``, edges ``correlation``.
    most_labels : int, default 150
        Maximum number of names; nodes with the most links come first. A name that would cover
        another or a node is left out.
    seed : int
        Seed of the layout of large connected components.
    title : str, optional
        Title above the network.

    Returns
    -------
    Figure
        Nodes grow with their number of links; colours and shapes are modules. Links with negative
        correlation are dashed.
    """
    if len(graph) == 0:
        raise InputError("the network has no feature: lower its threshold.")
    places = network_layout(graph, seed)
    nodes = list(graph)
    points = np.array([places[node] for node in nodes])
    degree = np.array([graph.degree(node) for node in nodes], float)
    low, high = points.min(axis=0) - _ROOM / 2, points.max(axis=0) + _ROOM / 2
    size = (high - low) * _INCHES
    size *= min(1.0, _WIDEST / size[0])
    links = [
        (np.array([places[a], places[b]]), float(data.get("correlation", np.nan)))
        for a, b, data in graph.edges(data=True)
    ]
    has_legend = any(value < 0 for _, value in links)
    # The drawing has the size of the layout, so that no side is empty.
    width, height = max(float(size[0]), 3.6), float(np.clip(size[1], 1.2, 9.0))
    with drawing(width, height + 0.35 * has_legend, title) as figure:
        axes = figure.subplots()
        axes.set_axis_off()
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
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        if has_legend:
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
    """Positions of the nodes, with room for a name beside each; reproducible for a seed.

    Each connected component is laid out separately, and the components fill rows: a force layout of
    the whole graph would push unconnected components out of sight.
    """
    import networkx as nx

    parts = sorted(
        nx.connected_components(graph), key=lambda part: (-len(part), min(map(str, part)))
    )
    shapes = [_shape(graph, part, seed) for part in parts]
    sizes = np.array([np.ptp(list(shape.values()), axis=0) for shape in shapes]) + _ROOM
    # About 1.2 times as wide as high, and never narrower than the widest component.
    width = max(float(sizes[:, 0].max()), float(np.sqrt(1.2 * sizes.prod(axis=1).sum())))
    places: dict[Any, Floats] = {}
    x = y = shelf = 0.0
    for shape, (wide, high) in zip(shapes, sizes.tolist(), strict=True):
        if x > 0 and x + wide > width + 1e-9:
            x, y, shelf = 0.0, y - shelf, 0.0
        points = np.array(list(shape.values()))
        corner = np.array([x, y - high]) + _ROOM / 2 - points.min(axis=0)
        places |= {node: place + corner for node, place in shape.items()}
        x, shelf = x + wide, max(shelf, high)
    return places


def _shape(graph: networkx.Graph[Any], part: set[Any], seed: int) -> dict[Any, Floats]:
    """Positions of a component's nodes, longest side across, each with room for a name."""
    import networkx as nx

    # Sets are unordered, and the layouts depend on the order of the nodes.
    own = nx.Graph()
    own.add_nodes_from(node for node in graph if node in part)
    own.add_edges_from((a, b) for a, b in graph.edges(own.nodes) if a in part and b in part)
    if len(own) <= 2:  # one above the other, so that both names fit beside them
        return {node: np.array([0.0, -float(i)]) for i, node in enumerate(own)}
    if len(own) <= _EXACT:
        found = nx.kamada_kawai_layout(own)
    else:
        found = nx.spring_layout(own, seed=seed, iterations=100, k=1.6 / np.sqrt(len(own)))
    places = np.array([found[node] for node in own], float)
    places -= places.mean(axis=0)
    # The singular vectors' signs are arbitrary: make the first entry non-negative.
    axes = np.linalg.svd(places, full_matrices=False)[2]
    axes *= np.where(axes[:, :1] < 0, -1.0, 1.0)
    places = places @ axes.T
    spread = np.sqrt((places**2).mean(axis=0))
    places *= np.sqrt(len(own)) * _ROOM / (3.0 * np.maximum(spread, 0.4 * spread[0]))
    return dict(zip(own, _apart(places), strict=True))


def _apart(places: Floats) -> Floats:
    """Positions after moving nodes apart until no two names overlap."""
    places = places.copy()
    for _ in range(_MOVES):
        gaps = places[:, None] - places[None]
        # Below one in both directions: two names would overlap.
        close = np.abs(gaps) / _ROOM
        near = (close < 1.0).all(axis=2)
        np.fill_diagonal(near, False)
        if not near.any():
            break
        axis = close.argmax(axis=2)  # the direction with the smaller overlap
        short = np.take_along_axis(1.0 - close, axis[..., None], axis=2)[..., 0] * near
        # Of two nodes at the same position, the later one moves up.
        order = np.sign(np.arange(len(places))[:, None] - np.arange(len(places))[None])
        side = np.sign(np.take_along_axis(gaps, axis[..., None], axis=2)[..., 0])
        side = np.where(side == 0, order, side)
        for one in (0, 1):
            moves = (0.5 * side * short * (axis == one)).sum(axis=1) * _ROOM[one]
            limit = 0.5 * _ROOM[one]
            places[:, one] += np.clip(moves, -limit, limit)
    return places
