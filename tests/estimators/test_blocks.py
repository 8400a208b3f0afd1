"""Several sources of features are several blocks of one model."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.simulate import simulate

from rankfactor import (
    InputError,
    RankFactorAnalysis,
    RankFactorClassifier,
    load_model,
    save_model,
)
from rankfactor.data import from_mudata
from rankfactor.engine.chain import Gibbs
from rankfactor.shrinkage import ShrinkageByBlock
from rankfactor.steps.workers import Workers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

BLOCKS = ["rna"] * 40 + ["protein"] * 20


def two_sources():
    """A factor of both blocks, one of the first only and one of the second only."""
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((200, 3))
    first = rng.standard_normal((40, 3)) * [1, 1, 0]
    second = rng.standard_normal((20, 3)) * [1, 0, 1]
    w = scores @ np.vstack([first, second]).T + 0.5 * rng.standard_normal((200, 60))
    return np.exp(w), scores


def small(**settings):
    settings = {"n_factors": 3, "max_iter": 15, "random_state": 0} | settings
    return RankFactorClassifier(**settings)


def table_and_labels():
    data = simulate(n=60, d=12)
    return pd.DataFrame(data.X, columns=[f"g{i}" for i in range(12)]), data.y


def shares_of(model, scores):
    """Shares (blocks, true factors) of the factors that match the true ones."""
    k = scores.shape[1]
    found = np.abs(np.corrcoef(scores.T, model.scores_.T)[:k, k:]).argmax(axis=1)
    assert len(set(found)) == k
    return model.r2_by_block_.to_numpy()[:, found]


@pytest.mark.parametrize("likelihood", ["margin_rank", "gaussian"])
def test_a_private_factor_is_found_as_such(likelihood):
    X, scores = two_sources()
    settings = {"n_factors": 6, "shrinkage": "normal", "random_state": 0}
    X = X if likelihood == "margin_rank" else np.log(X)
    model = RankFactorAnalysis(likelihood, blocks=BLOCKS, **settings).fit(X)
    assert list(model.r2_by_block_.index) == ["rna", "protein"]
    rna, protein = shares_of(model, scores)
    assert min(rna[0], protein[0]) > 0.2
    assert rna[1] > 0.3
    assert protein[1] < 0.06
    assert protein[2] > 0.3
    assert rna[2] < 0.002
    # It is the blocks that do it: one scale for all leaves the private factor everywhere.
    plain = RankFactorAnalysis(likelihood, **settings).fit(X)
    k = np.abs(np.corrcoef(scores[:, 2], plain.scores_.T)[0, 1:]).argmax()
    everywhere = (plain.posterior_.standardised_loadings[:40, k] ** 2).mean()
    assert everywhere > 4 * rna[2]


def test_shares_are_those_of_the_variance():
    X, _ = two_sources()
    model = RankFactorAnalysis("gaussian", n_factors=4, blocks=BLOCKS, random_state=0)
    model.fit(np.log(X))
    total = model.r2_by_block_.sum(axis=1)
    # What the factors explain of standardised features, by their residuals.
    noise = model.posterior_.noise_variance
    assert_allclose(total, [1 - noise[:40].mean(), 1 - noise[40:].mean()], atol=0.03)


@pytest.mark.parametrize("engine", ["vb", Gibbs(n_draws=3, burn_in=2, n_chains=1)], ids=str)
def test_a_single_block_changes_no_bit(engine):
    table, y = table_and_labels()
    one = small(engine=engine).fit(table, y)
    other = small(engine=engine, blocks=["a"] * 12).fit(table, y)
    assert_array_equal(one.loadings_, other.loadings_)
    assert_array_equal(one.predict_proba(table), other.predict_proba(table))
    assert one.elbo_ == other.elbo_
    assert one.blocks_ is None
    assert_array_equal(other.blocks_, ["a"] * 12)


def test_two_blocks_are_not_one():
    table, y = table_and_labels()
    one, two = small().fit(table, y), small(blocks=["a", "b"] * 6).fit(table, y)
    assert isinstance(two.posterior_.model.loading_shrinkage, ShrinkageByBlock)
    assert np.abs(one.loadings_ - two.loadings_).max() > 1e-4


def test_the_order_and_names_of_blocks_do_not_matter():
    table, y = table_and_labels()
    one = small(blocks=["a", "b"] * 6).fit(table, y)
    other = small(blocks=["b", "a"] * 6).fit(table, y)
    assert_array_equal(one.loadings_, other.loadings_)
    assert_array_equal(one.r2_by_block_.loc[["a", "b"]], other.r2_by_block_.loc[["b", "a"]])
    assert (one.r2_by_block_.loc["a"] != one.r2_by_block_.loc["b"]).all()


def test_blocks_are_given_by_name():
    table, y = table_and_labels()
    listed = small(blocks=["a"] * 5 + ["b"] * 7).fit(table, y)
    by_name = {f"g{i}": "a" if i < 5 else "b" for i in range(11, -1, -1)}
    for blocks in (by_name, pd.Series(by_name)):
        assert_array_equal(small(blocks=blocks).fit(table, y).loadings_, listed.loadings_)


def test_a_feature_that_does_not_vary_takes_no_part():
    table, y = table_and_labels()
    blocks = ["a", "b"] * 6
    one = small(blocks=blocks).fit(table, y)
    with pytest.warns(UserWarning, match="1 of 13 features are constant"):
        other = small(blocks=["c", *blocks]).fit(table.assign(zero=0.0)[["zero", *table]], y)
    assert_array_equal(one.loadings_, other.loadings_[1:])
    assert_array_equal(other.r2_by_block_.loc["c"], np.zeros(3))


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (["a"] * 11, "blocks has 11 entries, but the table has 12 features"),
        ({"g0": "a"}, "blocks has no entry for 11 of 12 features: 'g1'"),
        ("rna", "blocks must be a list"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, message):
    table, y = table_and_labels()
    with pytest.raises(InputError, match=message):
        small(blocks=blocks).fit(table, y)


@pytest.mark.parametrize("engine", ["vb", "gibbs"])
def test_blocks_are_saved_and_loaded(engine, tmp_path):
    table, y = table_and_labels()
    if engine == "gibbs":
        engine = Gibbs(
            n_draws=4, burn_in=2, n_chains=2, checkpoint=tmp_path / "chain", align="permute"
        )
    model = small(blocks=["a", "b"] * 6, engine=engine).fit(table, y)
    loaded = load_model(save_model(model.posterior_, tmp_path / "m"))
    assert loaded.model == model.posterior_.model
    assert_array_equal(loaded.blocks, model.blocks_)
    assert_array_equal(loaded.r2_by_block, model.r2_by_block_)
    assert_array_equal(
        loaded.decide(table.to_numpy(), Workers())[0][:, 0], model.decision_function(table)
    )
    if engine != "vb":
        scales, expected = loaded.draws.scales, model.posterior_.draws.scales
        assert scales.values["loading_phi_1"].shape == (8, 3)
        assert scales.dims == expected.dims
        again = small(blocks=["a", "b"] * 6, engine=engine).fit(table, y)  # resumed
        assert_array_equal(again.loadings_, model.loadings_)


def test_predictive_training_has_blocks():
    table, y = table_and_labels()
    one = small(training="predictive", blocks=["a", "b"] * 6).fit(table, y)
    other = small(training="predictive").fit(table, y)
    assert np.abs(one.loadings_ - other.loadings_).max() > 1e-4


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_modalities_are_blocks():
    mudata, anndata = pytest.importorskip("mudata"), pytest.importorskip("anndata")
    X, _ = two_sources()
    names = [f"s{i}" for i in range(200)]

    def modality(part):
        return anndata.AnnData(pd.DataFrame(part, names, [f"f{i}" for i in range(part.shape[1])]))

    whole = mudata.MuData({"rna": modality(X[:, :40]), "protein": modality(X[:, 40:])})
    with pytest.raises(InputError, match="from_mudata"):
        RankFactorAnalysis().fit(whole)
    table = from_mudata(whole)
    settings = {"n_factors": 3, "max_iter": 20, "random_state": 0}
    model = RankFactorAnalysis(blocks=table.blocks, **settings).fit(table.values)
    assert_array_equal(model.blocks_, BLOCKS)
    expected = RankFactorAnalysis(blocks=BLOCKS, **settings).fit(X)
    assert_array_equal(model.loadings_, expected.loadings_)
