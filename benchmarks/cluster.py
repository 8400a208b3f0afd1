"""What a fit gains from workers of a cluster, what it moves, and what a worker that dies costs.

    .venv/bin/python benchmarks/cluster.py [--samples N,...] [--features D] [--workers W,...]
        [--training NAME] [--passes N] [--kill]
    .venv/bin/python benchmarks/cluster.py --shard D

Simulated counts of 10 factors with labels lie in a .npy file that the workers read; K = 20. Workers
are processes of one thread each on this machine, the client has one thread. Prints the seconds of
the core's fit at the client, of placing the shards, of all passes and of the rest, and the bytes
that one pass moves. `--passes` bounds the iterations of variational Bayes. `--kill` kills a worker
of the largest number in the middle of the passes. `--shard` prints what one shard of D
features costs: seconds of the processor by step, and bytes of what is sent, returned and held.
"""

import argparse
import os
import pickle
import signal
import tempfile
import threading
import time
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np

from rankfactor import RankFactorClassifier
from rankfactor.classifiers import Linear
from rankfactor.classifiers.linear import fit_linear
from rankfactor.engine import vb
from rankfactor.engine.fit_settings import Labels
from rankfactor.engine.large import fit
from rankfactor.engine.large.ascent import shared_of
from rankfactor.engine.large.connecting import connect
from rankfactor.engine.large.dask_placement import DaskPlacement
from rankfactor.engine.large.placement import bytes_per_sample, empty_scores
from rankfactor.engine.large.shard import (
    SHARD,
    Shard,
    ascend_shard,
    find_scores,
    settle_shard,
    train_shard,
)
from rankfactor.engine.large.sources import ArrayRows, ReadRows
from rankfactor.engine.large.totals import Totals
from rankfactor.engine.large.training import with_labels
from rankfactor.features.plan import FeaturePlan
from rankfactor.likelihoods import ObservedArray
from rankfactor.steps.workers import Workers
from rankfactor.tasks import encode_labels, signed_labels

