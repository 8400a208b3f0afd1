"""A likelihood of its own for each block of features."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from rankfactor import (
    Gibbs,
    InputError,
    RankFactorAnalysis,
    RankFactorClassifier,
    load_model,
    save_model,
    write_report,
)
from rankfactor.likelihoods import Gaussian, MarginRank
from rankfactor.storage.model_file import model_header

N = 80
SETTINGS = {"n_factors": 3, "random_state": 0, "n_threads": 1}
MIXED = {"survey": "ordinal_probit", "proteins": "margin_rank", "gases": "gaussian"}
RANKS = {"survey": "ordinal_probit", "proteins": "margin_rank", "gases": "ordinary_rank"}
BLOCKS = ["proteins", "survey"] * 6 + ["gases"] * 4


def table(n=N, seed=0):
    """Proteins and answers from 1 to 4 in turn, then gases; some cells missing."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 3))
    w = z @ np.random.default_rng(9).standard_normal((3, len(BLOCKS)))
    X = w + 0.5 * rng.standard_normal(w.shape)
    blocks = np.array(BLOCKS)
    X[:, blocks == "proteins"] = np.exp(X[:, blocks == "proteins"])
    X[:, blocks == "survey"] = 1.0 + np.digitize(X[:, blocks == "survey"], [-1, 0, 1])
    X[:, blocks == "gases"] = 50 + 10 * X[:, blocks == "gases"]
    X[rng.random(X.shape) < 0.05] = np.nan
    names = [f"{block}{number}" for number, block in enumerate(BLOCKS)]
    frame = pd.DataFrame(X, [f"s{i}" for i in range(n)], names)
    return frame, np.where(z[:, 0] > 0, "ill", "well")


def fitted(kind=RankFactorClassifier, likelihood=None, **settings):
    X, y = table()
    given = {"likelihood": likelihood or MIXED, "blocks": BLOCKS, **SETTINGS, **settings}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = kind(**given)
        return (model.fit(X, y) if kind is RankFactorClassifier else model.fit(X)), X, y


@pytest.mark.parametrize("training", ["bayes", "predictive"])
def test_new_samples_are_classified(training):
    model, X, y = fitted(training=training)
    assert model.score(X, y) > 0.9
    new, truth = table(200, seed=1)
    assert model.score(new, truth) > 0.85
    assert_allclose(model.decision_function(new[new.columns[::-1]]), model.decision_function(new))


def test_ranked_blocks_need_no_transform():
    X, y = table()
    other = X.copy()
    for name in X:
        if not name.startswith("gases"):
            other[name] = np.exp(X[name] / 10)
    models = [
        RankFactorClassifier(likelihood=MIXED, blocks=BLOCKS, training="bayes", **SETTINGS).fit(
            one, y
        )
        for one in (X, other)
    ]
    assert_array_equal(models[0].decision_function(X), models[1].decision_function(other))


@pytest.mark.usefixtures("without_momentum")
def test_the_bound_never_falls():
    for likelihood in (MIXED, {**MIXED, "gases": "margin_rank", "survey": "margin_rank"}):
        model, _, _ = fitted(RankFactorAnalysis, likelihood, max_iter=60, tol=0.0)
        elbo = model.posterior_.elbo
        assert np.diff(elbo).min() > -1e-4 * abs(elbo[-1])
        assert elbo[-1] > elbo[0]


