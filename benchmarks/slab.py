"""Accuracy with and without a slab of the coefficients, under joint training.

    RANKFACTOR_DATA=... .venv/bin/python benchmarks/slab.py

AUC of R-L-BSVM (10 factors, training="bayes") over the same 5 folds x 3 repeats, and the mean
difference from no slab with its standard error over the 15 folds. Of tables with more than 3,000
features the 2,000 of the largest variance are taken. The loadings' slab is left out together with
the coefficients'. Six fits take about a minute a table on one core.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import RepeatedStratifiedKFold

from rankfactor import RankFactorClassifier
from rankfactor.shrinkage import tpbn

LOADING_SLAB = tpbn.LOADING_SLAB
SLABS = (None, 1.0, 2.0, 4.0)
TABLES = {
    "alon": ("alon", lambda d: d["y"]),
    "golub": ("golub", lambda d: d["y"]),
    "alzheimer, Impairment": ("alzheimer_csf", lambda d: d["y"]),
    "alzheimer, APOE4": (
        "alzheimer_csf",
        lambda d: np.array(["E4" in one for one in d["lab_Genotype"]]),
    ),
    "tuberculosis and HIV": ("tb_hiv_gse37250", lambda d: d["lab_HIVStatus"]),
    "sepsis metabolomics": ("sepsis_metabolomics", lambda d: d["y"] == "non-septic"),
}


def areas(X, y, folds, slab):
    """AUC of every fold with a slab of the coefficients, or none."""
    tpbn.COEFFICIENT_SLAB = slab
    tpbn.LOADING_SLAB = None if slab is None else LOADING_SLAB
    found = []
    for train, test in folds:
        model = RankFactorClassifier(
            n_factors=10, training="bayes", calibration="none", random_state=0, n_threads=1
        ).fit(X[train], y[train])
        found.append(roc_auc_score(y[test], model.decision_function(X[test])))
    return np.array(found)


def main() -> None:
    warnings.simplefilter("ignore")
    print("| table | no slab | " + " | ".join(f"{slab:g}" for slab in SLABS[1:]) + " |")
    print("|---" * (len(SLABS) + 1) + "|")
    for name, (file, label) in TABLES.items():
        data = np.load(Path(os.environ["RANKFACTOR_DATA"]) / f"{file}.npz", allow_pickle=False)
        X, y = np.asarray(data["X"], float), label(data)
        y = (y == np.unique(y)[0]).astype(int)
        if X.shape[1] > 3000:
            X = X[:, np.argsort(-np.nanvar(X, axis=0))[:2000]]
        splitter = RepeatedStratifiedKFold(n_splits=5, n_repeats=3, random_state=0)
        folds = list(splitter.split(X, y))
        none, *others = (areas(X, y, folds, slab) for slab in SLABS)
        cells = [f"{none.mean():.3f}"]
        for one in others:
            gain = one - none
            cells.append(f"{gain.mean():.3f} ({gain.std() / len(gain) ** 0.5:.3f})")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
