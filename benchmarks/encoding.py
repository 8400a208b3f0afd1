"""How long new samples take to encode, and in how much memory.

    .venv/bin/python benchmarks/encoding.py
    .venv/bin/python benchmarks/encoding.py --of rare
    .venv/bin/python benchmarks/encoding.py --of ordinal

A model of 5,000 features, K = 20, fitted to 300 simulated samples, encodes 1,000 and 10,000 new
ones: seconds, and the growth of the process's peak memory over the table itself (Linux only).

`--of rare` counts the steps of the encoder in tables of counts of which 5 % are above zero (the
generator of `benchmarks/scale.py`), after 12 iterations of a joint fit with K = 20, for 64 new
samples: with and without damping (`rankfactor.steps.encode`), at most 200.

`--of ordinal` compares Newton's method with plain steps for ordinal probits of counts, after a fit
to 2,000 samples with K = 20: seconds for 1,000 of them, one thread, and the largest error of a
score, against steps until 1e-9.
"""

import argparse
import time
import warnings
from pathlib import Path
from typing import ClassVar

import numpy as np
from scale import Simulated
from sklearn.exceptions import ConvergenceWarning

from rankfactor import RankFactorAnalysis, RankFactorClassifier
from rankfactor.likelihoods import OrdinalProbit
from rankfactor.steps import encode


def peak(reset: bool = False) -> float:
    """Largest resident memory of this process so far, or since it was last reset, in MB."""
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


class Counted(encode.Newton):
    """Newton's method that counts the samples of every step."""

    active: ClassVar[list[int]] = []

    def propose(self, x, *more):
        self.active.append(len(x))
        return super().propose(x, *more)


def rare() -> None:
    """Steps of samples of rare counts."""
    encode.Newton, usual = Counted, encode.PATIENCE
    print("| table | steps a sample, damped | most | undamped | most |\n|---|---|---|---|---|")
    for n, n_features in ((500, 10_000), (1_024, 33_000)):
        simulated = Simulated(n_features, True)
        counts, labels = simulated.chunk(0, n)
        model = RankFactorClassifier(n_factors=20, training="bayes", max_iter=12, random_state=0)
        model.set_params(calibration="none").fit(counts.astype(np.float32), labels)
        new, cells = simulated.chunk(10**6, 64)[0].astype(np.float32), [f"{n:,} x {n_features:,}"]
        for patience in (usual, encode.STEPS):
            encode.PATIENCE = patience
            Counted.active.clear()
            model.transform(new)
            cells += [f"{sum(Counted.active) / len(new):.0f}", str(len(Counted.active))]
        encode.PATIENCE = usual
        print("| " + " | ".join(cells) + " |", flush=True)


def ordinal() -> None:
    """Seconds and errors of ordinal probits."""
    warnings.simplefilter("ignore", UserWarning)
    print("| table | training | plain: s, error | Newton: s, error |\n|---|---|---|---|")
    rng = np.random.default_rng(0)
    for n_features, rate in ((1000, 0.04), (3000, 0.04), (1000, 0.5), (100, 3.0)):
        loadings, scores = rng.normal(0, 0.3, (n_features, 10)), rng.standard_normal((2000, 10))
        counts = rng.poisson(rate * np.exp(scores @ loadings.T)).astype(float)
        labels = scores[:, 0] + 0.5 * rng.standard_normal(2000) > 0
        for training in ("label-free", "predictive"):
            given = {"likelihood": "ordinal_probit", "training": training, "random_state": 0}
            model = RankFactorClassifier(n_factors=20, n_threads=1, **given).fit(counts, labels)
            found = {}
            for curved, tol in ((True, 1e-9), (True, 1e-4), (False, 1e-4)):
                OrdinalProbit.has_curvature, encode.TOL = curved, tol
                model.transform(counts[:10])
                started = time.perf_counter()
                found[curved, tol] = model.transform(counts[:1000]), time.perf_counter() - started
            exact, cells = found[True, 1e-9][0], [f"{n_features:,}, {np.mean(counts > 0):.0%}"]
            for curved in (False, True):
                scores_found, seconds = found[curved, 1e-4]
                cells.append(f"{seconds:.2f}, {np.abs(scores_found - exact).max():.0e}")
            print(f"| {cells[0]} above zero | {training} | {cells[1]} | {cells[2]} |", flush=True)


def dense() -> None:
    """Seconds and memory of many samples."""
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


TABLES = {"dense": dense, "rare": rare, "ordinal": ordinal}


def main() -> None:
    """Print the table that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--of", choices=tuple(TABLES), default="dense")
    warnings.simplefilter("ignore", ConvergenceWarning)
    TABLES[parser.parse_args().of]()


if __name__ == "__main__":
    main()
