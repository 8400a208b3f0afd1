"""Covariates of the estimators: regressed out or as a block, learned in training, saved."""

import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from rankfactor import InputError, RankFactorAnalysis, RankFactorClassifier, load_model, save_model
from rankfactor.engine.chain import Gibbs
from rankfactor.estimators.rank_residuals import RankResiduals
from rankfactor.steps.workers import Workers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

BOTH = ["age", "batch"]
GENES = [f"g{i}" for i in range(20)]


def people(n=120, seed=0):
    """A table whose batch effect dominates the factor of interest, and labels of that factor."""
    world, rng = np.random.default_rng(7), np.random.default_rng(seed)
    loadings, steps = world.standard_normal((20, 2)), world.standard_normal((20, 2))
    z, age = rng.standard_normal((n, 2)), rng.uniform(20, 80, n)
    batch = rng.choice(["x", "y"], n)
    w = z @ loadings.T + 0.5 * rng.standard_normal((n, 20))
    w += 4.0 * (batch == "y")[:, None] * steps[:, 0] + 0.05 * age[:, None] * steps[:, 1]
    table = pd.DataFrame(np.exp(w), [f"s{i}" for i in range(n)], GENES)
    return table.assign(age=age, batch=batch), np.where(z[:, 0] > 0, "case", "control")


def small(use="regress", **settings):
    settings = {"n_factors": 3, "max_iter": 15, "random_state": 0, "covariates": BOTH} | settings
    return RankFactorClassifier(covariate_use=use, **settings)


def test_factors_are_freed_of_what_is_regressed_out():
    table, _ = people()
    batch = (table["batch"] == "y").astype(float)

    def share(scores):
        return max(abs(np.corrcoef(batch, column)[0, 1]) for column in scores.T)

    settings = {"n_factors": 3, "random_state": 0}
    assert share(RankFactorAnalysis(**settings).fit(table[GENES]).scores_) > 0.8
    model = RankFactorAnalysis(covariates=BOTH, **settings).fit(table)
    assert share(model.scores_) < 0.2
    assert model.loadings_.shape == (20, 3)
    assert model.n_features_in_ == 22
    assert_array_equal(model.feature_names_in_, table.columns)
    new, _ = people(seed=1)
    scores, batch = model.transform(new), (new["batch"] == "y").astype(float)
    assert share(scores) < 0.3


def test_regressing_out_is_the_transformer():
    table, y = people()
    residuals = RankResiduals(BOTH).fit_transform(table)
    expected = small(covariates=None).fit(pd.DataFrame(residuals, table.index, GENES), y)
    model = small().fit(table, y)
    assert_array_equal(model.loadings_, expected.loadings_)
    assert_array_equal(model.coef_, expected.coef_)


@pytest.mark.parametrize("likelihood", ["margin_rank", "gaussian"])
def test_a_block_of_covariates(likelihood):
    table, y = people()
    model = small("block", likelihood=likelihood).fit(table, y)
    names = [*GENES, "age", "batch=y"]
    assert_array_equal(model.posterior_.feature_names, names)
    assert_array_equal(model.blocks_, ["features"] * 20 + ["covariates"] * 2)
    assert list(model.r2_by_block_.index) == ["features", "covariates"]
    plain = table[GENES].assign(age=table["age"], **{"batch=y": table["batch"] == "y"})
    expected = small(covariates=None, blocks=list(model.blocks_), likelihood=likelihood).fit(
        plain.astype(float), y
    )
    assert_array_equal(model.loadings_, expected.loadings_)
    # The factor that the batch is has its feature, too.
    loadings = np.abs(model.posterior_.standardised_loadings[-1])
    assert loadings.max() > 0.5


