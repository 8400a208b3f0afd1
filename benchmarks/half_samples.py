"""Spreads of effects by half-samples: their true size, and what is clear in wide tables.

    .venv/bin/python -m benchmarks.half_samples            # takes about 5 minutes
    .venv/bin/python -m benchmarks.half_samples --of wide

Label-free training, R-L-BSVM. ``--of spread``: the same loadings, 25 independent tables of 100
samples. The standard deviation of an effect over the tables, over the root mean square of half the
differences of complementary halves (6 pairs a table), without the correction for shrinkage: mean
over features without any loading, and over the others.

``--of wide``: tables of many features of which most are noise. Of the effects that are clear by 30
half-sample fits, the share of noise features, and the share of the other features that is clear.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from rankfactor import RankFactorClassifier
from rankfactor.evaluation import stability
from rankfactor.posterior.certainty import effect_certainty
from rankfactor.steps.workers import Workers

K, NOISE, BETA = 3, 0.7, np.array([1.5, -1.0, 0.0])


def loadings(rng: np.random.Generator, d: int, noise: float) -> np.ndarray:
    """Sparse loadings; a share of the features has none."""
    A = rng.standard_normal((d, K)) * (rng.random((d, K)) < 0.5)
    A[rng.random(d) < noise] = 0.0
    return A


def draw(rng: np.random.Generator, n: int, A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    z = rng.standard_normal((n, K))
    X = z @ A.T + NOISE * rng.standard_normal((n, len(A)))
    return X, z @ BETA + rng.standard_normal(n) > 0


def estimator(n_factors: int) -> RankFactorClassifier:
    return RankFactorClassifier(
        n_factors=n_factors, training="label-free", calibration="none", random_state=0, n_threads=1
    )


def spread(d: int, tables: int = 25, n: int = 100, pairs: int = 6) -> None:
    A = loadings(np.random.default_rng(5), d, 0.5)
    ends = np.outer([-0.67, 0.67], np.sqrt((A**2).sum(axis=1) + NOISE**2))

    def effects(X: np.ndarray, y: np.ndarray) -> np.ndarray:
        posterior = estimator(K).fit(X, y).posterior_
        observed, columns = posterior.coding.observe(X), posterior.coding.columns
        found = posterior.find_effects(observed, ends[:, columns], Workers(), posterior.scores)
        return found.decision[0]

    full, halves = [], []
    for seed in range(tables):
        rng = np.random.default_rng(100 + seed)
        X, y = draw(rng, n, A)
        full.append(effects(X, y))
        for _ in range(pairs):
            one, other = np.split(rng.permutation(n), 2)
            halves.append((effects(X[one], y[one]) - effects(X[other], y[other])) / 2)
    ratio = np.std(full, axis=0) / np.sqrt(np.mean(np.square(halves), axis=0))
    none = (A == 0).all(axis=1)
    print(f"| 100 x {d} | {ratio[none].mean():.2f} | {ratio[~none].mean():.2f} |", flush=True)


def wide(n: int, d: int, noise: float, n_factors: int, tables: int) -> None:
    clear, false, found, true = 0, 0, 0, 0
    for seed in range(tables):
        rng = np.random.default_rng(500 + seed)
        A = loadings(rng, d, noise)
        X, y = draw(rng, n, A)
        model = estimator(n_factors)
        posterior = model.fit(X, y).posterior_
        posterior = posterior.with_stability(
            stability(model, X, y, repeats=30, posterior=posterior, n_jobs=2)
        )
        chosen, none = effect_certainty(posterior).clear[0], (A == 0).all(axis=1)
        clear, false = clear + int(chosen.sum()), false + int((chosen & none).sum())
        found, true = found + int((chosen & ~none).sum()), true + int((~none).sum())
    shares = f"{false / max(clear, 1):.3f} | {found / true:.2f}" if true else "- | -"
    print(f"| {n} x {d} | {noise:.0%} | {tables} | {clear} | {shares} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=("spread", "wide"), default="spread")
    warnings.simplefilter("ignore")
    if parser.parse_args().of == "spread":
        print("| table | features without loadings | others |\n|---|---|---|")
        for d in (60, 500):
            spread(d)
        return
    print("| table | noise features | tables | clear effects | of them noise | found |")
    print("|---|---|---|---|---|---|")
    wide(150, 400, 0.8, K, 5)
    wide(100, 1000, 0.9, 20, 5)
    wide(100, 1000, 1.0, 20, 5)


if __name__ == "__main__":
    main()
