"""``rankfactor predict``: classes, probabilities and factor scores of new samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import compile_notice, note, result
from rankfactor.cli.frame_files import frame_files
from rankfactor.cli.new_samples import OPTIONS, Part, open_new
from rankfactor.cli.outputs import PREDICTIONS, SCORES, asked, check_outputs, files_of
from rankfactor.errors import InputError, counted

if TYPE_CHECKING:
    from rankfactor.posterior import Posterior
    from rankfactor.steps.workers import Workers


@opt.command(
    OPTIONS,
    after="scores",
    table=typer.Argument(help="Table of new samples; columns are matched by name."),
    out="The file to write: .csv, .parquet or .zarr.",
    scores="Also write the factor scores: .csv, .parquet or .zarr.",
    level=typer.Option(
        min=0.01, max=0.99, help="Probability of the intervals, after Gibbs sampling."
    ),
    cluster="Predict on a Dask cluster: the address of its scheduler, or local:2 for two processes "
    "on this machine.",
)
def predict(
    ctx: typer.Context,
    model: Path,
    table: Path,
    out: Path = Path("predictions.csv"),
    scores: Path | None = None,
    level: float = 0.9,
    cluster: str | None = None,
    covariates: list[str] | None = None,
    n_threads: int | None = None,
    force: bool = False,
    as_json: bool = False,
    **_: Any,
) -> None:
    """Predict the classes of new samples."""
    import pandas as pd

    from rankfactor.storage.model_file import load_model

    posterior = load_model(model)
    tasks = () if posterior.classifiers is None else posterior.classifiers.tasks
    if not tasks and scores is None:
        raise InputError(
            f"{model} was fitted without labels, so it does not predict classes: write its factor "
            "scores with --scores."
        )
    predicted = out if tasks else None
    outputs = asked(("--out", predicted, PREDICTIONS), ("--scores", scores, SCORES))
    check_outputs([model, table, *files_of(covariates)], outputs, force=force)
    new = open_new(table, ctx.params, posterior)
    for text in new.notes:
        note(text)
    counts = {task.name: {str(one): 0 for one in task.classes} for task in tasks}
    n_samples = 0
    what = _Wanted(posterior, bool(tasks), scores is not None, level)
    with (
        compile_notice(as_json),
        frame_files(*(one.path for one in outputs)) as files,
        _predicting(what, cluster, n_threads, new.entries) as predicting,
    ):
        for samples, frames in predicting(new.chunks("Predicting")):
            for file, columns in zip(files, frames, strict=True):
                file.append(pd.DataFrame({"sample": samples, **columns}))
            for task in tasks:
                found = frames[0][f"{task.name}_predicted"]
                for one in task.classes:
                    counts[task.name][str(one)] += int((found == one).sum())
            n_samples += len(samples)
    content = {
        "predictions": predicted,
        "scores": scores,
        "n_samples": n_samples,
        "n_features": new.n_features,
        "n_features_found": new.n_features - len(new.missing),
        "n_features_missing": len(new.missing),
        "missing_features": new.missing,
        "predicted": counts,
        "notes": list(new.notes),
    }
    lines = [
        f"{counted(n_samples, 'sample')} {'predicted' if tasks else 'encoded'}; {new.found}.",
        *([f"Predictions: {out}"] if tasks else []),
        *([] if scores is None else [f"Scores: {scores}"]),
    ]
    result(as_json, content, lines)


class _Wanted(NamedTuple):
    """Predictions of every chunk."""

    posterior: Posterior
    classes: bool
    scores: bool
    level: float

    def frames(self, values: Any, pool: Workers) -> list[dict[str, Any]]:
        """Columns of predictions and of scores, if requested."""
        frames = []
        if self.classes:
            decision = self.posterior.decide(values, pool)
            frames.append(_predictions(self.posterior, decision, self.level))
        if self.scores:
            encoded = self.posterior.encode(values, pool).mean
            frames.append({f"factor{k + 1}": column for k, column in enumerate(encoded.T)})
        return frames


Predicted = Iterator[tuple[list[str], list[dict[str, Any]]]]


@contextmanager
def _predicting(
    what: _Wanted, cluster: str | None, n_threads: int | None, entries: float
) -> Iterator[Callable[[Iterator[Part]], Predicted]]:
    """A function from chunks to predictions, in order: by threads here, or on a cluster."""
    if cluster is None:
        from rankfactor.steps.workers import workers

        with workers(n_threads, entries) as pool:
            yield lambda parts: ((names, what.frames(values, pool)) for names, values in parts)
        return
    from rankfactor.engine.large.connecting import connect, mapped

    with connect(cluster) as client:
        yield lambda parts: mapped(client, _on_worker, what, parts)


def _on_worker(what: _Wanted, part: Part) -> tuple[list[str], list[dict[str, Any]]]:
    """Predictions of a chunk on one thread."""
    from rankfactor.steps.workers import workers

    names, values = part
    with workers(1) as pool:
        return names, what.frames(values, pool)


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
