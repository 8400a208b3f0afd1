"""``rankfactor inspect``: what is in a table or in a model file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import OPTIONS, in_options, one_line, result
from rankfactor.cli.reading import Reading, read, read_labelled
from rankfactor.errors import InputError, counted
from rankfactor.posterior.convergence import Convergence


@opt.with_options(opt.READING, after="labels")
def inspect(
    ctx: typer.Context,
    path: Annotated[Path, typer.Argument(help="A table, or a model file.")],
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--labels",
            metavar="COLUMN|FILE:COLUMN",
            help="Label column to look for suspects of: columns that separate its classes "
            "perfectly; as often as needed.",
            show_default="those found",
        ),
    ] = None,
    as_json: opt.Json = False,
    **_: Any,
) -> None:
    """Summarise a table (features, missing values, label columns, suspects) or a model file."""
    from rankfactor.storage.model_file import is_model_file

    if not path.exists():
        raise InputError(f"{path} does not exist: check its name.")
    if is_model_file(path):
        content = _model(path)
        result(as_json, content, _model_lines(content))
        return
    from rankfactor.cli.describe import describe

    own = None
    if labels:
        data = read_labelled(path, ctx.params)
        own = (data.values, data.labels)
    table = read(path, Reading.of(ctx.params))
    content = {"file": str(path), "kind": "table", **describe(table, own)}
    result(as_json, content, _table_lines(content))


def _model(path: Path) -> dict[str, Any]:
    from rankfactor.storage.model_file import load_model, model_header

    # Reading all of it checks the file, too.
    posterior = load_model(path)
    header = model_header(path)
    summary = header.get("summary", {})
    if summary:  # that of an older file may not know of the chains
        summary["converged"] = posterior.converged
    return {
        "file": str(path),
        "kind": "model",
        "size": path.stat().st_size,
        "format_version": header["version"],
        "library": header["library"],
        "checksum": "agrees" if "checksum" in header else "none",
        "parts": header["model"],
        "summary": summary,
        "convergence": asdict(posterior.convergence),
        "provenance": header.get("provenance", {}),
        "training_samples": posterior.left_out is None,
        "codes_sha256": posterior.codes_sha256 or None,
        "shares": posterior.shares.tolist(),
        "feature_names": posterior.feature_names.tolist(),
    }


def _model_lines(content: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{content['file']}: a model of format {content['format_version']}, written by rankfactor "
        f"{content['library']}, {content['size'] / 1e6:.2f} MB, checksum {content['checksum']}"
    )
    summary, origin, parts = content["summary"], content["provenance"], content["parts"]
    for name, value in parts.items():
        if isinstance(value, dict):
            rest = ", ".join(
                f"{key}={one:.4g}" if isinstance(one, float) else f"{key}={one}"
                for key, one in value.items()
                if key != "part"
            )
            value = f"{value.get('part', '')} ({rest})" if rest else value.get("part", "")
        yield f"  {name}: {value}"
    if summary:
        yield (
            f"Fitted to {counted(summary['n_samples'], 'sample')} and "
            f"{counted(summary['n_features'], 'feature')} "
            f"({summary['n_features_that_vary']} vary): {summary['n_active']} of "
            f"{counted(summary['n_factors'], 'factor')} in use, "
            f"{counted(summary['n_iter'], 'iteration')}, engine "
            f"{summary['engine']}"
            + (f", training {summary['training']}" if summary["tasks"] else ", without labels")
        )
        for task, counts in summary["tasks"].items():
            yield f"  task {task}: {_counts(counts['classes'], counts['missing'])}"
    if not content["training_samples"]:
        yield "Names, scores and labels of the training samples are not in the file."
    yield f"Convergence: {Convergence(**content['convergence'])}"
    if origin.get("table"):
        yield f"Table: {origin['table']}"
    if origin.get("settings"):
        given = (f"{OPTIONS.get(key, key)} {one}" for key, one in origin["settings"].items())
        yield "Settings: " + ", ".join(given)
    if content["codes_sha256"]:
        yield f"Training codes: SHA-256 {content['codes_sha256']}"
    yield f"Features: {_some(content['feature_names'])}"


def _table_lines(content: dict[str, Any]) -> Iterator[str]:
    samples, features = (content["n_samples"], "sample"), (content["n_features"], "feature")
    yield f"{content['file']}: {counted(*samples)}, {counted(*features)}"
    for text in content["notes"]:
        yield f"  {text}"
    for kind, part in content["features"].items():
        yield f"  {part['count']} {kind}: {_some(part['names'])}"
    yield (
        f"Missing: {content['missing']:.2%} of the values, in "
        f"{counted(content['features_with_missing'], 'feature')}; "
        f"{counted(content['samples_all_missing'], 'sample')} without any value"
    )
    yield f"Ties: {content['ties']:.1%} of the values are shared with another sample"
    if content["views"]:
        yield "Views: " + ", ".join(f"{name} ({n})" for name, n in content["views"].items())
    if not content["label_columns"]:
        yield "No column looks like a label: labels may be in another file."
    for name, column in content["label_columns"].items():
        yield f"  label column {name}: {_counts(column['classes'], column['missing'])}"
    if content["word_columns"]:
        yield (
            "Columns of words, 0/1 features of a fit unless they are its labels or excluded: "
            + _some(content["word_columns"])
        )
    for name, why in content["other_columns"].items():
        yield f"  column {name}: {why}"
    for text in content["suspects"]:
        yield f"Suspect: {in_options(one_line(text))}"


def _counts(classes: dict[str, int], missing: int) -> str:
    told = ", ".join(f"{count} {name}" for name, count in classes.items())
    return told + (f", {missing} unknown" if missing else "")


def _some(names: list[str]) -> str:
    shown = ", ".join(map(one_line, names[:5]))
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
