"""Table 5: sepsis from RNA sequencing.

The paper's series, GSE63042, is described by its series matrix; its counts are in a separate file,
as usual for sequencing data. Without it three other sets are used: ``tb_suscept_counts`` (cells of
25 people, infected and not: RNA-seq counts, grouped by person), ``sepsis_gse13015`` (microarrays of
raw intensity) and ``sepsis_metabolomics`` (repeated samples of 41 patients, grouped by patient).

As in the paper, count features with more than a quarter of zeros are left out, and samples are
rescaled to a common total; the Gaussian models get logarithms, and Poisson factor analysis rounded
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rankfactor.data import align_labels, read_annotations, read_table
from rankfactor.data.collection import load
from rankfactor.errors import InputError
from rankfactor.experiments.crossvalidated import run_folds
from rankfactor.experiments.outcome import Outcome
from rankfactor.experiments.paper import RNASEQ
from rankfactor.experiments.pictures import Fits, Pictures, joint_pictures
from rankfactor.experiments.problem import Problem, against, found_columns, one_against_the_rest
from rankfactor.interpret.genesets import Sets

MODELS = ("PFA-L-BSVM", "G-L-BSVM", "R-L-BSVM", "L-SVM")
MOST_ZEROS = 0.25
WORDS = ("sirs", "sepsis", "septic", "outcome", "disease", "group", "status")
SIRS, DEATH, SIRS_SURVIVORS = RNASEQ
OTHER_DATA = "The paper's numbers are of GSE63042, not of these data."


def run(
    models: Sequence[str] = MODELS,
    *,
    series: Path | None = None,
    counts: Path | None = None,
    labels: Sequence[str] = (),
    groups: str | None = None,
    **settings: Any,
) -> Outcome:
    """Run the experiment on `problems`; settings as for `run_folds`."""
    return run_folds(
        "rnaseq",
        "RNA sequencing and sepsis: AUC and accuracy by cross-validation (paper: Table 5)",
        problems(series, counts, labels, groups),
        models=models,
        published=RNASEQ,
        notes=() if series is not None else (OTHER_DATA,),
        **settings,
    )


def pictures(fits: Fits, *, sets: Sets | None = None, **source: Any) -> Pictures:
    """Coefficients, networks and leading features of R-L-BSVM, of the problems of a source."""
    return joint_pictures(problems(**source), fits, sets=sets)


def problems(
    series: Path | None = None,
    counts: Path | None = None,
    labels: Sequence[str] = (),
    groups: str | None = None,
) -> list[Problem]:
    """The problem of the user's own GEO series matrix, or the sets that replace the paper's.

    Parameters
    ----------
    series : Path, optional
    counts : Path, optional
        Table of its values, if the series has none.
    labels : sequence of str
        Its columns of labels; by default those that look like labels.
    groups : str, optional
        Its column of groups, such as patients.
    """
    if series is not None:
        return [read_series(series, counts, labels, groups)]
    for name, given in (("--counts", counts), ("--labels", labels), ("--groups", groups)):
        if given:
            raise InputError(f"{name} belongs to a series: give --series as well.")
    return list(stand_ins())


def stand_ins() -> Iterator[Problem]:
    """The sets that replace the paper's."""
    data = load("tb_suscept_counts")
    table, notes = rescaled(data.table)
    labels = data.labels[["y", "status"]]
    yield Problem("tb_suscept_counts", table, labels, data.labels["individual"], notes)
    data = load("sepsis_gse13015")
    yield Problem("sepsis_gse13015", data.table, sepsis_tasks(data.labels))
    data = load("sepsis_metabolomics")
    y, patients = data.labels["y"], data.labels["patient"]
    yield Problem.of_columns("sepsis_metabolomics", data.table, [y], outcomes, patients)


def sepsis_tasks(labels: pd.DataFrame) -> pd.DataFrame:
    """Tasks of sepsis_gse13015: sepsis or not, and melioidosis against other infections."""
    kinds = against(labels["group"], ["Melioidosis"], ["Other"])
    return pd.DataFrame({"Sepsis": labels["y"], "Melioidosis vs. Other": kinds})


def read_series(
    path: Path, counts: Path | None, labels: Sequence[str], groups: str | None
) -> Problem:
    """A problem of a series matrix and, if its values are elsewhere, of a table of counts."""
    found = read_table(path if counts is None else counts)
    values = found.values
    annotations = found.annotations if counts is None else read_annotations(path)
    names = found_columns(annotations, WORDS, labels, str(path))
    wanted = [*names, *([groups] if groups is not None else [])]
    if groups is not None and groups not in annotations:
        raise InputError(f"{path} has no column '{groups}' to use as groups.")
    if counts is not None:
        annotations = align_labels(values.index, annotations[wanted], source=path, unknown="ignore")
    columns = [annotations[name] for name in names]
    together = None if groups is None else annotations[groups]
    table, notes = rescaled(values)
    return Problem.of_columns(path.name, table, columns, outcomes, together, notes)


def rescaled(table: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Counts at a common total, without the features that are mostly zero.

    Tables with negative values are left unchanged: they have been scaled before.
    """
    if (table.to_numpy() < 0).any():
        return table, ("some values are negative, so samples are not rescaled.",)
    common = table.columns[((table == 0).mean() <= MOST_ZEROS).to_numpy()]
    if not len(common):
        raise InputError(
            f"every feature is zero in more than {MOST_ZEROS:.0%} of the samples: give a table "
            "with features that are measured in more of them."
        )
    totals = table[common].sum(axis=1)
    if (totals <= 0).any():
        sample = totals.index[int((totals <= 0).to_numpy().argmax())]
        raise InputError(f"the sample '{sample}' has no counts at all: leave it out.")
    scaled = table[common].mul(totals.median() / totals, axis=0)
    return scaled, (
        f"{len(common)} of {table.shape[1]} features are kept, those with at most "
        f"{MOST_ZEROS:.0%} zeros; samples are rescaled to a common total.",
    )


def outcomes(column: pd.Series[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Tasks of a column of outcomes, and the paper's names of those that it has.

    SIRS (or not septic), survivors and deaths of sepsis are recognised by their usual names; the
    tasks are then the paper's three. For other columns, each class is set against the rest.
    """
    side_of = {str(one): _side(str(one).lower()) for one in column.dropna().unique()}
    if sorted(map(str, side_of.values())) != ["died", "lived", "sirs"]:
        return one_against_the_rest(column), {}
    sirs, lived, died = (
        [one for one, side in side_of.items() if side == wanted]
        for wanted in ("sirs", "lived", "died")
    )
    tasks = {
        SIRS: against(column, sirs, [*lived, *died]),
        DEATH: against(column, died, lived),
        SIRS_SURVIVORS: against(column, sirs, lived),
    }
    return tasks, {task: task for task in tasks}


def _side(text: str) -> str | None:
    if text.startswith(("sirs", "non-septic", "nonseptic", "not septic", "no sepsis")):
        return "sirs"
    words = ("death", "died", "dead", "nonsurv", "non-surv", "deceased")
    if any(word in text for word in words) or text.endswith(("-ns", "sed")):
        return "died"
    if "surviv" in text or "alive" in text or text.endswith(("-s", "ses")):
        return "lived"
    return None
