"""The suite: all models on all available data sets, and comparisons over all of them.

Sets are those of `rankfactor.experiments.sets`. A set counts once in the ranks, with the mean AUC
over its tasks.

Models are compared with the linear SVM fold by fold: the AUC of a fold is the mean over tasks, and
the standard error of a set's mean difference is the standard deviation of the differences over the
root of the number of folds. Folds share training samples, so it is somewhat too small.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rankfactor.experiments.crossvalidated import run_folds
from rankfactor.experiments.entries import CHOSEN, Entry
from rankfactor.experiments.outcome import Keep, Outcome
from rankfactor.experiments.ranks import Ranks, mean_ranks
from rankfactor.experiments.sets import load_problems

MODELS = (
    *("R-L-BSVM", "R-NL-BSVM", "G-L-BSVM", "PFA-L-BSVM", "NS-PCA-SVM"),
    *("L-SVM", "RBF-SVM", "RF"),
)
PLAIN = ("L-SVM", "RBF-SVM")
BASE = "L-SVM"  # reference model, compared fold by fold
CLEARLY = 0.01  # a set counts as lost if the AUC is lower by more, and by two standard errors
FACTOR_MODELS = ("R-", "OR-", "G-")  # prefixes of their names
MOST_SAMPLES = 1000


class Differences(NamedTuple):
    """AUC minus that of `BASE` on the same folds: sets (rows), models and settings (columns)."""

    mean: pd.DataFrame
    error: pd.DataFrame  # standard error over folds

    @property
    def lost(self) -> pd.DataFrame:
        """Whether the difference is below zero by more than `CLEARLY` and two standard errors."""
        return (self.mean < -CLEARLY) & (self.mean < -2.0 * self.error)


class Suite(Outcome):
    """Outcome with a table of differences from the linear SVM."""

    def tables(self) -> dict[str, pd.DataFrame]:
        """The tables of every experiment, and differences by set with their standard errors."""
        tables, found = super().tables(), compared(self)
        if found.mean.empty:
            return tables
        shown = {
            name: [
                "" if np.isnan(mean) else f"{mean:+.3f} ({error:.3f})"
                for mean, error in zip(found.mean[name], found.error[name], strict=True)
            ]
            for name in found.mean
        }
        table = pd.DataFrame({"data": list(found.mean.index), **shown})
        return {**tables, f"AUC less that of {BASE} (standard error over folds)": table}


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
    """Run the suite; settings as for `run_folds`.

    Parameters
    ----------
    models : sequence of str
    folder, sets, max_samples, random_state
        As for `rankfactor.experiments.sets.load_problems`.
    keep : callable, optional
        Called with the results so far, including ranks, after every set except the last.
    """
    problems, notes = load_problems(folder, sets, max_samples, random_state)

    def ranked(found: Outcome) -> Outcome:
        ranks = mean_ranks(by_set(found.rows))
        differences = compared(found)
        told = (*sentences(found.rows, ranks), *lost_sets(differences), *found.notes)
        summary = _summary(found.rows, ranks, differences)
        return Suite(**{**vars(found), "summary": summary, "notes": told})

    found = run_folds(
        "suite",
        "Suite: AUC and accuracy by cross-validation",
        problems,
        models=models,
        notes=notes,
        random_state=random_state,
        max_samples=max_samples,
        keep=None if keep is None else lambda part: keep(ranked(part)),
        **settings,
    )
    return ranked(found)


def by_set(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean AUC over the tasks of every set (rows), by model and settings (columns)."""
    named = rows.assign(model=model_names(rows))
    table = named.pivot_table("auc", "data", "model", sort=False, dropna=False)
    return table[list(dict.fromkeys(named["model"]))]


