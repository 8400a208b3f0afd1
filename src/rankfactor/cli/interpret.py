"""``rankfactor interpret``: tables and a network of a saved model."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli import outputs
from rankfactor.cli.console import result
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    import pandas as pd

NETWORK_FILE = "network.graphml"
FILES = {
    "factors.csv": outputs.table_of("a table of factors", "factor", "share"),
    "factor_correlations.csv": outputs.table_of("a table of correlations", "factor", "Factor 1"),
    "top_features.csv": outputs.LEADERS,
    "edges.csv": outputs.EDGES,
    "modules.csv": outputs.table_of("a table of modules", "feature", "module"),
    "coefficients.csv": outputs.COEFFICIENTS,
    "effects.csv": outputs.EFFECTS,
    "enrichment.csv": outputs.SETS,
    NETWORK_FILE: outputs.NETWORK,
}
# Sets with q below this are counted in the printed summary; the file has all.
_FOUND = 0.05


@opt.command(
    out="The folder to write to.",
    gmt="GMT file of gene sets to test against the leading features of every factor.",
    top=typer.Option(min=1, help="Leading features per factor."),
    edges=typer.Option(min=1, help="Number of strongest pairs of features in the network."),
    ignore_case=typer.Option(
        "--ignore-case", help="Ignore case in the names of genes and features."
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
    """Write factors, leading features, effects, network and gene sets of a model.

    The folder has factors.csv, factor_correlations.csv, top_features.csv, network.graphml,
    edges.csv and modules.csv; with labels also coefficients.csv and effects.csv (effect of each
    feature on the decisions), with --gmt also enrichment.csv.
    """
    from rankfactor import interpret as said
    from rankfactor.interpret.effects import driver_sentences, has_effects
    from rankfactor.interpret.sentences import EARLIER, explained
    from rankfactor.interpret.wording import percent
    from rankfactor.storage.files import folder, written_together
    from rankfactor.storage.model_file import load_model

    outputs.check_outputs([model, gmt], outputs.in_folder("--out", out, FILES), force=force)
    posterior = load_model(model)
    sets = None if gmt is None else said.read_gmt(gmt)
    tested = None if sets is None else said.enrich(posterior, sets, ignore_case=ignore_case)
    factors = said.factor_table(posterior, tested)
    graph = said.feature_network(posterior, n_edges=edges)
    groups = said.modules(graph)
    tables: dict[str, pd.DataFrame] = {
        "factors.csv": factors,
        "factor_correlations.csv": said.factor_correlations(posterior)
        .rename_axis("factor")
        .reset_index(),
        "top_features.csv": said.top_features(posterior, top),
        "edges.csv": said.edge_table(graph),
        "modules.csv": groups,
    }
    if posterior.classifiers is not None:
        tables["coefficients.csv"] = said.coefficient_table(posterior)
    if has_effects(posterior):
        tables["effects.csv"] = said.effect_table(posterior)
    if tested is not None:
        tables["enrichment.csv"] = tested
    with folder(out), written_together(*(out / name for name in (*tables, NETWORK_FILE))) as parts:
        for part, table in zip(parts, tables.values(), strict=False):
            csv_of(table, part)
        said.write_graphml(graph, parts[-1])
    used = factors[factors["in_use"]].to_dict("records")
    content: dict[str, Any] = {
        "folder": out,
        "files": sorted([*tables, NETWORK_FILE]),
        "model_file": model,
        "convergence": asdict(posterior.convergence),
        "r2": posterior.r2,
        "factors": used,
        "drivers": driver_sentences(posterior),
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
    lines = [explained(posterior)]
    if not posterior.has_standard_form:
        lines.append(EARLIER)
    lines += [
        f"{row['factor']} ({percent(row['share'])} of the variance): {row['meaning']}."
        for row in used
    ]
    lines += [f"What drives {one}" for one in driver_sentences(posterior)]
    lines.append(f"Network: {graph.graph['network_rule']}")
    if tested is not None:
        clear = tested[tested["q"] < _FOUND]
        n_table = int((posterior.coding.columns < len(posterior.table_features)).sum())
        background = f"the {n_table} features of the table that vary"
        content["enrichment"] = {
            "background": background,
            "n_tested_with_overlap": len(tested),
            "found": clear.drop(columns="features").to_dict("records"),
        }
        lines.append(
            f"Gene sets: {len(clear)} with q < {_FOUND:g}, against a background of {background}."
        )
    result(as_json, content, [*lines, f"Results: {out}"])
