"""The forms of nonlinear classifiers, on classes that no line separates and on real tables.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/nonlinear.py
        [simulated | real] [--models kernel forest ...] [--results FILE]

Simulated: 60 features of 4 factors, fitted with 6; a loading is standard normal with probability
0.4, else zero, and the noise is standard normal. The class depends on the first two scores:
exclusive or, the sign of their product; ring, their length above the median; islands, one class in
two clusters within the other; moons, two half circles; linear, a noisy sum. Tables of 200, 500 and
2,000 samples, of seeds 0 to 7, 0 to 4 and 0 to 1, and 2,000 samples to test on. AUC, and its
standard error over tables.

Real: AUC and error in per cent by five folds, the same for all models, of seed 0; of sets with a
given split the training part only. Processor seconds are those of a fit.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
from defaults import SETS, load
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from rankfactor import RankFactorClassifier
from rankfactor.data import data_directory
from rankfactor.evaluation.baselines import RBFSVM, RandomForest

TABLES = {200: 8, 500: 5, 2000: 2}
N_TEST = 2000
SHAPES = ("exclusive or", "ring", "islands", "moons", "linear")
REAL = (
    "usps_3v5, training part",
    "heart_disease",
    "alzheimer_csf, Impairment",
    "alzheimer_csf, APOE4",
    "tb_gse19491",
)


def drawn(shape: str, n: int, seed: int) -> tuple[Any, Any]:
    """A table (n, 60), and whether a sample is positive."""
    rng = np.random.default_rng([seed, SHAPES.index(shape)])
    loadings = rng.standard_normal((60, 4)) * (rng.random((60, 4)) < 0.4)
    z = rng.standard_normal((n, 4))
    if shape == "exclusive or":
        y = z[:, 0] * z[:, 1] > 0
    elif shape == "ring":
        y = (z[:, :2] ** 2).sum(axis=1) > 2 * np.log(2)
    elif shape == "islands":
        y, side = rng.random(n) < 0.5, np.where(rng.random(n) < 0.5, 1.3, -1.3)
        z[y, :2] = 0.45 * z[y, :2] + side[y, None]
    elif shape == "moons":
        y, angle = rng.random(n) < 0.5, np.pi * rng.random(n)
        first = np.where(y, 1 - np.cos(angle), np.cos(angle))
        second = np.where(y, 0.5 - np.sin(angle), np.sin(angle))
        z[:, 0] = (first - 0.5) / 0.87 + 0.15 * rng.standard_normal(n)
        z[:, 1] = (second - 0.25) / 0.5 + 0.25 * rng.standard_normal(n)
    else:
        y = z[:, 0] + z[:, 1] + 0.5 * rng.standard_normal(n) > 0
    return z @ loadings.T + rng.standard_normal((n, 60)), y


def models(n_factors: int) -> dict[str, Callable[[], Any]]:
    """Ways to make the models, by name."""
    plain = {
        "n_factors": n_factors,
        "calibration": "none",
        "random_state": 0,
        "n_threads": 1,
    }

    def nonlinear(**form: str) -> Callable[[], Any]:
        return lambda: RankFactorClassifier("R-NL-BSVM", **plain, **form)

    return {
        "auto": nonlinear(),
        "kernel": nonlinear(experts="kernel"),
        "kernel, predictive": nonlinear(experts="kernel", training="predictive"),
        "mixed, predictive": nonlinear(experts="mixed", training="predictive"),
        "mixed, joint": nonlinear(experts="mixed", training="bayes"),
        "per component": nonlinear(experts="per_component"),
        "linear, joint": lambda: RankFactorClassifier("R-L-BSVM", training="bayes", **plain),
        "RBF-SVM": RBFSVM,
        "forest": RandomForest,
    }


def positive(model: Any, X: Any) -> Any:
    """How much a model speaks for the positive class, shape (n,)."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict_proba(X)[:, 1] - 0.5


def judged(
    case: str, chosen: dict[str, Any], X: Any, y: Any, train: Any, test: Any
) -> Iterator[Any]:
    """AUC, error and seconds of every model."""
    for name, make in chosen.items():
        start = time.process_time()
        fitted = make().fit(X[train], y[train])
        seconds = time.process_time() - start
        decision = positive(fitted, X[test])
        yield {
            "case": case,
            "model": name,
            "auc": roc_auc_score(y[test], decision),
            "error": 100 * np.mean((decision > 0) != y[test]),
            "seconds": seconds,
        }


def simulated(names: list[str]) -> Iterator[Any]:
    """Results on simulated tables."""
    chosen = {name: models(6)[name] for name in names}
    for n, n_tables in TABLES.items():
        for shape in SHAPES:
            for seed in range(n_tables):
                X, y = drawn(shape, n + N_TEST, seed)
                part = np.arange(n + N_TEST) < n
                yield from judged(f"{shape}, {n}", chosen, X, y, part, ~part)
            print(shape, n, file=sys.stderr, flush=True)


def real(names: list[str]) -> Iterator[Any]:
    """Results on real tables, five folds each."""
    folder = data_directory()
    chosen = {name: models(20)[name] for name in names}
    for name in REAL if folder is not None else ():
        X, y = load(folder, SETS[name])[:2]
        folds = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        for train, test in folds:
            yield from judged(name, chosen, X, y, train, test)
        print(name, file=sys.stderr, flush=True)


def main() -> None:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", nargs="?", choices=("simulated", "real"))
    parser.add_argument("--models", nargs="+", choices=list(models(6)), default=list(models(6)))
    parser.add_argument("--results")
    asked = parser.parse_args()
    parts = {"simulated": simulated, "real": real}
    chosen = [asked.part] if asked.part else list(parts)
    frame = pd.DataFrame(one for part in chosen for one in parts[part](asked.models))
    if asked.results:
        frame.to_csv(asked.results, index=False)
    columns = asked.models
    print(f"| case | {' | '.join(columns)} |\n|" + "---|" * (1 + len(columns)))
    for case, part in frame.groupby("case", sort=False):
        cells = []
        for name in columns:
            own = part[part["model"] == name]
            spread = own["auc"].std() / np.sqrt(len(own))
            cells.append(f"{own['auc'].mean():.3f} ± {spread:.3f}, {own['error'].mean():.1f}")
        print(f"| {case} | {' | '.join(cells)} |")
    seconds = frame.pivot_table("seconds", "case", "model", sort=False)[columns]
    print(f"\nProcessor seconds of a fit:\n{seconds.round(2).to_string()}")


if __name__ == "__main__":
    main()
