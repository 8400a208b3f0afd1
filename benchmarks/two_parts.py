"""The prior of decisions of two parts: docs/notes/decisions.md, "The weight of the residual".

    .venv/bin/python benchmarks/two_parts.py [--tables N]

AUC of 1,000 new samples of simulated tables with rank likelihood and label-free factors, mean over
tables: the residual's share fixed at n / (2 n + 40) or estimated, with several even parts of the
prior of the scores' coefficients; beside the scores alone (`residual=False`), joint training and
ridge logistic regression on standardised values. Every third feature is exponentiated. Labels are
logistic in two of the factors, in the noise of a fifth of the features, or in both.
"""

import argparse
import warnings

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankfactor import RankFactorClassifier
from rankfactor.classifiers import two_part

NEW = 1000
# Training samples, features, factors, share of nonzero loadings, weights of factors and of noise.
TABLES = {
    "factors, 300 x 60": (300, 60, 4, 0.5, 1.0, 0.0),
    "factors, 150 x 60": (150, 60, 4, 0.5, 1.0, 0.0),
    "factors, 100 x 500": (100, 500, 5, 0.5, 1.0, 0.0),
    "sparse factors, 300 x 200": (300, 200, 6, 0.1, 1.0, 0.0),
    "strong factors, 80 x 1000": (80, 1000, 5, 0.3, 1.5, 0.0),
    "both, 300 x 60": (300, 60, 4, 0.5, 1.0, 1.2),
    "both, 200 x 500": (200, 500, 5, 0.3, 1.0, 1.2),
    "residual, 300 x 60": (300, 60, 4, 0.5, 0.0, 1.8),
}
EVEN = {"estimated, even": 1.0, "half even": 0.5, "quarter even": 0.25, "horseshoe": 0.0}
OTHERS = {
    "scores alone": {"training": "label-free", "residual": False},
    "joint": {"training": "bayes"},
}


def simulated(seed, n, d, k, dense, inside, outside):
    """Table and labels of n training samples and NEW others."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((d, k)) * (rng.random((d, k)) < dense)
    z, noise = rng.standard_normal((n + NEW, k)), rng.standard_normal((n + NEW, d))
    w = z @ loadings.T + noise
    beside = noise @ (rng.standard_normal(d) * (rng.random(d) < 0.2))
    f = inside * (1.5 * z[:, 0] - z[:, 1]) + outside * beside / beside.std()
    y = rng.random(n + NEW) < expit(f + 0.5)
    return np.where(np.arange(d) % 3 == 0, np.exp(w / 2), w), y


def area(model, X, y, n):
    """AUC of the new samples."""
    return roc_auc_score(y[n:], model.fit(X[:n], y[:n]).decision_function(X[n:]))


def areas(X, y, n) -> dict[str, float]:
    """AUC by way."""
    usual, even = two_part.residual_weight, two_part.EVEN
    fixed = {"random_state": 0, "n_threads": 1, "calibration": "none"}
    two_parts = RankFactorClassifier(training="label-free", residual=True, **fixed)
    two_part.residual_weight = lambda columns, kernel, signs: n / (2 * n + 40)
    two_part.EVEN = 1.0
    found = {"fixed share": area(two_parts, X, y, n)}
    two_part.residual_weight = usual
    for name, part in EVEN.items():
        two_part.EVEN = part
        found[name] = area(two_parts, X, y, n)
    two_part.EVEN = even
    for name, settings in OTHERS.items():
        found[name] = area(RankFactorClassifier(**fixed, **settings), X, y, n)
    ridge = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000))
    return found | {"ridge": area(ridge, X, y, n)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=int, default=4, help="of every kind")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    means = []
    for name, (n, *shape) in TABLES.items():
        found = [areas(*simulated(seed, n, *shape), n) for seed in range(given.tables)]
        if not means:
            print("| table | " + " | ".join(found[0]) + " |")
            print("|---|" + "--:|" * len(found[0]))
        means.append([np.mean([one[way] for one in found]) for way in found[0]])
        print(f"| {name} | " + " | ".join(f"{mean:.3f}" for mean in means[-1]) + " |", flush=True)
    print("| mean | " + " | ".join(f"{mean:.3f}" for mean in np.mean(means, axis=0)) + " |")


if __name__ == "__main__":
    main()
