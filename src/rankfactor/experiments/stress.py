"""Stress suite: every set of the suite as given and damaged, models at the same settings.

A set is used in six forms:

- **as given**;
- **raw scale**: every feature is exp(2 y), y being its standardised values;
- **1 % outliers**: this share of cells is moved by 20 standard deviations of their feature, up or
  down;
- **20 % missing**: this share of cells is missing;
- **40 labels**, **12 labels**: this many samples of a training part keep their label of a task,
  drawn by class, at least one of each. The others stay in the table without a label: factor models
  learn from them, the other models leave them out.

Cells are damaged before the folds are made, so test samples are damaged as well. Their labels are
never removed.

The log scale. As in the suite, the models that depend on the scale (see
`rankfactor.experiments.entries`) get log2(1 + x) if the table as given contains raw intensities or
counts, in all forms but one: on the raw scale no model gets a transform, since that form shows what
happens to a user who did not choose one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.errors import counted
from rankfactor.experiments.crossvalidated import run_folds
from rankfactor.experiments.damage import exponentiated, with_missing, with_outliers
from rankfactor.experiments.log_scale import is_raw
from rankfactor.experiments.outcome import Keep, Outcome
from rankfactor.experiments.pictures import Pictures
from rankfactor.experiments.problem import Problem
from rankfactor.experiments.sets import load_problems
from rankfactor.experiments.suite import FACTOR_MODELS, model_names
from rankfactor.plots import stress_figure

NAME = "stress"
MODELS = ("R-L-BSVM", "G-L-BSVM", "L-SVM", "RBF-SVM", "NS-PCA-SVM", "RF")
MISSING = 0.2
MOST_SAMPLES = 400

See = Callable[[Problem, np.random.Generator], Problem]


def _given(problem: Problem, rng: np.random.Generator) -> Problem:
    return problem


def _raw(problem: Problem, rng: np.random.Generator) -> Problem:
    table = problem.table
    sd = table.std(ddof=0)
    values = (table - table.mean()) / sd.where(sd > 0, 1.0)
    return replace(problem, table=_like(table, exponentiated(values.to_numpy(float))), log=False)


def _outliers(problem: Problem, rng: np.random.Generator) -> Problem:
    table = problem.table
    values = with_outliers(table.to_numpy(float), rng, table.std(ddof=0).to_numpy(float))
    return replace(problem, table=_like(table, values))


def _missing(problem: Problem, rng: np.random.Generator) -> Problem:
    table = problem.table
    return replace(problem, table=_like(table, with_missing(table.to_numpy(float), rng, MISSING)))


def _labels(n_labels: int) -> See:
    return lambda problem, rng: replace(problem, n_labels=n_labels)


def _like(table: pd.DataFrame, values: Any) -> pd.DataFrame:
    return pd.DataFrame(values, table.index, table.columns)


FORMS: dict[str, See] = {
    "as given": _given,
    "raw scale": _raw,
    "1 % outliers": _outliers,
    "20 % missing": _missing,
    "40 labels": _labels(40),
    "12 labels": _labels(12),
}


class Stress(Outcome):
    """Outcome whose tables have models in rows and forms in columns."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """Mean AUC over sets, differences from the first model, and the AUC of every set."""
        means, summary = by_set(self.rows), self.summary
        first = summary["model"].iloc[0]
        others = summary[summary["model"] != first]
        over = f"{self.title}, mean over {counted(means['data'].nunique(), 'set')}"
        tables = {over: _wide(summary, "auc", ".3f", "", "model")}
        if len(others):
            title = f"Difference from {first} (standard error over sets)"
            tables[title] = _wide(others, "difference", "+.3f", "_se", "model")
        title = "By set (standard deviation over folds)"
        tables[title] = _wide(means, "auc", ".3f", "_sd", "data", "n", "model")
        return tables


def run(
    models: Sequence[str] = MODELS,
    *,
    folder: Path | None = None,
    sets: Sequence[str] = (),
    max_samples: int = MOST_SAMPLES,
    random_state: int = 0,
    keep: Keep | None = None,
    **settings: Any,
) -> Outcome:
    """Run the stress suite; arguments as for `rankfactor.experiments.suite.run`."""
    problems, notes = load_problems(folder, sets, max_samples, random_state)

    def told(found: Outcome) -> Outcome:
        own = {"summary": summarised(found.rows), "notes": (*NOTES, *found.notes)}
        return Stress(**{**vars(found), **own})

    found = run_folds(
        NAME,
        "Stress suite: AUC by cross-validation",
        [seen(problem, form, random_state) for problem in problems for form in FORMS],
        models=models,
        notes=notes,
        random_state=random_state,
        max_samples=max_samples,
        keep=None if keep is None else lambda part: keep(told(part)),
        **settings,
    )
    return told(found)


NOTES = (
    "The AUC of a set is the mean over its tasks. Cells are damaged before the folds are made, in "
    "training and test parts alike; labels are removed in training parts only, and all test "
    "samples are judged.",
    "If the table as given contains raw intensities or counts, G-L-BSVM, L-SVM and RBF-SVM get "
    "log2(1 + x). On the raw scale no model gets a transform.",
)


def seen(problem: Problem, form: str, random_state: int) -> Problem:
    """The problem in one of `FORMS`; damage depends only on the form and the seed."""
    rng = np.random.default_rng([random_state, list(FORMS).index(form)])
    given = replace(problem, form=form, log=is_raw(problem.table))
    return FORMS[form](given, rng)


def by_set(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over the tasks of a set: ``data``, ``form``, ``model``, ``auc``, ``auc_sd``, ``n``.

    The standard deviation over folds is the average over tasks; n is the largest number of labelled
    samples of a task.
    """
    groups = rows.assign(model=model_names(rows)).groupby(["data", "form", "model"], sort=False)
    return groups.agg(auc=("auc", "mean"), auc_sd=("auc_sd", "mean"), n=("n", "max")).reset_index()


