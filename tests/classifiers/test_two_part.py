"""Two-part decisions, against a plain reference in the space of all features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from rankfactor import RankFactorClassifier, load_model, save_model
from rankfactor.classifiers import TwoPartFit, linear_part, two_part
from rankfactor.classifiers.in_use import informative
from rankfactor.classifiers.residual_weight import residual_weight
from rankfactor.errors import InputError
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Hinge, MarginRank, Probit
from rankfactor.steps.workers import Workers

INTERCEPT = 1e-3


def made(n=40, d=60, seed=0, missing=0.0):
    """A table with two factors, scores near them, and a class that depends on feature 0 only."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    X = z @ rng.normal(size=(2, d)) + rng.normal(size=(n, d))
    signed = np.where(X[:, 0] - z @ np.linalg.lstsq(z, X[:, 0], rcond=None)[0] > 0, 1.0, -1.0)
    X[rng.random(X.shape) < missing] = np.nan
    scores = Normal.isotropic(z + 0.1 * rng.normal(size=z.shape), 0.01)
    part = MarginRank()
    coding = part.learn(X)
    return part, coding.observe(X), scores, signed[None]


def shared(part, observed, z, signed, label=None):
    return TwoPartFit(part, label or Hinge(), observed, z, signed, INTERCEPT, Workers())


def first_part(z):
    """The first part where the scores alone have coefficients of 1 and 2, and variances of 0.1."""
    return linear_part(z, Normal.isotropic(np.array([[1.0, 2.0, 0.3]]), 0.1))


def fitted(part, observed, z, signed):
    return shared(part, observed, z, signed).fit(first_part(z), signed)


def twin(fit, signed, label):
    """Decisions, gamma and its variance by the full (K + d + 1) system, one feature at a time."""
    n, d = len(fit.z.mean), fit.observed.shape[0]
    s = np.array([fit.ranked.tile(slice(i, i + 1), slice(None))[0] for i in range(d)]).T  # (n, d)
    codes = fit.observed.tile(slice(None), slice(None)).T
    known = codes != 255
    zc = fit.z.mean - fit.z.mean.mean(axis=0)
    zs = zc / zc.std(axis=0)
    L = np.zeros((d, zs.shape[1]))
    for i in range(d):
        rows = known[:, i]
        gram = zs[rows].T @ zs[rows] + np.eye(zs.shape[1])
        L[i] = np.linalg.solve(gram, zs[rows].T @ s[rows, i])
    r = np.where(known, s - zs @ L.T, 0.0)
    q = np.array([1.1, 4.1]) * fit.z.mean.var(axis=0)
    q = 0.75 * q / q.sum() + 0.125
    size = (r**2).sum() / n
    v = residual_weight(zs * np.sqrt(q), r @ r.T / size, signed[0])
    a, b = np.sqrt((1 - v) * q), np.sqrt(v / size)
    A = np.column_stack([a * zs, b * r, np.ones(n)])
    prior = np.append(np.ones(A.shape[1] - 1), INTERCEPT)
    f, v = np.zeros(n), (A**2 / prior).sum(axis=1)
    for _ in range(two_part.STEPS):
        (tau, rho), _ = label.label_sites(signed, f[None], v[None])
        C = np.linalg.inv(A.T @ (tau.T * A) + np.diag(prior))
        w = C @ A.T @ rho[0]
        old, f = f, A @ w
        v = np.einsum("ij,jk,ik->i", A, C, A)
        if np.abs(f - old).max() < two_part.TOL:
            break
    k = zs.shape[1]
    return f, b * w[k:-1], b**2 * np.diag(C)[k:-1]


@pytest.mark.parametrize("label", [Hinge(), Probit()], ids=["hinge", "probit"])
@pytest.mark.parametrize(
    ("n", "d", "missing"),
    [(40, 60, 0.0), (80, 12, 0.0), (40, 60, 0.2)],
    ids=["wide", "tall", "gaps"],
)
def test_span_of_the_samples_gives_the_full_system(n, d, missing, label):
    part, observed, z, signed = made(n, d, missing=missing)
    fit = shared(part, observed, z, signed, label)
    found = fit.fit(first_part(z), signed)
    f, gamma, variance = twin(fit, signed, label)
    np.testing.assert_allclose(found.residual.weights[0], gamma, atol=1e-8)
    np.testing.assert_allclose(found.residual.variance[0], variance, rtol=1e-6)
    np.testing.assert_allclose(fit.decide(found)[0][:, 0], f, atol=1e-8)


