"""Where the nodes of a network stand: each connected part by itself, the parts side by side.

A force layout of the whole would push parts that no edge holds together out of sight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankfactor.typing import Floats

if TYPE_CHECKING:
    import networkx

# Beyond this many nodes the exact distances of Kamada and Kawai take too long.
_EXACT = 120


def network_layout(graph: networkx.Graph[Any], seed: int = 0) -> dict[Any, Floats]:
    """Places of the nodes, the same for the same graph and seed.

    Parameters
    ----------
    graph : networkx.Graph
    seed : int

    Returns
    -------
    dict
        From node to an array of two numbers; distances of 1 keep two nodes apart.
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
