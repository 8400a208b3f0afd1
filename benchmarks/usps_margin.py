"""Margin and cuts of the paper's model on USPS, by cross-validation within the training part.

``RANKFACTOR_DATA=FOLDER python -m benchmarks.usps_margin [MODEL]`` prints the inner error of every
candidate of ``rankfactor reproduce usps --settings margin`` in per cent, with its standard error
over folds, and its difference from the library's default on the same folds. The test part is not
used.
"""

from __future__ import annotations

import sys

from rankfactor.data.collection import load
from rankfactor.evaluation.choose_settings import in_words
from rankfactor.experiments.entries import MARGIN, Entry, build

DEFAULT = in_words({"margin": 0.05, "max_cuts": 16})


def main() -> None:
    model = sys.argv[1] if len(sys.argv) > 1 else "R-L-BSVM"
    data = load("usps_3v5")
    train = (data.labels["part"] == "train").to_numpy()
    chooser = build(Entry(model, MARGIN), n_threads=1, measure="accuracy", log=False)
    chosen = chooser.choose(data.table[train], data.labels["y"][train])
    folds = chooser.folds_.assign(error=lambda one: 100 * (1 - one["accuracy"]))
    errors = folds.pivot(index=["repeat", "fold"], columns="model", values="error")
    errors = errors[[in_words(one) for one in chooser.candidates]]
    apart = errors.sub(errors[DEFAULT], axis=0)
    for name in errors:
        print(
            f"{name:28} {errors[name].mean():5.2f} ({errors[name].sem():.2f})"
            f"  {apart[name].mean():+5.2f} ({apart[name].sem():.2f})"
        )
    print(f"chosen: {in_words(chosen)}")


if __name__ == "__main__":
    main()