@pytest.mark.parametrize("use", ["regress", "block"])
@pytest.mark.parametrize("engine", ["vb", Gibbs(n_draws=3, burn_in=2, n_chains=1)], ids=str)
@pytest.mark.slow
def test_predictions_are_the_same_in_another_process(use, engine, tmp_path):
    table, y = people()
    new, _ = people(30, seed=1)
    new.loc["s0", "g3"] = np.nan
    model = small(use, engine=engine).fit(table, y)
    path = save_model(model.posterior_, tmp_path / "m")
    loaded = load_model(path)
    assert loaded.plan.covariates.design == model.posterior_.plan.covariates.design
    assert loaded.covariate_names == BOTH
    assert_array_equal(loaded.table_features, GENES)
    expected = model.predict_proba(new)
    new.to_pickle(tmp_path / "new")
    code = f"""
import numpy as np, pandas as pd
from rankfactor import load_model
from rankfactor.steps.workers import Workers
model = load_model({str(path)!r})
values = model.match(pd.read_pickle({str(tmp_path / "new")!r}), "error")
np.save({str(tmp_path / "p.npy")!r}, model.probabilities(model.decide(values, Workers()))[0])
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
    assert_array_equal(np.load(tmp_path / "p.npy"), expected)


@pytest.mark.parametrize("use", ["regress", "block"])
def test_a_sample_is_predicted_alike_among_any_others(use):
    table, y = people()
    new, _ = people(30, seed=1)
    model = small(use).fit(table, y)
    whole = model.transform(new)
    assert_allclose(model.transform(new.iloc[:1])[0], whole[0], rtol=0, atol=1e-9)
    other = new.assign(age=20.0, g1=0.0)
    other.iloc[0] = new.iloc[0]
    assert_allclose(model.transform(other)[0], whole[0], rtol=0, atol=1e-9)


@pytest.mark.parametrize("use", ["regress", "block"])
def test_new_tables_need_the_covariates(use):
    table, y = people()
    new, _ = people(10, seed=1)
    model = small(use).fit(table, y)
    assert_array_equal(model.predict(new[new.columns[::-1]]), model.predict(new))
    with pytest.raises(InputError, match="lacks 1 of 2 covariates: 'batch'"):
        model.predict(new.drop(columns="batch"))
    with pytest.raises(InputError, match="covariates are columns by name, and X has no names"):
        model.predict(new[GENES].to_numpy())
    with pytest.raises(InputError, match="lacks 1 of the model's 20 features: 'g2'"):
        model.predict(new.drop(columns="g2"))
    model.set_params(missing_features="missing")
    if use == "block":
        assert_array_equal(
            model.predict(new.drop(columns="batch")), model.predict(new.assign(batch=None))
        )
    else:
        with pytest.warns(UserWarning, match="10 of 10 samples have no value of .* 'batch'"):
            model.predict(new.drop(columns="batch"))


def test_covariates_help_where_they_drown_the_labels():
    table, y = people(240)
    new, truth = people(400, seed=1)
    # Predictive training finds the labels beneath the covariates as well.
    settings = {"n_factors": 2, "max_iter": 200, "training": "bayes"}
    plain = small(covariates=None, **settings).fit(table[GENES], y).score(new[GENES], truth)
    assert small(**settings).fit(table, y).score(new, truth) > plain + 0.05


@pytest.mark.slow
def test_within_cross_validation_and_with_a_chosen_weight():
    table, y = people(90)
    assert cross_val_score(clone(small()), table, y, cv=3, error_score="raise").min() > 0.5
    model = small(training="predictive", label_weight="auto", max_iter=3).fit(table, y)
    assert model.label_weight_ in (0, 1, 3, 10)


@pytest.mark.quick_cases("csr_array-block")
@pytest.mark.parametrize("use", ["regress", "block"])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_covariates_of_annotated_data_are_columns_of_obs(use, kind):
    table, y = people()
    expected = small(use).fit(table, y)

    def annotated(frame):
        return SimpleNamespace(
            X=kind(frame[GENES].to_numpy()),
            obs=frame[BOTH],
            obs_names=frame.index,
            var_names=pd.Index(GENES),
        )

    model = small(use).fit(annotated(table), y)
    assert_array_equal(model.loadings_, expected.loadings_)
    assert_array_equal(model.feature_names_in_, [*GENES, *BOTH])
    new, _ = people(20, seed=1)
    assert_array_equal(model.decision_function(annotated(new)), expected.decision_function(new))
    values = model.posterior_.match(annotated(new), "error")
    assert sparse.issparse(values) == (use == "block" and kind is not np.asarray)
    assert_array_equal(
        model.posterior_.decide(values, Workers())[0][:, 0], expected.decision_function(new)
    )


def test_blocks_and_covariates_together():
    table, y = people()
    blocks = {name: "a" if i < 12 else "b" for i, name in enumerate(GENES)}
    # Shares of a block add up to what the factors explain of it.
    model = small("block", blocks=blocks, max_iter=30, training="bayes").fit(table, y)
    assert list(model.r2_by_block_.index) == ["a", "b", "covariates"]
    assert_allclose(model.r2_by_block_.to_numpy().sum(axis=1) <= 1.0, True)
    other = small("regress", blocks=blocks).fit(table, y)
    assert list(other.r2_by_block_.index) == ["a", "b"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"covariates": ["sex"]}, "lacks 1 of 1 covariates: 'sex'"),
        ({"covariates": "age"}, "covariates must be a list of column names, not 'age'"),
        ({"covariates": ["age", "age"]}, "'age' is named more than once"),
        ({"use": "remove"}, "covariate_use must be one of regress, block, not 'remove'"),
        ({"use": "block", "blocks": ["covariates"] * 20}, "a block is called 'covariates'"),
    ],
)
def test_covariates_that_do_not_fit_are_refused(settings, message):
    with pytest.raises(InputError, match=message):
        small(**settings).fit(*people())


def test_arrays_have_no_covariates():
    table, y = people()
    with pytest.raises(InputError, match="give X as a DataFrame"):
        small().fit(table[GENES].to_numpy(), y)
    with pytest.raises(InputError, match="makes a feature that exists: 'batch=y'"):
        small("block").fit(table.rename(columns={"g0": "batch=y"}), y)
