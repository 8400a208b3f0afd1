"""Do local false sign rates keep what they promise? Simulated tables with known sparse loadings.

Factors are matched to the true ones by order and sign. The mean |cosine| of found and true
standardised loadings; then, of all loadings with a rate below 0.05, and of the ten largest of each
factor: the share whose true loading is zero, the share whose true loading has the other sign, and
the mean rate, which is the share of both that is promised. ``--start components`` fits from
principal components without any rotation, as earlier versions did; ``--figure`` draws true against
found loadings of one table from both starts.
"""

from __future__ import annotations

import argparse
import warnings

import matplotlib.pyplot as plt
import numpy as np
from benchmarks.rotation import choose
from scipy.optimize import linear_sum_assignment

from rankfactor import Gibbs, RankFactorAnalysis
from rankfactor.interpret import top_features
from rankfactor.posterior.certainty import loading_rates

D, K, NOISE = 60, 3, 0.7


def simulate(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((D, K)) * (rng.random((D, K)) < 0.4)
    scores = rng.standard_normal((n, K))
    return scores @ loadings.T + NOISE * rng.standard_normal((n, D)), loadings


def matched(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """True loadings in the order and with the signs of those found."""
    product = found.T @ truth
    norms = np.sqrt(np.outer((found**2).sum(axis=0), (truth**2).sum(axis=0)))
    own, other = linear_sum_assignment(-np.abs(product / norms))
    result = np.zeros_like(truth)
    result[:, own] = truth[:, other] * np.sign(product[own, other])
    return result


def standardised(loadings: np.ndarray) -> np.ndarray:
    """True loadings in units of a feature's standard deviation."""
    return loadings / np.sqrt((loadings**2).sum(axis=1) + NOISE**2)[:, None]


def cosine(truth: np.ndarray, found: np.ndarray) -> float:
    """Mean |cosine| of factors in the same order."""
    norms = np.sqrt((truth**2).sum(axis=0) * (found**2).sum(axis=0))
    return float(np.mean(np.abs((truth * found).sum(axis=0)) / norms))


def draw(path: str) -> None:
    """True against found standardised loadings of one table of 400 samples, from both starts."""
    X, loadings = simulate(400, 0)
    figure, panels = plt.subplots(1, 2, figsize=(7.2, 3.6), sharex=True, sharey=True)
    for mode, name, axes in zip(
        ("components", "moves"),
        ("principal components, no rotation", "rotated to sparsity"),
        panels,
        strict=True,
    ):
        choose(mode)
        posterior = RankFactorAnalysis(n_factors=K, random_state=0).fit(X).posterior_
        found = posterior.standardised_loadings
        truth = matched(standardised(loadings), found)
        for k, mark in enumerate("os^"):
            axes.plot(truth[:, k], found[:, k], mark, markersize=4, alpha=0.7)
        axes.plot([-1, 1], [-1, 1], color="0.6", linewidth=0.8, zorder=0)
        axes.set_title(f"{name} (cosine {cosine(truth, found):.3f})", fontsize=9)
        axes.set_xlabel("True standardised loading")
    panels[0].set_ylabel("Found standardised loading")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def shares(truth: np.ndarray, found: np.ndarray, rates: np.ndarray) -> list[float]:
    """Share of true zeros, of other signs, and the mean rate."""
    return [(truth == 0).mean(), (truth * found < 0).mean(), rates.mean()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--gibbs-tables", type=int, default=4)
    parser.add_argument("--start", choices=("components", "varimax", "moves"), default="moves")
    parser.add_argument("--figure", help="draw this file, and nothing else")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.figure:
        draw(options.figure)
        return
    choose(options.start)
    gibbs = Gibbs(n_draws=300, burn_in=300, n_chains=1)
    print(
        "| likelihood | engine | samples | cosine | clear: zero, other sign, promised "
        "| top 10: the same |"
    )
    print("|---|---|---|---|---|---|")
    for likelihood, engine, count in (
        ("gaussian", "vb", options.tables),
        ("margin_rank", "vb", options.tables),
        ("ordinal_probit", "vb", options.tables),
        ("gaussian", gibbs, options.gibbs_tables),
    ):
        for n in (100, 400):
            clear, top, cosines = [], [], []
            for seed in range(count):
                X, loadings = simulate(n, seed)
                model = RankFactorAnalysis(likelihood, n_factors=K, random_state=0, engine=engine)
                posterior = model.fit(X).posterior_
                found, rates = posterior.rows.mean[:, :K], loading_rates(posterior)
                truth = matched(loadings, found)
                known = posterior.standardised_loadings
                cosines.append(cosine(matched(standardised(loadings), known), known))
                sure = rates < 0.05
                clear.append(shares(truth[sure], found[sure], rates[sure]))
                names = posterior.feature_names.tolist()
                for k in range(K):
                    first = top_features(posterior, 10, factor=k)
                    place = [names.index(name) for name in first["feature"]]
                    top.append(shares(truth[place, k], found[place, k], rates[place, k]))
            cells = [
                ", ".join(f"{value:.3f}" for value in np.mean(part, axis=0))
                for part in (clear, top)
            ]
            kind = "Gibbs" if engine is gibbs else "variational Bayes"
            cells = [f"{np.mean(cosines):.3f}", *cells]
            print(f"| {likelihood} | {kind} | {n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
