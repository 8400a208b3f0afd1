"""``rankfactor report``: report of a saved model."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import result
from rankfactor.cli.cv import FILES
from rankfactor.cli.cv_folder import check_folder, read_folder
from rankfactor.cli.new_samples import read_new
from rankfactor.cli.outputs import REPORT, Output, check_outputs, files_of
from rankfactor.cli.reading import new_table
from rankfactor.cli.stability import FILES as STABILITY_FILES
from rankfactor.cli.stability import in_short
from rankfactor.errors import InputError
from rankfactor.presets import heading

if TYPE_CHECKING:
    from rankfactor.posterior import Posterior


@opt.command(
    {name: one for name, one in opt.READING.items() if name != "exclude"},
    after="covariates",
    table="The training table, to show the contributions to every sample's decisions and the "
    "data quality.",
    cv="Folder written by `rankfactor cv`, to show how well the model predicts.",
    stability="Folder written by `rankfactor stability`, to show how stable the model is.",
    gmt="GMT file of gene sets to test for overlap with the factors' features.",
    out="The page to write.",
    title=typer.Option(help="Title of the page.", show_default="model and table"),
)
def report(
    ctx: typer.Context,
    model: Path,
    table: Path | None = None,
    cv: Path | None = None,
    stability: Path | None = None,
    gmt: Path | None = None,
    out: Path = Path("report.html"),
    title: str | None = None,
    covariates: list[str] | None = None,
    force: bool = False,
    as_json: bool = False,
    **_: Any,
) -> None:
    """Write a report of a model as one HTML page that opens offline."""
    from rankfactor.interpret import read_gmt
    from rankfactor.report import write_report
    from rankfactor.storage.model_file import load_model, model_header

    folds = [] if cv is None else [cv / name for name in FILES]
    folds += [] if stability is None else [stability / name for name in STABILITY_FILES]
    given = [table, *files_of(covariates)]
    check_outputs([model, gmt, *given, *folds], [Output("--out", out, REPORT)], force=force)
    gene_sets = None if gmt is None else read_gmt(gmt)
    posterior, header = load_model(model), model_header(model)
    values = None if table is None else _training_table(table, ctx.params, posterior)
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
        # Warnings on the model itself, such as a suspect column, are not repeated.
        new = [text for text in folder.warnings if text not in warned]
        warned += [f"In the cross-validation: {text}" for text in new]
        for text in validation.flaws:
            warnings.warn(text, UserWarning, stacklevel=2)
    called = model.name if name is None else heading(name, posterior.model.data.name)
    written = write_report(
        out,
        posterior,
        title=title or " of ".join(part for part in (called, source) if part),
        source=source,
        comparison=None if folder is None else folder.summary,
        decisions=None if folder is None else folder.decisions,
        validation=validation,
        warnings=warned,
        settings=settings,
        gene_sets=gene_sets,
        table=values,
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


def _training_table(path: Path, options: dict[str, Any], posterior: Posterior) -> Any:
    """Table of a file, without samples outside the training set."""
    from rankfactor.report.training_table import check_training_table

    given = read_new(path, options, posterior)
    frame = new_table(given, path, options, posterior.covariate_names)
    names = frame.index.astype(str)
    own = posterior.sample_names.tolist()
    if len(own) and names.is_unique and set(own) <= set(names):
        frame = frame.iloc[names.get_indexer(own)]
    values = frame if posterior.named_features else frame.to_numpy()
    try:
        check_training_table(posterior, values)
    except InputError as error:
        raise InputError(f"{path} is not the training table: {error}") from error
    return values
