"""Processor seconds of a whole fit, beside a linear SVM with inner cross-validation.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/default_fit.py
    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/default_fit.py --before OTHER/src
    ... benchmarks/default_fit.py --sets alon,usps_3v5 --training auto,predictive,label-free

One thread, K = 20, the first label column; digits: training parts. Every fit is a process of its
own, which fits a small table first, so compiled code is loaded; the least of the repeats counts.
With --before, the fits of another source tree take turns with these. "label-free" is predictive
training with a label weight of 0. Sets that are absent are left out.
"""

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np

SETS = ("alzheimer_csf", "alon", "golub", "singh", "usps_3v5", "mnist_3v5")
TRAINING = {
    "auto": {},
    "bayes": {"training": "bayes"},
    "predictive": {"training": "predictive"},
    "label-free": {"training": "predictive", "label_weight": 0, "calibration": "none"},
}
SVM = "linear SVM"
ONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Table and labels; of digits the training part."""
    with np.load(path, allow_pickle=True) as arrays:
        part = "_train" if "X_train" in arrays else ""
        return arrays["X" + part].astype(float), arrays["y" + part]


def seconds(path: Path, what: str) -> float:
    """Processor seconds of one fit, after one of a small table."""
    warnings.simplefilter("ignore")
    if what == SVM:
        from rankfactor.evaluation.baselines import LinearSVM

        def fit(X, y):
            LinearSVM().fit(X, y)

    else:
        from rankfactor import RankFactorClassifier

        def fit(X, y):
            RankFactorClassifier(random_state=0, n_threads=1, **TRAINING[what]).fit(X, y)

    rng = np.random.default_rng(0)
    fit(rng.standard_normal((60, 50)), np.arange(60) % 2)
    X, y = load(path)
    started = time.process_time()
    fit(X, y)
    return time.process_time() - started


def ask(path: Path, what: str, source: Path) -> float:
    """`seconds` in a process of its own, by the package in a source tree."""
    command = [sys.executable, __file__, "--child", json.dumps([str(path), what])]
    environment = {**os.environ, **ONE, "PYTHONPATH": str(source)}
    return float(subprocess.run(command, env=environment, check=True, capture_output=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--training", default="auto")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        path, what = json.loads(arguments.child)
        print(seconds(Path(path), what))
        return
    from sources import data_folder

    folder, here = data_folder(), Path(__file__).parents[1] / "src"
    trainings = arguments.training.split(",")
    sources = {"": here} if arguments.before is None else {", before": arguments.before, "": here}
    asked = {
        f"{what}{when}": (what, source) for what in trainings for when, source in sources.items()
    }
    asked[SVM] = (SVM, here)
    print(f"| N x d | table | {' | '.join(asked)} |\n|---|---|" + "---|" * len(asked))
    for name in arguments.sets.split(","):
        path = folder / f"{name}.npz"
        if not path.exists():
            continue
        found = {key: [] for key in asked}
        for _ in range(arguments.repeats):
            for key, one in asked.items():
                found[key].append(ask(path, *one))
        n, d = load(path)[0].shape
        cells = " | ".join(f"{min(values):.2f}" for values in found.values())
        print(f"| {n} x {d} | {name} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
