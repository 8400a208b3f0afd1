"""``rankfactor fit``: a model of a table, with labels or without."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from rankfactor.cli import options as opt
from rankfactor.cli.console import in_options, note, progress, result
from rankfactor.cli.outputs import (
    CHECKPOINT,
    EDITABLE,
    MODEL,
    REPORT,
    asked,
    check_outputs,
    files_of,
    in_folder,
)
from rankfactor.cli.reading import read_labelled
from rankfactor.cli.settings import (
    analysis_settings,
    classifier_settings,
    numbers_of_factors,
    plain_settings,
)
from rankfactor.cli.start import INTERRUPTED
from rankfactor.cli.write_annotated import check_annotated, write_annotated
from rankfactor.errors import InputError, counted
from rankfactor.storage.files import after_saving

if TYPE_CHECKING:
    from rankfactor.cli.reading import Labelled
    from rankfactor.estimators import RankFactorClassifier


@opt.command(
    {**opt.READING, **opt.ESTIMATOR, **opt.GIBBS},
    after="covariates",
    labels=typer.Option(
        metavar="COLUMN|FILE:COLUMN",
        help=f"{opt.LABELS} Without it, the factors are fitted to the table alone.",
    ),
    model=opt.PRESETS + ". Without labels, its first part counts.",
    out="The model file to write.",
    report="Also write a report in HTML.",
    annotated="Also write a copy of an .h5ad or .h5mu table with the scores in obsm and the "
    "loadings in varm.",
    training_samples="Keep the names, scores and labels of the training samples in the model file "
    "and in the report. Without them the model predicts the same.",
)
def fit(
    ctx: typer.Context,
    table: Path,
    labels: list[str] | None = None,
    model: str = "R-L-BSVM",
    out: Path = Path("model.rankfactor"),
    report: Path | None = None,
    annotated: Path | None = None,
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
    """Fit a model to a table and its labels, and keep it in a file.

    Without --labels, factors are fitted to the table alone. Ctrl-C ends a fit early and keeps what
    it has; the exit code is then 130.
    """
    from rankfactor.data import fingerprint
    from rankfactor.engine.interruption import interruptible_once
    from rankfactor.estimators import RankFactorAnalysis, RankFactorClassifier
    from rankfactor.evaluation.watch import kinds, overheard, watched_fit
    from rankfactor.report import write_report
    from rankfactor.storage.model_file import model_header, save_model

    n_factors, checkpoint = ctx.params["n_factors"], ctx.params["checkpoint"]
    outputs = asked(
        ("--out", out, MODEL), ("--report", report, REPORT), ("--annotated", annotated, EDITABLE)
    )
    outputs += [] if checkpoint is None else in_folder("--checkpoint", checkpoint, CHECKPOINT)
    check_outputs([table, *files_of(labels, groups, covariates)], outputs, force=force)
    if annotated is not None:
        check_annotated(table, annotated)
    numbers = numbers_of_factors(n_factors)
    name = model if labels else "Factor analysis"
    alone = {} if labels else analysis_settings(ctx)
    data = read_labelled(table, ctx.params)
    values = data.values
    given: dict[str, Any] = {"random_state": random_state, "n_threads": n_threads}
    fitted: Any
    if labels:
        settings = {**classifier_settings(ctx.params, data.tasks), **data.settings}
        fitted = RankFactorClassifier(model, n_factors=numbers[0], **given, **settings)
    else:
        settings = {**alone, **data.settings}
        fitted = RankFactorAnalysis(n_factors=numbers[0], **given, **settings)
    # From its end until it is saved, Ctrl-C cannot lose a fit.
    with interruptible_once() as ctrl_c:
        with progress() as tell, overheard() as heard:
            if len(numbers) > 1:
                _choose_factors(fitted, numbers, data, random_state)
            elif groups is not None and not _divides(fitted):
                note(
                    "--groups has no effect: with --calibration none and the number of factors and "
                    "--label-weight given, nothing of this fit divides the samples."
                )
            step = partial(tell, "Fit to all samples")
            watched_fit(fitted, values, data.labels if labels else None, step, data.groups)
            ctrl_c.hold()
        told = [in_options(one.text) for one in kinds(heard)]
        everything = {
            "model": name,
            "n_factors": fitted.n_factors,
            **({"n_factors_among": numbers} if len(numbers) > 1 else {}),
            **plain_settings(settings),
            **data.choices(drop_class),
            "random_state": random_state,
        }
        posterior = fitted.posterior_.with_positive(data.positive)
        kept = posterior if training_samples else posterior.without_training_samples()
        provenance = {
            "table": table.name,
            "labels": data.tasks,
            "data": fingerprint(values, data.labels),
            # Notes on samples that were left out name them.
            "notes": list(data.notes) if training_samples else [],
            "warnings": told,
            "settings": everything,
        }
        save_model(kept, out, provenance=provenance)
    failures = []
    for what, path in (("report", report), ("annotated table", annotated)):
        if path is None:
            continue
        try:
            with after_saving(out, what, path):
                if what == "report":
                    write_report(
                        path,
                        kept,
                        title=f"{name} of {table.name}",
                        source=str(table),
                        warnings=told,
                        settings=everything,
                    )
                else:
                    write_annotated(table, path, posterior, everything)
        except InputError as error:
            failures.append(str(error))
    if failures:
        raise InputError(" ".join(failures))
    content = {
        "model_file": str(out),
        "report": report,
        "annotated": annotated,
        "interrupted": ctrl_c.came,
        **model_header(out)["summary"],
        "settings": everything,
        "notes": list(data.notes),
    }
    lines = [
        f"{name}: {counted(len(values), 'sample')}, "
        f"{counted(len(posterior.feature_names), 'feature')}, {fitted.n_active_} of "
        f"{counted(fitted.n_factors, 'factor')} in use.",
        f"Convergence: {posterior.convergence}.",
        f"Model: {out}",
        *([] if report is None else [f"Report: {report}"]),
        *([] if annotated is None else [f"Annotated table: {annotated}"]),
    ]
    result(as_json, content, lines)
    if ctrl_c.came:
        raise typer.Exit(INTERRUPTED)


def _divides(fitted: RankFactorClassifier) -> bool:
    """Whether a fit with a given number of factors divides the samples, to choose or calibrate."""
    chosen = fitted.label_weight == "auto" and fitted.training != "bayes"
    return chosen or fitted.calibration != "none"


def _choose_factors(
    fitted: RankFactorClassifier, numbers: list[int], data: Labelled, random_state: Any
) -> None:
    """Set the number of factors that does best within the samples."""
    from rankfactor.evaluation import ChooseFactors

    chooser = ChooseFactors(fitted, numbers, random_state=random_state)
    chosen = chooser.choose(data.values, data.labels, data.groups)
    areas = ", ".join(f"{number}: {auc:.3f}" for number, auc in chooser.aucs_.items())
    note(f"n_factors={chosen} was chosen by cross-validated AUC ({areas or 'none'}).")
    fitted.set_params(n_factors=chosen)