def test_missing_entries_add_nothing():
    part, observed, z, signed = made(missing=0.3)
    found = fitted(part, observed, z, signed)
    ranked = part.normal_scores(observed, found.residual.levels)
    whole, loadings = slice(0, observed.shape[0]), found.residual.loadings
    r = two_part.residual_tile(ranked, observed, loadings, z.mean - found.residual.centre, whole)
    missing = observed.tile(whole, slice(None)) == 255
    assert (r[missing] == 0).all()
    assert (r[~missing] != 0).all()


def test_hidden_labels_have_no_influence():
    part, observed, z, signed = made()
    hidden, other = signed.copy(), signed.copy()
    hidden[:, ::3] = 0.0
    other[:, ::3] *= -1.0
    whole = shared(part, observed, z, signed)
    start = whole.decide(whole.fit(first_part(z), signed))[0]
    once, again = (
        fit.decide(fit.fit(first_part(z), hidden, start))[0]
        for fit in (whole, shared(part, observed, z, other))
    )
    np.testing.assert_array_equal(once, again)
    assert np.abs(once - start).max() > 0.01


def test_refit_from_decisions_nearby_is_a_fit():
    part, observed, z, signed = made()
    fit = shared(part, observed, z, signed)
    hidden = signed.copy()
    hidden[:, ::5] = 0.0
    start = fit.decide(fit.fit(first_part(z), signed))[0]
    near = fit.decide(fit.fit(first_part(z), hidden, start))[0]
    far = fit.decide(fit.fit(first_part(z), hidden))[0]
    np.testing.assert_allclose(near, far, atol=0.05)


def test_turned_scores_and_flipped_classes_keep_decisions():
    part, observed, z, signed = made()
    residual = fitted(part, observed, z, signed).residual
    matrix = np.array([[2.0, 0.3], [-0.5, 1.0]])
    mean, variance = residual.decide(part, observed, z, Workers())
    turned = residual.transformed(matrix).decide(part, observed, z.transformed(matrix), Workers())
    np.testing.assert_allclose(turned[0], mean, atol=1e-12)
    np.testing.assert_allclose(turned[1], variance, atol=1e-12)
    flipped = residual.flipped(-np.ones(1)).decide(part, observed, z, Workers())
    np.testing.assert_array_equal(flipped[0], -mean)


def test_scores_that_are_rounding_errors_take_no_part():
    part, observed, z, signed = made()
    faint = Normal.isotropic(1e-13 * z.mean, 1.0)
    assert not informative(faint).any()
    whole = shared(part, observed, faint, signed)
    found = whole.fit(first_part(faint), signed)
    assert not found.classifier.rows.mean[:, :-1].any()
    assert not found.residual.loadings.any()
    mean, variance = whole.decide(found)
    assert roc_auc_score(signed[0], mean[:, 0]) > 0.95
    assert variance.max() < 1.0


def test_leading_directions_stand_in_for_a_large_span(monkeypatch):
    part, observed, z, signed = made(n=60, d=80)
    exact = fitted(part, observed, z, signed).residual.weights
    monkeypatch.setattr(two_part, "MOST_DIRECTIONS", 50)
    near = fitted(part, observed, z, signed).residual.weights
    assert np.corrcoef(near[0], exact[0])[0, 1] > 0.95
    monkeypatch.setattr(two_part, "MOST_DIRECTIONS", 5)
    far = fitted(part, observed, z, signed).residual.weights
    assert np.corrcoef(far[0], exact[0])[0, 1] < 0.9


