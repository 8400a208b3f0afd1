"""``rankfactor predict``: classes, probabilities and factor scores of new samples."""

from __future__ import annotations

import warnings
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import note, result
from rankfactor.cli.outputs import PREDICTIONS, SCORES, Output, check_outputs, files_of
from rankfactor.cli.reading import Reading, new_covariates, read
from rankfactor.errors import InputError, counted, listed
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    import pandas as pd

    from rankfactor.data import Table
    from rankfactor.posterior import Posterior

# With fewer of the model's features than this share, a prediction would be a guess.
LEAST_SHARE = 0.5


class MissingFeatures(StrEnum):
    """What to do about features of the model that a table lacks."""

    MISSING = "missing"
    ERROR = "error"


def predict(
    ctx: typer.Context,
    model: Annotated[Path, typer.Argument(help="Model file that `rankfactor fit` wrote.")],
    table: Annotated[
        Path, typer.Argument(help="Table of new samples; columns are matched by name.")
    ],
    out: Annotated[Path, typer.Option(help="The CSV file to write.")] = Path("predictions.csv"),
    scores: Annotated[
        Path | None,
        typer.Option(help="Also write the factor scores, as CSV.", show_default="none"),
    ] = None,
    missing_features: Annotated[
        MissingFeatures,
        typer.Option(
            help="If the table lacks features of the model: treat their values as missing, unless "
            "more than half are absent (missing), or refuse (error)."
        ),
    ] = MissingFeatures.MISSING,
    level: Annotated[
        float,
        typer.Option(
            min=0.01, max=0.99, help="Probability of the intervals, after Gibbs sampling."
        ),
    ] = 0.9,
    covariates: opt.Covariates = None,
    id_column: opt.IdColumn = None,
    orient: opt.OrientOption = None,
    layer: opt.Layer = None,
    sheet: opt.Sheet = None,
    n_threads: opt.NThreads = None,
    force: opt.Force = False,
    as_json: opt.Json = False,
) -> None:
    """Predict the classes of new samples, and write them to a CSV file."""
    from rankfactor.steps.workers import workers
    from rankfactor.storage.files import written_together
    from rankfactor.storage.model_file import load_model

    posterior = load_model(model)
    if posterior.classifiers is None and scores is None:
        raise InputError(
            f"{model} was fitted without labels, so it predicts no classes: ask for its factor "
            "scores with --scores."
        )
    frames: list[tuple[Path, pd.DataFrame]] = []
    outputs = [] if posterior.classifiers is None else [Output("--out", out, PREDICTIONS)]
    outputs += [] if scores is None else [Output("--scores", scores, SCORES)]
    check_outputs([model, table, *files_of(covariates)], outputs, force=force)
    reading = Reading.of(ctx.params)
    given = _read_new(table, reading, posterior)
    for text in given.notes:
        note(text)
    frame = new_covariates(given, table, covariates or (), posterior.covariate_names, reading)
    values, missing = _matched(posterior, given, frame, str(missing_features))
    with workers(n_threads) as pool:
        if posterior.classifiers is not None:
            frames.append((out, predictions(posterior, given.values.index, values, level, pool)))
        if scores is not None:
            import pandas as pd

            encoded = posterior.encode(values, pool).mean
            frame = pd.DataFrame(
                encoded, columns=[f"factor{k + 1}" for k in range(encoded.shape[1])]
            )
            frame.insert(0, "sample", given.values.index.astype(str))
            frames.append((scores, frame))
    with written_together(*(path for path, _ in frames)) as parts:
        for part, (_, written) in zip(parts, frames, strict=True):
            csv_of(written, part)
    n_features = len(posterior.table_features)
    counts = {}
    if posterior.classifiers is not None:
        for task in posterior.classifiers.tasks:
            found = frames[0][1][f"{task.name}_predicted"].astype(str)
            counts[task.name] = {str(one): int((found == str(one)).sum()) for one in task.classes}
    content = {
        "predictions": str(out) if posterior.classifiers is not None else None,
        "scores": None if scores is None else str(scores),
        "n_samples": len(values),
        "n_features": n_features,
        "n_features_found": n_features - len(missing),
        "n_features_missing": len(missing),
        "missing_features": missing,
        "predicted": counts,
        "notes": list(given.notes),
    }
    done = "encoded" if posterior.classifiers is None else "predicted"
    lines = [
        f"{counted(len(values), 'sample')} {done}; {n_features - len(missing)} of "
        f"{counted(n_features, 'feature')} "
        "found.",
        *([] if posterior.classifiers is None else [f"Predictions: {out}"]),
        *([] if scores is None else [f"Scores: {scores}"]),
    ]
    result(as_json, content, lines)


