"""Iterations and processor time to a converged ELBO, with and without what makes them fewer.

    RANKFACTOR_DATA=... python -m benchmarks.convergence [--sets alzheimer_csf usps_3v5 ...]

For every table: scores and rows in two passes ("apart"), in one pass ("joint"), and in one pass
with momentum (the default). Counted are the iterations to the default
tolerance, with the ELBO there, and those to the ELBO at which the first way stopped; seconds are
of one thread's processor time, without what precedes and follows the iterations.
"""

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

import rankfactor.engine.vb as vb
import rankfactor.steps.acceleration as acceleration
from rankfactor import RankFactorClassifier
from rankfactor.likelihoods import MarginRank

SETS = (
    "alzheimer_csf",
    "tb_gse19491",
    "usps_3v5",
    "bfi_ordinal",
    "sepsis_metabolomics",
    "khan_train",
    "alon",
    "golub",
)
WAYS = {"apart": (False, 0.0), "joint": (True, 0.0), "momentum": (True, acceleration.MOMENTUM)}


def table(name):
    with np.load(Path(os.environ["RANKFACTOR_DATA"]) / f"{name}.npz", allow_pickle=False) as file:
        part = "_train" if "X_train" in file else ""
        return file[f"X{part}"].astype(float), file[f"y{part}"]


def run(X, y, joint, momentum, max_iter):
    """ELBO of every iteration, and processor seconds an iteration."""
    MarginRank.has_fused_step, acceleration.MOMENTUM = property(lambda self: joint), momentum
    times = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RankFactorClassifier(
            training="bayes",
            n_threads=1,
            random_state=0,
            tol=1e-12,
            max_iter=max_iter,
            calibration="none",
            progress=lambda *_: times.append(time.thread_time()),
        ).fit(X, y)
    return model.posterior_.elbo, np.median(np.diff(times))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", nargs="*", default=SETS)
    parser.add_argument("--max-iter", type=int, default=250)
    parser.add_argument("--tol", type=float, default=vb.Settings.tol)
    chosen = parser.parse_args()
    print("| table | way | iterations | ELBO | to the first's ELBO | ms each | s to there |")
    print("|---|---|---|---|---|---|---|")
    for name in chosen.sets:
        X, y = table(name)
        target = None
        for way, (joint, momentum) in WAYS.items():
            elbo, seconds = run(X, y, joint, momentum, chosen.max_iter)
            change = np.abs(np.diff(elbo) / elbo[1:])
            below = np.flatnonzero(change[1:] < chosen.tol)
            stop = below[0] + 2 if len(below) else len(elbo) - 1
            target = elbo[stop] if target is None else target
            reach = int(np.argmax(elbo >= target)) if (elbo >= target).any() else None
            print(
                f"| {name} {X.shape[0]} x {X.shape[1]} | {way} | {stop} | {elbo[stop]:.6g} | "
                f"{reach} | {1e3 * seconds:.1f} | {reach and reach * seconds:.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
