"""Table 4: tuberculosis and HIV from blood transcripts, all tasks of a table by one factor model.

The paper's series, GSE39941, is read from the user's own series-matrix file. Without it two other
sets are used: ``tb_gse19491`` (adults; 353 genes, chosen as signatures of tuberculosis, so
optimistic) and ``tb_hiv_gse37250`` (adults with and without HIV; ten genes). The paper's numbers
beside them are of other people and other genes: they show only the order of magnitude to expect.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rankfactor.data import read_table
from rankfactor.data.collection import load
from rankfactor.errors import InputError
from rankfactor.experiments.crossvalidated import run_folds
from rankfactor.experiments.outcome import Outcome
from rankfactor.experiments.paper import TB
from rankfactor.experiments.pictures import Fits, Pictures, joint_pictures
from rankfactor.experiments.problem import Problem, against, found_columns, one_against_the_rest
from rankfactor.interpret.genesets import Sets

MODELS = ("PFA-L-BSVM", "G-L-BSVM", "R-L-BSVM", "G-NL-BSVM", "R-NL-BSVM", "L-SVM")
STAND_INS = ("tb_gse19491", "tb_hiv_gse37250")
TOP_FEATURES = 4732  # the paper keeps this many genes, those of the largest intensity
WORDS = ("hiv", "disease", "tuberculosis", "phenotype", "illness")
ANY_TB, ACTIVE, LATENT, HIV = TB
OTHER_DATA = "The paper's numbers are of GSE39941, not of these data."


def run(
    models: Sequence[str] = MODELS,
    *,
    series: Path | None = None,
    labels: Sequence[str] = (),
    **settings: Any,
) -> Outcome:
    """Run the experiment on `problems`; settings as for `run_folds`."""
    return run_folds(
        "tb",
        "Tuberculosis and HIV: AUC and accuracy by cross-validation (paper: Table 4)",
        problems(series, labels),
        models=models,
        published=TB,
        notes=() if series is not None else (OTHER_DATA,),
        **settings,
    )


def pictures(fits: Fits, *, sets: Sets | None = None, **source: Any) -> Pictures:
    """Coefficients, networks and leading features of R-L-BSVM, of the problems of a source."""
    return joint_pictures(problems(**source), fits, sets=sets)


def problems(series: Path | None = None, labels: Sequence[str] = ()) -> list[Problem]:
    """The problem of the user's own GEO series matrix, or the sets that replace the paper's.

    ``labels`` are its label columns; by default those that look like labels.
    """
    if series is not None:
        return [read_series(series, labels)]
    if labels:
        raise InputError("--labels names columns of a series: give --series as well.")
    return list(stand_ins())


def stand_ins() -> Iterator[Problem]:
    """The sets that replace the paper's."""
    for name in STAND_INS:
        data = load(name)
        columns = [data.labels["y"]]
        if len(data.labels["HIVStatus"].unique()) > 1:
            columns.append(data.labels["HIVStatus"])
        yield Problem.of_columns(name, data.table, columns, phenotypes)


def read_series(path: Path, labels: Sequence[str] = ()) -> Problem:
    """A problem of a series matrix: its brightest genes, its phenotypes and HIV status."""
    table = read_table(path)
    names = found_columns(table.annotations, WORDS, labels, str(path))
    values = table.values
    notes: tuple[str, ...] = ()
    if values.shape[1] > TOP_FEATURES:
        brightest = values.mean().nlargest(TOP_FEATURES).index
        notes = (
            f"{TOP_FEATURES} of {values.shape[1]} features are kept, those with the largest mean.",
        )
        values = values.loc[:, values.columns.isin(brightest)]
    columns = [table.annotations[name] for name in names]
    return Problem.of_columns(path.name, values, columns, phenotypes, notes=notes)


def phenotypes(column: pd.Series[Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Tasks of a column of phenotypes or HIV status, and the paper's names of those that it has.

    Active and latent tuberculosis are recognised by their usual names; the tasks are then the
    paper's three. For other columns, each class is set against the rest.
    """
    if "hiv" in str(column.name).lower() and column.nunique() == 2:
        return {HIV: column}, {HIV: HIV}
    classes = [str(one) for one in column.dropna().unique()]
    latent = [one for one in classes if "latent" in one.lower() or one.upper() == "LTBI"]
    words = ("active", "tuberculosis")
    active = [
        one
        for one in classes
        if one not in latent
        and not any(no in one.lower() for no in ("other", "non", "not "))
        and (any(word in one.lower() for word in words) or one.upper() in ("TB", "PTB"))
    ]
    if not (latent and active and len(classes) > len(latent) + len(active)):
        return one_against_the_rest(column), {}
    sides = {ANY_TB: [*active, *latent], ACTIVE: active, LATENT: latent}
    tasks = {task: against(column, side, None) for task, side in sides.items()}
    return tasks, {task: task for task in tasks}
