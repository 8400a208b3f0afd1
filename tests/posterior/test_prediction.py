"""A loaded model predicts, encodes and explains plain tables by itself."""

import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tests.simulate import simulate, with_holes

from rankfactor import (
    Gibbs,
    InputError,
    RankFactorAnalysis,
    RankFactorClassifier,
    load_model,
    save_model,
)

SETTINGS = {"n_factors": 3, "random_state": 0, "n_threads": 1, "max_iter": 30, "tol": 1e-2}
MODELS = {
    "rank": {},
    "gaussian": {"model": "G-L-Probit"},
    "gated": {"model": "R-NL-BSVM", "experts": "mixed", "n_components": 3},
    "kernel": {"model": "R-NL-BSVM", "experts": "kernel"},
    "per component": {"model": "R-NL-BSVM", "experts": "per_component", "n_components": 3},
    "gibbs": {"model": "G-L-BSVM", "engine": Gibbs(n_draws=4, burn_in=4, n_chains=1, n_predict=2)},
}


def table(n=60, d=12):
    simulated = simulate(n=n, d=d)
    frame = pd.DataFrame(
        with_holes(simulated.X), [f"s{i}" for i in range(n)], [f"g{i}" for i in range(d)]
    )
    labels = pd.DataFrame({"task": np.where(simulated.y == 1, "ill", "well")}, frame.index)
    labels["other"] = np.array(["a", "b", "c"])[np.arange(n) % 3]
    return frame, labels


@pytest.fixture(scope="module", params=MODELS)
def fitted(request):
    X, y = table()
    model = RankFactorClassifier(**{**SETTINGS, **MODELS[request.param]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y), X


def test_a_loaded_model_says_what_the_estimator_says(fitted, tmp_path):
    model, X = fitted
    loaded = load_model(save_model(model, tmp_path / "m.rankfactor"))
    shuffled = X[X.columns[::-1]]
    assert_array_equal(loaded.predict(shuffled), model.predict(X))
    assert_array_equal(loaded.transform(shuffled), model.transform(X))
    assert list(loaded.transform(X).index) == list(X.index)
    for name in ("predict_proba", "decision_function", "predict_interval"):
        for ours, theirs in zip(getattr(loaded, name)(X), getattr(model, name)(X), strict=True):
            assert_array_equal(ours, theirs)
    again = RankFactorClassifier.from_posterior(loaded)
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.n_features_in_ == 12
    assert list(again.feature_names_in_) == list(X.columns)


def test_contributions_add_up_to_the_decisions(fitted):
    model, X = fitted
    X = X.assign(g3=np.nan)
    found = model.explain(X)
    assert list(found) == ["task: well", "other: a", "other: b", "other: c"]
    binary, several = model.decision_function(X)
    decisions = np.column_stack([binary, several])
    for column, one in zip(decisions.T, found.values(), strict=True):
        assert_allclose(one.base_values + one.values.sum(axis=1), column, rtol=1e-6, atol=1e-6)
        assert_array_equal(one.values[X.isna().to_numpy()], 0.0)
        assert one.feature_names == list(X.columns)
        assert one.values.std() > 0


def test_the_base_of_a_linear_model_is_its_intercept():
    X, y = table()
    model = RankFactorClassifier(**SETTINGS).fit(X, y["task"])
    (found,) = model.explain(X).values()
    assert_allclose(found.by_factor["Base"], model.intercept_[0], atol=1e-9)
    # By feature, it has the mean contributions of the features that a sample has.
    known = X.notna().to_numpy()
    expected = model.intercept_[0] + known @ model.posterior_.effects.mean[0]
    assert_allclose(found.base_values, expected, atol=1e-3)
    # Moving one feature changes its own contribution most.
    moved = X.copy()
    moved["g0"] = X["g0"].max()
    (other,) = model.explain(moved).values()
    seen = X["g0"].notna().to_numpy()
    change = np.abs(other.values - found.values)[seen].sum(axis=0)
    assert change.argmax() == 0


def test_an_array_is_matched_by_position_and_missing_columns_on_request(fitted):
    model, X = fitted
    posterior = model.posterior_
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert_array_equal(posterior.predict(X.to_numpy()), model.predict(X))
    with pytest.raises(InputError, match="lacks 1 of the model's 12 features: 'g5'"):
        posterior.predict(X.drop(columns="g5"))
    fewer = posterior.predict_proba(X.drop(columns="g5"), missing_features="missing")
    assert_array_equal(fewer[0], posterior.predict_proba(X.assign(g5=np.nan))[0])


def test_a_model_without_labels_encodes_but_does_not_decide(tmp_path):
    X, _ = table()
    model = RankFactorAnalysis(**SETTINGS).fit(X)
    loaded = load_model(save_model(model, tmp_path / "m"))
    assert_array_equal(loaded.transform(X), model.transform(X))
    with pytest.raises(ValueError, match="fitted without labels"):
        loaded.predict(X)
    with pytest.raises(InputError, match=r"use RankFactorAnalysis\.from_posterior"):
        RankFactorClassifier.from_posterior(loaded)
    assert_array_equal(RankFactorAnalysis.from_posterior(loaded).transform(X), model.transform(X))


def test_what_a_notebook_shows(fitted):
    model, _ = fitted
    name = model.posterior_.model.name
    assert repr(model.posterior_).startswith(
        f"<Posterior of {name}, 60 samples x 12 features, 3 factors, tasks task, other; "
    )
    page = model.posterior_._repr_html_()
    assert "<td style='text-align:left'>60</td>" in page
    assert "ill (" in page


def test_only_an_estimator_or_a_posterior_is_saved(tmp_path):
    with pytest.raises(InputError, match="not fitted"):
        save_model(RankFactorClassifier(), tmp_path / "m")
    with pytest.raises(InputError, match="an estimator or a posterior"):
        save_model({"a": 1}, tmp_path / "m")


@pytest.mark.slow
def test_another_process_predicts_the_same_bits(tmp_path):
    X, y = table()
    X.to_csv(tmp_path / "table.csv")
    model = RankFactorClassifier(**SETTINGS).fit(X, y["task"])
    save_model(model, tmp_path / "m.rankfactor")
    program = """
import sys, numpy as np, pandas as pd
from rankfactor import load_model
folder = sys.argv[1]
model = load_model(f"{folder}/m.rankfactor")
np.save(f"{folder}/p.npy", model.predict_proba(pd.read_csv(f"{folder}/table.csv", index_col=0)))
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    read = pd.read_csv(tmp_path / "table.csv", index_col=0)
    assert_array_equal(np.load(tmp_path / "p.npy"), model.predict_proba(read))


def test_draws_for_arviz_come_from_the_estimator_too(fitted):
    model, _ = fitted
    if model.posterior_.draws is None:
        with pytest.raises(InputError, match=r"fit it with engine=.gibbs"):
            model.to_arviz()
    else:
        assert "loadings" in model.to_arviz()["posterior"]
