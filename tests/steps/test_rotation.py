"""Rotation of the factors: the axes it finds, and that only the bound of the priors changes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ortho_group
from tests.simulate import simulate, with_holes

from rankfactor.engine import vb
from rankfactor.latent import DPMixture
from rankfactor.laws.products import product_moments
from rankfactor.likelihoods import Gaussian, Hinge, MarginRank, ObservedArray, OrdinalProbit
from rankfactor.model import Model
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD, ShrinkageByBlock
from rankfactor.steps.rotation import varimax
from rankfactor.steps.row import view_bound
from rankfactor.steps.workers import Workers
from rankfactor.tasks import encode_labels, signed_labels


def sparse_loadings(d=60, order=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((d, order)) * (rng.random((d, order)) < 0.3)


def cosines(found, truth):
    """|cosine| of every true factor with the nearest found one."""
    norms = np.sqrt(np.outer((found**2).sum(axis=0), (truth**2).sum(axis=0)))
    return np.abs(found.T @ truth / norms).max(axis=0)


def test_varimax_undoes_a_rotation_of_sparse_loadings():
    truth = np.repeat(np.eye(4), 15, axis=0) * np.random.default_rng(0).uniform(0.5, 2, (60, 1))
    mixed = truth @ ortho_group.rvs(4, random_state=1)
    turn = varimax(mixed)
    assert_allclose(turn.T @ turn, np.eye(4), atol=1e-12)
    assert cosines(mixed, truth).min() < 0.9
    assert cosines(mixed @ turn, truth).min() > 0.999


CASES = {
    "horseshoe": (MarginRank(double=True), TPBN(), False),
    "other-tpbn": (Gaussian(), TPBN(1.0, 0.8), False),
    "ard": (Gaussian(), NormalARD(), False),
    "multiplicative-gamma": (OrdinalProbit(), MultiplicativeGamma(), False),
    "blocks": (MarginRank(double=True), ShrinkageByBlock(TPBN(), ((0, 12), (1, 8))), False),
    "mixture": (MarginRank(double=True), TPBN(), True),
}


def begun(case, iterations=3, **more):
    """A fit with labels and missing entries after some iterations without rotation."""
    data, shrinkage, mixture = CASES[case]
    simulated = simulate(n=80, d=20, seed=2)
    latent = {"latent": DPMixture(3)} if mixture else {}
    model = Model(4, data, Hinge(), loading_shrinkage=shrinkage, **latent)
    X = with_holes(simulated.X)
    coding = model.data.learn(X)
    model = model.for_coding(coding)
    tasks, index = encode_labels(simulated.y, len(X))
    labels = ObservedArray(signed_labels(tasks, index, None))
    settings = vb.Settings(max_iter=iterations, tol=0.0, warns=False, **more)
    rng = np.random.default_rng(0)
    return vb.ascend(model, coding, coding.observe(X), labels, settings, rng, Workers())


def priors_bound(fit):
    """What of the ELBO a rotation can change, and the scores' part, which it must not."""
    return sum(view_bound(item, fit.z.order) for item in fit.views), fit.prior.bound(fit.z)


def predictors(fit):
    """Means and variances of w of all views."""
    parts = []
    for item in fit.views:
        z = fit.z.with_one() if item.view.has_intercept else fit.z
        parts += product_moments(item.state.rows, z, True)
    return parts


@pytest.mark.parametrize("case", CASES)
def test_a_turn_raises_the_bound_by_its_gain_and_leaves_the_predictors(case, monkeypatch):
    monkeypatch.setattr(vb, "varimax", lambda loadings: ortho_group.rvs(4, random_state=0))
    monkeypatch.setattr(vb, "FIRST_TURN", 99)
    fit = begun(case)
    rows, scores = priors_bound(fit)
    before = predictors(fit)
    turn, gain = fit.turn()
    assert gain > 0
    assert np.abs(turn - np.eye(4)).max() > 0.01
    assert_allclose(turn.T @ turn, np.eye(4), atol=1e-12)
    new_rows, new_scores = priors_bound(fit)
    assert_allclose(new_rows - rows, gain, rtol=1e-6, atol=1e-6)
    assert_allclose(new_scores, scores, rtol=1e-9)
    for old, new in zip(before, predictors(fit), strict=True):
        assert_allclose(new, old, rtol=1e-5, atol=1e-6)


def test_a_turn_that_gains_nothing_changes_nothing():
    fit = begun("ard", 60)
    for _ in range(5):
        fit.turn()
    mean = fit.data.state.rows.mean.copy()
    turn, gain = fit.turn()
    assert_array_equal(turn, np.eye(4))
    assert gain == 0
    assert_array_equal(fit.data.state.rows.mean, mean)


@pytest.mark.usefixtures("without_momentum")
@pytest.mark.parametrize("block", [16, 4096])
def test_turns_are_ascent_steps_of_a_fit_by_blocks(block):
    elbo = np.array(begun("horseshoe", 30, block=block).history.elbo)
    assert (np.diff(elbo) / np.abs(elbo[1:])).min() > -1e-10


def test_rotation_finds_sparse_factors_from_any_start(monkeypatch):
    rng, truth = np.random.default_rng(0), sparse_loadings(d=80)
    Z = rng.standard_normal((300, 4))
    X = Z @ truth.T + 0.5 * rng.standard_normal((300, 80))
    found = []
    for seed in range(2):
        start = ortho_group.rvs(4, random_state=seed)
        monkeypatch.setattr(vb, "varimax", lambda loadings, turn=start: turn)
        model = Model(4, MarginRank(double=True))
        coding = model.data.learn(X)
        settings, generator = vb.Settings(), np.random.default_rng(0)
        fit = vb.ascend(model, coding, coding.observe(X), None, settings, generator, Workers())
        found.append(fit.data.state.rows.mean)
        assert cosines(found[-1], truth).min() > 0.97
    assert cosines(*found).min() > 0.995
