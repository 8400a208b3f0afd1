"""What the number of cuts buys and costs: cross-validated error, AUC and time by max_cuts.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/cuts.py

Training data only; the sets are those of benchmarks/margin.py. Seconds are of one fold on one
thread, side by side in one run: compare them within a row only.
"""

import warnings

from margin import tables
from sklearn.exceptions import ConvergenceWarning

from rankfactor import RankFactorClassifier
from rankfactor.evaluation import cross_validate

CUTS = (4, 8, 16, 32)
SETS = ("alzheimer_csf", "usps_3v5, training part", "tb_gse19491")


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    heads = [f"{cuts} cuts: error %, AUC, s" for cuts in CUTS]
    print("| set, task | " + " | ".join(heads) + " |")
    print("|---|" + "---|" * len(CUTS))
    for name, table, labels, groups in tables():
        if name not in SETS:
            continue
        models = {
            str(cuts): RankFactorClassifier(
                max_cuts=cuts, training="bayes", random_state=0, n_threads=1
            )
            for cuts in CUTS
        }
        summary = cross_validate(
            models, table, labels, n_folds=5, groups=groups, random_state=0
        ).summary()
        for task, part in summary.groupby("task", sort=False):
            cells = [
                f"{100 * (1 - row.accuracy):.1f}, {row.auc:.3f}, {row.seconds:.1f}"
                for row in part.itertuples()
            ]
            print(f"| {name}, {task} | " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
