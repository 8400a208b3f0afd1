"""Tables of few features: how the margin and the training of "auto" were chosen for them.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/few_features.py [results.csv]

First table: cross-validated AUC, then error in per cent, of R-L-BSVM by training and margin, with
the linear SVM beside it; two partitions into five folds, the same for all. The sets of scikit-learn
come with it; those of the folder are left out where it is absent, and only their training parts are
read. Second table: how many factors `RankFactorAnalysis` finds in use in simulated tables of few
features, by margin, and how much of the true scores its scores explain. A results file gets the
folds of the first one.
"""

import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from defaults import SETS, load
from sklearn import datasets
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from rankfactor import RankFactorAnalysis, RankFactorClassifier
from rankfactor.data import data_directory
from rankfactor.evaluation.baselines import LinearSVM
from rankfactor.experiments.log_scale import LogScale

MARGINS = (0.05, 0.1, 0.2, 0.4)
TRAINING = ("bayes", "predictive")
N_FOLDS, N_REPEATS = 5, 2
OWN = ("tb_hiv_gse37250, TB", "tb_hiv_gse37250, HIV", "heart_disease", "bfi_ordinal")
# Features, true factors, standard deviation of the noise (that of w is 1).
SIMULATED = ((8, 2, 0.5), (8, 2, 1.0), (12, 3, 0.5), (12, 3, 1.0), (25, 3, 0.5), (25, 3, 1.0))


def tables() -> Iterator[tuple[str, Any, Any]]:
    """Name, table and whether a sample is positive, from the fewest features to the most."""
    iris, wine = datasets.load_iris(), datasets.load_wine()
    yield "iris, versicolor", iris.data, iris.target == 1
    yield "iris, virginica", iris.data, iris.target == 2
    folder = data_directory()
    own = {name: load(folder, SETS[name])[:2] for name in OWN} if folder is not None else {}
    for name in OWN[:2]:
        if name in own:
            yield name, *own[name]
    diabetes, breast = datasets.load_diabetes(), datasets.load_breast_cancer()
    yield "diabetes, above the median", diabetes.data, diabetes.target > np.median(diabetes.target)
    yield "breast cancer, means", breast.data[:, :10], breast.target == 1
    yield "wine, second", wine.data, wine.target == 1
    for name in OWN[2:]:
        if name in own:
            yield name, *own[name]
    yield "breast cancer", breast.data, breast.target == 1
    digits = datasets.load_digits()
    some = np.isin(digits.target, (8, 9))
    yield "digits, 8 and 9", digits.data[some], digits.target[some] == 9


def models(seed: int) -> dict[str, Any]:
    """The models by name."""
    plain = {"calibration": "none", "random_state": seed, "n_threads": 1}
    found: dict[str, Any] = {"L-SVM": LogScale(LinearSVM(random_state=seed))}
    found["auto"] = RankFactorClassifier(**plain)
    for training in TRAINING:
        for margin in MARGINS:
            name = f"{training} {margin}"
            found[name] = RankFactorClassifier(margin=margin, training=training, **plain)
    return found


def judged(name: str, X: Any, y: Any) -> list[dict[str, Any]]:
    """AUC and error of every model on every fold."""
    found = []
    for repeat in range(N_REPEATS):
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=repeat).split(X, y)
        for number, (train, test) in enumerate(folds):
            for label, model in models(repeat).items():
                decision = model.fit(X[train], y[train]).decision_function(X[test])
                found.append(
                    {
                        "set": f"{name} ({X.shape[1]})",
                        "model": label,
                        "repeat": repeat,
                        "fold": number,
                        "auc": roc_auc_score(y[test], decision),
                        "error": 100 * np.mean((decision > 0) != y[test]),
                    }
                )
    return found


def simulated(n_features: int, n_factors: int, noise: float, seed: int) -> tuple[Any, Any]:
    """A skewed table of 300 samples, and its true scores."""
    rng = np.random.default_rng(seed)
    loadings = rng.standard_normal((n_features, n_factors))
    scores = rng.standard_normal((300, n_factors))
    w = scores @ loadings.T
    table = np.exp(w / w.std(axis=0) + noise * rng.standard_normal(w.shape))
    return table, scores


def explained(scores: Any, by: Any) -> float:
    """Share of the variance of the scores that others explain linearly."""
    design = np.column_stack([np.ones(len(by)), by])
    rest = scores - design @ np.linalg.lstsq(design, scores, rcond=None)[0]
    return float(1 - rest.var(axis=0).sum() / scores.var(axis=0).sum())


def factors_found() -> str:
    """The second table."""
    lines = [
        f"| features, factors, noise | {' | '.join(f'margin {one}' for one in MARGINS)} |",
        "|" + "---|" * (1 + len(MARGINS)),
    ]
    for case in SIMULATED:
        cells = []
        for margin in MARGINS:
            active, shares = [], []
            for seed in range(4):
                table, scores = simulated(*case, seed)
                most = min(10, case[0])
                fitted = RankFactorAnalysis(n_factors=most, margin=margin, random_state=0)
                fitted.fit(table)
                active.append(fitted.n_active_)
                shares.append(explained(scores, fitted.scores_))
            cells.append(f"{min(active)} to {max(active)}, {np.mean(shares):.2f}")
        lines.append(f"| {', '.join(map(str, case))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    found: list[dict[str, Any]] = []
    names: list[str] = []
    for name, X, y in tables():
        found += judged(name, X, y)
        names.append(found[-1]["set"])
        print(names[-1], file=sys.stderr, flush=True)
    frame = pd.DataFrame(found)
    if len(sys.argv) > 1:
        frame.to_csv(sys.argv[1], index=False)
    columns = list(models(0))
    wide = {
        key: frame.pivot_table(index="set", columns="model", values=key).loc[names, columns]
        for key in ("auc", "error")
    }
    print(f"| set (features) | {' | '.join(columns)} |\n|" + "---|" * (1 + len(columns)))
    for name in names:
        pairs = zip(wide["auc"].loc[name], wide["error"].loc[name], strict=True)
        print(f"| {name} | {' | '.join(f'{area:.3f}, {error:.1f}' for area, error in pairs)} |")
    print()
    print(factors_found())


if __name__ == "__main__":
    main()
