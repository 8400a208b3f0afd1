"""Wide tables: SVMs in the span of the samples equal those on all features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.impute import SimpleImputer
from sklearn.metrics import get_scorer
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from rankfactor.evaluation.baselines import RBFSVM, LinearSVM
from rankfactor.evaluation.baselines.medians import MedianFill
from rankfactor.evaluation.baselines.span import SampleSpan
from rankfactor.evaluation.baselines.svm import LinearMachine


def wide(
    n: int = 40, d: int = 300, classes: int = 2, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """More features than samples, on several scales, with missing values and a constant."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, d))
    X[:, :20] += 0.8 * y[:, None]
    X = X * np.exp(rng.standard_normal(d)) + 5.0
    X[rng.random(X.shape) < 0.02] = np.nan
    X[:, 7] = 3.0
    return X, y


def on_all_features(machine: Any) -> Any:
    impute = SimpleImputer(strategy="median", keep_empty_features=True)
    return make_pipeline(impute, StandardScaler(), machine)


def inner_scores(machines: list[Any], X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Mean score of every SVM over the inner folds, on all features."""
    score = get_scorer("roc_auc" if len(np.unique(y)) == 2 else "balanced_accuracy")
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return np.mean(
        [
            [
                score(on_all_features(one).fit(X[train], y[train]), X[test], y[test])
                for one in machines
            ]
            for train, test in folds.split(X, y)
        ],
        axis=0,
    )


@pytest.mark.parametrize("classes", [2, 3])
def test_the_linear_machine_is_that_on_all_features(classes: int) -> None:
    X, y = wide(classes=classes)
    new, _ = wide(classes=classes, seed=1)
    model = LinearSVM().fit(X, y)
    assert model.pipelines_[0][-1].coef_.shape[1] == len(X)
    machines = [LinearSVC(C=cost, tol=1e-6, max_iter=20_000) for cost in (1e-3, 1e-2, 1e-1, 1, 10)]
    best = machines[int(np.argmax(inner_scores(machines, X, y).round(12)))]
    assert model.C_ == [best.C]
    expected = on_all_features(best).fit(X, y).decision_function(new)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=2e-3)


@pytest.mark.parametrize("classes", [2, 3])
def test_the_radial_machine_is_that_on_all_features(classes: int) -> None:
    X, y = wide(classes=classes)
    new, _ = wide(classes=classes, seed=1)
    model = RBFSVM().fit(X, y)
    machines = [
        SVC(C=cost, gamma=width / X.shape[1])
        for cost in (0.1, 1.0, 10.0, 100.0)
        for width in (0.1, 1.0, 10.0)
    ]
    scores = inner_scores(machines, X, y)
    (setting,) = model.settings_
    best = machines[int(np.argmax(scores.round(12)))]
    assert setting == {"C": best.C, "gamma": best.gamma}
    expected = on_all_features(best).fit(X, y).decision_function(new)
    np.testing.assert_allclose(model.decision_function(new), expected, atol=2e-3)


def objective(machine: LinearSVC, X: np.ndarray, y: np.ndarray) -> float:
    """Objective of a linear SVM of two classes."""
    loss = np.maximum(1 - (2 * y - 1) * machine.decision_function(X), 0) ** 2
    return float(
        0.5 * (machine.coef_**2).sum() + 0.5 * machine.intercept_[0] ** 2 + machine.C * loss.sum()
    )


@pytest.mark.parametrize(
    ("shape", "shift"), [((30, 30), 0.0), ((60, 12), 3.0), ((300, 5), 0.3)], ids=str
)
@pytest.mark.parametrize("cost", [1e-3, 10.0])
def test_the_solver_suits_the_samples(shape: tuple[int, int], shift: float, cost: float) -> None:
    """Separated or not, the optimum is found: any warning of liblinear would be an error."""
    rng = np.random.default_rng(0)
    y = np.arange(shape[0]) % 2
    X = StandardScaler().fit_transform(rng.standard_normal(shape) + shift * y[:, None])
    found = LinearMachine(cost).fit(X, y)
    # Convex, so that a general method finds it as well.
    start = np.zeros(shape[1] + 1)
    sides = 2 * y - 1

    def cost_of(w: np.ndarray) -> float:
        loss = np.maximum(1 - sides * (X @ w[:-1] + w[-1]), 0) ** 2
        return float(0.5 * w @ w + cost * loss.sum())

    best = minimize(cost_of, start, method="BFGS", options={"maxiter": 2000}).fun
    assert objective(found, X, y) < best * (1 + 2e-3)


def test_inner_products_and_distances_are_kept() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((6, 30)), rng.standard_normal((4, 30))
    X[3] = X[2]  # the span has fewer dimensions than samples
    span = SampleSpan(rest=True)
    inside, outside = span.fit_transform(X), span.transform(new)
    assert (inside.shape, outside.shape) == ((6, 7), (4, 7))
    assert (inside[:, -1] == 0).all()
    np.testing.assert_allclose(inside @ inside.T, X @ X.T, atol=1e-12)
    np.testing.assert_allclose(outside @ inside.T, new @ X.T, atol=1e-12)
    apart = ((new[:, None] - X[None]) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        ((outside[:, None] - inside[None]) ** 2).sum(axis=2), apart, atol=1e-11
    )
    np.testing.assert_allclose(span.transform(X), inside, atol=1e-12)
    assert SampleSpan().fit_transform(X).shape == (6, 6)


def test_tables_that_are_not_wide_stay_as_they_are() -> None:
    X = np.random.default_rng(0).standard_normal((9, 9))
    span = SampleSpan().fit(X)
    assert span.axes_ is None
    assert span.transform(X) is X


def test_scales_are_learned_in_the_training_part_of_every_inner_fold(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = wide()
    sizes: list[int] = []
    real = MedianFill.fit

    def noted(self: MedianFill, values: Any, y: Any = None) -> Any:
        sizes.append(len(values))
        return real(self, values, y)

    monkeypatch.setattr(MedianFill, "fit", noted)
    LinearSVM().fit(X, y)
    assert sizes == [32] * 5 + [40]


def test_medians_are_those_of_scikit_learn() -> None:
    X, _ = wide(n=11)
    X[:10, 3] = np.nan
    new, _ = wide(n=8, seed=1)
    theirs = SimpleImputer(strategy="median").fit(X)
    np.testing.assert_allclose(MedianFill().fit(X).transform(new), theirs.transform(new))


def test_a_feature_without_training_values_says_nothing() -> None:
    X, y = wide()
    X[:, 5] = np.nan
    new, _ = wide(seed=1)
    assert (MedianFill().fit(X).transform(new)[:, 5] == 0).all()
    model = RBFSVM().fit(X, y)
    other = new.copy()
    other[:, 5] = 1e6
    np.testing.assert_array_equal(model.decision_function(new), model.decision_function(other))
