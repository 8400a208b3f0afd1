"""Baselines other than the SVMs: PFA-L-BSVM, NS-PCA-SVM, RF."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import ndtri
from sklearn.decomposition import PCA
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankfactor.errors import InputError
from rankfactor.evaluation.baselines import NormalScoresPCASVM, PFAClassifier, RandomForest
from rankfactor.evaluation.baselines.counting import CountScale
from rankfactor.evaluation.baselines.normal_scores import NormalScores, _Components
from rankfactor.evaluation.baselines.pfa_classifier import sweeps

QUICK = {
    "PFA-L-BSVM": PFAClassifier(n_factors=3, burn_in=3, n_draws=3, n_threads=1),
    "NS-PCA-SVM": NormalScoresPCASVM(n_factors=4),
    "RF": RandomForest(n_trees=20),
}
EXPECTED_FAILURES = {
    "check_classifier_multioutput": "several label columns have one array of decisions each",
}


@parametrize_with_checks(list(QUICK.values()), expected_failed_checks=lambda _: EXPECTED_FAILURES)
@pytest.mark.slow
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


def table(n: int = 80, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Counts that follow two factors; two label columns with unknown labels."""
    rng = np.random.default_rng(seed)
    theta = rng.gamma(1.0, 30.0, (n, 2))
    phi = np.repeat(np.eye(2), 6, axis=1) + 0.1
    values = rng.poisson(theta @ phi).astype(float)
    values[rng.random(values.shape) < 0.03] = np.nan
    side = np.where(theta[:, 0] > 25, "up", "down").astype(object)
    third = np.digitize(theta[:, 1], [15, 35]).astype(object)
    side[:3] = None
    index = [f"s{i}" for i in range(n)]
    columns = [f"g{i}" for i in range(12)]
    labels = pd.DataFrame({"side": side, "third": third}, index=index)
    return pd.DataFrame(values, index=index, columns=columns), labels


MODELS = {
    "PFA-L-BSVM": PFAClassifier(n_factors=3, burn_in=30, n_draws=30, n_threads=1),
    "NS-PCA-SVM": NormalScoresPCASVM(n_factors=4),
    "RF": RandomForest(n_trees=50),
}


@pytest.mark.parametrize("name", MODELS)
def test_several_label_columns_with_holes(name: str) -> None:
    X, Y = table()
    new, truth = table(200, seed=1)
    model = MODELS[name].fit(X, Y)
    side, third = model.decision_function(new)
    assert (side.shape, third.shape) == ((200,), (200, 3))
    known = truth["side"].notna().to_numpy()
    assert roc_auc_score(truth["side"][known] == "up", side[known]) > 0.93
    assert roc_auc_score(truth["third"] == 2, third[:, 2]) > 0.93
    predicted = model.predict(new)
    assert set(predicted[:, 0]) == {"down", "up"}
    assert (predicted[:, 1] == third.argmax(axis=1)).all()
    np.testing.assert_allclose(model.decision_function(new[new.columns[::-1]])[0], side)


def test_normal_scores_are_quantiles_of_mid_ranks() -> None:
    X = np.array([[1.0, 5.0], [2.0, 5.0], [2.0, 5.0], [9.0, np.nan]])
    scores = NormalScores().fit(X)
    np.testing.assert_allclose(scores.transform(X)[:, 0], ndtri(np.array([0.125, 0.5, 0.5, 0.875])))
    assert (scores.transform(X)[:, 1] == 0).all()
    new = np.array([[-1.0, 4.0], [1.5, 6.0], [100.0, np.nan]])
    np.testing.assert_allclose(
        scores.transform(new), ndtri(np.array([[0.125, 1 / 6], [0.25, 5 / 6], [0.875, 0.5]]))
    )


def test_normal_scores_against_ranks_one_by_one() -> None:
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (25, 9)).astype(float)  # ties
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 4] = np.nan
    new = rng.integers(-1, 8, (12, 9)) / 1.5
    new[3, 2] = np.nan
    expected = np.zeros(new.shape)
    for i in range(9):
        known = X[~np.isnan(X[:, i]), i]
        for s in range(12):
            if len(known) and not np.isnan(new[s, i]):
                rank = (known < new[s, i]).sum() + 0.5 * (known == new[s, i]).sum()
                least = 0.5 / len(known)
                expected[s, i] = ndtri(np.clip(rank / len(known), least, 1 - least))
    np.testing.assert_allclose(NormalScores().fit(X).transform(new), expected, atol=1e-14)


