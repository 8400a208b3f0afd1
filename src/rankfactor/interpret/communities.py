"""Modules of a network: communities by Louvain's method, the same for the same seed."""

from __future__ import annotations

from typing import Any

import pandas as pd


def modules(graph: Any, seed: int = 0) -> pd.DataFrame:
    """Find groups of features that are linked more among themselves than with others.

    Parameters
    ----------
    graph : networkx.Graph
        What `feature_network` gives; edges count by the size of their correlation.
    seed : int, default 0
        The method visits features in a random order.

    Returns
    -------
    DataFrame
        feature, module (numbered from 1, the largest first), in the order of the modules.
    """
    numbers = module_numbers(graph, seed)
    order = sorted(range(len(numbers)), key=lambda i: (numbers[i], i))
    names = list(graph.nodes)
    return pd.DataFrame(
        {
            "feature": pd.Series([names[i] for i in order], dtype=object),
            "module": pd.Series([numbers[i] for i in order], dtype="int64"),
        }
    )


def module_numbers(graph: Any, seed: int) -> list[int]:
    """Module of every node, in the order of the nodes."""
    import networkx as nx

    # Sets of strings have another order in every run of Python; those of numbers do not.
    place = {name: i for i, name in enumerate(graph.nodes)}
    plain = nx.Graph()
    plain.add_nodes_from(range(len(place)))
    plain.add_weighted_edges_from(
        (place[one], place[other], abs(values["correlation"]))
        for one, other, values in graph.edges(data=True)
    )
    if not plain.number_of_edges():
        return list(range(1, len(place) + 1))
    groups = nx.community.louvain_communities(plain, weight="weight", seed=seed)
    numbers = [0] * len(place)
    for number, group in enumerate(sorted(groups, key=lambda one: (-len(one), min(one))), start=1):
        for node in group:
            numbers[node] = number
    return numbers


def module_members(graph: Any) -> list[list[Any]]:
    """Nodes of every module in the order of the modules' numbers; one module without any."""
    modules: dict[Any, list[Any]] = {}
    for node, data in graph.nodes(data=True):
        modules.setdefault(data.get("module", 0), []).append(node)
    return [modules[key] for key in sorted(modules)]
