"""Network of features: pairs that correlate through the factors, and their modules.

The paper shows a gene network "inferred from the factor loading matrix A" without further detail.
Here an edge is a correlation of two features through the factors, noise included
(`rankfactor.interpret.correlation`); ``measure="loadings"`` uses A alone, as the paper says: the
cosine of two rows of mean loadings. Only features with a supported loading on a factor in use take
part, and a stated rule selects the pairs. Modules are communities by Louvain's method, reproducible
for a given seed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.errors import InputError, check_count
from rankfactor.interpret.correlation import Wide, of_loadings, through_factors
from rankfactor.interpret.selection import row_names, shown_factors, supported_words, warn_of_lfsr
from rankfactor.interpret.wording import printable
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import supported_loadings
from rankfactor.storage.files import check_destinations, written_together
from rankfactor.typing import Floats

MEASURES = {"w": through_factors, "loadings": of_loadings}
# Rules by name, with the smallest absolute correlation: weaker pairs are not drawn, however few
# there are.
RULES = {"top": 0.3, "threshold": 0.5, "nearest": 0.3}
_MOST_EDGES = 1_000_000
_TINY = np.finfo(float).tiny  # a correlation of zero is not a link


def feature_network(
    posterior: Posterior,
    *,
    threshold: float | None = None,
    rule: str = "top",
    n_edges: int = 500,
    n_nearest: int = 3,
    lfsr: float | None = None,
    measure: str = "w",
    seed: int = 0,
) -> Any:
    """Link features that are correlated through the factors.

    Parameters
    ----------
    posterior : Posterior
    threshold : float, optional
        Smallest absolute correlation; by default 0.5 with ``rule="threshold"``, otherwise 0.3.
    rule : {"top", "threshold", "nearest"}
        Which pairs are linked: the ``n_edges`` with the largest absolute correlations, all above
        ``threshold``, or every feature with its ``n_nearest`` strongest partners.
    n_edges, n_nearest : int
    lfsr : float, optional
        Deprecated, without effect: features with a supported loading on a factor in use take part
        (`rankfactor.posterior.certainty.supported_loadings`).
    measure : {"w", "loadings"}
        Correlation through the factors with noise, or the cosine of mean loadings.
    seed : int, default 0
        Seed of the modules.

    Returns
    -------
    networkx.Graph
        Nodes are the features that have a link, by name, with ``label``, ``factor`` (with the
        largest loading), ``loading`` (on that factor) and ``module``; edges have ``correlation``,
        ``sign`` (1 or -1) and ``weight`` (the absolute correlation).
        ``graph.graph["network_rule"]`` states the rule.
    """
    import networkx as nx

    for name, given, allowed in (("rule", rule, RULES), ("measure", measure, MEASURES)):
        if given not in allowed:
            raise InputError(f"{name} must be one of {str(list(allowed))[1:-1]}, not {given!r}.")
    check_count("n_edges", n_edges)
    check_count("n_nearest", n_nearest)
    if lfsr is not None:
        warn_of_lfsr()
    limit = RULES[rule] if threshold is None else threshold
    if not 0 <= limit <= 1:
        raise InputError(f"threshold must lie between 0 and 1, not {threshold!r}.")
    used = shown_factors(posterior)
    chosen = np.flatnonzero(supported_loadings(posterior)[:, used].any(axis=1))
    wide = MEASURES[measure](posterior, chosen)
    if rule == "nearest":
        edges = _nearest(wide, n_nearest, limit)
    else:
        edges = _strongest(wide, n_edges if rule == "top" else _MOST_EDGES + 1, limit)
    if rule == "threshold" and len(edges) > _MOST_EDGES:
        raise InputError(
            f"more than {_MOST_EDGES:,} pairs have a correlation of at least {limit:g}: raise "
            "threshold, or use rule='top'."
        )
    what = "correlation through the factors" if measure == "w" else "cosine of mean loadings"
    which = {
        "top": f"the {len(edges)} pairs with the largest {what}",
        "threshold": f"all {len(edges)} pairs by {what}",
        "nearest": f"every feature with its {n_nearest} strongest partners by {what}",
    }[rule]
    least = f"; the smallest shown is ±{np.abs(edges[:, 2]).min():.2f}" if len(edges) else ""
    said = (
        f"{which} (absolute value at least {limit:g}) among {len(chosen)} features with "
        f"{supported_words(posterior)} on a factor in use{least}."
    )
    graph = nx.Graph(network_rule=said, n_considered=len(chosen))
    names = row_names(posterior, chosen)
    loadings = posterior.structure[posterior.coding.columns[chosen]][:, used]
    for i in np.unique(edges[:, :2].astype(int)).tolist():
        home = int(np.abs(loadings[i]).argmax())
        factor, loading = posterior.factor_names[used[home]], float(loadings[i, home])
        graph.add_node(names[i], label=names[i], factor=factor, loading=loading)
    for i, j, value in edges.tolist():
        sign = -1 if value < 0 else 1
        graph.add_edge(
            names[int(i)], names[int(j)], correlation=value, sign=sign, weight=abs(value)
        )
    numbers = dict(zip(graph, module_numbers(graph, seed), strict=True))
    nx.set_node_attributes(graph, numbers, "module")
    return graph


def edge_table(graph: Any) -> pd.DataFrame:
    """Edges of a network: feature, other, correlation, sign; strongest first."""
    rows = [
        (one, other, values["correlation"], values["sign"])
        for one, other, values in graph.edges(data=True)
    ]
    rows.sort(key=lambda row: (-abs(row[2]), row[0], row[1]))
    frame = pd.DataFrame(rows, columns=["feature", "other", "correlation", "sign"])
    return frame.astype({"correlation": float, "sign": "int64"})


def write_graphml(graph: Any, path: str | Path) -> Path:
    """Write a network as GraphML, which Cytoscape, Gephi and igraph read.

    Characters that XML does not allow become spaces in names, and names that become equal get a
    number.
    """
    import networkx as nx

    path = Path(path)
    check_destinations(path)
    names: dict[str, Any] = {}
    for node in graph.nodes:
        name, number = printable(node), 1
        while name in names:
            number += 1
            name = f"{printable(node)} ({number})"
        names[name] = node
    copy = nx.relabel_nodes(graph, {node: name for name, node in names.items()})
    nx.set_node_attributes(copy, {name: name for name in names}, "label")
    with written_together(path) as (part,):
        # Not the lxml variant, so that the file does not depend on whether lxml is installed.
        nx.readwrite.graphml.write_graphml_xml(copy, part)
    return path


def modules(graph: Any, seed: int = 0) -> pd.DataFrame:
    """Find groups of features with more links inside than to others.

    Parameters
    ----------
    graph : networkx.Graph
        Result of `feature_network`; edges are weighted by their absolute correlation.
    seed : int, default 0
        Seed of the random order in which the method visits features.

    Returns
    -------
    DataFrame
        feature, module (numbered from 1, the largest first), in the order of the modules.
    """
    found = pd.DataFrame({"feature": list(graph.nodes), "module": module_numbers(graph, seed)})
    found = found.astype({"feature": object, "module": "int64"})
    return found.sort_values("module", kind="stable", ignore_index=True)


def module_numbers(graph: Any, seed: int) -> list[int]:
    """Module of every node, in the order of the nodes."""
    import networkx as nx

    # Sets of strings have a different order in every run of Python; sets of numbers do not.
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
    groups.sort(key=lambda one: (-len(one), min(one)))
    numbers = {node: number for number, group in enumerate(groups, start=1) for node in group}
    return [numbers[node] for node in plain]


def module_members(graph: Any) -> list[list[Any]]:
    """Nodes of every module in the order of the modules' numbers; one if none is assigned."""
    members: dict[Any, list[Any]] = {}
    for node, data in graph.nodes(data=True):
        members.setdefault(data.get("module", 0), []).append(node)
    return [members[key] for key in sorted(members)]


