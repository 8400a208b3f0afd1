"""Seconds and memory of fits to tables of many samples.

    make bench-scale                                    # all rows but the sparse ones
    make bench-scale SCALE='--rows 10k,100k'
    make bench-scale SCALE='--rows sparse --passes 2 --scratch /data/scratch'
    make bench-scale SCALE='--rows sparse-40k --likelihood ordinal_probit'

Counts are simulated: z_n ~ N(0, I_10), x_ni ~ Poisson(exp(b_i + a_i . z_n)) with loadings a_i ~
N(0, 0.3^2 I) and b_i ~ N(1, 0.5^2), or b_i so that 5 % of the counts are above zero (sparse); the
label is the sign of w . z_n + noise of half its standard deviation. Tables are written in chunks of
rows to a scratch folder, as .npy of uint16 or as .h5ad in CSR, and removed afterwards.

Every fit is a process of its own, with K = 20, two threads and labels. It first fits a tiny table,
which imports everything and loads compiled kernels. "peak MB" is the most memory that is resident
during the fit above that just before it. Pages of scratch files count while they are mapped.
"memory" fits the table from memory, without a limit; its peak is above the table. The AUC and the
share of right classes are those of 5,000 new samples. Stages: reading (the survey), start (the fit
to the first samples), coding, scores (finding and settling them), passes, classifiers (with
calibration), rest (standard form, effects). Tables of up to 32,768 samples are fitted whole, so
they have the first two and the rest.
`--passes` fits jointly with that `max_iter`: the memory is that of a whole fit, since
later passes do the same.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

# Name: samples, features, kind.
ROWS = {
    "10k": (10_000, 500, "npy"),
    "100k": (100_000, 500, "npy"),
    "1M": (1_000_000, 500, "npy"),
    "memory": (100_000, 200, "memory"),
    "sparse": (100_000, 33_000, "h5ad"),
    "sparse-40k": (40_000, 3_000, "h5ad"),
}
USUAL = ("10k", "100k", "1M", "memory")
FACTORS, CHUNK, NEW = 10, 2000, 5000
STAGES = {
    "Reading the table": "reading",
    "Coding samples": "coding",
    "Finding scores": "scores",
    "Settling scores": "scores",
    "Pass over all samples": "passes",
    "Fitting classifiers": "classifiers",
    "Checking held-out labels": "classifiers",
    "Encoding samples": "rest",
}
COLUMNS = ("reading", "start", "coding", "scores", "passes", "classifiers", "rest")


class Simulated:
    """Counts and labels of samples, chunk by chunk."""

    def __init__(self, n_features: int, sparse: bool) -> None:
        rng = np.random.default_rng(0)
        self.loadings = 0.3 * rng.standard_normal((n_features, FACTORS))
        # Scores raise the mean count by exp(0.45), to 0.053: 5 % of the counts are above zero.
        self.offset = np.log(0.034) if sparse else 1 + 0.5 * rng.standard_normal(n_features)
        self.weights = rng.standard_normal(FACTORS)

    def chunk(self, seed: int, n: int) -> tuple[Any, Any]:
        """Counts (n, features) and labels (n,)."""
        rng = np.random.default_rng([1, seed])
        z = rng.standard_normal((n, FACTORS))
        counts = rng.poisson(np.exp(np.minimum(self.offset + z @ self.loadings.T, 10.0)))
        signal = z @ self.weights
        noise = 0.5 * np.linalg.norm(self.weights) * rng.standard_normal(n)
        return counts.astype(np.uint16), np.where(signal + noise > 0, "case", "control")


def written(folder: Path, n: int, n_features: int, kind: str) -> tuple[Path, Any]:
    """A table on the disk, and its labels."""
    simulated, labels = Simulated(n_features, kind == "h5ad"), []
    path = folder / ("table.h5ad" if kind == "h5ad" else "table.npy")
    sizes = [min(CHUNK, n - first) for first in range(0, n, CHUNK)]
    if kind == "h5ad":
        return path, written_sparse(path, simulated, sizes, n_features)
    table = np.lib.format.open_memmap(path, "w+", np.uint16, (n, n_features))
    for number, size in enumerate(sizes):
        counts, some = simulated.chunk(number, size)
        table[number * CHUNK : number * CHUNK + size] = counts
        labels.append(some)
    table.flush()
    return path, np.concatenate(labels)


def written_sparse(path: Path, simulated: Simulated, sizes: list[int], n_features: int) -> Any:
    """Write an .h5ad file of single precision, CSR, in chunks of rows; its labels."""
    import h5py
    import pandas as pd
    from anndata.io import write_elem
    from scipy.sparse import csr_matrix

    labels, ends = [], [0]
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs.update(
            {"encoding-type": "csr_matrix", "encoding-version": "0.1.0"},
            shape=np.array([sum(sizes), n_features]),
        )
        kinds = {"data": np.float32, "indices": np.int32}
        stored = {
            name: group.create_dataset(name, (0,), kind, maxshape=(None,), chunks=(2**20,))
            for name, kind in kinds.items()
        }
        for number, size in enumerate(sizes):
            counts, some = simulated.chunk(number, size)
            part = csr_matrix(counts.astype(np.float32))
            for name, dataset in stored.items():
                dataset.resize((ends[-1] + part.nnz,))
                dataset[ends[-1] :] = getattr(part, name)
            ends += (part.indptr[1:].astype(np.int64) + ends[-1]).tolist()
            labels.append(some)
        group.create_dataset("indptr", data=np.array(ends, np.int64))
        write_elem(file, "obs", pd.DataFrame(index=[f"s{i}" for i in range(sum(sizes))]))
        write_elem(file, "var", pd.DataFrame(index=[f"g{i}" for i in range(n_features)]))
    return np.concatenate(labels)


class Clock:
    """Seconds of every stage: a progress function of a fit."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(COLUMNS, 0.0)
        self.passes = 0
        self._last, self._sharded = time.perf_counter(), False

    def __call__(self, iteration: int, elbo: float, change: float) -> None:
        self.passes += self._sharded
        self._add("passes" if self._sharded else "start")
        if self._sharded:
            print(f"pass {self.passes}, {sum(self.seconds.values()):.0f} s", file=sys.stderr)

    def stage(self, name: str, done: int, total: int) -> None:
        """Told how far a step is."""
        if name == "Coding samples" and not self._sharded:
            # What passed since the last iteration is mostly the coding of the first shard.
            self._sharded = True
        self._add(STAGES[name])

    def stop(self) -> None:
        """The rest, after the last stage."""
        self._add("rest")

    def _add(self, column: str) -> None:
        now = time.perf_counter()
        self.seconds[column] += now - self._last
        self._last = now


