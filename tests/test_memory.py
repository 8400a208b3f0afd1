"""A fit holds codes of one byte an entry and works tile by tile."""

import tracemalloc

import numpy as np
import pytest

from rankfactor import RankFactorClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-BSVM"])
@pytest.mark.slow
def test_peak_of_a_fit_stays_below_one_float_array(model):
    rng = np.random.default_rng(0)
    n, d, k = 2000, 5000, 10
    X = rng.standard_normal((n, k)) @ rng.standard_normal((k, d))
    X += rng.standard_normal((n, d))
    y = X[:, 0] > 0
    # Predictive training keeps copies of its state to come back to, and needs more.
    estimator = RankFactorClassifier(
        model, n_factors=k, training="bayes", max_iter=2, random_state=0, n_threads=2
    )
    estimator.fit(X, y)  # compiles, so that the compiler's memory is not counted
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    estimator.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    # One byte an entry for the codes; everything else must fit in less than a float32 array.
    assert peak < X.size * 4
