"""How often the 95 % interval of the cross-validated AUC holds the truth, on simulated tables.

    .venv/bin/python benchmarks/auc_interval.py [--tables 250]

Tables have 20 Gaussian features, of which five differ between the classes, or 500, of which 30 do.
The truth is the AUC, on new samples, of the very models that the folds trained, averaged over folds
as the estimate is: of two classes by its formula, which is what infinitely many new samples give;
of three classes on 100,000 new samples. The classifier is linear, by ridge regression; for the
paired difference a second one sees half of the features only. Beside the coverage stand the shares
of truths below and above the interval, its mean width and the mean error of the estimate.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.linalg import LinAlgWarning
from scipy.special import ndtr
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from rankfactor.auc import fold_aucs

N_NEW = 100_000
TWO, RARE, THREE = (0.5, 0.5), (0.8, 0.2), (0.4, 0.35, 0.25)
# Features, those that differ, and by how much.
FEW = {"weak": (20, 5, 0.3), "medium": (20, 5, 0.7), "strong": (20, 5, 1.5)}
MANY = {"medium": (500, 30, 0.35), "strong": (500, 30, 0.7)}


def means(kind, n_classes):
    """Class means, (n_classes, features)."""
    n_features, active, strength = kind
    result = np.zeros((n_classes, n_features))
    signs = np.where(np.arange(active) % 2, -1, 1) * np.linspace(0.5, 1.2, active)
    for c in range(1, n_classes):
        # Every other feature differs, so that half of the features have half of what differs.
        places = (2 * np.arange(active) * n_features // (2 * active) + c - 1) % n_features
        result[c, places] = strength * signs
    return result


def decide(model, X):
    """Decisions (n, classes), of two classes one column."""
    return model.decision_function(X).reshape(len(X), -1)


def true_auc(model, part, centre, new):
    """AUC of a trained model on new samples; ``new`` are those of three classes."""
    if new is None:
        weights, shift = model.coef_.ravel(), (centre[1] - centre[0])[part]
        return ndtr(weights @ shift / np.sqrt(2 * weights @ weights))
    decision = decide(model, new[0][:, part])
    return np.mean([roc_auc_score(new[1] == c, decision[:, c]) for c in range(len(centre))])


def one_table(rng, n, n_folds, n_repeats, centre, shares, new):
    """Decisions of a cross-validation of both classifiers, and their true AUCs."""
    k, d = centre.shape
    y = rng.permutation(np.repeat(np.arange(k), np.round(n * np.array(shares)).astype(int)))
    X = centre[y] + rng.standard_normal((len(y), d))
    rows, parts = [], {"all": slice(None), "half": slice(0, d // 2)}
    truth = {name: [] for name in parts}
    for repeat in range(n_repeats):
        split = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
        for fold, (train, test) in enumerate(split.split(X, y)):
            for name, part in parts.items():
                model = RidgeClassifier(d / 10).fit(X[train][:, part], y[train])
                truth[name].append(true_auc(model, part, centre, new))
                decision = decide(model, X[test][:, part])
                for j in range(decision.shape[1]):
                    positive = 1 if k == 2 else j
                    values = {"sample": test, "label": y[test], "decision": decision[:, j]}
                    place = {"model": name, "repeat": repeat, "fold": fold, "positive": positive}
                    rows.append(pd.DataFrame({**values, **place}))
    return pd.concat(rows).assign(task="t"), {name: np.mean(v) for name, v in truth.items()}


def measure(n_tables, n, n_folds, n_repeats, kind, shares):
    """Truth, estimate and interval of the AUC and of the difference, (n_tables, 8)."""
    rng = np.random.default_rng([n, n_folds, n_repeats, len(shares), kind[0], int(100 * kind[2])])
    centre, new = means(kind, len(shares)), None
    if len(shares) > 2:
        classes = rng.integers(len(shares), size=N_NEW)
        new = centre[classes] + rng.standard_normal((N_NEW, kind[0])), classes
    found = []
    for _ in range(n_tables):
        decisions, truth = one_table(rng, n, n_folds, n_repeats, centre, shares, new)
        both = fold_aucs(decisions)
        one, other = both["t", "all"], both["t", "half"]
        apart = truth["all"] - truth["half"]
        found.append([truth["all"], *one.interval(), apart, *one.less(other)[:3]])
    return np.array(found)


def told(truth, value, low, high):
    inside = (low <= truth) & (truth <= high)
    return (
        f"{inside.mean():.3f} | {(truth < low).mean():.3f} | {(truth > high).mean():.3f} "
        f"| {(high - low).mean():.3f} | {(value - truth).mean():+.3f}"
    )


def cases():
    """Samples, folds, repeats, kind of table and class shares."""
    sizes = (60, 120, 300)
    for n in sizes:
        for folds in (5, 10):
            for kind in FEW.values():
                yield n, folds, 1, kind, TWO
            yield n, folds, 1, FEW["medium"], RARE
    for n in sizes:
        yield n, 5, 4, FEW["medium"], TWO
        yield n, 5, 1, FEW["medium"], THREE
        for kind in MANY.values():
            yield n, 5, 1, kind, TWO
        yield n, 10, 1, MANY["medium"], TWO
        yield n, 5, 4, MANY["medium"], TWO


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=250)
    parser.add_argument("--part", type=int, nargs=2, default=(0, 1), metavar=("i", "of"))
    given = parser.parse_args()
    warnings.simplefilter("ignore", LinAlgWarning)
    print(
        "| n | features | folds | classes | true AUC | covered | below | above | width | error "
        "| difference covered | below | above | width | error |"
    )
    print("|" + "---|" * 15)
    first, step = given.part
    for n, folds, repeats, kind, shares in list(cases())[first::step]:
        found = measure(given.tables, n, folds, repeats, kind, shares).T
        times = f"{folds} x {repeats}" if repeats > 1 else str(folds)
        sizes = " : ".join(f"{share:g}" for share in shares)
        print(
            f"| {n} | {kind[0]} | {times} | {sizes} | {found[0].mean():.3f} | {told(*found[:4])} "
            f"| {told(*found[4:])} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
