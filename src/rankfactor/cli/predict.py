"""``rankfactor predict``: classes, probabilities and factor scores of new samples."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import compile_notice, note, result
from rankfactor.cli.new_samples import OPTIONS, matched, read_new
from rankfactor.cli.outputs import PREDICTIONS, SCORES, asked, check_outputs, files_of
from rankfactor.cli.reading import new_table
from rankfactor.errors import InputError, counted
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    from rankfactor.posterior import Posterior


@opt.command(
    OPTIONS,
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
    given = read_new(table, ctx.params, posterior)
    for text in given.notes:
        note(text)
    frame = new_table(given, table, ctx.params, posterior.covariate_names)
    values, missing = matched(posterior, given, frame, ctx.params["missing_features"])
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
