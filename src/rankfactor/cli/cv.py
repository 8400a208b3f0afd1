"""``rankfactor cv``: accuracy of models on held-out samples."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli import settings
from rankfactor.cli.belonging import hashes
from rankfactor.cli.console import in_options, json_of, print_comparison, progress, result, say
from rankfactor.cli.many_fits import record_of, resumable
from rankfactor.cli.on_cluster import jobs_at
from rankfactor.cli.outputs import FOLDS, check_outputs, files_of, in_folder, json_object, table_of
from rankfactor.cli.reading import read_labelled
from rankfactor.cli.start import INTERRUPTED
from rankfactor.errors import counted
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    from rankfactor.evaluation import Evaluation

FILES = {
    "summary.csv": table_of("a summary of `rankfactor cv`", "task", "model"),
    "folds.csv": FOLDS,
    "predictions.csv": table_of("a table of `rankfactor cv`", "sample", "task", "model"),
    "result.json": json_object("a result of `rankfactor cv`", "n_folds", "summary"),
}
FITS = {"problem.json": json_object("of `rankfactor cv`", "library", "seed", "models")}


@opt.command(
    {**opt.READING, **opt.REFITTED, **opt.GIBBS},
    after="covariates",
    models=typer.Option(
        metavar="NAME[,NAME...]",
        help=f"Models to compare: {opt.PRESETS}; PFA-L-BSVM, NS-PCA-SVM, L-SVM, RBF-SVM, RF.",
    ),
    folds=typer.Option(min=2, help="Folds of a repeat."),
    repeats=typer.Option(min=1, help="Number of repetitions, each with new folds."),
    out=f"Folder for {', '.join(FILES)} and the finished fits; made if needed.",
    resume=typer.Option(
        "--resume", help="Keep the finished fits in the folder, and compute only the others."
    ),
)
def cv(
    ctx: typer.Context,
    table: Path,
    labels: list[str],
    models: str = "R-L-BSVM,L-SVM",
    folds: int = 10,
    repeats: int = 1,
    drop_class: list[str] | None = None,
    positive: list[str] | None = None,
    groups: str | None = None,
    covariates: list[str] | None = None,
    n_jobs: int = 1,
    out: Path = Path("rankfactor-cv"),
    resume: bool = False,
    random_state: int = 0,
    n_threads: int | None = None,
    force: bool = False,
    as_json: bool = False,
    **_: Any,
) -> None:
    """Cross-validate models on a table and its labels.

    Folds are stratified, and grouped if asked; cuts, factors, scaling and everything else are
    learned within each training part. Ctrl-C keeps the folds that all models have finished, and
    --resume computes the rest.
    """
    from rankfactor.evaluation import cross_validate, named_models
    from rankfactor.evaluation.fold_store import FoldFolder
    from rankfactor.evaluation.watch import overheard
    from rankfactor.storage.files import folder, written_together

    read = [table, *files_of(labels, groups, covariates)]
    fits = out / "folds"
    replaced = [*in_folder("--out", out, FILES), *in_folder("--out", fits, FITS)]
    check_outputs(read, replaced, force=force)
    numbers = settings.numbers_of_factors(ctx.params["n_factors"])
    data = read_labelled(table, ctx.params)
    given = {**settings.classifier_settings(ctx.params, data.tasks), **data.settings}
    cluster = given.pop("cluster")  # for the folds, not for each fit
    # Parallel folds use the cores better than the threads of one small fit.
    alone = n_jobs == 1 and cluster is None
    threads = n_threads if n_threads is not None or alone else 1
    chosen = named_models(
        settings.names_of(models),
        n_factors=numbers,
        random_state=random_state,
        settings={**given, "n_threads": threads},
    )
    with folder(out):
        with (
            jobs_at(cluster, n_jobs) as at_once,
            progress() as tell,
            overheard() as heard,
            resumable(FoldFolder(fits), "fit"),
        ):
            found = cross_validate(
                chosen,
                data.values,
                data.labels,
                n_folds=folds,
                n_repeats=repeats,
                groups=data.groups,
                positive=data.positive,
                random_state=random_state,
                n_jobs=at_once,
                progress=lambda name, *step: tell(f"Cross-validation of {name}", *step),
                folder=fits,
                resume=resume,
            )
        content = {
            **record_of(table, data, heard),
            "n_folds": folds,
            "n_repeats": repeats,
            "complete": found.complete,
            "folds_done": found.n_done,
            "folds_planned": found.n_planned,
            "models": list(chosen),
            "settings": {
                "n_factors": numbers if len(numbers) > 1 else numbers[0],
                **settings.plain_settings(given),
                **data.choices,
                "random_state": random_state,
            },
            "summary": found.summary().to_dict("records"),
            "comparisons": found.comparisons().to_dict("records"),
            "chosen": _counts(found, "chosen", "n_factors="),
            "convergence": _counts(found, "convergence"),
        }
        with written_together(*(out / name for name in FILES)) as (*tables, whole):
            frames = found.summary(), found.folds, found.decisions
            for part, frame in zip(tables, frames, strict=True):
                csv_of(frame, part)
            written = hashes(dict(zip(FILES, tables, strict=False)))
            whole.write_text(json_of({**content, "files": written}) + "\n", "utf-8")
    result(as_json, {**content, "folder": out}, ())
    if not as_json:
        _show(found, content, data.positive)
        say(f"Results: {out}")
    if not found.complete:
        raise typer.Exit(INTERRUPTED)


def _counts(found: Evaluation, column: str, start: str = "") -> dict[str, dict[str, int]]:
    """Number of folds by value of a column and by model; only values with the given start."""
    own = found.folds[(found.folds[column] != "") & found.folds[column].str.startswith(start)]
    first = own.drop_duplicates(["model", "repeat", "fold"])
    return {
        str(model): {str(value): int(n) for value, n in part[column].value_counts().items()}
        for model, part in first.groupby("model", sort=False)
    }


def compared(found: Evaluation) -> list[str]:
    """One sentence per task: accuracy of the first model, and comparison with the others."""
    from rankfactor.interpret.accuracy import differences_by_task, how_well, scores_by_task

    apart = differences_by_task(found.decisions)
    scores = scores_by_task(found.summary(), found.decisions)
    return [how_well(task, rows, apart.get(task)) for task, rows in scores.items()]


def _show(found: Evaluation, content: dict[str, Any], positive: dict[str, str]) -> None:
    """Print the table of results."""
    times = f"{content['n_folds']}-fold cross-validation"
    if content["n_repeats"] > 1:
        times += f", {content['n_repeats']} times"
    if content["grouped"]:
        times += ", groups kept together"
    if not found.complete:
        times += f", {found.n_done} of {found.n_planned} folds done"
    times += "".join(f", {task}: {label} against the other" for task, label in positive.items())
    print_comparison(f"{times}: means over folds (standard deviation)", found.summary())
    for text in compared(found):
        say(text)
    for model, counts in content["chosen"].items():
        told = [f"{in_options(value)} in {counted(n, 'fold')}" for value, n in counts.items()]
        say(f"{model} chose {', '.join(told)}.")
