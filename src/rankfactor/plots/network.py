"""The network of features that move together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from rankfactor.errors import InputError
from rankfactor.plots.labels import place_labels
from rankfactor.plots.layout import network_layout
from rankfactor.plots.style import MARKERS, MUTED, PALETTE, figure_style, finish, new_figure, plain

if TYPE_CHECKING:
    import networkx


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
    with figure_style():
        figure = new_figure(7.6, _height(points) + (0.3 if title else 0.0))
        if title:
            figure.suptitle(plain(title), fontsize=10, fontweight="bold")
        axes = figure.subplots()
        axes.set_axis_off()
        axes.set_aspect("equal")
        for sign, style in ((1, "solid"), (-1, (0, (3, 2)))):
            edges = [
                (places[a], places[b], abs(data.get("correlation", 0.5)))
                for a, b, data in graph.edges(data=True)
                if (data.get("correlation", 1.0) < 0) == (sign < 0)
            ]
            if edges:
                axes.add_collection(
                    LineCollection(
                        [np.array([a, b]) for a, b, _ in edges],
                        linewidths=[0.2 + 1.2 * size for _, _, size in edges],
                        colors=MUTED,
                        alpha=0.3,
                        linestyles=[style],
                        zorder=1,
                    )
                )
        sizes = 14 + 46 * degree / max(degree.max(), 1.0)
        for number, members in enumerate(module_members(graph)):
            chosen = [nodes.index(node) for node in members]
            axes.scatter(
                points[chosen, 0],
                points[chosen, 1],
                s=sizes[chosen],
                c=PALETTE[number % len(PALETTE)],
                marker=MARKERS[(number + number // len(PALETTE)) % len(MARKERS)],
                edgecolors="white",
                linewidths=0.6,
                zorder=5,
                gid=f"module-{number}",
            )
        low, high = points.min(axis=0) - 1.0, points.max(axis=0) + 1.0
        axes.set_xlim(low[0], high[0])
        axes.set_ylim(low[1], high[1])
        if any(data.get("correlation", 1.0) < 0 for _, _, data in graph.edges(data=True)):
            handles = [
                Line2D([], [], color=MUTED, label="move together"),
                Line2D([], [], color=MUTED, linestyle=(0, (3, 2)), label="move against each other"),
            ]
            figure.legend(handles=handles, loc="outside upper left", ncols=2)
        order = np.argsort(-degree, kind="stable")
        names = [str(graph.nodes[nodes[i]].get("label", nodes[i])) for i in order]
        # All points are obstacles, but only the first have a name to place.
        place_labels(axes, points[order], names[:most_labels])
        return finish(figure)


def module_members(graph: networkx.Graph[Any]) -> list[list[Any]]:
    """Nodes of every module in the order of the modules' numbers; one module without any."""
    modules: dict[Any, list[Any]] = {}
    for node, data in graph.nodes(data=True):
        modules.setdefault(data.get("module", 0), []).append(node)
    return [modules[key] for key in sorted(modules)]


def _height(points: np.ndarray[Any, np.dtype[np.float64]]) -> float:
    """Height in inches that suits the shape of the drawing."""
    wide, high = np.ptp(points, axis=0) + 2.0
    return float(np.clip(7.6 * high / wide, 3.0, 8.5))
