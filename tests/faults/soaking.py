"""Many fits and predictions in one process: what they leave of memory, threads and files.

Run as a program with the numbers of fits and predictions; prints one JSON object with a list of
states, one after each tenth of the work.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import tracemalloc
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def state() -> dict[str, float]:
    """Memory in MB: of the process, and of Python's objects; threads; open files."""
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "process": pages * os.sysconf("SC_PAGE_SIZE") / 1e6,
        "objects": tracemalloc.get_traced_memory()[0] / 1e6,
        "threads": threading.active_count(),
        "system threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
    }


def soak(fits: int, predictions: int) -> dict[str, Any]:
    """Fit again and again, then predict again and again."""
    from rankfactor import RankFactorClassifier, load_model, save_model

    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 12))
    X += 0.5 * rng.standard_normal(X.shape)
    y = np.where(X[:, 0] + rng.standard_normal(60) > 0, "ill", "well")
    first = RankFactorClassifier(n_factors=2, random_state=0, n_threads=2).fit(X, y)
    expected = first.predict_proba(X)
    tracemalloc.start()
    states: dict[str, list[dict[str, float]]] = {"fits": [], "predictions": []}
    for number in range(1, fits + 1):
        model = RankFactorClassifier(n_factors=2, random_state=0, n_threads=2).fit(X, y)
        np.testing.assert_array_equal(model.predict_proba(X), expected)
        save_model(model, "model.rankfactor")
        loaded = load_model("model.rankfactor")
        if number % max(fits // 10, 1) == 0:
            states["fits"].append(state())
    for number in range(1, predictions + 1):
        found = loaded.predict_proba(X)
        if number % max(predictions // 10, 1) == 0:
            np.testing.assert_array_equal(found, expected)
            states["predictions"].append(state())
    return states


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    sys.stdout.write(json.dumps(soak(*map(int, sys.argv[1:]))) + "\n")
