"""Processor seconds of fits by an earlier revision of this repository and by the working tree.

    .venv/bin/python benchmarks/revisions.py REVISION [--tables small,many] [--rounds N]

The sources of REVISION are unpacked into a temporary folder and run by the same Python and the same
packages. The two sides alternate, and the order changes from round to round. Every fit is a process
of its own with one thread. It first fits a table of the same kind with fewer samples, which imports
everything and loads compiled kernels. Cells are medians over rounds; the ratio is the median of the
ratios of a round, with its least and its largest value. One more round, which compiles the
kernels, is not counted.

Tables are Poisson counts of 10 factors with labels, as in `benchmarks/scale.py`; K = 20. Only
arguments of the first release are used, so that old revisions can be compared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
# Name: samples, features, arguments of the model.
TABLES: dict[str, tuple[int, int, dict[str, Any]]] = {
    "small": (300, 1000, {"training": "bayes"}),
    "medium": (2000, 500, {"training": "predictive"}),
    "many": (10_000, 200, {"training": "predictive"}),
    "gaussian": (2000, 500, {"training": "bayes", "model": "G-L-BSVM"}),
}


def simulated(n: int, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts (n, n_features) and labels (n,)."""
    rng = np.random.default_rng(0)
    loadings = 0.3 * rng.standard_normal((n_features, 10))
    level, weights = rng.normal(1, 0.5, n_features), rng.standard_normal(10)
    z = rng.standard_normal((n, 10))
    counts = rng.poisson(np.exp(level + z @ loadings.T)).astype(float)
    noise = 0.5 * np.linalg.norm(weights) * rng.standard_normal(n)
    return counts, (z @ weights + noise > 0).astype(int)


def fit(name: str) -> None:
    """Fit a table and print the seconds of the processor."""
    from rankfactor import RankFactorClassifier

    warnings.simplefilter("ignore")
    n, n_features, arguments = TABLES[name]
    given = {"n_factors": 20, "random_state": 0, "n_threads": 1, **arguments}
    for samples in (max(n // 10, 100), n):
        table, labels = simulated(samples, n_features)
        began = time.process_time()
        RankFactorClassifier(**given).fit(table, labels)
    print(time.process_time() - began)


def unpack(revision: str, folder: Path) -> Path:
    """Unpack the sources of a revision; returns the folder to import from."""
    command = ["git", "-C", str(ROOT), "archive", "--format=tar", revision, "src"]
    archive = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder / "src"


def seconds(name: str, source: Path, cache: Path) -> float:
    """Processor seconds of a fit by the sources in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, __file__, "--child", name, "-"]
    run = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return float(run.stdout)


def main() -> None:
    """Print a row for each table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("revision", help="an earlier revision, as git names it")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        fit(given.child)
        return
    print(f"| table | {given.revision} | now | now / {given.revision} |\n|---|--:|--:|---|")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        sides = {
            "before": (unpack(given.revision, folder / "before"), folder / "kernels-before"),
            "now": (ROOT / "src", folder / "kernels-now"),
        }
        for name in given.tables.split(","):
            found: dict[str, list[float]] = {side: [] for side in sides}
            for number in range(given.rounds + 1):
                for side in sorted(sides, reverse=number % 2 == 0):
                    found[side].append(seconds(name, *sides[side]))
            before, now = (np.array(found[side][1:]) for side in ("before", "now"))
            ratio = now / before
            n, n_features, arguments = TABLES[name]
            head = f"{n:,} x {n_features:,}, {', '.join(arguments.values())}"
            spread = f"{np.median(ratio):.2f} ({ratio.min():.2f} to {ratio.max():.2f})"
            cells = [head, f"{np.median(before):.2f} s", f"{np.median(now):.2f} s", spread]
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
