"""``rankfactor demo``: compare models on the bundled data, save one of them and write a report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from rankfactor.__about__ import __version__
from rankfactor.cli import options as opt
from rankfactor.cli.console import Progress, print_comparison, progress, result
from rankfactor.cli.outputs import FOLDS, MODEL, REPORT, check_outputs, in_folder

if TYPE_CHECKING:
    from rankfactor.estimators import RankFactorClassifier
    from rankfactor.evaluation import Evaluation

REPEATS = 30  # half-sample fits
FILES = {"report.html": REPORT, "model.rankfactor": MODEL, "cross_validation.csv": FOLDS}
_DESCRIPTION = (
    "Proteins of the cerebrospinal fluid of 333 people. Two tasks: is the person cognitively "
    "impaired, and does the person carry the E4 allele of the gene APOE?"
)
# Settings of the fit that a reader of the report may want to know.
_TOLD = (
    "model",
    "n_factors",
    "margin",
    "max_cuts",
    "training",
    "residual",
    "n_restarts",
    "max_iter",
    "tol",
)


@opt.command(
    out="Folder for the report and the model.",
    folds=typer.Option(min=2, help="Folds of the cross-validation."),
)
def demo(
    out: Path = Path("rankfactor-demo"),
    folds: int = 10,
    n_factors: int = 20,
    random_state: int = 0,
    n_threads: int | None = None,
    force: bool = False,
    as_json: bool = False,
) -> None:
    """Compare models on the bundled Alzheimer data and write a report."""
    check_outputs([], in_folder("--out", out, FILES), force=force)
    with progress() as tell:
        found = run_demo(
            out,
            n_folds=folds,
            n_factors=n_factors,
            random_state=random_state,
            n_threads=n_threads,
            progress=tell,
        )
    summary = found.evaluation.summary()
    if not as_json:
        print_comparison(f"{folds}-fold cross-validation: means (standard deviation)", summary)
    paths = {"model_file": found.model, "folds": found.folds, "report": found.report}
    lines = [f"{name.split('_')[0].capitalize()}: {path}" for name, path in paths.items()]
    result(as_json, {**paths, "summary": summary.to_dict("records")}, lines)


class DemoResult(NamedTuple):
    """Results of the demonstration, and the files that it wrote."""

    report: Path
    model: Path
    folds: Path  # the measures of every fold, as CSV
    evaluation: Evaluation
    classifier: RankFactorClassifier  # the model that was kept, fitted to all samples
    warnings: tuple[str, ...]  # in plain words; also in the report


def run_demo(
    out: Path,
    *,
    n_folds: int = 10,
    n_factors: int = 20,
    random_state: int = 0,
    n_threads: int | None = None,
    repeats: int = REPEATS,
    progress: Progress = lambda *_: None,
) -> DemoResult:
    """Compare models on the bundled Alzheimer data and write a report to a folder.

    "R-L-BSVM", "G-L-BSVM" and a linear SVM are cross-validated on both tasks at once; R-L-BSVM is
    then fitted to all samples, and ``repeats`` times to half of them. The model and the folds are
    written first and are kept if the report fails.

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C. Nothing is written unless it comes during the report.
    """
    import joblib

    from rankfactor.data import load_alzheimer
    from rankfactor.estimators import RankFactorClassifier
    from rankfactor.evaluation import cross_validate, stability
    from rankfactor.evaluation.baselines import LinearSVM
    from rankfactor.evaluation.watch import kinds, overheard, watched_fit
    from rankfactor.report import Validation, write_report
    from rankfactor.storage.files import after_saving, folder, written_together
    from rankfactor.storage.model_file import save_model
    from rankfactor.storage.spreadsheet import csv_of

    report, model, folds = (out / name for name in FILES)
    data = load_alzheimer()
    n_jobs = joblib.cpu_count() if n_threads is None else n_threads
    factors = partial(RankFactorClassifier, n_factors=n_factors, random_state=random_state)
    with folder(out):
        with overheard() as heard:
            # Parallel folds use the cores better than the threads of one small fit.
            evaluation = cross_validate(
                {
                    "R-L-BSVM": factors("R-L-BSVM", n_threads=1),
                    "G-L-BSVM": factors("G-L-BSVM", n_threads=1),
                    "Linear SVM": LinearSVM(random_state=random_state),
                },
                data.table,
                data.labels,
                n_folds=n_folds,
                random_state=random_state,
                n_jobs=n_jobs,
                progress=lambda name, *step: progress(f"Cross-validation of {name}", *step),
            )
            if not evaluation.complete:
                raise KeyboardInterrupt
            classifier = factors("R-L-BSVM", n_threads=n_threads)
            step = partial(progress, "Fit to all samples")
            if watched_fit(classifier, data.table, data.labels, step):
                raise KeyboardInterrupt
            found = stability(
                classifier,
                data.table,
                data.labels,
                repeats=repeats,
                posterior=classifier.posterior_,
                random_state=random_state,
                n_jobs=n_jobs,
                progress=progress,
            )
            if found.n_fits < repeats:
                raise KeyboardInterrupt
            classifier.posterior_ = classifier.posterior_.with_stability(found)
        told = tuple(one.text for one in kinds(heard))
        settings = {name: getattr(classifier, name) for name in _TOLD}
        settings |= {"rankfactor": __version__, "folds": n_folds, "seed": random_state}
        provenance = {
            "table": data.name,
            "labels": list(data.labels.columns),
            "settings": settings,
            "warnings": told,
        }
        progress("Report", 0, 1)
        with written_together(folds) as (part,):
            csv_of(evaluation.folds, part)
        save_model(classifier.posterior_, model, provenance=provenance)
        with after_saving(model, "report", report):
            write_report(
                report,
                classifier.posterior_,
                title="Alzheimer's disease in the cerebrospinal fluid",
                description=_DESCRIPTION,
                source=data.source,
                comparison=evaluation.summary(),
                decisions=evaluation.decisions,
                validation=Validation(
                    f"Cross-validation of {data.name}: {len(data.table)} samples, {n_folds} folds."
                ),
                warnings=told,
                settings=settings,
                table=data.table,
            )
    progress("Report", 1, 1)
    return DemoResult(report, model, folds, evaluation, classifier, told)
