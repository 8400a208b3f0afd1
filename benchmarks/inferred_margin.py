"""What happens to the margin when it is inferred: on training data only.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/inferred_margin.py

Margins under Gamma priors of mean 0.05 (of one cut in 32; see benchmarks/margin.py) and several
shapes, beside the fixed one. The rate of such a prior is its shape / 0.05. One fit to all training
samples gives the margin, the factors in use and the spread of w; error and AUC are by 5-fold
cross-validation. Without the folder, the bundled set only.
"""

import warnings

from margin import tables
from sklearn.exceptions import ConvergenceWarning

from rankfactor import RankFactorClassifier
from rankfactor.evaluation import cross_validate
from rankfactor.likelihoods import MarginRank
from rankfactor.likelihoods.margin_rank import REFERENCE_CUTS

SETS = ("alzheimer_csf", "usps_3v5, training part")
PARTS = {
    "fixed": MarginRank(),
    "shape 1, mean 0.05": MarginRank(margin_shape=1.0),
    "shape 1, mean 0.5": MarginRank(margin=0.5, margin_shape=1.0),
    "shape 100, mean 0.05": MarginRank(margin_shape=100.0),
    "shape 1000, mean 0.05": MarginRank(margin_shape=1000.0),
    "shape 10000, mean 0.05": MarginRank(margin_shape=10000.0),
}


def main() -> None:
    warnings.simplefilter("ignore", ConvergenceWarning)
    print("| set, task | margin | fitted (lowest, highest) | in use | sd(w) | error % | AUC |")
    print("|---|---|---|---|---|---|---|")
    for name, table, labels, _ in tables():
        if name not in SETS:
            continue
        models = {
            words: RankFactorClassifier(
                likelihood=part, training="bayes", random_state=0, n_threads=1
            )
            for words, part in PARTS.items()
        }
        summary = cross_validate(models, table, labels, n_folds=5, random_state=0, n_jobs=-1)
        found = summary.summary().set_index(["model", "task"])
        for words, model in models.items():
            fitted = model.fit(table, labels)
            params = fitted.posterior_.params
            margin = params.margin * params.n_cuts / REFERENCE_CUTS
            span = f"{margin.mean():.4f} ({margin.min():.4f}, {margin.max():.4f})"
            about = f"{span} | {fitted.n_active_} | {fitted.posterior_.sd_w[-1]:.4g}"
            for task in labels.columns:
                accuracy, auc = found.loc[(words, task), ["accuracy", "auc"]]
                cells = (
                    f"{name}, {task} | {words} | {about} | {100 - 100 * accuracy:.1f} | {auc:.3f}"
                )
                print(f"| {cells} |", flush=True)


if __name__ == "__main__":
    main()