def table(n=300, d=80, seed=1):
    """Two strong factors; the class depends on three features beside them."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(n, d))
    X = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) * 1.5 + noise
    y = np.where(noise[:, :3].sum(axis=1) > 0, "case", "control")
    return pd.DataFrame(X, columns=[f"g{i}" for i in range(d)]), y


def test_class_beside_the_factors_is_told_by_the_residual():
    X, y = table()
    train, test = slice(0, 200), slice(200, 300)
    areas = {}
    for residual in (True, False):
        model = RankFactorClassifier(n_factors=2, residual=residual, random_state=0)
        model.set_params(training="label-free").fit(X[train], y[train])
        # Classes are in order: a positive decision is the control's.
        areas[residual] = roc_auc_score(y[test] == "control", model.decision_function(X[test]))
        assert (model.residual_share_ > 0.5).all() == residual
    assert areas[True] > 0.7 > areas[False]


@pytest.mark.parametrize("model", ["R-L-BSVM", "G-L-Probit", "OR-L-BSVM", "R-NL-BSVM"])
def test_saved_model_decides_and_explains_the_same(tmp_path, model):
    X, y = table(60, 50)
    X.iloc[3:9, 2:20] = np.nan
    labels = pd.DataFrame({"a": y, "b": np.where(X["g9"] > 0, 1, np.where(X["g8"] > 0, 2, 3))})
    labels.loc[:5, "a"] = None
    estimator = RankFactorClassifier(model, n_factors=3, training="label-free", random_state=0)
    estimator.fit(X, labels)
    save_model(estimator, tmp_path / "m.rankfactor")
    loaded = load_model(tmp_path / "m.rankfactor")
    found = estimator.decision_function(X)
    for one, other in zip(found, loaded.decision_function(X), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(estimator.predict_proba(X), loaded.predict_proba(X), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(loaded.residual_share, estimator.residual_share_)
    rows = np.column_stack([part.reshape(len(X), -1) for part in found])
    for number, one in enumerate(loaded.explain(X).values()):
        np.testing.assert_allclose(one.values.sum(axis=1) + one.base_values, rows[:, number])
        # What is left in the base is a constant but for the encoder's tolerance.
        assert np.ptp(one.base_values[9:]) < 2e-3
        assert (one.values[3:9, 2:20] == 0).all()


def test_blocks_with_likelihoods_of_their_own_have_residuals():
    X, y = table(60, 50)
    blocks = ["first"] * 20 + ["second"] * 30
    model = RankFactorClassifier(
        n_factors=3,
        training="label-free",
        blocks=blocks,
        likelihood={"first": "gaussian", "second": "margin_rank"},
        random_state=0,
    ).fit(X, y)
    again = model.posterior_.classifiers.residual
    assert again.weights.shape == (1, 50)
    assert again.levels.shape[1] == 17
    assert (again.levels[:20] == 0).all()
    assert np.isfinite(model.decision_function(X)).all()


def test_class_weights_move_decisions():
    X, y = table(60, 50)
    plain = RankFactorClassifier(n_factors=3, training="label-free", random_state=0).fit(X, y)
    heavy = RankFactorClassifier(
        n_factors=3,
        training="label-free",
        class_weight={"case": 5.0, "control": 1.0},
        random_state=0,
    ).fit(X, y)
    assert heavy.decision_function(X).mean() < plain.decision_function(X).mean() - 0.05


def test_where_there_is_no_second_part():
    X, y = table(30, 12)
    with pytest.raises(InputError, match="Gibbs"):
        RankFactorClassifier(engine="gibbs", residual=True).fit(X, y)
    with pytest.raises(InputError, match="local classifiers"):
        RankFactorClassifier("R-NL-BSVM", experts="mixed", residual=True).fit(X, y)
    with pytest.raises(InputError, match="residual must be"):
        RankFactorClassifier(residual="always").fit(X, y)
    joint = RankFactorClassifier(n_factors=2, training="bayes", random_state=0).fit(X, y)
    assert joint.posterior_.classifiers.residual is None
    assert (joint.residual_share_ == 0).all()


def test_scores_of_levels_are_normal_quantiles():
    part, observed, _, _ = made(n=200, d=5)
    levels = part.score_levels(observed)
    codes = observed.tile(slice(0, 1), slice(None))[0]
    share = np.bincount(codes, minlength=levels.shape[1]) / len(codes)
    middle = norm.ppf(np.cumsum(share) - share / 2)
    used = share > 0
    assert np.corrcoef(levels[0][used], middle[used])[0, 1] == pytest.approx(1.0)
    assert share @ levels[0] == pytest.approx(0.0, abs=1e-12)
    assert share @ levels[0] ** 2 == pytest.approx(1.0)
