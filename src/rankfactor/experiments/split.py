"""Tables of a given split: fit to the training part, count errors on the test part, again by seed.

Settings that are chosen are chosen by accuracy within the training part. The test part is used
once per fit, and nothing is decided by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd

from rankfactor.data import Dataset
from rankfactor.errors import InputError
from rankfactor.experiments.models import N_FACTORS, build, entries
from rankfactor.experiments.outcome import Outcome, counted
from rankfactor.experiments.paper import Error

Progress = Callable[[str, int, int], None]  # step, how much of it is done, out of how much


def run_split(
    name: str,
    title: str,
    data: Dataset,
    paper: Mapping[str, Error],
    *,
    models: Sequence[str],
    way: str = "both",
    n_repeats: int = 5,
    n_factors: int = N_FACTORS,
    random_state: int = 0,
    n_threads: int | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Test errors of models on a data set with a column ``part`` ("train" or "test").

    Parameters
    ----------
    name, title : str
        Of the experiment.
    data : Dataset
        Its first label column is the task.
    paper : mapping
        The paper's numbers, by model.
    models : sequence of str
    way : {"paper", "chosen", "both"}
        Settings: `rankfactor.experiments.models`.
    n_repeats : int
        Fits of a model, with the seeds ``random_state``, ``random_state + 1``, ...
    n_factors, random_state : int
    n_threads : int or None
    progress : callable, optional
        Called with the name of a row, how many of its fits are done, and how many there are.
    """
    if "part" not in data.labels or not {"train", "test"} <= set(data.labels["part"]):
        raise InputError(f"{data.name} has no given split: a column 'part' of train and test.")
    test = (data.labels["part"] == "test").to_numpy()
    task = data.labels.columns[0]
    y = data.labels[task]
    fits = []
    for entry in entries(models, way, n_factors):
        for repeat in range(n_repeats):
            if progress is not None:
                progress(entry.name, repeat, n_repeats)
            model = build(
                entry,
                n_factors=n_factors,
                most_factors=int((~test).sum()),
                random_state=random_state + repeat,
                n_threads=n_threads,
                measure="accuracy",
                log=False,
            )
            started = time.perf_counter()
            model.fit(data.table[~test], y[~test])
            seconds = time.perf_counter() - started
            wrong = np.asarray(model.predict(data.table[test])) != y[test].to_numpy()
            fits.append(
                {
                    "model": entry.model,
                    "settings": entry.settings,
                    "repeat": repeat + 1,
                    "errors": int(wrong.sum()),
                    "error": 100.0 * float(wrong.mean()),
                    "seconds": seconds,
                    "chosen": next(iter(getattr(model, "chosen_", [""]))),
                }
            )
        if progress is not None:
            progress(entry.name, n_repeats, n_repeats)
    frame = pd.DataFrame(fits)
    notes = (
        f"Trained on {int((~test).sum())} samples, tested on {int(test.sum())}; mean and standard "
        f"deviation over {n_repeats} seed{'s' if n_repeats > 1 else ''}. Seconds are of a fit, the "
        "choice of settings included.",
        "The paper's NL-SVM is RBF-SVM here.",
    )
    return Outcome(
        name,
        title,
        _rows(frame, paper),
        frame,
        {"settings": way, "repeats": n_repeats, "n_factors": n_factors, "seed": random_state},
        notes,
    )


def _rows(fits: pd.DataFrame, paper: Mapping[str, Error]) -> pd.DataFrame:
    rows = []
    for (model, settings), part in fits.groupby(["model", "settings"], sort=False):
        theirs = paper.get(str(model))
        rows.append(
            {
                "model": model,
                "settings": settings,
                "error": part["error"].mean(),
                "error_sd": part["error"].std(),
                "seconds": part["seconds"].mean(),
                "chosen": counted(part["chosen"]),
                "paper_error": np.nan if theirs is None else theirs.error,
                "paper_error_sd": np.nan if theirs is None or theirs.sd is None else theirs.sd,
                "paper_seconds": np.nan if theirs is None else theirs.seconds,
            }
        )
    return pd.DataFrame(rows)
