"""How long new samples take to encode, and in how much memory.

    .venv/bin/python benchmarks/encoding.py

A model of 5,000 features, K = 20, fitted to 300 simulated samples, encodes 1,000 and 10,000 new
ones: seconds, and the growth of the process's peak memory over the table itself (Linux only).
"""

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfactor import RankFactorAnalysis


def peak(reset: bool = False) -> float:
    """Largest resident memory of this process so far, or since it was last reset, in MB."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((20, 5000)) * (rng.random((20, 5000)) < 0.3)

    def simulate(n):
        return rng.standard_normal((n, 20)) @ loadings + rng.standard_normal((n, 5000))

    model = RankFactorAnalysis(n_factors=20, max_iter=30, random_state=0).fit(simulate(300))
    model.transform(simulate(10))
    print("| samples | seconds | peak memory over the table, MB |")
    print("|---|---|---|")
    for n in (1000, 10000):
        table = simulate(n)
        before = peak(reset=True)
        started = time.perf_counter()
        model.transform(table)
        seconds = time.perf_counter() - started
        print(f"| {n} | {seconds:.1f} | {peak() - before:.0f} |", flush=True)


if __name__ == "__main__":
    main()