def resident(name: str) -> int:
    """VmRSS (now) or VmHWM (the most so far) in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def small_fit() -> None:
    """Import everything and load compiled kernels, by a fit by shards."""
    from rankfactor import RankFactorClassifier
    from rankfactor.engine.large import fit, held_out, placement
    from rankfactor.estimators import large

    small = {"LARGE": 300, "SAMPLE": 400, "CORE": 256, "WITHHELD": 100, "SHARD": 64}
    modules = (large, fit, held_out, placement)
    usual = [(m, name, getattr(m, name)) for m in modules for name in small if hasattr(m, name)]
    for module, name, _ in usual:
        setattr(module, name, small[name])
    counts, labels = Simulated(50, False).chunk(0, 900)
    for kind in (np.uint16, np.float64):
        model = RankFactorClassifier(n_factors=20, n_threads=2, random_state=0)
        model.fit(counts.astype(kind), labels).predict_proba(counts)
    for module, name, value in usual:
        setattr(module, name, value)


def child(order: dict[str, Any]) -> dict[str, Any]:
    """Fit once, and measure."""
    from sklearn.metrics import roc_auc_score

    from rankfactor import RankFactorClassifier

    warnings.simplefilter("ignore")
    small_fit()
    _, n_features, kind = order["shape"]
    labels = np.load(order["labels"])
    arguments = {"memory": order["memory"], "scratch": order["scratch"]}
    table: Any = order["table"]
    if kind == "memory":
        table, arguments = np.load(table).astype(float), {}
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # forgets the most so far
    before, began = resident("VmRSS"), time.perf_counter()
    clock = Clock()
    arguments |= order["arguments"]
    model = RankFactorClassifier(
        n_factors=20, n_threads=2, random_state=0, progress=clock, **arguments
    ).fit(table, labels)
    clock.stop()
    seconds, peak = time.perf_counter() - began, resident("VmHWM") - before
    print(f"fitted in {seconds:.0f} s, peak {peak / 1e6:.0f} MB", file=sys.stderr)
    counts, answers = Simulated(n_features, kind == "h5ad").chunk(10**6, NEW)
    new: Any = counts
    if kind == "h5ad":
        import pandas as pd

        new = pd.DataFrame(counts.astype(np.float32), columns=[f"g{i}" for i in range(n_features)])
    chance = model.predict_proba(new)
    return {
        "seconds": seconds,
        "peak": peak,
        "auc": roc_auc_score(answers == "control", chance[:, 1]),
        "right": float((model.classes_[chance.argmax(axis=1)] == answers).mean()),
        "stages": clock.seconds,
        "passes": clock.passes,
        "convergence": str(model.convergence_),
    }


def measured(
    name: str, memory: str, scratch: str | None, arguments: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Write a table, fit it in a process of its own, and remove it."""
    n, n_features, kind = ROWS[name]
    with tempfile.TemporaryDirectory(prefix="rankfactor-scale-", dir=scratch) as folder:
        path, labels = written(Path(folder), n, n_features, kind)
        np.save(Path(folder) / "labels.npy", labels)
        order = {
            "shape": ROWS[name],
            "table": str(path),
            "labels": str(Path(folder) / "labels.npy"),
            "memory": memory,
            "scratch": folder,
            "arguments": arguments or {},
        }
        run = subprocess.run(
            [sys.executable, __file__, "--child", json.dumps(order)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    """Print a table of the rows that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", default=",".join(USUAL), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--scratch", help="folder for tables and scratch files")
    parser.add_argument("--passes", type=int, help="max_iter of a joint fit")
    parser.add_argument("--likelihood", help="that of the table, by default the model's choice")
    parser.add_argument("--training", help='by default "auto"')
    parser.add_argument("--child", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        print(json.dumps(child(json.loads(given.child))))
        return
    arguments = {name: getattr(given, name) for name in ("likelihood", "training")}
    arguments = {name: value for name, value in arguments.items() if value is not None}
    if given.passes is not None:
        arguments |= {"training": "bayes", "max_iter": given.passes}
    heads = ("row", "table", *(f"{one} s" for one in COLUMNS), "in all s", "passes")
    heads = (*heads, "peak MB", "bytes an entry", "AUC", "right")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for name in given.rows.split(","):
        found = measured(name, given.memory, given.scratch, arguments)
        n, n_features, _ = ROWS[name]
        cells = [name, f"{n:,} x {n_features:,}"]
        cells += [f"{found['stages'][one]:.1f}" for one in COLUMNS]
        cells += [f"{found['seconds']:.1f}", str(found["passes"]), f"{found['peak'] / 1e6:.0f}"]
        cells += [
            f"{found['peak'] / (n * n_features):.2f}",
            f"{found['auc']:.3f}",
            f"{found['right']:.3f}",
        ]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
