"""Experiments with a given split: fit to the training part, count test errors, repeat by seed.

Settings are chosen by accuracy within the training part. The test part is used once per fit and
decides nothing. Ctrl-C keeps the models whose fits are all finished.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rankfactor.data import Dataset
from rankfactor.errors import InputError
from rankfactor.evaluation.watch import uninterrupted
from rankfactor.experiments.entries import N_FACTORS, Entry, build, entries
from rankfactor.experiments.outcome import Keep, Outcome, Progress, counted, in_turn
from rankfactor.experiments.paper import Error, beside


def run_split(
    name: str,
    title: str,
    data: Dataset,
    paper: Mapping[str, Error],
    *,
    models: Sequence[str],
    way: str = "all",
    n_repeats: int = 5,
    n_factors: int = N_FACTORS,
    random_state: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
    keep: Keep | None = None,
) -> Outcome:
    """Test errors of models on a data set with a column ``part`` ("train" or "test").

    Its first label column is the task. A model is fitted with the seeds ``random_state``,
    ``random_state + 1``, ...; everything else is as for
    `rankfactor.experiments.crossvalidated.run_folds`, with models in place of its problems.
    """
    if "part" not in data.labels or not {"train", "test"} <= set(data.labels["part"]):
        raise InputError(f"{data.name} has no given split: a column 'part' of train and test.")
    test = (data.labels["part"] == "test").to_numpy()
    fits: list[dict[str, Any]] = []

    def tell(entry: Entry, done: int) -> None:
        if progress is not None:
            progress(entry.name, done, n_repeats)

    def run(entry: Entry) -> bool:
        found = []
        for repeat in range(n_repeats):
            tell(entry, repeat)
            model = build(
                entry,
                n_factors=n_factors,
                most_factors=int((~test).sum()),
                random_state=random_state + repeat,
                n_threads=n_threads,
                measure="accuracy",
                log=False,
            )
            # On Ctrl-C a fit returns its current state, which is not a result here.
            with uninterrupted():
                found.append(_fit(entry, repeat + 1, model, data, test))
        fits.extend(found)
        tell(entry, n_repeats)
        return True

    def outcome(*missing: str) -> Outcome:
        frame = pd.DataFrame(fits)
        notes = (
            f"Trained on {int((~test).sum())} samples, tested on {int(test.sum())}; mean and "
            f"standard deviation over {n_repeats} seed{'s' if n_repeats > 1 else ''}. Seconds are "
            "per fit, including the choice of settings.",
            "The paper's NL-SVM is RBF-SVM here.",
            *missing,
        )
        told = {"settings": way, "repeats": n_repeats}
        settings = {**told, "n_factors": n_factors, "seed": random_state}
        table = _rows(frame, paper)
        return Outcome(name, title, table, frame, settings, notes, complete=not missing)

    return in_turn(entries(models, way, n_factors), run, outcome, keep)


def _fit(
    entry: Entry, repeat: int, model: Any, data: Dataset, test: NDArray[np.bool_]
) -> dict[str, Any]:
    """Fit to the training part and count errors on the test part."""
    y = data.labels.iloc[:, 0]
    started = time.perf_counter()
    model.fit(data.table[~test], y[~test])
    seconds = time.perf_counter() - started
    wrong = np.asarray(model.predict(data.table[test])) != y[test].to_numpy()
    return {
        "model": entry.model,
        "settings": entry.settings,
        "repeat": repeat,
        "errors": int(wrong.sum()),
        "error": 100.0 * float(wrong.mean()),
        "seconds": seconds,
        "chosen": next(iter(getattr(model, "chosen_", [""]))),
    }


def _rows(fits: pd.DataFrame, paper: Mapping[str, Error]) -> pd.DataFrame:
    groups = fits.groupby(["model", "settings"], sort=False)
    rows = groups.agg(
        error=("error", "mean"),
        error_sd=("error", "std"),
        seconds=("seconds", "mean"),
        chosen=("chosen", counted),
    ).reset_index()
    theirs = [beside(paper.get(model, Error())) for model in rows["model"]]
    return rows.join(pd.DataFrame(theirs))