def _read_new(path: Path, reading: Reading, posterior: Posterior) -> Table:
    """Read a table, the way up in which it has the model's features."""
    table = read(path, reading)
    known = {*posterior.table_features.tolist(), *posterior.word_columns}
    if reading.orient is None and posterior.named_features:
        across = known & set(table.values.columns)
        down = known & set(table.values.index)
        if len(down) > len(across):
            on_its_side = any(text.startswith("features in rows") for text in table.notes)
            orient = "samples-in-rows" if on_its_side else "features-in-rows"
            table = read(path, replace(reading, orient=orient))
            said = [text for text in table.notes if not text.startswith("features in rows")]
            said.append(f"{orient.replace('-', ' ')} (by the names of the model's features)")
            table = replace(table, notes=tuple(said))
    words = [name for name in posterior.word_columns if name in table.annotations.columns]
    text = [name for name in table.annotations.columns if name in known and name not in words]
    if text and posterior.named_features:
        raise InputError(
            f"{path}, column {text[0]!r} is a feature of the model but holds text: mend its cells, "
            "or leave the column out to have it treated as missing."
        )
    own = table.values.drop(columns=[name for name in words if name in table.values.columns])
    return replace(table, values=own.join(table.annotations[words]))


def _matched(
    posterior: Posterior, table: Table, frame: pd.DataFrame, missing_features: str
) -> tuple[Any, list[str]]:
    """Values in the columns of training, and the names of the features that were not found."""
    n_features = len(posterior.table_features)
    missing: list[str] = []
    share = 0.0
    given: Any = frame if posterior.named_features else frame.to_numpy()
    if posterior.named_features:
        missing = posterior.plan.lacking(table.values)
        share = len(missing) / n_features
        if missing and missing_features == "error":
            raise InputError(
                f"{table.source} lacks {len(missing)} of the model's "
                f"{counted(n_features, 'feature')}: "
                f"{listed(missing)}; add them, or leave out --missing-features error to treat "
                "them as missing values."
            )
        if 1 - share < LEAST_SHARE and len(missing) < n_features:
            raise InputError(
                f"{table.source} lacks {len(missing)} of the model's "
                f"{counted(n_features, 'feature')} "
                f"({share:.0%}), too many to predict from: check that the names are of the same "
                f"kind ({listed(missing)} are missing)."
            )
    values = posterior.match(given, missing_features)
    if missing:
        warnings.warn(
            f"{table.source} lacks {len(missing)} of the model's {counted(n_features, 'feature')} "
            f"({share:.1%}), which are treated as missing values: {listed(missing)}.",
            UserWarning,
            stacklevel=2,
        )
    return values, missing


def predictions(
    posterior: Posterior, samples: pd.Index[Any], values: Any, level: float, pool: Any
) -> pd.DataFrame:
    """Class, probabilities and decisions of every sample, one row each; intervals after Gibbs."""
    import numpy as np
    import pandas as pd
    from scipy.special import ndtri

    classifiers = posterior.classifiers
    assert classifiers is not None
    decision = posterior.decide(values, pool)
    reach = ndtri(0.5 + 0.5 * level) * np.sqrt(decision[1])
    columns: dict[str, Any] = {"sample": samples.astype(str)}
    answers = zip(
        classifiers.tasks,
        posterior.predictions(decision[0]),
        posterior.probabilities(decision),
        strict=True,
    )
    for number, (task, predicted, probability) in enumerate(answers):
        columns[f"{task.name}_predicted"] = predicted
        for j, label in enumerate(task.classes):
            columns[f"{task.name}_probability_{label}"] = probability[:, j]
        rows = classifiers.rows_of(number)
        ends = [""] if task.n_rows == 1 else [f"_{label}" for label in task.classes]
        for j, end in enumerate(ends):
            mean, half = decision[0][:, rows][:, j], reach[:, rows][:, j]
            columns[f"{task.name}_decision{end}"] = mean
            if posterior.draws is not None:
                columns[f"{task.name}_lower{end}"] = mean - half
                columns[f"{task.name}_upper{end}"] = mean + half
    return pd.DataFrame(columns)
