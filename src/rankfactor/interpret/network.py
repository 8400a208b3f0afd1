"""The network of features: pairs that go together through the factors.

The paper shows a gene network "inferred from the factor loading matrix A" and says no more. Here
an edge is a correlation of two features through the factors, noise included
(`rankfactor.interpret.correlation`); ``measure="loadings"`` takes A alone, as the paper's words
have it: the cosine of two rows of mean loadings. Only features with a loading whose local false
sign rate is small on a factor in use take part, and a stated rule says which pairs are shown.
"""

from __future__ import annotations

import numbers
import unicodedata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.errors import InputError
from rankfactor.interpret.communities import module_numbers
from rankfactor.interpret.correlation import Wide, of_loadings, through_factors
from rankfactor.interpret.overview import chosen_factors
from rankfactor.posterior import Posterior
from rankfactor.posterior.certainty import CLEAR, loading_rates
from rankfactor.storage.files import check_destinations, written_together
from rankfactor.typing import Floats, Integers

MEASURES = {"w": through_factors, "loadings": of_loadings}
RULES = ("top", "threshold", "nearest")
# Least sizes of a correlation: pairs below are not worth a line, however few there are.
_DEFAULT_THRESHOLD = {"top": 0.3, "threshold": 0.5, "nearest": 0.3}
_MOST_EDGES = 1_000_000


def feature_network(
    posterior: Posterior,
    *,
    threshold: float | None = None,
    rule: str = "top",
    n_edges: int = 500,
    n_nearest: int = 3,
    lfsr: float = CLEAR,
    measure: str = "w",
    seed: int = 0,
) -> Any:
    """Link features that are correlated through the factors.

    Parameters
    ----------
    posterior : Posterior
    threshold : float, optional
        Least size of a correlation; if left out, 0.5 with ``rule="threshold"`` and 0.3 otherwise.
    rule : {"top", "threshold", "nearest"}
        Which pairs are linked: the ``n_edges`` with the largest correlations in size, all from
        ``threshold`` on, or every feature with its ``n_nearest`` strongest partners.
    n_edges, n_nearest : int
    lfsr : float, default 0.05
        Features take part whose local false sign rate is below this on a factor in use.
    measure : {"w", "loadings"}
        Correlation through the factors with noise, or the cosine of mean loadings.
    seed : int, default 0
        Of the modules.

    Returns
    -------
    networkx.Graph
        Nodes are the features that have a link, by name, with ``label``, ``factor`` (where its
        standardised loading is largest), ``loading`` (that one) and ``module``; edges have
        ``correlation``, ``sign`` (1 or -1) and ``weight`` (the size of the correlation). The rule
        is said in ``graph.graph["network_rule"]``.
    """
    import networkx as nx

    limit = _checked(threshold, rule, n_edges, n_nearest, lfsr, measure)
    used = chosen_factors(posterior, None)
    chosen = np.flatnonzero((loading_rates(posterior)[:, used] < lfsr).any(axis=1))
    wide = MEASURES[measure](posterior, chosen)
    if rule == "top":
        first, second, values = _strongest(wide, n_edges, limit)
    elif rule == "threshold":
        first, second, values = _from(wide, limit)
    else:
        first, second, values = _nearest(wide, n_nearest, limit)
    graph = nx.Graph(
        network_rule=_in_words(rule, measure, limit, n_nearest, lfsr, len(chosen), values),
        n_considered=len(chosen),
    )
    columns = posterior.coding.columns[chosen]
    names = posterior.feature_names[columns].tolist()
    loadings = posterior.standardised_loadings[columns][:, used]
    for i in np.unique(np.concatenate([first, second])).tolist():
        home = int(np.abs(loadings[i]).argmax())
        graph.add_node(
            names[i],
            label=names[i],
            factor=posterior.factor_names[used[home]],
            loading=float(loadings[i, home]),
        )
    for i, j, value in zip(first.tolist(), second.tolist(), values.tolist(), strict=True):
        graph.add_edge(
            names[i], names[j], correlation=value, sign=-1 if value < 0 else 1, weight=abs(value)
        )
    for name, number in zip(list(graph.nodes), module_numbers(graph, seed), strict=True):
        graph.nodes[name]["module"] = number
    return graph


def edge_table(graph: Any) -> pd.DataFrame:
    """Edges of a network: feature, other, correlation, sign, the strongest first."""
    rows = [
        (one, other, values["correlation"], values["sign"])
        for one, other, values in graph.edges(data=True)
    ]
    rows.sort(key=lambda row: (-abs(row[2]), row[0], row[1]))
    frame = pd.DataFrame(rows, columns=["feature", "other", "correlation", "sign"])
    return frame.astype({"correlation": float, "sign": "int64"})


