"""How many factors: parallel analysis beside the ELBO and beside what the prior keeps.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/how_many.py

First table: in how many of 120 simulated tables ``n_factors="auto"`` finds the true number. There
are ten tables for every size and number of factors: four with noise of half the signal's standard
deviation, three with such noise after exp(2x), and three with noise as large as the signal. Half of
the loadings are zero. ``--first`` prints this table alone.

Second table: for one simulated table of every size and number, and for real tables, the number by
parallel analysis, the number of factors with the highest ELBO of a label-free fit among `GRID`, and
the number in use (``n_active_``) of a label-free fit with 20 factors. Of the sets with a test part,
only the training part is read. Sets of the folder are left out if there is no folder.
"""

import sys
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfactor import RankFactorAnalysis
from rankfactor.data import collection, data_directory
from rankfactor.engine.parallel_analysis import count_factors
from rankfactor.likelihoods import MarginRank
from rankfactor.posterior.factor_count import FactorCount
from rankfactor.steps.workers import workers

SIZES = ((300, 60), (150, 200), (100, 1000))
FACTORS = (2, 3, 5, 8)
# Noise in units of the signal, whether values are exponentiated, and how many tables.
KINDS = {"plain": (0.5, False, 4), "exp(2x)": (0.5, True, 3), "noise = signal": (1.0, False, 3)}
GRID = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30)
REAL = ("bfi", "alzheimer", "tb_gse19491", "usps_3v5", "alon", "golub")
WITHOUT_FILES = ("bfi", "alzheimer")


def simulated(n: int, d: int, k: int, noise: float, skewed: bool, seed: int) -> Any:
    """A table (n, d) with k factors."""
    rng = np.random.default_rng([n, d, k, seed])
    loadings = rng.standard_normal((d, k)) * (rng.random((d, k)) < 0.5)
    w = rng.standard_normal((n, k)) @ loadings.T
    spread = w.std(axis=0)
    x = w / np.where(spread > 0, spread, 1.0) + noise * rng.standard_normal((n, d))
    return np.exp(2 * x) if skewed else x


def count(table: Any) -> FactorCount:
    """Parallel analysis of a table, as a fit with ``n_factors="auto"`` does it."""
    part = MarginRank()
    values = np.asarray(table, float)
    observed = part.learn(values).observe(values)
    with workers(None) as pool:
        return count_factors(observed, part.normal_scores(observed), 0, pool)


def fitted(table: Any, k: int) -> RankFactorAnalysis:
    """A label-free fit with so many factors."""
    return RankFactorAnalysis(n_factors=k, random_state=0).fit(np.asarray(table, float))


def by_elbo(table: Any) -> int:
    """The number of factors with the highest ELBO."""
    grid = [k for k in GRID if k < min(table.shape)]
    bounds = [fitted(table, k).elbo_ for k in grid]
    return grid[int(np.argmax(bounds))]


def real_tables() -> Iterator[tuple[str, Any]]:
    """Names and training parts of real tables."""
    for name in REAL:
        if name not in WITHOUT_FILES and data_directory() is None:
            continue
        data = collection.load(name)
        train = np.ones(len(data.table), bool)
        if "part" in data.labels:
            train = (data.labels["part"] == "train").to_numpy()
        yield name, data.table.to_numpy(float)[train]


def first_table() -> None:
    """Print how often the true number is found."""
    print(f"| samples x features | kind | {' | '.join(f'{k} factors' for k in FACTORS)} |")
    print("|" + "---|" * (2 + len(FACTORS)))
    right = total = 0
    for n, d in SIZES:
        for place, (kind, (noise, skewed, n_tables)) in enumerate(KINDS.items()):
            cells = []
            for k in FACTORS:
                seeds = range(10 * place, 10 * place + n_tables)
                found = [count(simulated(n, d, k, noise, skewed, s)).n_found for s in seeds]
                right, total = right + found.count(k), total + n_tables
                wrong = sorted(one for one in found if one != k)
                others = f" ({', '.join(map(str, wrong))})" if wrong else ""
                cells.append(f"{found.count(k)} of {n_tables}{others}")
            print(f"| {n} x {d} | {kind} | {' | '.join(cells)} |", flush=True)
    print(f"\nRight in {right} of {total}. In parentheses: the wrong numbers.\n")


def second_table() -> None:
    """Print the three numbers of every table."""
    print("| table | true | parallel analysis | seconds | highest ELBO | in use at K = 20 |")
    print("|" + "---|" * 6)
    cases = [
        (f"{n} x {d}, {k} factors", k, simulated(n, d, k, 0.5, False, 0))
        for n, d in SIZES
        for k in FACTORS
    ]
    for name, k, table in (*cases, *((name, "", table) for name, table in real_tables())):
        started = time.perf_counter()
        found = count(table).n_found
        seconds = time.perf_counter() - started
        if not k:
            name = f"{name}, {table.shape[0]} x {table.shape[1]}"
        rest = f"{by_elbo(table)} | {fitted(table, 20).n_active_}"
        print(f"| {name} | {k} | {found} | {seconds:.1f} | {rest} |", flush=True)


def main() -> None:
    """Print both tables."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    first_table()
    if "--first" not in sys.argv[1:]:
        second_table()


if __name__ == "__main__":
    main()
