"""The SVM baselines: shapes, missing values and labels, and no leakage from test samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from rankfactor.errors import InputError
from rankfactor.evaluation.baselines import RBFSVM, LinearSVM, svm
from rankfactor.evaluation.baselines.svm import FALLBACK_C, GRID, RADIAL_COSTS, RADIAL_WIDTHS


def table(n: int = 60, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, 6))
    side = np.where(values[:, 0] + 0.3 * rng.standard_normal(n) > 0, "up", "down")
    third = np.digitize(values[:, 1] + 0.3 * rng.standard_normal(n), [-0.5, 0.5])
    values[rng.random(values.shape) < 0.05] = np.nan
    index = [f"s{i}" for i in range(n)]
    frame = pd.DataFrame(values, index=index, columns=list("abcdef"))
    return frame, pd.DataFrame({"side": side, "third": third}, index=index)


EXPECTED_FAILURES = {
    "check_classifier_multioutput": "several label columns have one array of decisions each",
}


@parametrize_with_checks([LinearSVM()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
@pytest.mark.slow
def test_scikit_learn_conventions(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([RBFSVM()], expected_failed_checks=lambda _: EXPECTED_FAILURES)
def test_scikit_learn_conventions_of_the_radial_one(estimator: Any, check: Any) -> None:
    check(estimator)


def test_shapes_with_several_label_columns() -> None:
    X, Y = table()
    model = LinearSVM().fit(X, Y)
    side, third = model.decision_function(X)
    assert side.shape == (60,)
    assert third.shape == (60, 3)
    assert [list(classes) for classes in model.classes_] == [["down", "up"], [0, 1, 2]]
    predicted = model.predict(X)
    assert predicted.shape == (60, 2)
    assert set(predicted[:, 0]) == {"down", "up"}
    assert (predicted[:, 0] == np.where(side > 0, "up", "down")).all()
    assert (predicted[:, 1] == third.argmax(axis=1)).all()
    assert all(cost in GRID for cost in model.C_)


def test_one_label_column_is_an_array() -> None:
    X, Y = table()
    model = LinearSVM().fit(X, Y["side"])
    assert model.decision_function(X).shape == (60,)
    assert model.predict(X).shape == (60,)
    assert list(model.classes_) == ["down", "up"]


def test_it_learns_the_signal() -> None:
    X, Y = table()
    new, truth = table(200, seed=1)
    decision = LinearSVM().fit(X, Y["side"]).decision_function(new)
    assert roc_auc_score(truth["side"] == "up", decision) > 0.85


def test_samples_without_a_label_are_left_out_of_that_task_only() -> None:
    X, Y = table()
    Y = Y.astype(object)
    Y.loc[Y.index[:20], "side"] = np.nan
    both = LinearSVM().fit(X, Y)
    side = LinearSVM().fit(X.iloc[20:], Y["side"].iloc[20:])
    third = LinearSVM().fit(X, Y["third"].astype(int))
    np.testing.assert_allclose(both.decision_function(X)[0], side.decision_function(X))
    np.testing.assert_allclose(both.decision_function(X)[1], third.decision_function(X))


def test_an_all_missing_feature_is_harmless() -> None:
    X, Y = table()
    without = LinearSVM().fit(X, Y["side"])
    empty = LinearSVM().fit(X.assign(g=np.nan), Y["side"])
    np.testing.assert_allclose(
        without.decision_function(X), empty.decision_function(X.assign(g=1.0)), atol=1e-8
    )


def test_columns_are_matched_by_name() -> None:
    X, Y = table()
    model = LinearSVM().fit(X, Y)
    np.testing.assert_array_equal(
        model.decision_function(X)[1], model.decision_function(X[X.columns[::-1]])[1]
    )
    with pytest.raises(InputError, match=r"lacks 1 of the model's 6 features: 'c'"):
        model.predict(X.drop(columns="c"))


def test_a_class_of_one_sample_gives_up_the_choice_of_cost() -> None:
    X, _ = table()
    y = np.array(["rest"] * 60, object)
    y[7] = "rare"
    assert LinearSVM().fit(X, y).C_ == [FALLBACK_C]


def test_more_features_than_samples_converges() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((24, 300))
    y = np.arange(24) % 2
    # Any warning of liblinear would be an error here.
    assert LinearSVM().fit(X, y).score(X, y) == 1.0


def test_one_class_only() -> None:
    X, _ = table()
    with pytest.raises(InputError, match="only one class"):
        LinearSVM().fit(X, ["up"] * 60)


def test_a_ring_is_for_the_radial_machine() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 2))
    y = np.where((X**2).sum(axis=1) > 1.4, "out", "in")
    radial = RBFSVM().fit(X[:100], y[:100])
    linear = LinearSVM().fit(X[:100], y[:100])
    assert radial.score(X[100:], y[100:]) > 0.85
    assert linear.score(X[100:], y[100:]) < 0.75
    (setting,) = radial.settings_
    assert setting["C"] in RADIAL_COSTS
    assert setting["gamma"] * 2 in RADIAL_WIDTHS
    assert radial.chosen_ == [f"C={setting['C']:g}, gamma={setting['gamma']:g}"]


def test_the_radial_machine_with_three_classes_and_missing_values() -> None:
    X, Y = table()
    model = RBFSVM().fit(X, Y)
    side, third = model.decision_function(X)
    assert (side.shape, third.shape) == ((60,), (60, 3))
    assert (model.predict(X)[:, 1] == third.argmax(axis=1)).all()


def test_inner_folds_keep_groups_together() -> None:
    """Duplicates across folds would favour the SVM that memorises."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((30, 40)), 2, axis=0)
    y = np.repeat(rng.integers(0, 2, 30), 2)  # nothing to learn
    groups = np.repeat(np.arange(30), 2)
    alone = _best_inner_score(X, y, None)
    together = _best_inner_score(X, y, groups)
    assert alone > 0.95
    assert together < 0.85


def _best_inner_score(X: Any, y: Any, groups: Any) -> float:
    """Highest mean AUC among the settings, by the SVM's own inner folds."""
    found: list[Any] = []
    real = svm.choose

    def noted(*arguments: Any) -> Any:
        found.append(real(*arguments))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(svm, "choose", noted)
        RBFSVM().fit(X, y, groups=groups)
    return float(max(found[-1].scores))


def test_groups_too_few_give_up_the_choice() -> None:
    X, Y = table()
    one = np.where(Y["side"] == "up", "g1", "g2")  # every class is one group
    assert LinearSVM().fit(X, Y["side"], groups=one).C_ == [FALLBACK_C]
