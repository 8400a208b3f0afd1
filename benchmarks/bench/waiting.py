"""What a person waits for on a small table: whole processes, from their start to their end.

`rankfactor fit` on 40 samples and 12 features with compiled kernels on disk and without any, other
commands, and beside them a process that imports scikit-learn and fits a LinearSVC to the same
table. Commands take turns, and the least of the repeats counts, of wall and processor time each.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SHAPE = 40, 12
FIT = "rankfactor fit, first time (kernels are compiled)", "rankfactor fit"
_SVM = """
import numpy, sys
from sklearn.svm import LinearSVC
table = numpy.genfromtxt(sys.argv[1], delimiter=",", dtype=str)[1:]
LinearSVC().fit(table[:, 1:-1].astype(float), table[:, -1])
"""


def write_table(path):
    """A CSV file of `SHAPE` with names and a label column."""
    n, d = SHAPE
    rng = np.random.default_rng(0)
    z = rng.standard_normal((n, 3))
    X = z @ rng.standard_normal((3, d)) + rng.standard_normal((n, d))
    lines = [",".join(["sample", *(f"feature{i}" for i in range(d)), "status"])]
    for number, (row, score) in enumerate(zip(X, z[:, 0], strict=True)):
        label = "ill" if score > 0 else "well"
        lines.append(",".join([f"s{number}", *(f"{value:.6g}" for value in row), label]))
    path.write_text("\n".join(lines) + "\n", "utf-8")


def commands(folder):
    """What is run, by its name; the first fit leaves the model that others read."""
    table, model = str(folder / "table.csv"), str(folder / "model.rankfactor")
    ours = [sys.executable, "-m", "rankfactor"]
    fit = [*ours, "fit", table, "--labels", "status", "--out", model, "--force"]
    predict = [*ours, "predict", model, table, "--out", str(folder / "new.csv"), "--force"]
    return {
        FIT[0]: fit,
        FIT[1]: fit,
        "rankfactor predict": predict,
        "rankfactor inspect": [*ours, "inspect", model],
        "rankfactor --help": [*ours, "--help"],
        "scikit-learn, LinearSVC": [sys.executable, "-c", _SVM, table],
    }


def seconds(command, cache):
    """Wall and processor seconds of a process, with kernels kept in a folder."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    subprocess.run(command, env=environment, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(repeats, tell):
    """Least wall and processor seconds of each command: ``{name: {"wall": ..., "cpu": ...}}``."""
    found = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "table.csv")
        for repeat in range(repeats):
            for what, command in commands(folder).items():
                # The second command onwards finds what the first one of the repeat has compiled.
                found.setdefault(what, []).append(seconds(command, folder / f"cache{repeat}"))
                tell(f"waiting, {what}: {found[what][-1][0]:.2f} s")
    return {
        what: dict(zip(("wall", "cpu"), map(min, zip(*times, strict=True)), strict=True))
        for what, times in found.items()
    }
