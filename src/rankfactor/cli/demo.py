"""``rankfactor demo``: the bundled data, from the table to the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import progress, result
from rankfactor.cli.outputs import FOLDS, MODEL, REPORT, check_outputs, in_folder


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the model.")] = Path(
        "rankfactor-demo"
    ),
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 10,
    n_factors: opt.NFactors = 20,
    random_state: opt.RandomState = 0,
    n_threads: opt.NThreads = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Compare models on the bundled Alzheimer data and write a report."""
    from rankfactor.cli.comparison import print_comparison
    from rankfactor.demo import FILES, run_demo

    kinds = dict(zip(FILES, (REPORT, MODEL, FOLDS), strict=True))
    check_outputs([], in_folder("--out", out, kinds), force=force)
    with progress() as tell:
        found = run_demo(
            out,
            n_folds=folds,
            n_factors=n_factors,
            random_state=random_state,
            n_threads=n_threads,
            progress=tell,
        )
    summary = found.evaluation.summary()
    if not as_json:
        print_comparison(f"{folds}-fold cross-validation: mean (standard deviation)", summary)
    content = {
        "model_file": str(found.model),
        "folds": str(found.folds),
        "report": str(found.report),
        "summary": summary.to_dict("records"),
    }
    lines = [f"Model: {found.model}", f"Folds: {found.folds}", f"Report: {found.report}"]
    result(as_json, content, lines)
