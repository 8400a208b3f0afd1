"""Metamorphic tests: what must not change when the input changes in a known way."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from tests.simulate import simulate, with_holes

from rankfactor import RankFactorAnalysis, RankFactorClassifier
from rankfactor.likelihoods import MarginRank

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

INCREASING = {
    "exp": np.exp,
    "cube": lambda x: x**3,
    "arctan": np.arctan,
    "scale": lambda x: 1e6 * x - 5,
    "sinh": np.sinh,
}


def small(model="R-L-BSVM", **settings):
    settings = {"n_factors": 3, "max_iter": 15, "random_state": 0} | settings
    return RankFactorClassifier(model, **settings)


def rounded(seed=0, n=60, d=12):
    """A table on a coarse grid: distinct values stay distinct under every transform here."""
    simulated = simulate(n, d, seed=seed)
    return np.round(np.clip(simulated.X, -4, 4), 2), simulated.y


@settings(max_examples=8)
@given(st.lists(st.sampled_from(sorted(INCREASING)), min_size=12, max_size=12))
@pytest.mark.slow
def test_increasing_transforms_leave_every_bit_alone(names):
    X, y = rounded()
    X = with_holes(X, 0.05)
    new = with_holes(rounded(seed=9)[0], 0.05)

    def bend(table):
        return np.column_stack([INCREASING[name](table[:, i]) for i, name in enumerate(names)])

    one, other = small().fit(X, y), small().fit(bend(X), y)
    assert_array_equal(one.loadings_, other.loadings_)
    assert_array_equal(one.coef_, other.coef_)
    assert one.elbo_ == other.elbo_
    assert_array_equal(one.predict_proba(new), other.predict_proba(bend(new)))


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-BSVM"])
def test_permuting_samples_and_features_permutes_the_answer(model):
    X, y = rounded()
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    # Sums in another order round otherwise: in double precision that is hardly seen.
    settings = {"likelihood": MarginRank(double=True)} if model == "R-L-BSVM" else {}
    one = small(model, **settings).fit(X, y)
    other = small(model, **settings).fit(X[rows][:, columns], y[rows])
    assert_allclose(other.loadings_, one.loadings_[columns], atol=1e-6)
    assert_allclose(other.scores_, one.scores_[rows], atol=1e-5)
    assert_allclose(other.coef_, one.coef_, atol=1e-5)
    assert other.elbo_ == pytest.approx(one.elbo_, rel=1e-9)


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-BSVM", "G-L-Probit"])
def test_flipping_the_labels_negates_the_coefficients(model):
    X, y = rounded()
    one, other = small(model).fit(X, y), small(model).fit(X, 1 - y)
    assert_allclose(other.coef_, -one.coef_, atol=1e-8)
    assert_allclose(other.intercept_, -one.intercept_, atol=1e-8)
    assert_allclose(other.loadings_, one.loadings_, atol=1e-8)
    assert_array_equal(other.predict(X), 1 - one.predict(X))


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-BSVM"])
def test_columns_are_matched_by_name(model):
    X, y = rounded()
    table = pd.DataFrame(X, columns=[f"g{i}" for i in range(X.shape[1])])
    fitted = small(model).fit(table, y)
    shuffled = table[np.random.default_rng(0).permutation(table.columns)].assign(extra=1.0)
    assert_array_equal(fitted.decision_function(shuffled), fitted.decision_function(table))


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-BSVM"])
def test_a_constant_feature_changes_nothing(model):
    X, y = rounded()
    one = small(model).fit(X, y)
    more = np.column_stack([X[:, :4], np.full(len(X), 7.0), X[:, 4:], np.full(len(X), np.nan)])
    with pytest.warns(UserWarning, match="2 of 14 features are constant or all missing"):
        other = small(model).fit(more, y)
    assert_array_equal(np.delete(other.loadings_, [4, 13], axis=0), one.loadings_)
    assert_array_equal(other.loadings_[[4, 13]], 0)


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-Probit"])
def test_threads_do_not_change_a_fit_or_a_prediction(model):
    simulated = simulate(n=300, d=150)
    one = small(model, n_threads=1, max_iter=5).fit(simulated.X, simulated.y)
    two = small(model, n_threads=2, max_iter=5).fit(simulated.X, simulated.y)
    assert_array_equal(one.loadings_, two.loadings_)
    assert_array_equal(one.predict_proba(simulated.X), two.predict_proba(simulated.X))


def test_a_sample_without_a_label_counts_for_the_factors_only():
    X, y = rounded()
    labels = y.astype(float)
    labels[:10] = np.nan
    semi = small().fit(X, labels)
    assert len(semi.scores_) == len(X)
    unsupervised = RankFactorAnalysis(n_factors=3, max_iter=15, random_state=0).fit(X)
    assert not np.allclose(semi.loadings_, unsupervised.loadings_)
    # Labels that are all known by two samples only: the factors of the joint fit stay nearly
    # unsupervised. (Those of predictive training do not: it weighs the labels more.)
    labels[2:] = np.nan
    labels[:2] = [0, 1]
    nearly = small(training="bayes", margin=unsupervised.posterior_.model.data.margin).fit(
        X, labels
    )
    assert_allclose(nearly.loadings_, unsupervised.loadings_, atol=0.05)


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-BSVM"])
def test_loadings_are_recovered(model):
    """Up to rotation: the true loadings lie in the span of the fitted ones."""
    simulated = simulate(n=400, d=60, k=3, noise=0.3, seed=1)
    X = simulated.X if model == "R-L-BSVM" else simulated.scores @ simulated.loadings.T
    if model != "R-L-BSVM":
        X = X + 0.3 * np.random.default_rng(0).standard_normal(X.shape)
    fitted = RankFactorAnalysis(
        "margin_rank" if model == "R-L-BSVM" else "gaussian", n_factors=3, random_state=0
    ).fit(X)
    # Rank loadings are on the scale of each feature's noise, so directions are compared through
    # the scores, which have a scale of their own.
    found, truth = fitted.scores_, simulated.scores
    solution = np.linalg.lstsq(found, truth, rcond=None)[0]
    explained = 1 - ((truth - found @ solution) ** 2).sum() / (truth**2).sum()
    assert explained > 0.95
    turned = fitted.loadings_ @ np.linalg.pinv(solution).T
    cosine = [
        abs(a @ b) / (np.linalg.norm(a) * np.linalg.norm(b))
        for a, b in zip(turned, simulated.loadings, strict=True)
        if np.linalg.norm(b) > 0.5
    ]
    assert np.mean(cosine) > 0.95
