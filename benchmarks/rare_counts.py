"""Counts that are nearly all zero: AUC and log loss of new samples, and recovery of the factors.

    python -m benchmarks.rare_counts             # tables that are fitted whole
    python -m benchmarks.rare_counts --shards    # tables that are fitted by shards

z_n ~ N(0, I_10), x_ni ~ Poisson(rate exp(a_i . z_n)) with a_i ~ N(0, 0.3^2 I); the label is the
sign of w . z_n + noise of half its standard deviation. Cells have the AUC and the log loss of 2,000
new samples (0.693 is that of a coin), and "R2", the share of the true scores' variance that a
linear function of the fitted scores explains in them. By shards they also have the share of right
classes and the seconds of the fit.
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegressionCV
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankfactor import RankFactorClassifier

# Samples, features, rate.
WHOLE = ((400, 400, 0.04), (1500, 400, 0.04), (1500, 400, 0.06), (800, 400, 0.1))
SHARDS = tuple((33_000, n_features, 0.04) for n_features in (100, 300, 500, 1000))
SHARDS += tuple((33_000, 1000, rate) for rate in (0.1, 0.2, 0.5, 2.0))
MODELS: dict[str, dict[str, Any]] = {
    "default": {},
    "predictive": {"training": "predictive"},
    "margin 0.2": {"margin": 0.2},
    "ordinal probit": {"likelihood": "ordinal_probit"},
    "ordinary rank": {"model": "OR-L-BSVM"},
}
ORDINAL = {"likelihood": "ordinal_probit"}
BY_SHARDS: dict[str, dict[str, Any]] = {
    "max-margin ranks": {"likelihood": "margin_rank"},
    "ordinal probit": ORDINAL,
    "ordinal probit, label-free": {**ORDINAL, "training": "label-free"},
}


def simulated(
    n: int, n_features: int, rate: float, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts (n, features), labels (n,) and scores (n, 10)."""
    shared = np.random.default_rng(7)
    loadings, weights = 0.3 * shared.standard_normal((n_features, 10)), shared.standard_normal(10)
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 10))
    counts = rng.poisson(rate * np.exp(z @ loadings.T)).astype(float)
    noise = 0.5 * np.linalg.norm(weights) * rng.standard_normal(n)
    return counts, z @ weights + noise > 0, z


def main() -> None:
    """Print a table of AUC, log loss and R2."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shards", action="store_true", help="tables that are fitted by shards")
    shards = parser.parse_args().shards
    warnings.simplefilter("ignore")
    models = BY_SHARDS if shards else MODELS
    heads = ["table", "above zero", *([] if shards else ["logistic"]), *models]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for n, n_features, rate in SHARDS if shards else WHOLE:
        counts, labels, _ = simulated(n, n_features, rate, 1)
        new, answers, scores = simulated(2000, n_features, rate, 2)
        cells = [f"{n} x {n_features}", f"{np.mean(counts > 0):.1%}"]
        if not shards:
            usual = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=np.logspace(-4, 0, 5)))
            usual.fit(np.log1p(counts), labels)
            chance = usual.predict_proba(np.log1p(new))[:, 1]
            cells.append(f"{roc_auc_score(answers, chance):.3f}, {log_loss(answers, chance):.3f}")
        for arguments in models.values():
            began = time.perf_counter()
            model = RankFactorClassifier(random_state=0, **arguments).fit(counts, labels)
            seconds = time.perf_counter() - began
            chance = model.predict_proba(new)[:, 1]
            area = roc_auc_score(answers, model.decision_function(new))
            found = model.transform(new)
            share = r2_score(scores, LinearRegression().fit(found, scores).predict(found))
            cells.append(f"{area:.3f}, {log_loss(answers, chance):.3f}, R2 {share:.2f}")
            if shards:
                cells[-1] += f", {np.mean((chance > 0.5) == answers):.0%}, {seconds:.0f} s"
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
