"""Test error on the paper's splits of handwritten 3 against 5, K = 20, both trainings.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/digits.py usps
    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/digits.py mnist --seeds 1

The folder holds usps_3v5.npz and mnist_3v5.npz. The defaults were chosen without the test parts
(docs/notes/decisions.md). The support vector machine with a radial kernel has C and gamma chosen by
5-fold cross-validation on (at most 3,000 samples of) the training part.
"""

import argparse
import time

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sources import data_folder

from rankfactor import RankFactorClassifier
from rankfactor.data import read_npz_split

BAYES = ("G-L-Probit", "G-L-BSVM", "R-L-BSVM", "G-NL-BSVM", "R-NL-BSVM")
PREDICTIVE = ("G-L-BSVM", "R-L-BSVM", "G-NL-BSVM", "R-NL-BSVM")
MODELS = {
    **{name: {"model": name, "training": "bayes"} for name in BAYES},
    **{f"{name}, predictive": {"model": name, "training": "predictive"} for name in PREDICTIVE},
}


def support_vectors(train, test, seed):
    """Errors of an RBF support vector machine on the test part."""
    X, y = train.table.to_numpy(float), train.labels["y"].to_numpy()
    scale = np.abs(X).max()
    some = np.random.default_rng(seed).permutation(len(y))[:3000]
    grid = {"C": [1, 3, 10, 30, 100], "gamma": np.array([0.3, 1, 3, 10]) / X.shape[1]}
    search = GridSearchCV(SVC(), grid, cv=5).fit(X[some] / scale, y[some])
    machine = SVC(**search.best_params_).fit(X / scale, y)
    return machine.predict(test.table.to_numpy(float) / scale) != test.labels["y"].to_numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("set", choices=["usps", "mnist"])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--models", help="names as in the table, separated by semicolons")
    arguments = parser.parse_args()
    file = f"{arguments.set}_3v5.npz"
    train, test = read_npz_split(data_folder(file) / file)
    truth = test.labels["y"].to_numpy()
    names = arguments.models.split(";") if arguments.models else [*MODELS, "RBF SVM"]
    print("| model | test error % (sd) | seconds a fit |")
    print("|---|---|---|")
    for name in names:
        errors, seconds = [], []
        for seed in range(arguments.seeds):
            started = time.perf_counter()
            if name == "RBF SVM":
                wrong = support_vectors(train, test, seed)
                seconds.append(time.perf_counter() - started)
            else:
                model = RankFactorClassifier(
                    n_factors=20, calibration="none", random_state=seed, **MODELS[name]
                )
                model.fit(train.table, train.labels["y"])
                seconds.append(time.perf_counter() - started)
                wrong = model.predict(test.table) != truth
            errors.append(100 * wrong.mean())
        spread = f" ({np.std(errors):.2f})" if len(errors) > 1 else ""
        print(f"| {name} | {np.mean(errors):.2f}{spread} | {np.mean(seconds):.1f} |", flush=True)


if __name__ == "__main__":
    main()
