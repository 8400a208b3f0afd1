"""Do local false sign rates keep what they promise? Simulated tables with known sparse loadings.

Factors are matched to the true ones by order and sign. Of all loadings with a rate below 0.05, and
of the ten largest of each factor: the share whose true loading is zero, the share whose true
loading has the other sign, and the mean rate, which is the share of both that is promised.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from scipy.optimize import linear_sum_assignment

from rankfactor import Gibbs, RankFactorAnalysis
from rankfactor.interpret import top_features
from rankfactor.posterior.certainty import loading_rates

D, K = 60, 3


def simulate(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((D, K)) * (rng.random((D, K)) < 0.4)
    scores = rng.standard_normal((n, K))
    return scores @ loadings.T + 0.7 * rng.standard_normal((n, D)), loadings


def matched(truth: np.ndarray, found: np.ndarray) -> np.ndarray:
    """True loadings in the order and with the signs of those found."""
    product = found.T @ truth
    norms = np.sqrt(np.outer((found**2).sum(axis=0), (truth**2).sum(axis=0)))
    own, other = linear_sum_assignment(-np.abs(product / norms))
    result = np.zeros_like(truth)
    result[:, own] = truth[:, other] * np.sign(product[own, other])
    return result


def shares(truth: np.ndarray, found: np.ndarray, rates: np.ndarray) -> list[float]:
    """Share of true zeros, of other signs, and the mean rate."""
    return [(truth == 0).mean(), (truth * found < 0).mean(), rates.mean()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10)
    parser.add_argument("--gibbs-tables", type=int, default=4)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    gibbs = Gibbs(n_draws=300, burn_in=300, n_chains=1)
    print(
        "| likelihood | engine | samples | clear: zero, other sign, promised | top 10: the same |"
    )
    print("|---|---|---|---|---|")
    for likelihood, engine, count in (
        ("gaussian", "vb", options.tables),
        ("margin_rank", "vb", options.tables),
        ("gaussian", gibbs, options.gibbs_tables),
    ):
        for n in (100, 400):
            clear, top = [], []
            for seed in range(count):
                X, loadings = simulate(n, seed)
                model = RankFactorAnalysis(likelihood, n_factors=K, random_state=0, engine=engine)
                posterior = model.fit(X).posterior_
                found, rates = posterior.rows.mean[:, :K], loading_rates(posterior)
                truth = matched(loadings, found)
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
            print(f"| {likelihood} | {kind} | {n} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