@pytest.mark.parametrize("shape", [(30, 6), (12, 40)])
def test_components_are_those_of_scikit_learn(shape: tuple[int, int]) -> None:
    X = np.random.default_rng(0).standard_normal(shape) * np.arange(1, shape[1] + 1)
    ours = _Components(4).fit(X).transform(X)
    theirs = PCA(4, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-9)
    few = _Components(9).fit(X[:3]).transform(X)
    assert few.shape == (shape[0], 2)
    same = _Components(3).fit(np.ones((4, 6)))  # no variance at all
    assert (same.transform(np.ones((2, 6))) == 0).all()


def test_increasing_transforms_change_nothing_for_normal_scores() -> None:
    X, Y = table()
    plain = NormalScoresPCASVM(4).fit(X, Y["third"].astype(int))
    bent = NormalScoresPCASVM(4).fit(np.exp(X / 20), Y["third"].astype(int))
    np.testing.assert_array_equal(
        plain.decision_function(X), bent.decision_function(np.exp(X / 20))
    )


def test_pfa_answers_do_not_depend_on_threads() -> None:
    X, Y = table()
    one, two = (
        PFAClassifier(3, burn_in=3, n_draws=3, n_threads=t).fit(X, Y["third"]) for t in (1, 2)
    )
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert one.scale_.rule == "counts"


def test_large_tables_have_fewer_sweeps() -> None:
    assert [sweeps(n) for n in (0, 10**6, 2 * 10**6, 4 * 10**6, 10**9)] == [100, 100, 50, 25, 25]
    X, Y = table()
    model = PFAClassifier(2, n_draws=3, n_threads=1).fit(X, Y["third"])
    assert len(model.analysis_.log_likelihood_) == 103


def rule(values: Any) -> str:
    return CountScale.learn(np.asarray(values, float)).rule


def test_the_rule_for_tables_that_are_no_counts() -> None:
    assert rule([[0, 3], [255, np.nan]]) == "counts"
    assert rule([[0.5, 3], [2500.2, 7]]) == "round"
    assert rule([[4.2, 3], [14.7, 7]]) == "range"  # a log scale
    assert rule([[-1, 1], [0.3, 0]]) == "range"
    assert rule([[-20, 3000], [4, 5]]) == "range"
    assert rule([[np.nan, np.nan]]) == "range"


def test_counts_of_a_range_and_of_new_samples() -> None:
    train = np.array(
        [[-1.0, 2.0, 7.0, np.nan], [1.0, 4.0, 7.0, np.nan], [0.0, np.nan, 7.0, np.nan]]
    )
    scale = CountScale.learn(train)
    found = scale.apply(train)
    np.testing.assert_array_equal(found[:, 0], [0, 255, 128])
    np.testing.assert_array_equal(found[:2, 1], [0, 255])
    assert np.isnan(found[2, 1])
    np.testing.assert_array_equal(found[:, 2], [0, 0, 0])
    new = scale.apply(np.array([[5.0, -5.0, 100.0, 3.0]]))
    np.testing.assert_array_equal(new, [[255, 0, 0, 0]])
    rounded = CountScale.learn(np.array([[0.4, 200.6]]))
    np.testing.assert_array_equal(rounded.apply(np.array([[-3.0, 900.4]])), [[0, 900]])


def test_wrong_scales_are_refused() -> None:
    with pytest.raises(InputError, match="scale must be one of auto, counts"):
        CountScale.learn(np.ones((2, 2)), "log")
    with pytest.raises(InputError, match=r"has -1: use scale='range'"):
        CountScale.learn(np.array([[-1.0, 2.0]]), "round")
    with pytest.raises(InputError, match="too large to be a count"):
        CountScale.learn(np.array([[1e15, 2.0]]), "counts")
