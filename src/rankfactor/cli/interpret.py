"""``rankfactor interpret``: what a saved model says, as tables and a network."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import result
from rankfactor.cli.outputs import (
    COEFFICIENTS,
    EDGES,
    LEADERS,
    NETWORK,
    SETS,
    check_outputs,
    in_folder,
    table_of,
)
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    import pandas as pd

NETWORK_FILE = "network.graphml"
FILES = {
    "factors.csv": table_of("a table of factors", "factor", "share"),
    "top_features.csv": LEADERS,
    "edges.csv": EDGES,
    "modules.csv": table_of("a table of modules", "feature", "module"),
    "coefficients.csv": COEFFICIENTS,
    "enrichment.csv": SETS,
    NETWORK_FILE: NETWORK,
}
# q below this counts in what is printed; the file has all.
_FOUND = 0.05


@opt.command(
    out="The folder to write to.",
    gmt="Gene sets as a GMT file, to test the leading features of every factor against.",
    top=typer.Option(min=1, help="Leading features of each factor."),
    edges=typer.Option(min=1, help="Pairs of features in the network, the strongest."),
    ignore_case=typer.Option(
        "--ignore-case", help="Upper and lower case are the same in names of genes and features."
    ),
)
def interpret(
    model: Path,
    out: Path = Path("rankfactor-interpretation"),
    gmt: Path | None = None,
    top: int = 25,
    edges: int = 500,
    ignore_case: bool = False,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Write what a model says: factors, leading features, coefficients, network, gene sets.

    The folder has factors.csv, top_features.csv, network.graphml, edges.csv and modules.csv; with
    labels coefficients.csv, with --gmt enrichment.csv.
    """
    from rankfactor.interpret import (
        coefficient_table,
        edge_table,
        enrich,
        factor_table,
        feature_network,
        modules,
        read_gmt,
        top_features,
        write_graphml,
    )
    from rankfactor.storage.files import folder, written_together
    from rankfactor.storage.model_file import load_model

    check_outputs([model, gmt], in_folder("--out", out, FILES), force=force)
    posterior = load_model(model)
    sets = None if gmt is None else read_gmt(gmt)
    factors = factor_table(posterior)
    graph = feature_network(posterior, n_edges=edges)
    groups = modules(graph)
    tables: dict[str, pd.DataFrame] = {
        "factors.csv": factors,
        "top_features.csv": top_features(posterior, top),
        "edges.csv": edge_table(graph),
        "modules.csv": groups,
    }
    if posterior.classifiers is not None:
        tables["coefficients.csv"] = coefficient_table(posterior)
    found: pd.DataFrame | None = None
    if sets is not None:
        found = enrich(posterior, sets, ignore_case=ignore_case)
        tables["enrichment.csv"] = found
    with folder(out), written_together(*(out / name for name in (*tables, NETWORK_FILE))) as parts:
        for part, table in zip(parts, tables.values(), strict=False):
            csv_of(table, part)
        write_graphml(graph, parts[-1])
    used = factors[factors["in_use"]]
    content: dict[str, Any] = {
        "folder": str(out),
        "files": sorted([*tables, NETWORK_FILE]),
        "model_file": str(model),
        "convergence": asdict(posterior.convergence),
        "factors": used.to_dict("records"),
        "network": {
            "rule": graph.graph["network_rule"],
            "n_considered": graph.graph["n_considered"],
            "n_features": graph.number_of_nodes(),
            "n_edges": graph.number_of_edges(),
            "n_modules": int(groups["module"].nunique()),
        },
    }
    if not posterior.converged:
        warnings.warn(posterior.convergence.sentence, UserWarning, stacklevel=2)
    lines = [*_factor_lines(used), f"Network: {graph.graph['network_rule']}"]
    if found is not None:
        clear = found[found["q"] < _FOUND]
        n_table = int((posterior.coding.columns < len(posterior.table_features)).sum())
        background = f"the {n_table} features of the table that vary"
        content["enrichment"] = {
            "background": background,
            "n_tested_with_overlap": len(found),
            "found": clear.drop(columns="features").to_dict("records"),
        }
        lines.append(
            f"Gene sets: {len(clear)} with q < {_FOUND:g}, against a background of {background}."
        )
    result(as_json, content, [*lines, f"Results: {out}"])


def _factor_lines(used: pd.DataFrame) -> list[str]:
    """One line for every factor in use."""
    lines = []
    for row in used.to_dict("records"):
        said = f"{row['task']}, {row['direction']}; " if row["task"] else ""
        share = f"{100 * row['share']:.1f} % of the explained variance"
        lines.append(f"{row['factor']} ({share}): {said}led by {row['top_features']}.")
    return lines
