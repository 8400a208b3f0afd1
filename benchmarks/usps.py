"""Test error on the paper's USPS 3-vs-5 split, with the library's defaults and K = 20.

    RANKFACTOR_DATA=FOLDER .venv/bin/python benchmarks/usps.py

The folder holds usps_3v5.npz. The defaults were chosen without the test part (docs/decisions.md).
"""

import sys
import time

from rankfactor import RankFactorClassifier
from rankfactor.data import data_directory, read_npz_split
from rankfactor.estimators import PRESETS


def main() -> None:
    folder = data_directory()
    if folder is None:
        sys.exit("set RANKFACTOR_DATA to the folder that holds usps_3v5.npz.")
    train, test = read_npz_split(folder / "usps_3v5.npz")
    (task,) = train.task_names
    print("| model | test error % | test errors | iterations | seconds |")
    print("|---|---|---|---|---|")
    for name in PRESETS:
        started = time.perf_counter()
        model = RankFactorClassifier(name, n_factors=20, random_state=0)
        model.fit(train.table, train.labels[task])
        wrong = int((model.predict(test.table) != test.labels[task].to_numpy()).sum())
        share = 100 * wrong / test.n_samples
        seconds = time.perf_counter() - started
        print(f"| {name} | {share:.2f} | {wrong} | {model.n_iter_} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
