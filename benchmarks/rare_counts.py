"""Counts that are nearly all zero: AUC and log loss of new samples, and recovery of the factors.

    python -m benchmarks.rare_counts

z_n ~ N(0, I_10), x_ni ~ Poisson(rate exp(a_i . z_n)) with a_i ~ N(0, 0.3^2 I) and 400 features; the
label is the sign of w . z_n + noise of half its standard deviation. Cells have the AUC and the log
loss of 2,000 new samples (0.693 is that of a coin), and "R2", the share of the true scores'
variance that a linear function of the fitted scores explains in them.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.linear_model import LinearRegression, LogisticRegressionCV
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankfactor import RankFactorClassifier

TABLES = ((400, 0.04), (1500, 0.04), (1500, 0.06), (800, 0.1))
MODELS = {
    "default": {},
    "predictive": {"training": "predictive"},
    "margin 0.2": {"margin": 0.2},
    "ordinal probit": {"likelihood": "ordinal_probit"},
    "ordinary rank": {"model": "OR-L-BSVM"},
}


def simulated(n: int, rate: float, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Counts (n, 400), labels (n,) and scores (n, 10)."""
    shared = np.random.default_rng(7)
    loadings, weights = 0.3 * shared.standard_normal((400, 10)), shared.standard_normal(10)
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 10))
    counts = rng.poisson(rate * np.exp(z @ loadings.T)).astype(float)
    noise = 0.5 * np.linalg.norm(weights) * rng.standard_normal(n)
    return counts, z @ weights + noise > 0, z


def main() -> None:
    """Print a table of AUC, log loss and R2."""
    warnings.simplefilter("ignore")
    print("| table | above zero | logistic | " + " | ".join(MODELS) + " |")
    print("|---|---|---|" + "---|" * len(MODELS))
    for n, rate in TABLES:
        counts, labels, _ = simulated(n, rate, 1)
        new, answers, scores = simulated(2000, rate, 2)
        usual = make_pipeline(StandardScaler(), LogisticRegressionCV(Cs=np.logspace(-4, 0, 5)))
        usual.fit(np.log1p(counts), labels)
        chance = usual.predict_proba(np.log1p(new))[:, 1]
        cells = [f"{n} x 400", f"{np.mean(counts > 0):.1%}"]
        cells.append(f"{roc_auc_score(answers, chance):.3f}, {log_loss(answers, chance):.3f}")
        for arguments in MODELS.values():
            model = RankFactorClassifier(random_state=0, **arguments).fit(counts, labels)
            area = roc_auc_score(answers, model.decision_function(new))
            loss = log_loss(answers, model.predict_proba(new)[:, 1])
            found = model.transform(new)
            share = r2_score(scores, LinearRegression().fit(found, scores).predict(found))
            cells.append(f"{area:.3f}, {loss:.3f}, R2 {share:.2f}")
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
