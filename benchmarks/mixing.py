"""How well the Gibbs sampler mixes at its default settings.

    RANKFACTOR_DATA=... .venv/bin/python -m benchmarks.mixing
    .venv/bin/python -m benchmarks.mixing --tables simulated --models G-L-Probit,R-L-BSVM

For every table and model: R-hat (largest) and effective sample sizes (smallest and median) of the
label-free decisions at the probes, over all tasks, smallest effective sample size of the loadings,
and seconds of the whole fit. Simulated tables have 4 sparse factors and probit labels; "surplus" is
the first of them fitted with two factors too many. The demo's table is fitted with and without its
only binary column, which takes a whole factor under max-margin ranks. Seeds are 0, 1 and 2; chains
have seed 0.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path

import numpy as np

from rankfactor import Gibbs, RankFactorClassifier, load_alzheimer
from rankfactor.posterior.diagnostics import convergence
from rankfactor.posterior.mixing import ess_bulk

MODELS = {
    "G-L-Probit": {"model": "G-L-Probit"},
    "OR-L-Probit": {"model": "OR-L-Probit"},
    "R-L-BSVM": {"model": "R-L-BSVM"},
    "ordinal probit": {"likelihood": "ordinal_probit", "classifier": "probit"},
    "R-NL-BSVM, mixture": {"model": "R-NL-BSVM", "experts": "per_component"},
}


def simulate(seed, n=160, d=60, k=4):
    """Features of k sparse factors, and probit labels."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((d, k)) * (rng.random((d, k)) < 0.4)
    z = rng.standard_normal((n, k))
    X = z @ A.T + rng.uniform(0.5, 1.0, d) * rng.standard_normal((n, d))
    f = z @ np.array([1.5, -1.0, 0.5, 0.0]) + 0.3
    return X, f + rng.standard_normal(n) > 0


def tables():
    """Table, labels and number of factors, by name."""
    found = {f"simulated {seed}": (*simulate(seed), 4) for seed in range(3)}
    found["simulated 0, surplus"] = (*simulate(0), 6)
    demo = load_alzheimer()
    found["demo (333 x 129)"] = demo.table, demo.labels, 5
    found["demo, without sex"] = demo.table.drop(columns="male"), demo.labels, 5
    folder = os.environ.get("RANKFACTOR_DATA")
    if folder:
        usps = np.load(Path(folder) / "usps_3v5.npz", allow_pickle=False)
        found["USPS (767 x 256)"] = usps["X_train"], usps["y_train"], 10
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", default="", help="beginning of the tables' names")
    parser.add_argument("--models", default=",".join(list(MODELS)[:4]))
    parser.add_argument("--draws", type=int, default=Gibbs.n_draws)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| table | model | R-hat | effective draws, least | median | loadings, least | s |")
    print("|---|---|---|---|---|---|---|")
    for name, (X, y, k) in tables().items():
        if not name.startswith(options.tables):
            continue
        for model in options.models.split(","):
            engine = Gibbs(n_draws=options.draws)
            start = time.perf_counter()
            fitted = RankFactorClassifier(
                **MODELS[model], n_factors=k, engine=engine, random_state=0
            ).fit(X, y)
            seconds = time.perf_counter() - start
            posterior = fitted.posterior_
            found = convergence(posterior)
            own, draws = found.loc["decision function"], posterior.draws.decisions
            median = np.median(ess_bulk(draws.reshape(engine.n_chains, -1, draws[0].size)))
            loadings = found.loc["loadings", "ess_bulk"]
            print(
                f"| {name} | {model} | {own['r_hat']:.3f} | {own['ess_bulk']:.0f} | {median:.0f} "
                f"| {loadings:.0f} | {seconds:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