def _strongest(wide: Wide, most: int, limit: float) -> Floats:
    """The pairs with the largest absolute correlations, up to a number: rows of i < j, value."""
    kept = np.zeros((0, 3))
    for first, block in wide.blocks():
        size = np.abs(block)
        rows, columns = np.nonzero(np.triu((size >= limit) & (size > 0), first + 1))
        found = np.column_stack([rows + first, columns, block[rows, columns]])
        kept = _in_order(np.concatenate([kept, found]))[:most]
        if len(kept) == most:
            limit = max(limit, float(np.abs(kept[-1, 2])))
    return kept


def _nearest(wide: Wide, count: int, limit: float) -> Floats:
    """Every feature with its strongest partners: rows of i < j, value."""
    pairs: dict[tuple[int, int], float] = {}
    for first, block in wide.blocks():
        size = np.abs(block)
        near = np.argsort(-size, axis=1, kind="stable")[:, :count]
        for i, partners in enumerate(near.tolist()):
            for j in partners:
                if size[i, j] >= max(limit, _TINY):
                    ends = (min(first + i, j), max(first + i, j))
                    pairs.setdefault(ends, float(block[i, j]))
    return _in_order(np.array([(*ends, value) for ends, value in pairs.items()]).reshape(-1, 3))


def _in_order(edges: Floats) -> Floats:
    """Largest absolute value first; ties in the order of the features."""
    return edges[np.lexsort((edges[:, 1], edges[:, 0], -np.abs(edges[:, 2])))]
