"""Effects of features on decisions: against encoding again, quartiles, draws, files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csc_matrix
from sklearn.exceptions import ConvergenceWarning

from rankfactor import (
    Gibbs,
    RankFactorAnalysis,
    RankFactorClassifier,
    load_alzheimer,
    load_model,
    save_model,
)
from rankfactor.errors import InputError
from rankfactor.posterior.effects import quartiles

SETTINGS = {"n_factors": 3, "random_state": 0, "n_threads": 1, "calibration": "none"}
MODELS = {
    "two parts": {"training": "label-free"},
    "joint": {"training": "bayes"},
    "predictive": {"training": "predictive"},
    "gaussian": {"model": "G-L-Probit", "training": "label-free"},
    "ordinal probit": {"likelihood": "ordinal_probit", "training": "bayes"},
    "ordinary rank": {"model": "OR-L-Probit", "training": "bayes"},
    "mixed": {"model": "R-NL-BSVM", "experts": "mixed", "n_components": 3},
    "kernel": {"model": "R-NL-BSVM", "experts": "kernel"},
    "per component": {"model": "R-NL-BSVM", "experts": "per_component", "n_components": 2},
    "gibbs": {"model": "G-L-Probit", "engine": Gibbs(20, burn_in=20, n_chains=1, n_predict=5)},
}


def table(n=70, d=60, seed=0):
    """Three factors, of which one drives the class; 3 % of the entries are missing."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3))
    loadings = rng.standard_normal((3, d)) * (rng.random((3, d)) < 0.5)
    X = np.exp(z @ loadings + 0.7 * rng.standard_normal((n, d)))
    X[rng.random((n, d)) < 0.03] = np.nan
    frame = pd.DataFrame(X, [f"s{i}" for i in range(n)], [f"g{i}" for i in range(d)])
    labels = pd.DataFrame({"task": np.where(z[:, 0] + 0.3 * z[:, 1] > 0, "ill", "well")})
    labels["site"] = np.array(["a", "b", "c"])[np.digitize(z[:, 2], [-0.5, 0.5])]
    return frame, labels.set_index(frame.index)


