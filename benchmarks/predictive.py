"""Predictive training beside joint mean field, by the weight of the labels, on tables of all kinds.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/predictive.py
    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/predictive.py --sets heart,tb_gse19491

5-fold cross-validation (3 folds of 1,500 samples for MNIST), AUC of the commoner of the rarer
classes against the rest, and the mean over features of the rank correlation of w with the data on
the training part: how well the factors still describe the table. Digits: training parts only.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sources import data_folder

from rankfactor import RankFactorClassifier
from rankfactor.folds import divided

SETS = {  # name: column that groups samples
    "alzheimer_csf": None,
    "heart_disease": None,
    "tb_gse19491": None,
    "tb_hiv_gse37250": None,
    "sepsis_metabolomics": "lab_patient",
    "bfi_ordinal": None,
    "alon": None,
    "golub": None,
    "sepsis_gse13015": None,
    "usps_3v5": None,
    "mnist_3v5": None,
}
WEIGHTS = (0.3, 1.0, 3.0, 10.0)


def load(folder, name):
    """Table, one-against-the-rest label and groups."""
    if name == "heart_disease":
        frame = pd.read_csv(folder / "heart_disease.csv.gz")
        y = frame.pop(frame.columns[-1]).to_numpy()
        numbers = frame.apply(
            lambda c: c if pd.api.types.is_numeric_dtype(c) else pd.factorize(c)[0]
        )
        return numbers.to_numpy(float), y == np.unique(y)[1], None
    with np.load(folder / f"{name}.npz") as arrays:
        digits = "X_train" in arrays
        X = arrays["X_train" if digits else "X"].astype(float)
        y = arrays["y_train" if digits else "y"]
        groups = arrays[SETS[name]] if SETS[name] else None
    some = np.random.default_rng(0).permutation(len(y))[:1500]
    if len(y) > 1500:
        X, y = X[some], y[some]
    names, counts = np.unique(y, return_counts=True)
    counts = np.where(counts > len(y) / 2, 0, counts)
    return X, y == names[counts.argmax()], groups


def agreement(model, X):
    """Mean rank correlation of w with the features that vary."""
    w = model.scores_ @ model.loadings_.T
    kept = model.posterior_.coding.columns
    values = []
    for i in kept:
        seen = ~np.isnan(X[:, i])
        values.append(np.corrcoef(rankdata(X[seen, i]), rankdata(w[seen, i]))[0, 1])
    return float(np.nanmean(values))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--model", default="R-L-BSVM")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", UserWarning)
    folder = data_folder()
    settings = {"bayes": {"training": "bayes"}} | {
        f"{weight:g}": {"training": "predictive", "label_weight": weight} for weight in WEIGHTS
    }
    print("AUC, and rank correlation of w with the data in brackets, by label_weight.\n")
    print(f"| set (samples x features) | {' | '.join(settings)} |")
    print("|" + "---|" * (1 + len(settings)))
    for name in arguments.sets.split(","):
        X, y, groups = load(folder, name)
        folds = divided(y, groups, 5, 0)
        if name == "mnist_3v5":
            folds = folds[:3]
        cells = []
        for chosen in settings.values():
            areas, fits = [], []
            for train, test in folds:
                # One margin for tables of any width, so that only the training differs.
                model = RankFactorClassifier(
                    arguments.model,
                    n_factors=20,
                    margin=0.05,
                    calibration="none",
                    random_state=0,
                    **chosen,
                )
                model.fit(X[train], y[train])
                areas.append(roc_auc_score(y[test], model.decision_function(X[test])))
                fits.append(agreement(model, X[train]))
            cells.append(f"{np.mean(areas):.3f} ({np.mean(fits):.2f})")
        print(f"| {name} ({len(X)} x {X.shape[1]}) | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
