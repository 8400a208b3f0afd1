"""Which training is best: how `training="auto"` and `residual="auto"` were chosen.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/training.py [--sets NAME,...]
        [--ways NAME,...] [--folder FOLDER] [--repeats N]

Prints, for every set and task, the cross-validated AUC of R-L-BSVM by training on the same folds
(5 folds, repeated), and the difference from the linear SVM with its standard error over folds.
Folds share samples, so these standard errors are somewhat too small.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from rankfactor import RankFactorClassifier
from rankfactor.evaluation import cross_validate
from rankfactor.evaluation.baselines import LinearSVM
from rankfactor.experiments.log_scale import LogScale
from rankfactor.experiments.sets import load_problems
from rankfactor.folds import group_numbers, possible_folds, smallest_training_part
from rankfactor.tasks import encode_labels

WAYS = {
    "auto": {},
    "two parts": {"training": "label-free", "residual": True},
    "scores alone": {"training": "label-free", "residual": False},
    "bayes": {"training": "bayes"},
    "bayes, two parts": {"training": "bayes", "residual": True},
    "predictive": {"training": "predictive"},
    "predictive, two parts": {"training": "predictive", "residual": True},
}


def main() -> None:
    options = argparse.ArgumentParser()
    options.add_argument("--sets", default="")
    options.add_argument("--ways", default="two parts,scores alone,bayes,predictive")
    options.add_argument("--folder", type=Path)
    options.add_argument("--repeats", type=int, default=5)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    names = [name for name in given.sets.split(",") if name]
    problems, _ = load_problems(given.folder, names, 1000, 0)
    for problem in problems:
        n = len(problem.table)
        _, class_index = encode_labels(problem.labels, n)
        groups = problem.groups
        numbers = None if groups is None else group_numbers(groups, problem.table.index)
        n_folds = possible_folds(class_index, numbers, 5)
        most = min(20, smallest_training_part(n, numbers, n_folds))
        fixed = {"n_factors": most, "calibration": "none", "n_threads": 1}
        models = {
            name: RankFactorClassifier(**fixed, **WAYS[name]) for name in given.ways.split(",")
        }
        models["L-SVM"] = LogScale(LinearSVM())
        found = cross_validate(
            models,
            problem.table,
            problem.labels,
            n_folds=n_folds,
            n_repeats=given.repeats,
            groups=groups,
        ).folds
        for task, part in found.groupby("task", sort=False):
            table = part.pivot_table(index=["repeat", "fold"], columns="model", values="auc")[
                [*models]
            ]
            less = table.sub(table["L-SVM"], axis=0)
            print(f"{problem.name}, {task}: {n} x {problem.table.shape[1]}, {len(table)} folds")
            shown = pd.DataFrame(
                {
                    "AUC": table.mean(),
                    "less L-SVM": less.mean(),
                    "se": less.std() / np.sqrt(less.count()),
                    "error %": 100 * (1 - part.groupby("model")["accuracy"].mean()),
                    "seconds": part.groupby("model")["seconds"].mean(),
                }
            ).loc[[*models]]
            print(
                shown.round({"AUC": 3, "less L-SVM": 3, "se": 3, "error %": 1, "seconds": 2}),
                flush=True,
            )


if __name__ == "__main__":
    main()
