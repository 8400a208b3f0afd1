"""Factors in standard form: what holds after any training, and what does not change."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtri
from tests.simulate import simulate, with_holes

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier
from rankfactor.classifiers.in_use import LEAST_SPREAD
from rankfactor.data import read_npz_dataset
from rankfactor.engine.standard_form import in_standard_form, readable_order
from rankfactor.kernels.packed import unpack
from rankfactor.latent import InBasis, StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import DATA_LIKELIHOODS, MarginRank
from rankfactor.posterior.variance_explained import VarianceExplained, by_model
from rankfactor.steps.workers import Workers

pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*R-hat"),
]

D, K = 20, 3
SIMULATED = simulate(n=80, d=D, seed=2)
NEW = simulate(n=15, d=D, seed=5).X
BLOCKS = ["one"] * 12 + ["two"] * 8
SHORT = {"n_factors": K, "max_iter": 15, "random_state": 0, "n_threads": 1}
GIBBS = Gibbs(n_draws=6, burn_in=4, n_chains=2, n_predict=3)


def reconstruction(x, fitted):
    """The best multiple, from 0 to 1, of every fitted column, over the known entries."""
    fitted = np.where(np.isnan(x), 0.0, fitted)
    scale = (np.nan_to_num(x) * fitted).sum(axis=0) / (fitted**2).sum(axis=0)
    return fitted * np.clip(scale, 0.0, 1.0)


def labels():
    """A task of two classes, and one of three with missing labels."""
    first, second = SIMULATED.scores[:, :2].T
    three = np.array(["a", "b", "c"], object)[np.digitize(second, [-0.5, 0.5])]
    three[::9] = None
    return pd.DataFrame({"two": np.where(first > 0, "yes", "no"), "three": three})


CASES = {
    "bayes": {"training": "bayes"},
    "predictive": {"training": "predictive"},
    "mixed": {"model": "R-NL-BSVM", "experts": "mixed", "training": "predictive"},
    "kernel": {"model": "R-NL-BSVM", "experts": "kernel"},
    "mixed bayes": {"model": "R-NL-BSVM", "experts": "mixed", "training": "bayes"},
    "per component": {"model": "R-NL-BSVM", "experts": "per_component", "n_components": 3},
    "gibbs": {"engine": GIBBS},
    "gibbs per component": {
        "model": "G-NL-BSVM",
        "experts": "per_component",
        "n_components": 3,
        "engine": GIBBS,
    },
    "gaussian": {"model": "G-L-BSVM", "training": "bayes"},
    "gaussian predictive": {"model": "G-L-Probit", "training": "predictive"},
    "blocks": {"training": "bayes", "blocks": BLOCKS},
    "blocks predictive": {"training": "predictive", "blocks": BLOCKS},
    "tasks": {"training": "bayes"},
    "tasks predictive": {"training": "predictive"},
    "missing": {"training": "bayes"},
    "missing predictive": {"training": "predictive"},
    "missing gaussian": {"model": "G-L-BSVM", "training": "bayes"},
}


@cache
def fitted(case):
    """A classifier, and the table that it was fitted to."""
    X = with_holes(SIMULATED.X) if "missing" in case else SIMULATED.X
    y = labels() if "tasks" in case else labels()["two"]
    return RankFactorClassifier(**SHORT | CASES[case]).fit(X, y), X


@cache
def unlabelled(likelihood):
    """An analysis of a table with missing entries and a feature of three levels, and the table."""
    X = with_holes(SIMULATED.X)
    X[:, 4] = np.where(np.isnan(X[:, 4]), np.nan, np.digitize(X[:, 4], [-0.5, 0.5]))
    with warnings.catch_warnings():
        if likelihood == "neighbour_rank":  # the bounds of the paper's print collapse
            warnings.filterwarnings("ignore", "the factors explain less than")
        return RankFactorAnalysis(likelihood=likelihood, **SHORT).fit(X), X


def normal_scores(posterior, X):
    """Normal scores of the ranks of what the model sees, or standardised values, shape (N, d)."""
    if posterior.model.data.name in ("gaussian", "student_t"):
        X = X[:, posterior.coding.columns]
        return (X - np.nanmean(X, axis=0)) / np.nanstd(X, axis=0)
    codes = posterior.coding.observe(X).tile(slice(None), slice(None)).T.astype(float)
    known = ~np.isnan(X[:, posterior.coding.columns])
    scores = np.full(codes.shape, np.nan)
    for feature, here in enumerate(known.T):
        levels, of, count = np.unique(codes[here, feature], return_inverse=True, return_counts=True)
        assert len(levels) > 1
        middle = (np.cumsum(count) - 0.5 * count) / here.sum()
        x = ndtri(middle)[of]
        scores[here, feature] = (x - x.mean()) / x.std()
    return scores


def assert_standard(model, X, uncorrelated=False):
    """All guarantees of the standard form, from the table and the public attributes alone."""
    posterior, scores = model.posterior_, model.scores_
    sd = scores.std(axis=0)
    used = sd > 0.5
    assert posterior.has_standard_form
    assert used.any()
    assert used[posterior.active].all()
    assert_allclose(sd[used], 1.0, atol=1e-6)
    if uncorrelated:
        apart = np.corrcoef(scores[:, used].T) - np.eye(used.sum())
        assert np.abs(apart).max() < 1e-6
        assert_allclose(
            posterior.factor_correlations[np.ix_(used, used)], np.eye(used.sum()), atol=1e-6
        )
    assert (np.diff(posterior.shares) <= 0).all()
    columns = posterior.coding.columns
    structure = model.structure_[columns]
    assert np.abs(structure).max() <= 1
    leading = np.abs(structure).argmax(axis=0)
    assert (structure[leading, np.arange(len(sd))][used] > 0).all()

    x = normal_scores(posterior, X)
    z = (scores - scores.mean(axis=0)) / np.where(used, sd, np.inf)
    for k in np.flatnonzero(used):
        expected = [
            np.corrcoef(x[here, i], z[here, k])[0, 1] for i, here in enumerate(~np.isnan(x).T)
        ]
        assert_allclose(structure[:, k], expected, atol=1e-6)
    residual = x - reconstruction(x, z @ posterior.standardised_loadings[columns].T)
    by_feature = 1 - np.nansum(residual**2, axis=0) / np.nansum(x**2, axis=0)
    assert model.r2_ == pytest.approx(by_feature.mean(), abs=1e-6)
    assert 0 < model.r2_ < 1
    assert posterior.shares.sum() == pytest.approx(model.r2_, abs=1e-12)
    assert_array_equal(model.r2_by_factor_, posterior.shares)
    assert_allclose(model.transform(X), scores, atol=1e-6)
    return by_feature


@pytest.mark.parametrize("case", CASES)
def test_the_form_is_the_same_after_any_training(case):
    model, X = fitted(case)
    by_feature = assert_standard(model, X, "training" in CASES[case] and is_predictive(model))
    blocks = model.r2_by_block_
    if "blocks" not in case:
        assert blocks.empty
        return
    for name, row in blocks.iterrows():
        mean = by_feature[np.array(BLOCKS) == name].mean()
        assert row.sum() == pytest.approx(mean, abs=1e-6)
    sizes = [BLOCKS.count(name) for name in blocks.index]
    assert_allclose(np.average(blocks, axis=0, weights=sizes), model.r2_by_factor_, atol=1e-12)


def is_predictive(model):
    return model.posterior_.training == "predictive"


def test_the_cases_cover_both_trainings():
    trainings = [is_predictive(fitted(case)[0]) for case in CASES]
    assert 0 < sum(trainings) < len(CASES)


@pytest.mark.parametrize("likelihood", DATA_LIKELIHOODS)
def test_any_likelihood_without_labels_and_with_holes(likelihood):
    assert_standard(*unlabelled(likelihood))


def test_likelihoods_by_block_with_holes():
    """Every block has normal scores, and missing entries, of its own kind."""
    X = with_holes(SIMULATED.X)
    likelihood = {"one": "gaussian", "two": "margin_rank"}
    model = RankFactorAnalysis(likelihood=likelihood, blocks=BLOCKS, **SHORT).fit(X)
    posterior = model.posterior_
    gaussian = RankFactorAnalysis(likelihood="gaussian", **SHORT | {"max_iter": 1}).fit(X[:, :12])
    ranked = RankFactorAnalysis(likelihood="margin_rank", **SHORT | {"max_iter": 1}).fit(X[:, 12:])
    x = np.hstack(
        [
            normal_scores(gaussian.posterior_, X[:, :12]),
            normal_scores(ranked.posterior_, X[:, 12:]),
        ]
    )
    sd = model.scores_.std(axis=0)
    used = sd > 0.5
    z = (model.scores_ - model.scores_.mean(axis=0)) / np.where(used, sd, np.inf)
    residual = x - reconstruction(x, z @ posterior.standardised_loadings.T)
    by_feature = 1 - np.nansum(residual**2, axis=0) / np.nansum(x**2, axis=0)
    assert model.r2_ == pytest.approx(by_feature.mean(), abs=1e-6)
    assert_allclose(
        model.r2_by_block_.sum(axis=1), [by_feature[:12].mean(), by_feature[12:].mean()], atol=1e-6
    )


MOVED = ("bayes", "tasks predictive", "mixed", "per component", "gibbs", "gibbs per component")


def assert_near(one, other, rtol=1e-6):
    one, other = np.asarray(one), np.asarray(other)
    assert_allclose(one, other, rtol=rtol, atol=rtol * np.abs(other).max())


@pytest.mark.parametrize("case", MOVED)
def test_other_coordinates_say_the_same_of_new_samples(case):
    """Draws are kept in single precision, whose rounding a matrix spreads over the factors."""
    posterior = fitted(case)[0].posterior_
    rng = np.random.default_rng(4)
    turn = np.linalg.qr(rng.standard_normal((K, K)))[0]
    moved = posterior.transformed(turn * [0.7, 1.3, 2.0] @ np.linalg.qr(rng.random((K, K)))[0])
    assert np.abs(moved.scores.mean - posterior.scores.mean).max() > 0.1
    rtol = 1e-6 if posterior.draws is None else 3e-5
    names = ("decision_function", "predict_proba", "predict_interval")
    for name in names:
        own, other = (getattr(one, name)(NEW, n_threads=1) for one in (posterior, moved))
        several = isinstance(own, list)
        for a, b in zip(other if several else [other], own if several else [own], strict=True):
            assert_near(a, b, rtol)
    assert_array_equal(moved.predict(NEW, n_threads=1), posterior.predict(NEW, n_threads=1))
    own, other = (one.explain(NEW, n_threads=1) for one in (posterior, moved))
    assert own.keys() == other.keys()
    for name in own:
        assert_near(other[name].values, own[name].values, rtol)
        assert_near(other[name].base_values, own[name].base_values, rtol)


def test_diagonal_coordinates_keep_the_draws_decisions():
    """Factors are not mixed, so single precision suffices for every draw."""
    posterior = fitted("gibbs per component")[0].posterior_
    moved = posterior.transformed(np.diag([2.0, -0.5, 4.0]))
    assert_near(moved.decision_function(NEW), posterior.decision_function(NEW))
    assert_near(moved.predict_proba(NEW), posterior.predict_proba(NEW))


@pytest.mark.parametrize("case", ["bayes", "mixed", "per component"])
def test_a_form_of_other_coordinates_is_the_same(case):
    """The form depends on the fit alone, up to the axes, which joint training gives it."""
    model, X = fitted(case)
    posterior = model.posterior_
    if is_predictive(model):
        matrix = np.linalg.qr(np.random.default_rng(0).standard_normal((K, K)))[0] * [3.0, 1.0, 2.0]
    else:
        matrix = np.eye(K)[:, [2, 0, 1]] * [-0.5, 2.0, 1.0]
    observed = posterior.coding.observe(X)
    again = in_standard_form(posterior.transformed(matrix), observed, Workers())
    assert_allclose(again.shares, posterior.shares, rtol=1e-4)
    assert_allclose(again.structure, posterior.structure, atol=1e-3)
    assert_allclose(again.scores.mean, posterior.scores.mean, atol=5e-3)
    assert_near(again.decision_function(NEW), posterior.decision_function(NEW))


def test_a_factor_that_is_switched_off_keeps_its_unit():
    """Scores that hardly vary are not scaled to unit variance, and explain nothing."""
    model, X = fitted("bayes")
    observed = model.posterior_.coding.observe(X)
    small = 0.5 * LEAST_SPREAD
    faint = model.posterior_.transformed(np.diag([1.0, small, 1.0]))
    found = in_standard_form(faint, observed, Workers())
    assert_allclose(found.scores.mean.std(axis=0), [1.0, 1.0, small], rtol=1e-6)
    assert found.shares[2] == 0
    assert_array_equal(found.structure[:, 2], 0.0)
    assert_near(found.decision_function(NEW), model.posterior_.decision_function(NEW))


def test_order_and_sign():
    structure = np.array([[0.1, -0.9, 0.3], [0.2, 0.5, -0.2]])
    found = VarianceExplained(structure, np.array([[0.1, 0.5, 0.2], [0.1, 0.2, 0.0]]))
    order, sign = readable_order(found)
    assert order.tolist() == [1, 0, 2]  # of equal ones the first is first
    assert sign.tolist() == [-1.0, 1.0, 1.0]
    moved = found.reordered(order, sign)
    assert_array_equal(moved.structure, structure[:, order] * sign)
    assert_array_equal(moved.r2, found.r2[:, order])


def test_what_a_model_expects_is_what_many_samples_show():
    """`by_model` against simulated normal values, of correlated scores."""
    rng = np.random.default_rng(1)
    mix = np.array([[1.0, 0.4], [0.0, 0.8]])
    z = rng.standard_normal((200_000, 2)) @ mix
    loadings, noise = np.array([[1.0, -0.5], [0.3, 0.8], [0.0, 0.6]]), np.array([0.5, 1.0, 0.2])
    x = z @ loadings.T + np.sqrt(noise) * rng.standard_normal((len(z), 3))
    found = by_model(loadings, mix.T @ mix, noise)
    expected = np.corrcoef(np.hstack([x, z]).T)[:3, 3:]
    assert_allclose(found.structure, expected, atol=0.01)
    assert_allclose(found.r2.sum(axis=1), 1 - noise / x.var(axis=0), atol=0.01)


# Of one prior in other coordinates.


def scores_law(n, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((n, K, K))
    precision = root @ root.transpose(0, 2, 1) + np.eye(K)
    upper = np.triu_indices(K)
    return Normal.from_natural(precision[:, upper[0], upper[1]], rng.standard_normal((n, K)))


def mixture():
    return fitted("per component")[0].posterior_.prior.inner


@pytest.mark.parametrize("kind", ["normal", "mixture"])
def test_a_prior_in_other_coordinates(kind):
    n, rng = 6, np.random.default_rng(3)
    matrix = rng.standard_normal((K, K)) + 2 * np.eye(K)
    inner = StandardNormal() if kind == "normal" else mixture().fresh(n).assign(scores_law(n))
    moved = inner.transformed(matrix)
    assert isinstance(moved, InBasis)
    inverse = np.linalg.inv(matrix)
    # Density of z @ matrix: precision M^-1 P M^-T, shift h M^-T.
    precision, shift = moved.natural(n, K)
    own, pull = inner.natural(n, K)
    assert_allclose(unpack(precision), inverse @ unpack(own) @ inverse.T, rtol=1e-9, atol=1e-12)
    assert_allclose(shift, pull @ inverse.T, rtol=1e-9, atol=1e-12)
    law, other = moved.law(n, K), inner.law(n, K).transformed(matrix)
    assert_allclose(law.mean, other.mean, rtol=1e-8, atol=1e-10)
    assert_allclose(law.cov, other.cov, rtol=1e-8, atol=1e-10)
    assert_allclose(law.log_det, other.log_det, rtol=1e-8, atol=1e-10)
    # E[log p] - E[log q] does not depend on the coordinates.
    z = scores_law(n, seed=7)
    assert moved.bound(z.transformed(matrix)) == pytest.approx(inner.bound(z), rel=1e-9)
    assert moved.n_used == inner.n_used
    there, here = moved.assign(z.transformed(matrix)), inner.assign(z)
    for one, same in zip(there.natural(n, K), here.transformed(matrix).natural(n, K), strict=True):
        assert_allclose(one, same, rtol=1e-8, atol=1e-10)
    taken = moved.take(slice(2, 4)).natural(2, K)
    for one, whole in zip(taken, moved.natural(n, K), strict=True):
        assert_allclose(one, whole[2:4] if len(whole) == n else whole, rtol=1e-12)
    # One matrix after the other is their product.
    twice, once = moved.transformed(matrix.T), inner.transformed(matrix @ matrix.T)
    assert_allclose(twice.basis, once.basis, rtol=1e-9, atol=1e-12)
    assert twice.inner is inner


def test_a_prior_of_new_samples_in_other_coordinates():
    prior = fitted("per component")[0].posterior_.prior
    assert isinstance(prior, InBasis)
    law = prior.fresh(4).law(4, K)
    expected = prior.inner.fresh(4).law(4, K).transformed(np.linalg.inv(prior.basis))
    assert_allclose(law.mean, expected.mean, rtol=1e-8, atol=1e-10)
    assert_allclose(law.cov, expected.cov, rtol=1e-8)


# Wide tables.

TRAININGS = {
    "bayes": {"training": "bayes"},
    "predictive": {"training": "predictive"},
    "mixed": {"model": "R-NL-BSVM", "experts": "mixed", "training": "predictive"},
    "kernel": {"model": "R-NL-BSVM", "experts": "kernel"},
    "gaussian": {"model": "G-L-BSVM", "training": "predictive"},
    "per component": {"model": "G-NL-BSVM", "experts": "per_component", "n_components": 3},
    "gibbs": {"model": "G-L-BSVM", "engine": Gibbs(n_draws=3, burn_in=2, n_chains=1, n_predict=2)},
}


@pytest.mark.parametrize("name", TRAININGS)
@pytest.mark.quick_cases("predictive")
def test_wide_tables(name):
    simulated = simulate(n=60, d=2000, k=4, noise=1.0, seed=1)
    settings = {"n_factors": 6, "random_state": 0, "max_iter": 20, "calibration": "none"}
    model = RankFactorClassifier(**settings | TRAININGS[name]).fit(simulated.X, simulated.y)
    assert_standard(model, simulated.X, is_predictive(model))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alon", "singh"])
@pytest.mark.parametrize("training", ["bayes", "predictive"])
def test_real_tables(name, training, shared_data):
    dataset = read_npz_dataset(shared_data(f"{name}.npz"))
    X, y = dataset.table.to_numpy(), dataset.labels.iloc[:, 0]
    model = RankFactorClassifier(
        n_factors=10, random_state=0, training=training, calibration="none"
    ).fit(X, y)
    assert_standard(model, X, is_predictive(model))


def test_a_table_of_pure_noise_has_a_form_too():
    X = np.random.default_rng(0).standard_normal((50, 12))
    model = RankFactorAnalysis(n_factors=3, max_iter=200, random_state=0).fit(X)
    assert model.posterior_.has_standard_form
    for values in (model.loadings_, model.scores_, model.structure_, model.r2_by_factor_):
        assert np.isfinite(values).all()
    assert np.abs(model.structure_).max() <= 1
    assert isinstance(model.posterior_.model.data, MarginRank)


def test_no_factor_is_in_use_where_none_explains_anything():
    posterior = unlabelled("gaussian")[0].posterior_
    assert posterior.active.any()
    nothing = VarianceExplained(*np.zeros((2, len(posterior.coding.columns), K)))
    assert not replace(posterior, variance=nothing).active.any()
    worse = VarianceExplained(nothing.structure, nothing.r2 - [0.1, 0.001, 0.1])
    assert not replace(posterior, variance=worse).active.any()
