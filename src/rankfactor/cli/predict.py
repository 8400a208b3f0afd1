"""``rankfactor predict``: classes, probabilities and factor scores of new samples."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import compile_notice, note, result
from rankfactor.cli.outputs import PREDICTIONS, SCORES, asked, check_outputs, files_of
from rankfactor.cli.reading import new_table, read
from rankfactor.errors import InputError, counted, listed
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.data import Table
    from rankfactor.posterior import Posterior

# With fewer of the model's features than this share, a prediction would be a guess.
LEAST_SHARE = 0.5
_OPTIONS = {
    "missing_features": opt.option(
        MissingFeatures := opt.choice("missing", "error"),
        "If the table lacks features of the model: treat their values as missing, unless more than "
        "half are absent (missing), or refuse (error).",
        default=MissingFeatures("missing"),
    ),
    **{name: one for name, one in opt.READING.items() if name != "exclude"},
}


@opt.command(
    _OPTIONS,
    after="scores",
    table=typer.Argument(help="Table of new samples; columns are matched by name."),
    out="The CSV file to write.",
    scores="Also write the factor scores, as CSV.",
    level=typer.Option(
        min=0.01, max=0.99, help="Probability of the intervals, after Gibbs sampling."
    ),
)
def predict(
    ctx: typer.Context,
    model: Path,
    table: Path,
    out: Path = Path("predictions.csv"),
    scores: Path | None = None,
    level: float = 0.9,
    covariates: list[str] | None = None,
    n_threads: int | None = None,
    force: bool = False,
    as_json: bool = False,
    **_: Any,
) -> None:
    """Predict the classes of new samples, and write them to a CSV file."""
    import pandas as pd

    from rankfactor.steps.workers import workers
    from rankfactor.storage.files import written_together
    from rankfactor.storage.model_file import load_model

    posterior = load_model(model)
    tasks = () if posterior.classifiers is None else posterior.classifiers.tasks
    if not tasks and scores is None:
        raise InputError(
            f"{model} was fitted without labels, so it predicts no classes: ask for its factor "
            "scores with --scores."
        )
    predicted = out if tasks else None
    outputs = asked(("--out", predicted, PREDICTIONS), ("--scores", scores, SCORES))
    check_outputs([model, table, *files_of(covariates)], outputs, force=force)
    given = _read_new(table, ctx.params, posterior)
    for text in given.notes:
        note(text)
    frame = new_table(given, table, ctx.params, posterior.covariate_names)
    values, missing = _matched(posterior, given, frame, ctx.params["missing_features"])
    n_features = len(posterior.table_features)
    frames = []
    with compile_notice(as_json), workers(n_threads, math.prod(values.shape)) as pool:
        if tasks:
            frames.append(_predictions(posterior, posterior.decide(values, pool), level))
        if scores is not None:
            encoded = posterior.encode(values, pool).mean
            frames.append({f"factor{k + 1}": column for k, column in enumerate(encoded.T)})
    samples = given.values.index.astype(str)
    with written_together(*(one.path for one in outputs)) as parts:
        for part, columns in zip(parts, frames, strict=True):
            csv_of(pd.DataFrame({"sample": samples, **columns}), part)
    counts = {}
    for task in tasks:
        found = frames[0][f"{task.name}_predicted"]
        counts[task.name] = {str(one): int((found == one).sum()) for one in task.classes}
    content = {
        "predictions": predicted,
        "scores": scores,
        "n_samples": len(values),
        "n_features": n_features,
        "n_features_found": n_features - len(missing),
        "n_features_missing": len(missing),
        "missing_features": missing,
        "predicted": counts,
        "notes": list(given.notes),
    }
    lines = [
        f"{counted(len(values), 'sample')} {'predicted' if tasks else 'encoded'}; "
        f"{n_features - len(missing)} of {counted(n_features, 'feature')} found.",
        *([f"Predictions: {out}"] if tasks else []),
        *([] if scores is None else [f"Scores: {scores}"]),
    ]
    result(as_json, content, lines)


def _read_new(path: Path, options: dict[str, Any], posterior: Posterior) -> Table:
    """Read a table, the way up in which it has the model's features."""
    table = read(path, options)
    if not posterior.named_features:
        return table
    known = {*posterior.table_features.tolist(), *posterior.word_columns}
    across, down = (len(known & set(names)) for names in (table.values.columns, table.values.index))
    if options["orient"] is None and down > across:
        on_its_side = any(text.startswith("features in rows") for text in table.notes)
        orient = "samples-in-rows" if on_its_side else "features-in-rows"
        table = read(path, {**options, "orient": orient})
        said = [text for text in table.notes if not text.startswith("features in rows")]
        said.append(f"{orient.replace('-', ' ')} (by the names of the model's features)")
        table = replace(table, notes=tuple(said))
    words = [name for name in posterior.word_columns if name in table.annotations.columns]
    for name in table.annotations.columns:
        if name in known and name not in words:
            raise InputError(
                f"{path}, column {name!r} is a feature of the model but holds text: mend its "
                "cells, or leave the column out to have it treated as missing."
            )
    numbers = table.values.drop(columns=words, errors="ignore")
    return replace(table, values=numbers.join(table.annotations[words]))


def _matched(
    posterior: Posterior, table: Table, frame: pd.DataFrame, missing_features: str
) -> tuple[Any, list[str]]:
    """Values in the columns of training, and the names of the features that were not found."""
    if not posterior.named_features:
        return posterior.match(frame.to_numpy(), missing_features), []
    missing, n_features = posterior.plan.lacking(table.values), len(posterior.table_features)
    share = len(missing) / n_features
    lacks = f"{table.source} lacks {len(missing)} of the model's {counted(n_features, 'feature')}"
    if missing and missing_features == "error":
        raise InputError(
            f"{lacks}: {listed(missing)}; add them, or leave out --missing-features error to treat "
            "them as missing values."
        )
    if 1 - share < LEAST_SHARE and len(missing) < n_features:
        raise InputError(
            f"{lacks} ({share:.0%}), too many to predict from: check that the names are of the "
            f"same kind ({listed(missing)} are missing)."
        )
    values = posterior.match(frame, missing_features)
    if missing:
        warnings.warn(
            f"{lacks} ({share:.1%}), which are treated as missing values: {listed(missing)}.",
            UserWarning,
            stacklevel=2,
        )
    return values, missing


def _predictions(posterior: Posterior, decision: Any, level: float) -> dict[str, Any]:
    """Columns of class, probabilities and decisions of every task; intervals after Gibbs."""
    from rankfactor.posterior.prediction import interval

    classifiers = posterior.classifiers
    assert classifiers is not None
    ends = interval(decision, level)
    predicted, probabilities = posterior.predictions(decision[0]), posterior.probabilities(decision)
    columns: dict[str, Any] = {}
    for number, task in enumerate(classifiers.tasks):
        columns[f"{task.name}_predicted"] = predicted[number]
        for j, label in enumerate(task.classes):
            columns[f"{task.name}_probability_{label}"] = probabilities[number][:, j]
        rows = classifiers.rows_of(number)
        labels = [""] if task.n_rows == 1 else [f"_{label}" for label in task.classes]
        for row, label in zip(range(rows.start, rows.stop), labels, strict=True):
            columns[f"{task.name}_decision{label}"] = decision[0][:, row]
            if posterior.draws is not None:
                for side, name in enumerate(("lower", "upper")):
                    columns[f"{task.name}_{name}{label}"] = ends[:, row, side]
    return columns
