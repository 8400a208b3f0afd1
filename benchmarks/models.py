"""What each model, prior and engine gives and costs: the table of docs/howto/models.md.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/models.py

USPS 3 against 5 (usps_3v5.npz, the paper's split: test error) and tuberculosis in whole blood
(tb_gse19491.npz, PTB against the rest: 5-fold AUC), K = 20, training="bayes", else defaults,
seed 0. Seconds are of one fit, in one run on one machine: compare them within a column only.
"""

import time
import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sources import data_folder

from rankfactor import Gibbs, RankFactorClassifier
from rankfactor.data import read_npz_dataset, read_npz_split

GIBBS = Gibbs(n_draws=100, burn_in=100, n_predict=10)
MODELS = {
    "R-L-BSVM": {},
    "R-L-BSVM, normal prior": {"shrinkage": "normal"},
    "R-L-BSVM, multiplicative gamma": {"shrinkage": "multiplicative_gamma"},
    "G-L-BSVM": {"model": "G-L-BSVM"},
    "G-L-Probit": {"model": "G-L-Probit"},
    "ordinal probit, BSVM": {"likelihood": "ordinal_probit"},
    "R-L-BSVM, Gibbs": {"engine": GIBBS},
    "G-L-BSVM, Gibbs": {"model": "G-L-BSVM", "engine": GIBBS},
    "G-L-Probit, Gibbs": {"model": "G-L-Probit", "engine": GIBBS},
}


def timed_fit(settings, table, labels):
    started = time.perf_counter()
    model = RankFactorClassifier(training="bayes", random_state=0, **settings).fit(table, labels)
    return model, time.perf_counter() - started


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    folder = data_folder("usps_3v5.npz and tb_gse19491.npz")
    train, test = read_npz_split(folder / "usps_3v5.npz")
    blood = read_npz_dataset(folder / "tb_gse19491.npz")
    ill = (blood.labels["y"] == "PTB").to_numpy()
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(blood.table, ill))
    print("| model | USPS error % | in use | s | TB AUC (sd) | in use | s |")
    print("|---|---|---|---|---|---|---|")
    for name, settings in MODELS.items():
        model, seconds = timed_fit(settings, train.table, train.labels["y"])
        error = 100 * (1 - model.score(test.table, test.labels["y"]))
        line = f"| {name} | {error:.2f} | {model.n_active_} | {seconds:.1f} |"
        areas, times, active = [], [], []
        for one, other in folds:
            model, seconds = timed_fit(settings, blood.table.iloc[one], ill[one])
            areas.append(
                roc_auc_score(ill[other], model.decision_function(blood.table.iloc[other]))
            )
            times.append(seconds)
            active.append(model.n_active_)
        line += f" {np.mean(areas):.3f} ({np.std(areas):.3f}) | {np.mean(active):.1f} |"
        print(f"{line} {np.mean(times):.1f} |", flush=True)


if __name__ == "__main__":
    main()
