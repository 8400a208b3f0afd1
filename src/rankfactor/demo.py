"""The demonstration: models compared on the bundled data, one of them kept, a report of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.__about__ import __version__
from rankfactor.storage.files import after_saving, folder, written_together
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    from rankfactor.estimators import RankFactorClassifier
    from rankfactor.evaluation import Evaluation

Progress = Callable[[str, int, int], None]  # step, how much of it is done, out of how much

FIT_STEP = "Fit to all samples"
REPORT_STEP = "Report"
FILES = ("report.html", "model.rankfactor", "cross_validation.csv")
_KEPT = "R-L-BSVM"
_DESCRIPTION = (
    "Proteins of the cerebrospinal fluid of 333 people, and two questions at once: is the person "
    "cognitively impaired, and does the person carry the E4 allele of the gene APOE? The factors "
    "are fitted to the ranks of every measurement and to both labels together; the comparison "
    "below is by cross-validation, in which no model sees the samples it is judged on."
)
# What a reader of a report may want to know of how a model was fitted.
_TOLD = ("model", "n_factors", "margin", "max_cuts", "training", "n_restarts", "max_iter", "tol")


@dataclass(frozen=True)
class DemoResult:
    """What the demonstration found and wrote.

    Attributes
    ----------
    report, model, folds : Path
        The report, the model file, and the measures of every fold as CSV.
    evaluation : Evaluation
    classifier : RankFactorClassifier
        The model that was kept, fitted to all samples.
    warnings : tuple of str
        What was warned of on the way, in plain words; the report has it too.
    """

    report: Path
    model: Path
    folds: Path
    evaluation: Evaluation
    classifier: RankFactorClassifier
    warnings: tuple[str, ...]


def run_demo(
    out: Path,
    *,
    n_folds: int = 10,
    n_factors: int = 20,
    random_state: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> DemoResult:
    """Compare models on the bundled Alzheimer data and write a report.

    "R-L-BSVM", "G-L-BSVM" and a linear SVM are cross-validated on both tasks at once; R-L-BSVM is
    then fitted to all samples.

    Parameters
    ----------
    out : Path
        Folder for ``report.html``, ``model.rankfactor`` and ``cross_validation.csv``; made if it
        is not there. The model and the folds are written first, and kept if the report fails.
    n_folds : int, default 10
    n_factors : int, default 20
    random_state : int, default 0
    n_threads : int or None
        Cores to use; None is all of them. The answer does not depend on it.
    progress : callable, optional
        Called with the name of a step, how much of it is done, and out of how much.

    Returns
    -------
    DemoResult

    Raises
    ------
    KeyboardInterrupt
        At Ctrl-C; unless it comes during the report, nothing is written then.
    """
    import joblib

    from rankfactor.data import load_alzheimer
    from rankfactor.estimators import RankFactorClassifier
    from rankfactor.evaluation import cross_validate
    from rankfactor.evaluation.baselines import LinearSVM
    from rankfactor.evaluation.watch import kinds, overheard, watched_fit
    from rankfactor.report import Validation, write_report
    from rankfactor.storage.model_file import save_model

    report, model, folds = (out / name for name in FILES)
    tell = progress or _ignore
    data = load_alzheimer()

    def factors(name: str, **settings: Any) -> RankFactorClassifier:
        return RankFactorClassifier(
            name, n_factors=n_factors, random_state=random_state, **settings
        )

    with folder(out):
        with overheard() as heard:
            # Folds side by side use the cores better than the threads of one small fit.
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
                n_jobs=joblib.cpu_count() if n_threads is None else n_threads,
                progress=lambda name, done, total: tell(f"Cross-validation of {name}", done, total),
            )
            if not evaluation.complete:
                raise KeyboardInterrupt
            classifier = factors(_KEPT, n_threads=n_threads)
            if watched_fit(classifier, data.table, data.labels, partial(tell, FIT_STEP)):
                raise KeyboardInterrupt
        told = tuple(one.text for one in kinds(heard))
        settings = settings_of(classifier) | {"folds": n_folds, "seed": random_state}
        provenance = {
            "table": data.name,
            "labels": list(data.labels.columns),
            "settings": settings,
            "warnings": told,
        }
        tell(REPORT_STEP, 0, 1)
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
            )
    tell(REPORT_STEP, 1, 1)
    return DemoResult(report, model, folds, evaluation, classifier, told)


def settings_of(classifier: RankFactorClassifier) -> dict[str, Any]:
    """Return the settings of a fit that a reader may want to know, with the library's version."""
    parameters: Mapping[str, Any] = classifier.get_params(deep=False)
    return {name: parameters[name] for name in _TOLD} | {"rankfactor": __version__}


def _ignore(step: str, done: int, total: int) -> None:
    """Show no progress."""