def write_graphml(graph: Any, path: str | Path) -> Path:
    """Write a network as GraphML, which Cytoscape, Gephi and igraph read.

    Characters that XML may not hold become spaces in names, and names that are then the same get a
    number.
    """
    import networkx as nx

    path = Path(path)
    check_destinations(path)
    names: dict[Any, str] = {}
    taken: set[str] = set()
    for node in graph.nodes:
        name = plain = _printable(node)
        number = 1
        while name in taken:
            number += 1
            name = f"{plain} ({number})"
        taken.add(name)
        names[node] = name
    copy = nx.relabel_nodes(graph, names)
    for node, values in copy.nodes(data=True):
        values["label"] = node
    with written_together(path) as (part,):
        # Not the variant that uses lxml where there is one: the file would depend on it.
        nx.readwrite.graphml.write_graphml_xml(copy, part)
    return path


def _checked(
    threshold: float | None, rule: str, n_edges: int, n_nearest: int, lfsr: float, measure: str
) -> float:
    """Least size of a correlation, once the arguments have been found right."""
    for name, given, allowed in (("rule", rule, RULES), ("measure", measure, tuple(MEASURES))):
        if given not in allowed:
            listed = ", ".join(repr(one) for one in allowed)
            raise InputError(f"{name} must be one of {listed}, not {given!r}.")
    for name, count in (("n_edges", n_edges), ("n_nearest", n_nearest)):
        if isinstance(count, bool) or not isinstance(count, numbers.Integral) or count < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {count!r}.")
    if not 0 < lfsr <= 1:
        raise InputError(f"lfsr must lie between 0 and 1, not {lfsr!r}.")
    if threshold is None:
        return _DEFAULT_THRESHOLD[rule]
    if not 0 <= threshold <= 1:
        raise InputError(f"threshold must lie between 0 and 1, not {threshold!r}.")
    return float(threshold)


Edges = tuple[Integers, Integers, Floats]


def _strongest(wide: Wide, count: int, limit: float) -> Edges:
    """The pairs with the largest correlations in size, at most ``count``."""
    kept: Edges = _no_edges()
    for first, block in wide.blocks():
        found = _above(first, block, limit)
        kept = _largest(_joined([kept, found]), count)
        if len(kept[2]) == count:
            limit = max(limit, float(np.abs(kept[2]).min()))
    return kept


def _from(wide: Wide, limit: float) -> Edges:
    """All pairs whose correlation is at least ``limit`` in size."""
    parts, total = [_no_edges()], 0
    for first, block in wide.blocks():
        parts.append(_above(first, block, limit))
        total += len(parts[-1][2])
        if total > _MOST_EDGES:
            raise InputError(
                f"more than {_MOST_EDGES:,} pairs have a correlation of at least {limit:g}: raise "
                "threshold, or use rule='top'."
            )
    return _largest(_joined(parts), total)


def _nearest(wide: Wide, count: int, limit: float) -> Edges:
    """Every feature with its strongest partners."""
    pairs: dict[tuple[int, int], float] = {}
    for first, block in wide.blocks():
        size = np.abs(block)
        for row, order in enumerate(np.argsort(-size, axis=1, kind="stable")[:, :count]):
            for other in order.tolist():
                i = first + row
                if other != i and size[row, other] >= limit and size[row, other] > 0:
                    pairs.setdefault((min(i, other), max(i, other)), float(block[row, other]))
    ends = np.array(list(pairs), np.int64).reshape(-1, 2)
    return _largest((ends[:, 0], ends[:, 1], np.array(list(pairs.values()))), len(pairs))


def _above(first: int, block: Floats, limit: float) -> Edges:
    """Pairs (i, j), i < j, of a block whose correlation is at least ``limit`` and not zero."""
    size = np.abs(block)
    rows, columns = np.nonzero((size >= limit) & (size > 0))
    right = columns > rows + first
    rows, columns = rows[right], columns[right]
    return rows + first, columns, block[rows, columns]


def _largest(edges: Edges, count: int) -> Edges:
    """The largest in size, in order; equal ones in the order of the features."""
    first, second, values = edges
    order = np.lexsort((second, first, -np.abs(values)))[:count]
    return first[order], second[order], values[order]


def _joined(parts: list[Edges]) -> Edges:
    first, second, values = zip(*parts, strict=True)
    return np.concatenate(first), np.concatenate(second), np.concatenate(values)


def _no_edges() -> Edges:
    return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0)


def _in_words(
    rule: str,
    measure: str,
    limit: float,
    n_nearest: int,
    lfsr: float,
    considered: int,
    values: Floats,
) -> str:
    """The rule as a sentence."""
    what = "correlation through the factors" if measure == "w" else "cosine of mean loadings"
    which = {
        "top": f"the {len(values)} pairs with the largest {what}",
        "threshold": f"all {len(values)} pairs by {what}",
        "nearest": f"every feature with its {n_nearest} strongest partners by {what}",
    }[rule]
    which += f", in size at least {limit:g}"
    least = f"; the smallest shown is {np.abs(values).min():.2f} in size" if len(values) else ""
    return (
        f"{which}, among {considered} features with a local false sign rate below {lfsr:g} on a "
        f"factor in use{least}."
    )


def _printable(name: object) -> str:
    """Name without control characters, which XML may not hold."""
    return "".join(c if unicodedata.category(c)[0] != "C" else " " for c in str(name))
