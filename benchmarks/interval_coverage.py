"""How often 90 % intervals hold the truth: decisions of new samples in simulated data.

    .venv/bin/python benchmarks/interval_coverage.py

Tables are drawn from the model itself (Gaussian features with a noise of their own, probit labels,
three factors, half of the loadings zero), so that the true decision of every new sample is known:
f = beta . z + beta_0. The interval is `predict_interval(level=0.9)` of a sample that was not in
training.
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from rankfactor import Gibbs, RankFactorClassifier

REPLICATES, N_NEW = 20, 200
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


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
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
