"""How the default margin was chosen: cross-validated AUC by margin, on training data only.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/margin.py

Columns: the margin of a feature with 32 cuts, shared out among a feature's cuts (the library's
rule), and, in the last column, the default margin given to every cut whatever a feature's number of
levels. The folder holds the npz files and heart_disease.csv.gz; sets that are absent are left out.
"""

import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from rankfactor import RankFactorAnalysis, RankFactorClassifier, load_alzheimer
from rankfactor.data import data_directory, read_npz_dataset, read_npz_split, read_table
from rankfactor.evaluation import cross_validate
from rankfactor.likelihoods import MarginRank

MARGINS = (0.0125, 0.025, 0.05, 0.1, 0.2)


@dataclass(frozen=True)
class SameMargin(MarginRank):
    """The rank likelihood with one margin for every cut of every feature."""

    def start(self, coding: Any, observed: Any, loadings: Any) -> Any:
        params = super().start(coding, observed, loadings)
        return replace(params, margin=np.full(len(loadings), self.margin))


def tables() -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame, Any]]:
    """Name, table, labels and groups of every set that is there."""
    alzheimer = load_alzheimer()
    yield "alzheimer_csf", alzheimer.table, alzheimer.labels, None
    folder = data_directory()
    if folder is None:
        return
    if (path := folder / "usps_3v5.npz").exists():
        train, _ = read_npz_split(path)
        yield "usps_3v5, training part", train.table, train.labels, None
    if (path := folder / "heart_disease.csv.gz").exists():
        label = "diameter narrowing"
        mixed = read_table(path, text_columns=[label])
        words = pd.get_dummies(mixed.annotations[list(mixed.words)], dtype=float)
        yield "heart_disease", mixed.values.join(words), mixed.annotations[[label]], None
    for name, positive in (("bfi_ordinal", None), ("tb_gse19491", "PTB"), ("golub", None)):
        if (path := folder / f"{name}.npz").exists():
            data = read_npz_dataset(path)
            label = data.labels[["y"]] if positive is None else data.labels[["y"]] == positive
            yield name, data.table.iloc[:, :1000], label.astype(str), None
    if (path := folder / "sepsis_metabolomics.npz").exists():
        data = read_npz_dataset(path)
        septic = (data.labels[["y"]] != "non-septic").astype(str)
        yield "sepsis_metabolomics", data.table, septic, data.labels["patient"]


def simulated_factors(margin: float) -> int:
    """Factors in use out of 10 where the truth is 3: 300 samples, 60 features, equal noise."""
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((60, 3)) * (rng.random((60, 3)) < 0.5)
    X = rng.standard_normal((300, 3)) @ loadings.T + rng.standard_normal((300, 60))
    return RankFactorAnalysis(n_factors=10, margin=margin, random_state=0).fit(X).n_active_


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    if data_directory() is None:
        sys.stderr.write("RANKFACTOR_DATA is not set: the bundled set only.\n")
    print("| set, task | " + " | ".join(map(str, MARGINS)) + " | 0.05 a cut |")
    print("|---|" + "---|" * (len(MARGINS) + 1))
    for name, table, labels, groups in tables():
        models = {
            str(margin): RankFactorClassifier(
                margin=margin, training="bayes", random_state=0, n_threads=1
            )
            for margin in MARGINS
        }
        models["same"] = RankFactorClassifier(
            likelihood=SameMargin(), training="bayes", random_state=0, n_threads=1
        )
        summary = cross_validate(
            models, table, labels, n_folds=5, groups=groups, random_state=0, n_jobs=-1
        ).summary()
        for task, part in summary.groupby("task", sort=False):
            values = " | ".join(f"{value:.3f}" for value in part["auc"])
            print(f"| {name}, {task} | {values} |", flush=True)
    counts = " | ".join(str(simulated_factors(margin)) for margin in MARGINS)
    print(f"| simulated: factors in use (truth 3) | {counts} | |")


if __name__ == "__main__":
    main()