def sentences(rows: pd.DataFrame, ranks: Ranks) -> list[str]:
    """Sentences on the ranks, and on the sets where a plain SVM wins."""
    told = []
    best = str(ranks.mean.index[0])
    n = f"{ranks.n_sets} data set{'s' if ranks.n_sets != 1 else ''}"
    if np.isnan(ranks.critical):
        told.append(f"{n} and {len(ranks.mean)} models are too few for a test of mean ranks.")
    else:
        told.append(
            f"Over {n} the mean ranks "
            f"{'differ' if ranks.p_value < 0.05 else 'do not differ'} "
            f"(Friedman, p = {ranks.p_value:.2g}). Two models differ at 5 % if their mean ranks "
            f"are {ranks.critical:.2f} apart (Nemenyi). "
            + (
                f"No significant difference between {best} and {', '.join(near)}."
                if (near := [one for one in ranks.as_good(best) if one != best])
                else f"{best} differs significantly from every other model."
            )
        )
    table = by_set(rows)
    plain = [name for name in table.columns if name in PLAIN]
    factors = [name for name in table.columns if str(name).startswith(FACTOR_MODELS)]
    if plain and factors:
        ahead = table[plain].max(axis=1) > table[factors].max(axis=1)
        where = [str(name) for name in table.index[ahead.to_numpy()]]
        told.append(
            f"A plain SVM ({' or '.join(plain)}) has a higher mean AUC than every factor model on "
            f"{len(where)} of {len(table)} sets" + (f": {', '.join(where)}." if where else ".")
        )
    return told


def compared(found: Outcome) -> Differences:
    """Differences from `BASE`; empty if it is not among the models."""
    names = _names_of_fits(found.rows)
    fits = found.fits.assign(model=found.fits["model"].map(names))
    areas = fits.pivot_table("auc", ["data", "repeat", "fold"], "model", sort=False)
    if BASE not in areas:
        return Differences(pd.DataFrame(), pd.DataFrame())
    others = [name for name in dict.fromkeys(names.values()) if name != BASE]
    by_set = areas.reindex(columns=others).sub(areas[BASE], axis=0).groupby("data", sort=False)
    return Differences(by_set.mean(), by_set.sem())


def lost_sets(differences: Differences) -> list[str]:
    """Sentence on the sets that the first factor model loses to `BASE`, if both were run."""
    model = next((n for n in map(str, differences.mean) if n.startswith(FACTOR_MODELS)), None)
    if model is None:
        return []
    mean, error = differences.mean[model], differences.error[model]
    where = differences.lost.index[differences.lost[model]]
    listed = ", ".join(f"{one} ({mean[one]:+.3f}, {error[one]:.3f})" for one in where)
    return [
        f"The AUC of {model} is lower than that of {BASE} by more than {CLEARLY} and by more than "
        f"twice the standard error of the difference on {len(where)} of {len(mean)} sets"
        + (f" (difference, standard error): {listed}." if listed else ".")
    ]


def model_names(rows: pd.DataFrame) -> list[str]:
    """Name of every row: its model, with the settings if chosen or one of several."""
    several = rows.drop_duplicates(["model", "settings"])["model"].value_counts() > 1
    return [
        f"{model} ({settings})" if settings == CHOSEN or several[model] else str(model)
        for model, settings in zip(rows["model"], rows["settings"], strict=True)
    ]


def _names_of_fits(rows: pd.DataFrame) -> dict[str, str]:
    """Names of models as in `model_names`, by their names in the table of fits."""
    keys = zip(rows["model"], rows["settings"], strict=True)
    return dict(zip((Entry(*key).name for key in keys), model_names(rows), strict=True))


def _summary(rows: pd.DataFrame, ranks: Ranks, differences: Differences) -> pd.DataFrame:
    """Models and settings by mean rank, with means over sets."""
    named, order = rows.assign(name=model_names(rows)), list(ranks.mean.index)
    measures = ["auc", "accuracy", "seconds"]
    means = named.groupby(["data", "name"])[measures].mean().groupby("name").mean()
    table = named.drop_duplicates("name").set_index("name").loc[order, ["model", "settings"]]
    near = ranks.as_good(str(order[0]))
    apart: dict[str, Any] = {}
    if not differences.mean.empty:
        apart = {"difference": differences.mean.mean(), "difference_se": differences.mean.sem()}
        apart["sets_lost"] = differences.lost.sum().reindex(order)
    return table.assign(
        mean_rank=ranks.mean,
        auc=means["auc"],
        **apart,
        **means.loc[order, ["accuracy", "seconds"]],
        as_good_as_the_best=["yes" if one in near else "no" for one in order],
    ).reset_index(drop=True)