def fit(settings, X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return RankFactorClassifier(**{**SETTINGS, **settings}).fit(X, y)


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = table()
    return fit(MODELS[request.param], X, y), X


def decisions(model, X):
    return np.column_stack(model.decision_function(X))


def encoded_again(model, X):
    """Mean change of every decision when a feature is set to its quartiles, (features, rows)."""
    effects, found = model.posterior_.effects, []
    for place, name in enumerate(X.columns):
        known = X[name].notna().to_numpy()
        low, high = (
            decisions(model, X.assign(**{name: end[place]}))[known]
            for end in (effects.low, effects.high)
        )
        found.append((high - low).mean(axis=0))
    return np.array(found)


@pytest.mark.quick_cases("joint")
def test_first_order_effects_are_those_of_encoding_again(fitted):
    model, X = fitted
    found, again = model.feature_effects()["effect"].to_numpy(), encoded_again(model, X)
    for one, other in zip(found.T, again.T, strict=True):
        assert np.corrcoef(one, other)[0, 1] > 0.99
        first = np.argsort(-np.abs(one))[:50]
        small = 0.01 * np.abs(other).max()  # whose sign rounding and second order decide
        assert (one * other > 0)[first][np.abs(other[first]) > small].all()
        assert 0.85 < np.polyfit(other, one, 1)[0] < 1.15


@pytest.mark.slow
def test_the_fifty_largest_effects_on_real_data_have_the_sign_of_encoding_again():
    data = load_alzheimer()
    model = RankFactorClassifier(random_state=0, calibration="none").fit(data.table, data.labels)
    found, again = model.feature_effects()["effect"].to_numpy(), encoded_again(model, data.table)
    for one, other in zip(found.T, again.T, strict=True):
        assert np.corrcoef(one, other)[0, 1] > 0.999
        first = np.argsort(-np.abs(one))[:50]
        assert (one * other > 0)[first].all()


def test_effects_of_the_training_table_are_those_that_were_stored(fitted, tmp_path):
    model, X = fitted
    stored = model.feature_effects()
    assert list(stored.index) == list(X.columns)
    rows = ["task: well", "site: a", "site: b", "site: c"]
    assert stored.columns.tolist() == [
        (kind, row) for kind in ("effect", "probability") for row in rows
    ]
    assert_allclose(model.feature_effects(X), stored, atol=1e-5)
    loaded = load_model(save_model(model, tmp_path / "m.rankfactor"))
    pd.testing.assert_frame_equal(loaded.feature_effects(), stored)


def test_probabilities_move_with_the_decisions(fitted):
    model, _ = fitted
    found = model.feature_effects()
    effect, chance = found["effect"]["task: well"], found["probability"]["task: well"]
    assert (np.sign(effect) == np.sign(chance)).all()
    assert np.abs(chance).max() < 1
    # The three probabilities of a task always add up to 1.
    sites = found["probability"][["site: a", "site: b", "site: c"]]
    assert_allclose(sites.sum(axis=1), 0.0, atol=1e-12)


def test_contributions_are_compared_with_the_mean_of_the_training_samples(fitted):
    model, X = fitted
    for one in model.explain(X).values():
        known = X.notna().to_numpy()
        means = (one.values * known).sum(axis=0) / known.sum(axis=0)
        assert_allclose(means, 0.0, atol=1e-5)
        assert_array_equal(one.values[~known], 0.0)
        assert_allclose(one.by_factor.sum(axis=1), one.decisions, atol=1e-9)
        assert np.abs(one.remainder).max() < 0.05
        frame = one.frame()
        assert list(frame.index) == list(X.index)
        assert list(frame.columns) == list(X.columns)


def test_linear_decisions_leave_no_remainder():
    X, y = table()
    model = fit({"training": "label-free"}, X, y["task"])
    (one,) = model.explain(X).values()
    assert_allclose(one.remainder, 0.0, atol=1e-12)
    assert "Single features" in one.by_factor
    factors = model.scores_ * model.coef_[0]
    assert_allclose(one.by_factor[model.posterior_.factor_names], factors, atol=1e-6)


def test_effects_do_not_change_under_increasing_transforms():
    X, y = table()
    settings = {"training": "label-free"}
    ours, other = (fit(settings, one, y).feature_effects() for one in (X, np.log(X)))
    pd.testing.assert_frame_equal(ours, other)


def test_the_other_class_turns_the_effects():
    X, y = table()
    posterior = fit({"training": "label-free"}, X, y["task"]).posterior_
    turned = posterior.with_positive({"task": "ill"})
    assert list(turned.feature_effects()["effect"]) == ["task: ill"]
    assert_array_equal(turned.feature_effects(), -posterior.feature_effects())
    assert_allclose(turned.feature_effects(X), -posterior.feature_effects(X), atol=1e-12)


def test_constant_features_have_no_effect_and_missing_ones_are_not_averaged():
    X, y = table()
    X.insert(3, "flat", 1.0)
    with pytest.warns(UserWarning, match="1 of 61 features are constant"):
        model = fit({"training": "label-free"}, X, y["task"])
    assert (model.feature_effects().loc["flat"] == 0).all()
    gone = model.feature_effects(X.assign(g0=np.nan))
    assert gone.loc["g0", ("effect", "task: well")] == 0


def test_draws_give_effects_a_spread():
    X, y = table()
    model = fit(MODELS["gibbs"], X, y)
    effects = model.posterior_.effects
    assert (effects.sd > 0).all()
    assert np.isnan(fit({"training": "bayes"}, X, y).posterior_.effects.sd).all()


def test_quartiles_are_observed_values_that_differ():
    values = np.array([[0, 0, 5, 1, 7.0], [0, 0, 5, 2, np.nan], [0, 3, 5, 3, 9], [8, 9, 2, 4, 8]])
    values = np.vstack([values, np.array([[0, 6, 5, 5, np.nan]])])
    found = quartiles(values, np.arange(5))
    # Mostly zero: to the median of what is above; mostly the largest: from that of what is below.
    assert_array_equal(found, [[0, 0, 2, 2, 7], [8, 6, 5, 4, 9]])
    dense = np.array([[0, 2.0, 0], [0, 0, 1], [0, 3, 1], [4, 0, 0]])
    columns = np.array([0, 2, 1])
    assert_array_equal(quartiles(csc_matrix(dense), columns), quartiles(dense, columns))
    # Stored zeros, missing values and values below zero beside zeros that are not stored.
    below = csc_matrix(np.array([[-3.0, np.nan], [-2, 0], [5, 0], [1, -4]]))
    below.data[below.data == 5] = 0
    assert_array_equal(quartiles(below, np.arange(2)), [[-3, -4], [0, 0]])


def test_models_without_effects_say_so():
    X, _ = table()
    unsupervised = RankFactorAnalysis(n_factors=2, random_state=0, n_threads=1).fit(X).posterior_
    assert unsupervised.effects is None
    older = load_model("tests/fixtures/linear_v1.rankfactor")
    with pytest.raises(InputError, match="saved by an earlier version, without feature effects"):
        older.feature_effects()