@pytest.mark.parametrize("part", [MarginRank(double=True), Gaussian()])
def test_blocks_of_one_likelihood_are_the_whole_table_under_it(part):
    """Blocks only change the order of the rows, and with it rounding."""
    X, _ = table()
    X = X.fillna(X.median())
    settings = {**SETTINGS, "blocks": BLOCKS, "max_iter": 15, "tol": 0.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        whole = RankFactorAnalysis(part, **settings).fit(X)
        apart = RankFactorAnalysis(dict.fromkeys(MIXED, part), **settings).fit(X)
    assert_allclose(apart.posterior_.elbo, whole.posterior_.elbo, rtol=1e-9)
    assert_allclose(apart.loadings_, whole.loadings_, atol=1e-6)
    assert_allclose(apart.r2_by_block_.loc[whole.r2_by_block_.index], whole.r2_by_block_, atol=1e-6)


@pytest.mark.quick_cases("vb-mixed")
@pytest.mark.parametrize("likelihood", [MIXED, RANKS], ids=["mixed", "ranks"])
@pytest.mark.parametrize(
    "engine", ["vb", Gibbs(n_draws=6, burn_in=6, n_chains=2, n_predict=3)], ids=["vb", "gibbs"]
)
def test_saved_loaded_and_reported(likelihood, engine, tmp_path):
    model, X, _ = fitted(likelihood=likelihood, engine=engine, training="bayes")
    path = save_model(model, tmp_path / "m.rankfactor")
    assert model_header(path)["needs"] == [
        "basis",
        "likelihood_by_block",
    ]  # older versions refuse the file
    loaded = load_model(path)
    assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    again = save_model(loaded, tmp_path / "again.rankfactor")
    assert again.read_bytes() == path.read_bytes()
    page = tmp_path / "report.html"
    write_report(page, loaded, title="Blocks")
    text = page.read_text()
    assert "for the block survey" in text
    assert "ordinal probit likelihood" in text
    (found,) = loaded.explain(X).values()
    decision = model.decision_function(X)
    assert_allclose(found.base_values + found.values.sum(axis=1), decision, atol=1e-6)


@pytest.mark.slow
def test_gibbs_sampling_agrees_with_variational_bayes():
    gibbs = Gibbs(n_draws=150, burn_in=150, n_chains=2)
    drawn, X, _ = fitted(engine=gibbs, training="bayes")
    model, _, _ = fitted(training="bayes")
    ours, theirs = drawn.decision_function(X), model.decision_function(X)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.97
    tree = drawn.to_arviz()["posterior"]
    cuts = tree["cut_points"].isel(chain=0, draw=-1).to_numpy()
    rows = [str(name) for name in tree["feature"].to_numpy()]
    gases = [name.startswith("gases") for name in rows]
    assert np.isnan(cuts[gases]).all()
    assert not np.isnan(cuts[np.logical_not(gases), 0]).any()


@pytest.mark.slow
def test_a_chain_is_resumed(tmp_path):
    def run(n_draws, folder):
        gibbs = Gibbs(n_draws=n_draws, burn_in=3, n_chains=1, checkpoint=tmp_path / folder)
        return fitted(engine=gibbs, training="bayes")[0].posterior_.draws

    run(2, "a")
    assert_array_equal(run(5, "a").loadings, run(5, "b").loadings)


@pytest.mark.parametrize(
    ("likelihood", "blocks", "message"),
    [
        (MIXED, None, "there are no blocks"),
        ({"survey": "gaussian"}, BLOCKS, "no entry for the block 'proteins'"),
        ({**MIXED, "x": "gaussian"}, BLOCKS, "an entry for 'x', but the blocks are"),
        ({**MIXED, "gases": "gausian"}, BLOCKS, "likelihood must be one of"),
    ],
)
def test_likelihoods_and_blocks_that_do_not_fit_are_refused(likelihood, blocks, message):
    X, _ = table()
    with pytest.raises(InputError, match=message):
        RankFactorAnalysis(likelihood, blocks=blocks, **SETTINGS).fit(X)


def test_a_block_that_does_not_vary_is_refused():
    X, _ = table()
    X[[name for name in X if name.startswith("gases")]] = 1.0
    with pytest.raises(InputError, match="no feature of the block 'gases' varies"):
        RankFactorAnalysis(MIXED, blocks=BLOCKS, **SETTINGS).fit(X)


def test_the_former_name_of_blocks_works():
    X, y = table()
    model = RankFactorClassifier(views=BLOCKS, training="bayes", **SETTINGS)
    with pytest.warns(FutureWarning, match="views is called blocks now"):
        model.fit(X, y)
    with pytest.warns(FutureWarning, match="r2_by_block_"):
        assert list(model.view_shares_.index) == ["proteins", "survey", "gases"]
    with pytest.warns(FutureWarning, match="block_shares_ is called r2_by_block_ now"):
        assert model.block_shares_.equals(model.r2_by_block_)
    with pytest.raises(InputError, match="leave views out"):
        RankFactorClassifier(views=BLOCKS, blocks=BLOCKS, **SETTINGS).fit(X, y)
