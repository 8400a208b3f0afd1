"""``rankfactor report``: the page of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import result
from rankfactor.cli.cv import FILES
from rankfactor.cli.outputs import REPORT, Output, check_outputs
from rankfactor.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


def report(
    model: Annotated[Path, typer.Argument(help="Model file that `rankfactor fit` wrote.")],
    cv: Annotated[
        Path | None,
        typer.Option(
            help="Folder that `rankfactor cv` wrote, to show how well the model predicts.",
            show_default="none",
        ),
    ] = None,
    gmt: Annotated[
        Path | None,
        typer.Option(
            help="GMT file of gene sets to test for an overlap with the factors' features.",
            show_default="none",
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    title: Annotated[
        str | None, typer.Option(help="Title of the page.", show_default="model and table")
    ] = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Write a report of a model as one HTML page that opens offline."""
    from rankfactor.interpret import read_gmt
    from rankfactor.modelfile import load_model, model_header
    from rankfactor.report import write_report

    folds = () if cv is None else (cv / name for name in FILES)
    check_outputs([model, gmt, *folds], [Output("--out", out, REPORT)], force=force)
    gene_sets = None if gmt is None else read_gmt(gmt)
    posterior = load_model(model)
    origin: dict[str, Any] = model_header(model).get("provenance", {})
    settings: dict[str, Any] = origin.get("settings", {})
    name = settings.get("model")
    source = origin.get("table", "")
    warned = list(origin.get("warnings", ()))
    comparison = decisions = None
    if cv is not None:
        comparison, decisions, complete = _read_folder(cv, model, name)
        if not complete:
            warned.append("The cross-validation was interrupted: only its finished folds count.")
    written = write_report(
        out,
        posterior,
        title=title or " of ".join(part for part in (name or model.name, source) if part),
        source=source,
        comparison=comparison,
        decisions=decisions,
        warnings=warned,
        settings=settings,
        gene_sets=gene_sets,
    )
    result(as_json, {"report": str(written), "model_file": str(model)}, [f"Report: {written}"])


def _read_folder(
    folder: Path, model: Path, name: str | None
) -> tuple[pd.DataFrame, pd.DataFrame, bool]:
    """Summary with the model's own rows first, decisions, and whether all folds were finished."""
    import json

    import pandas as pd

    frames = []
    for part in ("summary.csv", "predictions.csv"):
        path = folder / part
        if not path.is_file():
            raise InputError(f"{folder} has no {part}: give the folder that `rankfactor cv` wrote.")
        try:
            frames.append(pd.read_csv(path, dtype={"task": str, "model": str, "label": str}))
        except (ValueError, OSError) as problem:
            raise InputError(f"{path} cannot be read ({problem}): run the cv again.") from problem
    summary, decisions = frames
    for part, frame in (("summary.csv", summary), ("predictions.csv", decisions)):
        if not {"task", "model"} <= set(frame.columns):
            raise InputError(f"{folder / part} is no table of `rankfactor cv`.")
    # The report takes what comes first of a task for its own model's.
    if name is None or name not in set(summary["model"]):
        raise InputError(
            f"{folder} has no results of {name or 'the model'} of {model}: run `rankfactor cv` "
            f"with --models {name or 'NAME'} among them, or leave --cv out."
        )
    summary, decisions = (
        frame.iloc[(frame["model"] != name).to_numpy().argsort(kind="stable")]
        for frame in (summary, decisions)
    )
    try:
        complete = bool(json.loads((folder / "result.json").read_text("utf-8"))["complete"])
    except (OSError, ValueError, KeyError, TypeError):
        complete = True
    return summary, decisions, complete
