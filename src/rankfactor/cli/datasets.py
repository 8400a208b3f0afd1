"""``rankfactor datasets``: data sets that are bundled or can be downloaded."""

from __future__ import annotations

from pathlib import Path

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import result
from rankfactor.cli.outputs import EDITABLE, asked, check_outputs
from rankfactor.storage.spreadsheet import csv_of

datasets = typer.Typer(
    no_args_is_help=True,
    help="List data sets, and download those that are not bundled.",
    epilog="Example: rankfactor datasets list",
)


@datasets.command("list", epilog="Example: rankfactor datasets list --json")
@opt.command()
def list_all(as_json: bool = False) -> None:
    """List the data sets with their description and source."""
    from dataclasses import asdict

    from rankfactor.data.collection import list_datasets

    found = [{**asdict(one), "bundled": one.bundled} for one in list_datasets()]
    lines = [
        f"{one['name']} ({one['n_samples']} x {one['n_features']}, "
        f"{'bundled' if one['bundled'] else 'to fetch'}): {one['what']}; labels "
        f"{', '.join(one['labels'])}. {one['source']}; {one['licence']}."
        for one in found
    ]
    result(as_json, {"datasets": found}, lines)


@datasets.command(epilog="Example: rankfactor datasets fetch alzheimer --out alzheimer.csv")
@opt.command(
    name=typer.Argument(help="Name of the data set, as shown by `list`."),
    out="Also write the table with its label columns as CSV.",
)
def fetch(name: str, out: Path | None = None, force: bool = False, as_json: bool = False) -> None:
    """Download a data set if needed, and print where its files are."""
    from rankfactor.data.collection import fetch as fetch_files
    from rankfactor.data.collection import load
    from rankfactor.storage.files import written_together

    outputs = asked(("--out", out, EDITABLE))
    check_outputs([], outputs, force=force)
    found = fetch_files(name)
    check_outputs(found, outputs, force=force)
    paths = [str(path) for path in found]
    lines = paths or [f"{name} is bundled; --out writes it as CSV."]
    if out is not None:
        data = load(name)
        whole = data.table.join(data.labels.drop(columns=data.table.columns, errors="ignore"))
        with written_together(out) as (part,):
            csv_of(whole, part, index_label="sample")
        lines = [*paths, f"Table: {out}"]
    result(as_json, {"name": name, "files": paths, "table": out}, lines)
