"""How often 90 % intervals hold the truth: decisions, effects, coefficients and loadings.

    .venv/bin/python -m benchmarks.interval_coverage
    .venv/bin/python -m benchmarks.interval_coverage --of stability

Decisions of new samples: tables are drawn from the model itself (Gaussian features with a noise of
their own, probit labels, three factors, half of the loadings zero), so that the true decision of
every new sample is known: f = beta . z + beta_0. The interval is `predict_interval(level=0.9)` of a
sample that was not in training.

``--of stability``: effects of features, coefficients and loadings, with the intervals of refits to
half-samples (`rankfactor.posterior.certainty`). Tables are those of `benchmarks.sign_rates`. The
truth is what the same model finds in a table of LARGE samples of the same population, so that all
likelihoods, classifiers and trainings have one. Effects are given apart for the features that drive
the label and for those that do not. "Up to scale": the truth is multiplied by the number that
brings it nearest to the effects found, since shrinkage makes all decisions smaller together.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from benchmarks.sign_rates import MODELS, K, simulate_labels
from sklearn.exceptions import ConvergenceWarning

from rankfactor import Gibbs, RankFactorClassifier
from rankfactor.engine.alignment import match_factors
from rankfactor.evaluation import stability
from rankfactor.posterior.certainty import (
    Certainty,
    coefficient_certainty,
    effect_certainty,
    loading_certainty,
)

REPLICATES, N_NEW = 20, 200
LARGE = 8000
ENGINES = {"variational Bayes": "vb", "Gibbs": Gibbs(n_draws=200, burn_in=200, n_predict=50)}


def simulate(rng, n, d=30, k=3):
    """Features, labels and true decisions of n training and N_NEW new samples."""
    loadings = rng.standard_normal((d, k)) * (rng.random((d, k)) < 0.5)
    z = rng.standard_normal((n + N_NEW, k))
    noise = rng.uniform(0.3, 1.0, d)
    X = z @ loadings.T + noise * rng.standard_normal((n + N_NEW, d))
    f = z @ np.array([1.5, -1.0, 0.0]) + 0.3
    y = f + rng.standard_normal(n + N_NEW) > 0
    return X[:n], y[:n], X[n:], f[n:]


def held(certainty: Certainty, truth: np.ndarray) -> np.ndarray:
    """Which intervals hold the truth."""
    return (certainty.low <= truth) & (truth <= certainty.high)


def by_stability(tables: int, repeats: int) -> None:
    """Print how often intervals of half-sample fits hold what a large table says."""
    print(
        "| model | training | samples | effects that drive | the same up to scale | other effects "
        "| coefficients | loadings | scale |"
    )
    print("|---" * 9 + "|")
    for name, training in MODELS[:5]:
        for n in (100, 400):
            rows = [_coverage(name, training, n, seed, repeats) for seed in range(tables)]
            cells = " | ".join(f"{value:.2f}" for value in np.mean(rows, axis=0))
            print(f"| {name} | {training} | {n} | {cells} |", flush=True)


def _coverage(name: str, training: str, n: int, seed: int, repeats: int) -> list[float]:
    model = RankFactorClassifier(
        name, n_factors=K, training=training, calibration="none", random_state=0, n_threads=1
    )
    X, y, _ = simulate_labels(LARGE, seed)
    large = model.fit(X, y).posterior_
    X, y, drives = simulate_labels(n, seed)
    posterior = model.fit(X, y).posterior_
    posterior = posterior.with_stability(
        stability(model, X, y, repeats=repeats, posterior=posterior)
    )
    order, sign = match_factors(large.structure, posterior.structure)
    effects, truth = effect_certainty(posterior).at(0), large.effects.decision[0]
    scale = (truth @ effects.mean) / (truth @ truth)
    right, similar = held(effects, truth), held(effects, scale * truth)
    true = large.classifiers.rows.mean[:, :K] * large.samples.sd
    coefficients = held(coefficient_certainty(posterior), sign * true[:, order])
    loadings = held(loading_certainty(posterior), sign * large.structure[:, order])
    found = right[drives], similar[drives], right[~drives], coefficients, loadings
    return [*(one.mean() for one in found), scale]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=("decisions", "stability"), default="decisions")
    parser.add_argument("--tables", type=int, default=10, help="with --of stability")
    parser.add_argument("--repeats", type=int, default=50, help="half-sample fits")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.of == "stability":
        by_stability(options.tables, options.repeats)
        return
    print("| training samples | engine | intervals that hold the truth | mean width |")
    print("|---|---|---|---|")
    for n in (100, 400):
        for name, engine in ENGINES.items():
            rng = np.random.default_rng(0)
            hits, widths = [], []
            for _ in range(REPLICATES):
                X, y, new, truth = simulate(rng, n)
                model = RankFactorClassifier(
                    "G-L-Probit", n_factors=6, training="bayes", engine=engine, random_state=0
                ).fit(X, y)
                low, high = model.predict_interval(new, 0.9).T
                hits.append(np.mean((low <= truth) & (truth <= high)))
                widths.append(np.mean(high - low))
            print(f"| {n} | {name} | {np.mean(hits):.3f} | {np.mean(widths):.2f} |", flush=True)


if __name__ == "__main__":
    main()
