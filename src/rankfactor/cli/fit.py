"""``rankfactor fit``: fit a model to a table, with or without labels."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli import outputs
from rankfactor.cli.console import compile_notice, in_options, note, progress, result
from rankfactor.cli.estimator import asked_for
from rankfactor.cli.fit_stability import with_stability
from rankfactor.cli.large_tables import MEMORY
from rankfactor.cli.stability import in_short
from rankfactor.cli.start import INTERRUPTED
from rankfactor.cli.write_annotated import check_annotated, write_annotated
from rankfactor.errors import InputError, counted
from rankfactor.presets import heading
from rankfactor.storage.files import after_saving

if TYPE_CHECKING:
    from rankfactor.estimators.classifier import PlainClassifier


@opt.command(
    {**MEMORY, **opt.READING, **opt.ESTIMATOR, **opt.GIBBS},
    after="covariates",
    labels=typer.Option(
        metavar="COLUMN|FILE:COLUMN",
        help=f"{opt.LABELS} Without it, the factors are fitted to the table alone.",
    ),
    model=opt.PRESETS + ". Without labels, only its first part is used.",
    out="The model file to write.",
    report="Also write a report in HTML.",
    annotated="Also write a copy of an .h5ad or .h5mu table with the scores in obsm, the "
    "loadings and effects in varm.",
    stability=typer.Option(
        min=4,
        help="Also fit the model to this many half-samples, such as 50, so that the model file and "
        "the report show the stability of effects, loadings and coefficients.",
    ),
    training_samples="Store the names, scores and labels of the training samples in the model file "
    "and the report. Predictions are the same without them.",
)
def fit(
    ctx: typer.Context,
    table: Path,
    labels: list[str] | None = None,
    model: str = "R-L-BSVM",
    out: Path = Path("model.rankfactor"),
    report: Path | None = None,
    annotated: Path | None = None,
    stability: int | None = None,
    training_samples: bool = True,
    drop_class: list[str] | None = None,
    positive: list[str] | None = None,
    groups: str | None = None,
    covariates: list[str] | None = None,
    random_state: int = 0,
    n_threads: int | None = None,
    force: bool = False,
    as_json: bool = False,
    **_: Any,
) -> None:
    """Fit a model to a table and its labels, and save it.

    Without --labels, factors are fitted to the table alone. Ctrl-C ends a fit early and saves its
    current state; the exit code is then 130. During --stability it keeps the model and the finished
    pairs of half-samples.
    """
    from rankfactor.cli.fit_streamed import too_large
    from rankfactor.engine.interruption import interruptible_once
    from rankfactor.evaluation.watch import kinds, overheard, watched_fit
    from rankfactor.interpret.effects import driver_sentences
    from rankfactor.interpret.sentences import factors_in_words
    from rankfactor.storage.model_file import model_header, save_model

    wanted = (
        ("--out", out, outputs.MODEL),
        ("--report", report, outputs.REPORT),
        ("--annotated", annotated, outputs.EDITABLE),
    )
    checkpoint = ("--checkpoint", ctx.params["checkpoint"], outputs.CHECKPOINT)
    outputs.check_outputs(
        [table, *outputs.files_of(labels, groups, covariates)],
        [*outputs.asked(*wanted), *outputs.in_folder(*checkpoint)],
        force=force,
    )
    if annotated is not None:
        check_annotated(table, annotated)
    stream = too_large(table, ctx)
    asked = asked_for(ctx, table, divides=stability is not None, stream=stream)
    fitted, data = asked.estimator, asked.data
    # A finished fit is not lost to Ctrl-C before it is saved.
    with interruptible_once() as ctrl_c:
        with compile_notice(as_json), progress() as tell, overheard() as heard:
            asked.choose_factors()
            if stability is not None:
                asked.check_halves()
            elif (
                groups is not None and len(asked.numbers) == 1 and not _divides(fitted, data.values)
            ):
                note(
                    "--groups has no effect: with --calibration none and the number of factors and "
                    "--label-weight given, this fit does not split the samples."
                )
            step = partial(tell, "Fit to all samples" if stream is None else "Iterations")
            together, sampling = data.groups if labels else None, partial(tell, "Gibbs sampling")
            watched_fit(fitted, data.values, asked.labels, step, together, sampling, tell)
            ctrl_c.hold()
            posterior = fitted.posterior_.with_positive(data.positive)
            name = heading(asked.name, posterior.model.data.name)
            failures = []
            if stability is not None and not ctrl_c.came:
                try:
                    with ctrl_c.holding(False):
                        posterior = with_stability(asked, posterior, stability, tell)
                except InputError as error:
                    failures.append(f"the model was saved to {out}, without its stability: {error}")
        told = [in_options(one.text) for one in kinds(heard)]
        everything = asked.settings
        if not labels:
            everything.setdefault("likelihood", posterior.model.data.name)
        kept = posterior if training_samples else posterior.without_training_samples()
        has_samples = kept.left_out is None
        provenance = {
            "table": table.name,
            "labels": data.tasks,
            "data": data.fingerprint,
            # Notes on excluded samples name them.
            "notes": data.notes if has_samples else [],
            "warnings": told,
            "settings": everything,
        }
        save_model(kept, out, provenance=provenance)

    def page(path: Path) -> None:
        # Here, not above: matplotlib takes a second to import.
        from rankfactor.report import write_report

        title = f"{name} of {table.name}"
        write_report(
            path,
            kept,
            title=title,
            source=str(table),
            warnings=told,
            settings=everything,
            table=data.values if has_samples and stream is None else None,
        )

    copy = partial(write_annotated, table=table, posterior=posterior, settings=everything)
    for what, path, write in (("report", report, page), ("annotated table", annotated, copy)):
        try:
            if path is not None:
                with after_saving(out, what, path):
                    write(path)
        except InputError as error:
            failures.append(str(error))
    if failures:
        raise InputError(" ".join(failures))
    content = {
        "model_file": out,
        "report": report,
        "annotated": annotated,
        "interrupted": ctrl_c.came,
        "stability_fits": 0 if posterior.stability is None else posterior.stability.n_fits,
        **model_header(out)["summary"],
        "settings": everything,
        "notes": data.notes,
    }
    written = {"Model": out, "Report": report, "Annotated table": annotated}
    lines = [
        f"{name}: {counted(posterior.samples.n_samples, 'sample')}, "
        f"{counted(len(posterior.feature_names), 'feature')}, {fitted.n_active_} of "
        f"{factors_in_words(posterior)} in use.",
        f"Convergence: {posterior.convergence}.",
        *(f"What drives {one}" for one in driver_sentences(posterior)),
        *([] if posterior.stability is None else [in_short(posterior.stability)]),
        *(f"{what}: {path}" for what, path in written.items() if path is not None),
    ]
    result(as_json, content, lines)
    if ctrl_c.came:
        raise typer.Exit(INTERRUPTED)


def _divides(fitted: PlainClassifier, table: Any) -> bool:
    """Whether a fit with a given number of factors splits the samples, to choose or calibrate.

    By shards, held-out labels also end predictive training.
    """
    from rankfactor.data.streams.base import TableStream, n_rows_of
    from rankfactor.estimators.large import by_shards

    n_samples = table.about_n_rows if isinstance(table, TableStream) else n_rows_of(table)
    trains = fitted.training in ("auto", "predictive") and fitted.label_weight != 0
    chosen = fitted.label_weight == "auto" and fitted.training != "bayes"
    return chosen or fitted.calibration != "none" or (trains and by_shards(n_samples))
