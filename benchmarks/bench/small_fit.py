"""One small fit, for instruction counts: `python small_fit.py ITERATIONS [control]`.

With "control" the counting of callgrind is switched on for the second fit only, after the first has
loaded all compiled code.
"""

import os
import subprocess
import sys
import warnings

import numpy as np

from rankfactor import RankFactorClassifier


def main():
    warnings.simplefilter("ignore")
    iterations, control = int(sys.argv[1]), sys.argv[2:] == ["control"]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((64, 5)) @ rng.standard_normal((5, 96)) + rng.standard_normal((64, 96))
    y = (X[:, 0] > 0).astype(int)

    def fit():
        RankFactorClassifier(
            n_factors=5,
            max_cuts=8,
            training="bayes",
            max_iter=iterations,
            tol=0.0,
            random_state=0,
            n_threads=1,
        ).fit(X, y)

    def count(state):
        if control:
            command = ["callgrind_control", f"--instr={state}", str(os.getpid())]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    fit()
    count("on")
    fit()
    count("off")


if __name__ == "__main__":
    main()
