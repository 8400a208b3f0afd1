"""Seconds to explain 1,000 samples of 5,000 features, and to encode them, side by side.

.venv/bin/python benchmarks/explanations.py
"""

import time
import warnings

import numpy as np

from rankfactor import RankFactorClassifier

N, D, K, REPEATS = 1000, 5000, 20, 3


def main() -> None:
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    z = rng.standard_normal((N, 5))
    X = z @ rng.standard_normal((5, D)) + rng.standard_normal((N, D))
    y = z[:, 0] + 0.5 * rng.standard_normal(N) > 0
    model = RankFactorClassifier(
        n_factors=K, training="label-free", calibration="none", max_iter=20, random_state=0
    ).fit(X[:300], y[:300])
    for name in ("transform", "explain", "feature_effects"):
        seconds = []
        for _ in range(REPEATS):
            start = time.perf_counter()
            getattr(model, name)(X)
            seconds.append(time.perf_counter() - start)
        print(f"{name}: {min(seconds):.2f} s (best of {REPEATS})", flush=True)


if __name__ == "__main__":
    main()