FACTORS = 10
BLOCK = 8192


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--samples", default="50000,200000")
    options.add_argument("--features", type=int, default=500)
    options.add_argument("--workers", default="1,2")
    options.add_argument("--training", default="auto")
    options.add_argument("--passes", type=int, default=500)
    options.add_argument("--kill", action="store_true")
    options.add_argument("--shard", type=int, metavar="D")
    given = options.parse_args()
    if given.shard:
        measure_shard(given.shard)
        return
    warnings.simplefilter("ignore")
    counts = [int(one) for one in given.workers.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        for n in (int(one) for one in given.samples.split(",")):
            path = Path(folder) / f"{n}.npy"
            labels = simulate(path, n, given.features)
            for n_workers in counts:
                measure(path, labels, n_workers, given)
            if given.kill:
                measure(path, labels, max(counts), given, kill=True)
            path.unlink()


def simulate(path: Path, n: int, d: int) -> np.ndarray:
    """Write counts (n, d) to a file; labels (n,)."""
    loadings = np.random.default_rng(0).standard_normal((d, FACTORS))
    loadings *= np.random.default_rng(1).random(loadings.shape) < 0.3
    table = np.lib.format.open_memmap(path, "w+", np.uint16, (n, d))
    labels = np.empty(n, int)
    for first in range(0, n, BLOCK):
        rng = np.random.default_rng([2, first])
        rows = slice(first, min(first + BLOCK, n))
        z = rng.standard_normal((rows.stop - first, FACTORS))
        noise = rng.standard_normal((len(z), d))
        table[rows] = np.minimum(rng.poisson(np.exp(0.5 * z @ loadings.T + 0.5 * noise)), 65535)
        decision = z[:, 0] + 0.7 * z[:, 1] - 0.5 * z[:, 2]
        labels[rows] = decision + 0.5 * rng.standard_normal(len(z)) > 0
    table.flush()
    return labels


def values(rows: np.ndarray) -> np.ndarray:
    return rows.astype(float)


def measure(path: Path, y: np.ndarray, n_workers: int, given, kill: bool = False) -> None:
    """Fit on so many workers, and print what it took."""
    table = np.load(path, mmap_mode="r")
    n = len(table)
    estimator = RankFactorClassifier(
        n_factors=20, training=given.training, n_threads=1, max_iter=given.passes
    )
    model = estimator._build_model()
    settings = replace(estimator._classifier_settings(model), seed=0)
    sampled = np.random.default_rng(0).permutation(n)[: fit.SAMPLE]
    with connect(f"local:{n_workers}") as client:
        placing = []

        def watched(*arguments):
            placing.append(time.perf_counter())
            shards = place(*arguments)
            placing.append(time.perf_counter())
            if kill:
                number = next(iter(client.run(os.getpid).values()))
                threading.Timer(8.0, os.kill, (number, signal.SIGKILL)).start()
            return shards

        with DaskPlacement(ReadRows(ArrayRows(str(path)), values), client) as place:
            begun = time.perf_counter()
            plan, some = FeaturePlan.learn(values(np.asarray(table[sampled])))
            large = fit.LargeTable(n, sampled, some.values, some.given, {}, None)
            tasks, class_index = encode_labels(y, n)
            labels = Labels(tasks, class_index, signed_labels(tasks, class_index, None))
            posterior = fit.fit_large(model, plan, large, labels, settings, watched)
            ended = time.perf_counter()
            shards = place.shards[-1]
    passes = sum(one.seconds for one in shards.moved)
    core, placed = placing[0] - begun, placing[1] - placing[0]
    print(
        f"{n} x {table.shape[1]}, {n_workers} workers{', one killed' if kill else ''}: "
        f"{ended - begun:.1f} s = core {core:.1f} + placing {placed:.1f} + "
        f"{len(shards.moved)} passes {passes:.1f} + rest "
        f"{ended - begun - core - placed - passes:.1f}; {posterior.convergence}; "
        f"{shards.rebuilt} shards built again"
    )
    steps = Counter(one.step for one in shards.moved)
    for step, times in steps.items():
        own = [one for one in shards.moved if one.step == step]
        seconds = np.median([one.seconds for one in own])
        sent, received = own[-1].sent / 1e6, own[-1].received / 1e6
        print(
            f"    {step}: {times} times {seconds:.2f} s, {sent:.3f} MB sent, "
            f"{received:.3f} MB received",
            flush=True,
        )


def measure_shard(d: int) -> None:
    """Print what the steps of one shard cost."""
    with tempfile.TemporaryDirectory() as folder:
        y = simulate(Path(folder) / "table.npy", SHARD, d)
        X = values(np.load(Path(folder) / "table.npy"))
    model = RankFactorClassifier(n_factors=20)._build_model()
    coding = model.data.learn(X)
    begun = time.process_time()
    observed = coding.observe(X)
    print(f"coding: {time.process_time() - begun:.2f} s")
    signed = np.where(y == 1, 1.0, -1.0)[None]
    model = model.for_coding(coding)
    some = ObservedArray(np.ascontiguousarray(observed.tile(slice(None), slice(0, 256))))
    ascent = vb.Settings(max_iter=2, warns=False)
    labels = ObservedArray(signed[:, :256])
    rng = np.random.default_rng(0)
    joint = vb.ascend(model, coding, some, labels, ascent, rng, Workers())
    classifier = fit_linear(model, labels, joint.z, Workers())
    joint_shared = shared_of(joint)
    label_free = replace(joint_shared, label_view=None, label_state=None)
    trained = with_labels(label_free, model, Linear(classifier.rows))
    z = empty_scores(SHARD, model.n_factors)
    shard = Shard(0, observed, signed, np.zeros(SHARD, bool), z)
    weight = 100.0
    for step, *arguments in (
        (find_scores, label_free),
        (ascend_shard, joint_shared, None),
        (train_shard, trained, Linear(classifier.rows), weight),
        (settle_shard, label_free),
    ):
        step(shard, *arguments)  # compile
        begun = time.process_time()
        found = step(shard, *arguments)
        seconds = time.process_time() - begun
        line = f"{step.__name__}: {seconds:.2f} s"
        line += f", {len(pickle.dumps(arguments)) / 1e6:.2f} MB sent"
        if found is not None:
            begun, totals = time.process_time(), Totals()
            totals.add(found)
            totals.add(found)
            line += f", {totals.nbytes / 1e6:.2f} MB returned"
            line += f", adding {(time.process_time() - begun) / 2:.3f} s"
        print(line, flush=True)
    held = bytes_per_sample(coding, model.n_factors) * SHARD
    print(f"held: {held / 1e6:.2f} MB for {SHARD} samples")


if __name__ == "__main__":
    main()
