"""The number of factors by parallel analysis: simulated tables whose number is known."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.stats import norm, rankdata
from sklearn.exceptions import ConvergenceWarning
from tests.simulate import simulate

from rankfactor import RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine import parallel_analysis
from rankfactor.engine.parallel_analysis import count_factors
from rankfactor.errors import InputError
from rankfactor.likelihoods import Gaussian, MarginRank, OrdinaryRank
from rankfactor.steps.workers import workers


def table(n, d, k, noise=0.7, seed=0):
    """Values (n, d) of k factors, the signal of every feature with variance 1."""
    rng = np.random.default_rng([seed, n, d, k])
    if not k:
        return rng.standard_normal((n, d))
    w = rng.standard_normal((n, k)) @ rng.standard_normal((k, d))
    return w / w.std(axis=0) + noise * rng.standard_normal((n, d))


def count(X, part=None, seed=0, blocks=None, n_threads=1):
    part = MarginRank() if part is None else part
    coding = part.learn(X)
    observed = coding.observe(X)
    named = None if blocks is None else np.asarray(blocks)[coding.columns]
    with workers(n_threads) as pool:
        return count_factors(observed, part.normal_scores(observed), seed, pool, named)


@pytest.mark.parametrize("k", [1, 2, 5, 8])
@pytest.mark.parametrize(("n", "d"), [(300, 60), (150, 200), (100, 800)])
def test_finds_the_true_number(n, d, k):
    found = count(table(n, d, k))
    assert (found.n_factors, found.common, found.n_found) == (k, k, k)
    assert found.n_samples == n


@pytest.mark.parametrize(("n", "d"), [(300, 60), (100, 800)])
def test_finds_it_in_noise_as_large_as_the_signal(n, d):
    assert [count(table(n, d, k, noise=1.0)).n_factors for k in (2, 3, 5)] == [2, 3, 5]


@pytest.mark.slow
def test_is_right_in_nearly_all_of_many_tables():
    cases = [
        (n, d, k, seed)
        for n, d in ((300, 60), (150, 200), (100, 1000))
        for k in (2, 3, 5, 8)
        for seed in range(5)
    ]
    right = [count(table(n, d, k, 1.0, 10 + seed)).n_found == k for n, d, k, seed in cases]
    assert np.mean(right) > 0.95


@pytest.mark.parametrize(("n", "d"), [(90, 30), (30, 90)])
def test_eigenvalues_are_those_of_the_correlation_of_normal_scores(n, d):
    X = table(n, d, 2)
    scores = norm.ppf((rankdata(X, axis=0) - 0.5) / n)
    expected = np.sort(np.linalg.eigvalsh(np.corrcoef(scores.T)))[::-1]
    # Gaussian likelihoods keep all values, so that no level is lost.
    found = count(X, Gaussian())
    shown = min(n - 1, d)
    assert_allclose(found.eigenvalues[:shown], expected[:shown], atol=2e-5 * expected[0])
    assert (np.diff(found.chance) <= 0).all()


@pytest.mark.parametrize("part", [MarginRank(), Gaussian(), OrdinaryRank()])
def test_increasing_transforms_change_nothing(part):
    X = table(120, 40, 3)
    plain, skewed = count(X, part), count(np.exp(3 * X), part)
    assert plain.n_factors == 3
    assert_array_equal(plain.eigenvalues, skewed.eigenvalues)
    assert_array_equal(plain.chance, skewed.chance)


@pytest.mark.parametrize(("n", "d"), [(300, 60), (100, 600)])
@pytest.mark.parametrize("k", [0, 3])
def test_missing_entries_at_random(n, d, k):
    X = table(n, d, k, seed=2)
    X[np.random.default_rng(0).random(X.shape) < 0.4] = np.nan
    assert count(X).n_found == k


@pytest.mark.parametrize("part", [MarginRank(), Gaussian()])
@pytest.mark.parametrize(("n", "d"), [(200, 60), (100, 600)])
@pytest.mark.parametrize("k", [0, 3])
def test_samples_without_half_of_the_features_are_no_factors(n, d, k, part):
    X = table(n, d, k, seed=1)
    X[: n // 2, : d // 2] = np.nan
    assert count(X, part).n_found == k


def test_sparse_is_as_dense():
    rng = np.random.default_rng(0)
    X = rng.poisson(np.exp(table(200, 50, 2, noise=0.3))).astype(float)
    assert (X == 0).mean() > 0.3
    dense, thin = count(X), count(sparse.csc_array(X))
    assert dense.n_factors == 2
    assert_array_equal(dense.eigenvalues, thin.eigenvalues)
    assert_array_equal(dense.chance, thin.chance)


def two_blocks(n, own, seed, shared=False):
    """400 features with 4 factors, then 20 with some of their own or with those of the others."""
    rng = np.random.default_rng([seed, n, own])
    loadings = np.zeros((420, 4 + own))
    loadings[:400, :4] = rng.standard_normal((400, 4))
    loadings[400:, 4:] = rng.standard_normal((20, own))
    if shared:
        loadings[400:, :4] = rng.standard_normal((20, 4))
    w = rng.standard_normal((n, 4 + own)) @ loadings.T
    spread = w.std(axis=0)
    X = w / np.where(spread > 0, spread, 1) + 0.8 * rng.standard_normal((n, 420))
    return X, np.repeat(["genes", "clinic"], [400, 20])


@pytest.mark.parametrize("n", [80, 100])
def test_factors_of_a_small_block_are_added(n):
    X, blocks = two_blocks(n, 2, seed=0)
    found = count(X, blocks=blocks)
    assert found.n_factors == found.n_found == 6
    assert found.common < 6  # they are lost in the whole table, or what follows shows nothing
    assert found.blocks.tolist() == ["genes", "clinic"]
    assert found.added.tolist() == [0, 6 - found.common]


@pytest.mark.parametrize("n", [100, 250])
@pytest.mark.parametrize("shared", [True, False])
def test_a_block_without_factors_of_its_own_adds_none(n, shared):
    X, blocks = two_blocks(n, 0, seed=1, shared=shared)
    found = count(X, blocks=blocks)
    assert (found.n_factors, found.added.tolist()) == (4, [0, 0])


def test_factors_that_two_small_blocks_share_are_added_once():
    X, _ = two_blocks(100, 2, seed=2)
    blocks = np.repeat(["genes", "clinic", "survey"], [400, 10, 10])
    found = count(X, blocks=blocks)
    assert found.n_factors == 6
    assert found.added[0] == 0


def test_blocks_may_alternate_and_lack_samples():
    X, blocks = two_blocks(200, 2, seed=3)
    rng = np.random.default_rng(0)
    X[rng.random(200) < 0.3, 400:] = np.nan
    X[rng.random(200) < 0.3, :200] = np.nan
    order = rng.permutation(420)
    assert count(X, blocks=blocks).n_factors == 6
    assert count(X[:, order], blocks=blocks[order]).n_factors == 6


def test_likelihoods_by_block_are_counted_together():
    rng = np.random.default_rng(0)
    X, blocks = two_blocks(100, 2, seed=0)
    X[rng.random(X.shape) < 0.05] = np.nan
    frame = pd.DataFrame(X, columns=[f"f{i}" for i in range(420)])
    model = RankFactorAnalysis(
        {"genes": "gaussian", "clinic": "margin_rank"},
        n_factors="auto",
        blocks=blocks.tolist(),
        max_iter=2,
        tol=1.0,
        random_state=0,
    )
    assert model.fit(frame).posterior_.factor_count.n_factors == 6


def test_of_many_samples_some_are_used(monkeypatch):
    monkeypatch.setattr(parallel_analysis, "MOST_SAMPLES", 150)
    X = table(1000, 40, 3)
    one, again, other = count(X), count(X), count(X, seed=1)
    assert one.n_samples == 150
    assert [one.n_factors, other.n_factors] == [3, 3]
    assert_array_equal(one.eigenvalues, again.eigenvalues)
    assert not np.array_equal(one.eigenvalues, other.eigenvalues)


def test_with_many_features_too_fewer_samples_are_used(monkeypatch):
    monkeypatch.setattr(parallel_analysis, "MOST_ENTRIES", 20_000)
    monkeypatch.setattr(parallel_analysis, "FEWEST_SAMPLES", 60)
    assert count(table(300, 100, 2)).n_samples == 200
    assert count(table(300, 1000, 2)).n_samples == 60


def test_scores_that_are_read_again_give_the_same(monkeypatch):
    X = table(60, 1200, 3)
    X[:20, :300] = np.nan
    kept = count(X)
    monkeypatch.setattr(parallel_analysis, "_KEPT", 0)
    again = count(X)
    assert_array_equal(kept.eigenvalues, again.eigenvalues)
    assert_array_equal(kept.chance, again.chance)


def test_answers_do_not_depend_on_threads():
    X, blocks = two_blocks(100, 2, seed=0)
    X[::3, ::5] = np.nan
    one, two = (count(X, blocks=blocks, n_threads=n) for n in (1, 2))
    assert_array_equal(one.eigenvalues, two.eigenvalues)
    assert_array_equal(one.chance, two.chance)
    assert_array_equal(one.added, two.added)


def test_upper_limit(monkeypatch):
    monkeypatch.setattr(parallel_analysis, "MOST_FACTORS", 4)
    found = count(table(200, 60, 8, noise=0.3))
    assert found.n_factors == 4
    assert len(found.eigenvalues) == 4
    assert found.at_limit
    assert not count(table(200, 60, 2)).at_limit


@pytest.mark.parametrize(("n", "d"), [(2, 3), (3, 1), (40, 2), (4, 30)])
def test_tiny_tables_have_fewer_factors_than_samples_and_features(n, d):
    X = np.random.default_rng(0).standard_normal((n, 1)) + 0.01 * table(n, d, 0)
    assert 1 <= count(X).n_factors <= max(min(n, d) - 1, 1)


def test_without_structure_one_factor_is_fitted():
    model = RankFactorAnalysis(n_factors="auto", random_state=0, max_iter=5, tol=1.0)
    posterior = model.fit(table(100, 30, 0, seed=5)).posterior_
    assert posterior.factor_count.n_found == 0
    assert posterior.n_factors == posterior.model.n_factors == 1


def test_a_fit_has_the_number_that_was_found():
    X = table(120, 40, 3)
    y = X[:, 0] > np.median(X[:, 0])
    model = RankFactorClassifier(n_factors="auto", max_iter=5, tol=1.0, random_state=0)
    model.set_params(calibration="none", training="bayes")
    model.fit(np.round(X, 1), y)
    assert model.posterior_.n_factors == 3
    assert model.loadings_.shape == (40, 3)
    assert model.coef_.shape == (1, 3)
    assert model.n_factors == "auto"  # arguments stay as given


@pytest.mark.parametrize(("few", "training"), [(7, "label-free"), (8, "bayes")])
def test_training_does_not_depend_on_the_number_found(few, training, monkeypatch):
    """Whether 8 features are few does not depend on the number of factors or how it was chosen."""
    monkeypatch.setattr("rankfactor.engine.fit_settings.FEW_FEATURES", few)
    rng = np.random.default_rng(0)
    one = rng.standard_normal((150, 1)) + 0.5 * rng.standard_normal((150, 8))
    y = rng.random(150) < 1 / (1 + np.exp(-one[:, 0]))
    settings = {"max_iter": 5, "tol": 1.0, "calibration": "none", "random_state": 0}
    auto = RankFactorClassifier(n_factors="auto", **settings).fit(one, y).posterior_
    given = RankFactorClassifier(n_factors=5, **settings).fit(one, y).posterior_
    assert auto.n_factors == 1
    assert auto.training == given.training == training


def test_a_given_number_is_not_counted():
    model = RankFactorAnalysis(n_factors=2, max_iter=2, tol=1.0, random_state=0)
    assert model.fit(table(40, 10, 2)).posterior_.factor_count is None


@pytest.mark.parametrize("wrong", ["Auto", "many", 0, 2.5, True, None])
def test_other_words_and_numbers_are_refused(wrong):
    with pytest.raises(InputError, match="n_factors must be a whole number"):
        RankFactorAnalysis(n_factors=wrong).fit(table(30, 5, 1))


@pytest.mark.parametrize(("n_factors", "margin"), [("auto", 0.2), (3, 0.05)])
def test_few_features_have_a_larger_margin_where_the_number_is_chosen(n_factors, margin):
    """With a given number, a larger margin would keep every factor."""
    X = simulate(n=60, d=8, seed=0).X
    model = RankFactorAnalysis(n_factors=n_factors, max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X)
    assert model.posterior_.model.data.margin == margin
