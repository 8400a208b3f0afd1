"""How the cost of an iteration grows: slopes of log seconds in log size, one thing at a time."""

import tempfile
from pathlib import Path

import numpy as np
from benchmarks.bench.runner import Child
from benchmarks.bench.tables import simulate

BASE = {"n": 512, "d": 1024, "n_factors": 20, "max_cuts": 8}
SIZES = {
    "n": (512, 1024, 2048, 4096),
    "d": (1024, 2048, 4096, 8192),
    "n_factors": (10, 20, 40, 80),
    "max_cuts": (4, 8, 16, 32),
}
QUICK_BASE = {"n": 48, "d": 32, "n_factors": 3, "max_cuts": 4}
QUICK_SIZES = {"max_cuts": (4, 8)}
ENGINES = ("rankfactor VB", "rankfactor Gibbs")


def measure(quick, repeats, budget, tell):
    """Seconds an iteration by size, on one thread, and the slope through them."""
    base, sizes = (QUICK_BASE, QUICK_SIZES) if quick else (BASE, SIZES)
    found = {}
    for engine in ENGINES:
        found[engine] = {}
        for what, values in sizes.items():
            seconds = _seconds(engine, base, what, values, repeats, budget)
            slope = float(np.polyfit(np.log(values), np.log(seconds), 1)[0])
            found[engine][what] = {"sizes": list(values), "seconds": seconds, "slope": slope}
            tell(f"scaling of {engine} with {what}: {slope:.2f}")
    return {"base": base, "engines": found}


def _seconds(engine, base, what, values, repeats, budget):
    """Least seconds at each size; the sizes take turns."""
    with tempfile.TemporaryDirectory() as top:
        children = []
        for value in values:
            size = {**base, what: value}
            folder = Path(top) / str(value)
            folder.mkdir()
            X, y = simulate(size["n"], size["d"])
            np.save(folder / "X.npy", X)
            np.save(folder / "y.npy", y)
            arguments = {key: size[key] for key in ("n_factors", "max_cuts")}
            children.append(Child(engine, folder, 1, arguments))
        try:
            first = [child.ask(do="stretch", n=3)["seconds"] for child in children]
            lengths = [int(np.clip(budget / each, 3, 100)) for each in first]
            least = first
            for _ in range(repeats):
                for number, child in enumerate(children):
                    again = child.ask(do="stretch", n=lengths[number])["seconds"]
                    least[number] = min(least[number], again)
        finally:
            for child in children:
                child.__exit__()
    return least
