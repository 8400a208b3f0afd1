"""``rankfactor inspect``: summary of a table or a model file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import OPTIONS, in_options, one_line, result
from rankfactor.cli.first_rows import read_first
from rankfactor.cli.reading import read, read_labelled
from rankfactor.errors import InputError, counted


@opt.command(
    opt.READING,
    after="labels",
    path=typer.Argument(help="A table, or a model file."),
    labels=typer.Option(
        metavar="COLUMN|FILE:COLUMN",
        help="Label column to check for suspects: columns that separate its classes perfectly. May "
        "be repeated.",
        show_default="those found",
    ),
)
def inspect(
    ctx: typer.Context,
    path: Path,
    labels: list[str] | None = None,
    as_json: bool = False,
    **_: Any,
) -> None:
    """Summarise a table (features, missing values, label columns, suspects) or a model file."""
    from rankfactor.storage.archive import is_model_file

    if not path.exists():
        raise InputError(f"{path} does not exist: check its name.")
    if is_model_file(path):
        content, lines = _model(path)
    else:
        from rankfactor.cli.describe import describe
        from rankfactor.data.opening import name_suffixes
        from rankfactor.data.streams.opening import TEXT

        first = read_first(path, ctx.params)
        table, n_samples = (read(path, ctx.params), None) if first is None else first
        rows = None if first is None else len(table.values)
        data = read_labelled(path, {**ctx.params, "first_rows": rows}) if labels else None
        own = None if data is None else (data.values, data.labels)
        content = {"file": str(path), "kind": "table", **describe(table, own)}
        if n_samples is not None:
            exact = name_suffixes(path)[0] not in TEXT
            content |= {"n_samples": n_samples, "n_samples_read": rows, "n_samples_exact": exact}
        lines = _table_lines(content)
    result(as_json, content, lines)


def _model(path: Path) -> tuple[dict[str, Any], Iterator[str]]:
    from rankfactor.interpret.sentences import EARLIER
    from rankfactor.storage.model_file import load_model, model_header

    # Reading the whole file also checks it.
    posterior = load_model(path)
    header = model_header(path)
    summary = header.get("summary", {})
    if summary:  # files of older versions may lack the chains
        summary["converged"] = posterior.converged
    content = {
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
        "r2": posterior.r2,
        "standard_form": posterior.has_standard_form,
        "feature_names": posterior.feature_names.tolist(),
    }
    lines = _model_lines(content, str(posterior.convergence))
    return content, lines if posterior.has_standard_form else iter([*lines, EARLIER])


def _model_lines(content: dict[str, Any], convergence: str) -> Iterator[str]:
    yield (
        f"{content['file']}: a model of format {content['format_version']}, written by rankfactor "
        f"{content['library']}, {content['size'] / 1e6:.2f} MB, checksum {content['checksum']}"
    )
    if content["summary"].get("model"):
        yield f"  model: {content['summary']['model']}"
    for name, value in content["parts"].items():
        if isinstance(value, dict):
            rest = ", ".join(
                f"{key}={one:.4g}" if isinstance(one, float) else f"{key}={one}"
                for key, one in value.items()
                if key != "part"
            )
            value = value.get("part", "") + (f" ({rest})" if rest else "")
        yield f"  {name}: {value}"
    summary, origin = content["summary"], content["provenance"]
    if summary:
        labels = f"training {summary['training']}" if summary["tasks"] else "without labels"
        # In older files the number was always given.
        chosen = f" ({summary['n_factors_by']})" if summary.get("n_factors_by") else ""
        yield (
            f"Fitted to {counted(summary['n_samples'], 'sample')} and "
            f"{counted(summary['n_features'], 'feature')} "
            f"({summary['n_features_that_vary']} vary): {summary['n_active']} of "
            f"{counted(summary['n_factors'], 'factor')}{chosen} in use, "
            f"{counted(summary['n_iter'], 'iteration')}, engine {summary['engine']}, {labels}"
        )
        for task, counts in summary["tasks"].items():
            yield f"  task {task}: {_counts(counts)}"
    if not content["training_samples"]:
        yield "Names, scores and labels of the training samples are not in the file."
    yield f"Convergence: {convergence}"
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
    read = content.get("n_samples_read")
    about = f"{content['n_samples']:,}"
    if read is not None and not content["n_samples_exact"]:
        digits = f"{content['n_samples']:.3g}"
        about = f"about {float(digits):,.0f}"
    shown = counted(*samples) if read is None else f"{about} samples"
    yield f"{content['file']}: {shown}, {counted(*features)}"
    if read is not None:
        yield f"  the following is from the first {read:,} of {about} rows"
    yield from (f"  {text}" for text in content["notes"])
    for kind, part in content["features"].items():
        yield f"  {part['count']} {kind}: {_some(part['names'])}"
    yield (
        f"Missing: {content['missing']:.2%} of the values, in "
        f"{counted(content['features_with_missing'], 'feature')}; "
        f"{counted(content['samples_all_missing'], 'sample')} without any value"
    )
    yield f"Ties: {content['ties']:.1%} of the values are shared with another sample"
    if content["blocks"]:
        yield "Blocks: " + ", ".join(f"{name} ({n})" for name, n in content["blocks"].items())
    if not content["label_columns"]:
        yield "No column looks like a label: labels may be in another file."
    for name, counts in content["label_columns"].items():
        yield f"  label column {name}: {_counts(counts)}"
    if content["word_columns"]:
        yield (
            "Columns of words, which a fit turns into 0/1 features unless labels or excluded:  "
            + _some(content["word_columns"])
        )
    yield from (f"  column {name}: {why}" for name, why in content["other_columns"].items())
    yield from (f"Suspect: {in_options(one_line(text))}" for text in content["suspects"])


def _counts(found: dict[str, Any]) -> str:
    """Samples of every class, and those without a label."""
    told = [f"{count} {name}" for name, count in found["classes"].items()]
    return ", ".join([*told, f"{found['missing']} unknown"] if found["missing"] else told)


def _some(names: list[str]) -> str:
    shown = ", ".join(map(one_line, names[:5]))
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