def summarised(rows: pd.DataFrame) -> pd.DataFrame:
    """Means over sets: ``form``, ``model``, ``auc``, and ``difference`` from the first model.

    The standard error ``difference_se`` of the mean difference is over sets. Sets for which a model
    has no AUC are left out of its means.
    """
    means = by_set(rows)
    models = list(dict.fromkeys(means["model"]))
    found = []
    for form, part in means.groupby("form", sort=False):
        areas = part.pivot_table("auc", "data", "model", dropna=False)
        apart = areas.sub(areas[models[0]], axis=0)
        values = {"auc": areas.mean(), "difference": apart.mean(), "difference_se": apart.sem()}
        frame = pd.DataFrame({"n_sets": areas.count(), **values}).loc[models].reset_index()
        found.append(frame.assign(form=form)[["form", *frame.columns]])
    return pd.concat(found, ignore_index=True)


def drawn(found: Outcome) -> Pictures:
    """Figure of the mean AUC by form, one line per model."""
    summary = found.summary
    over = counted(int(summary["n_sets"].max()), "data set")
    figure = stress_figure(
        summary.rename(columns={"form": "label"}),
        title=f"Mean AUC over {over}, as given and damaged",
        own=[one for one in summary["model"] if one.startswith(FACTOR_MODELS)],
    )
    return Pictures(figures={NAME: figure})


def _wide(long: pd.DataFrame, measure: str, digits: str, spread: str, *keys: str) -> pd.DataFrame:
    """Table of text with one column per form: a measure and its spread, by suffix."""
    spreads = long[measure + spread] if spread else np.full(len(long), np.nan)
    texts = [
        "" if np.isnan(m) else f"{m:{digits}}" + ("" if np.isnan(s) else f" ({s:.3f})")
        for m, s in zip(long[measure], spreads, strict=True)
    ]
    table = long.assign(text=texts).pivot_table(
        "text", list(keys), "form", aggfunc="first", sort=False
    )
    return table.fillna("").reset_index().rename_axis(columns=None).astype(str)
