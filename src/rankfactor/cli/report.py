"""``rankfactor report``: the page of a saved model."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import result
from rankfactor.cli.cv import FILES
from rankfactor.cli.cv_folder import check_folder, read_folder
from rankfactor.cli.outputs import REPORT, Output, check_outputs
from rankfactor.cli.stability import FILES as STABILITY_FILES
from rankfactor.cli.stability import in_short


@opt.command(
    cv="Folder that `rankfactor cv` wrote, to show how well the model predicts.",
    stability="Folder that `rankfactor stability` wrote, to show how stable the model is.",
    gmt="GMT file of gene sets to test for an overlap with the factors' features.",
    out="The page to write.",
    title=typer.Option(help="Title of the page.", show_default="model and table"),
)
def report(
    model: Path,
    cv: Path | None = None,
    stability: Path | None = None,
    gmt: Path | None = None,
    out: Path = Path("report.html"),
    title: str | None = None,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Write a report of a model as one HTML page that opens offline."""
    from rankfactor.interpret import read_gmt
    from rankfactor.report import write_report
    from rankfactor.storage.model_file import load_model, model_header

    folds = [] if cv is None else [cv / name for name in FILES]
    folds += [] if stability is None else [stability / name for name in STABILITY_FILES]
    check_outputs([model, gmt, *folds], [Output("--out", out, REPORT)], force=force)
    gene_sets = None if gmt is None else read_gmt(gmt)
    posterior, header = load_model(model), model_header(model)
    origin: dict[str, Any] = header.get("provenance", {})
    settings: dict[str, Any] = origin.get("settings", {})
    name, source = settings.get("model"), origin.get("table", "")
    warned = list(origin.get("warnings", ()))
    if stability is not None:
        from rankfactor.cli.stability_folder import read_stability

        found, told = read_stability(stability, model, posterior, header)
        posterior = posterior.with_stability(found)
        new = [str(text) for text in told.get("warnings", ()) if text not in warned]
        warned += [f"In the stability run: {text}" for text in new]
    folder = validation = None
    if cv is not None:
        folder = read_folder(cv, model, name)
        validation = check_folder(folder, model, posterior, header)
        # What was said of the model itself, such as a suspect column, is not said again.
        new = [text for text in folder.warnings if text not in warned]
        warned += [f"In the cross-validation: {text}" for text in new]
        for text in validation.flaws:
            warnings.warn(text, UserWarning, stacklevel=2)
    written = write_report(
        out,
        posterior,
        title=title or " of ".join(part for part in (name or model.name, source) if part),
        source=source,
        comparison=None if folder is None else folder.summary,
        decisions=None if folder is None else folder.decisions,
        validation=validation,
        warnings=warned,
        settings=settings,
        gene_sets=gene_sets,
    )
    content = {
        "report": written,
        "model_file": model,
        "convergence": asdict(posterior.convergence),
        "cross_validation": None if validation is None else validation.sentence,
        "stability": None if posterior.stability is None else in_short(posterior.stability),
    }
    lines = [f"Convergence: {posterior.convergence}."]
    lines += [] if validation is None else [validation.sentence]
    lines += [] if posterior.stability is None else [in_short(posterior.stability)]
    result(as_json, content, [*lines, f"Report: {written}"])
