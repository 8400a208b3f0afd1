"""A posterior with the other of two classes as the positive one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankfactor import RankFactorClassifier
from rankfactor.engine.chain import Gibbs
from rankfactor.errors import InputError
from rankfactor.interpret.accuracy import two_class_tasks
from rankfactor.steps.workers import workers

N = 40
RNG = np.random.default_rng(0)
Y = pd.DataFrame({"two": np.arange(N) % 2, "three": np.arange(N) % 3, "more": np.arange(N) // 20})
X = RNG.standard_normal((N, 6)) + Y["two"].to_numpy()[:, None]
FEW = Gibbs(n_draws=4, burn_in=2, n_chains=1, n_predict=2)


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("R-L-BSVM", {}),
        ("R-NL-BSVM", {"experts": "mixed", "n_components": 2}),
        ("R-NL-BSVM", {"experts": "kernel"}),
        ("G-L-BSVM", {"engine": FEW}),
        ("G-NL-BSVM", {"n_components": 2, "engine": FEW, "experts": "per_component"}),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_decisions_turn_and_predictions_stay(model, settings) -> None:
    fitted = RankFactorClassifier(
        model, n_factors=2, max_iter=5, random_state=0, n_threads=1, **settings
    ).fit(X, Y)
    usual = fitted.posterior_
    other = usual.with_positive({"two": 0})
    assert other.classifiers.tasks[0].classes.tolist() == [1, 0]
    sign = np.array([-1, 1, 1, 1, 1])
    with workers(1) as pool:
        was, now = usual.decide(X, pool), other.decide(X, pool)
    np.testing.assert_allclose(now[0], was[0] * sign)
    np.testing.assert_allclose(now[1], was[1])
    for a, b in zip(usual.predictions(was[0]), other.predictions(now[0]), strict=True):
        assert (a == b).all()
    chances, turned = usual.probabilities(was), other.probabilities(now)
    np.testing.assert_allclose(turned[0], chances[0][:, ::-1], atol=1e-12)
    np.testing.assert_allclose(turned[2], chances[2])
    np.testing.assert_allclose(
        other.classifiers.joint_rows.mean, usual.classifiers.joint_rows.mean * sign[:, None]
    )
    assert (other.classifiers.class_index[:, 0] == 1 - Y["two"]).all()
    back = other.with_positive({"two": 1})
    assert (back.classifiers.rows.mean == usual.classifiers.rows.mean).all()
    assert usual.with_positive({"two": 1}) is usual
    with pytest.raises(InputError, match="not a class of 'two'"):
        usual.with_positive({"two": 2})
    with pytest.raises(InputError, match="Did you mean 'two'"):
        usual.with_positive({"tow": 1})
    with pytest.raises(InputError, match="which has 3"):
        usual.with_positive({"three": 1})
    # A cross-validation of either class is drawn for the model's.
    decisions = pd.DataFrame(
        {
            "sample": range(N),
            "task": "two",
            "model": "m",
            "label": Y["two"],
            "decision": Y["two"] - 0.5,
            "positive": 1,
            "probability": 0.1 + 0.8 * Y["two"],
        }
    )
    ((_, _, part, positive),) = two_class_tasks(usual, decisions)
    assert positive == 1
    assert (part["decision"] == decisions["decision"]).all()
    ((_, _, part, positive),) = two_class_tasks(other, decisions)
    assert positive == 0
    assert (part["decision"] == -decisions["decision"]).all()
    np.testing.assert_allclose(part["probability"], 1 - decisions["probability"])
