from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.engine.test_vb import run
from tests.simulate import simulate, with_holes

from rankfactor.likelihoods import Gaussian, MarginRank, OrdinalProbit
from rankfactor.model import Model
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.fused import update_fused
from rankfactor.steps.row import update_view
from rankfactor.steps.score import ObservedView
from rankfactor.steps.through_encoder import newton_scores, settle_scores, step_rows
from rankfactor.steps.workers import Workers

DATA = {
    "rank": MarginRank(double=True),
    "inferred margin": MarginRank(double=True, margin_shape=2.0),
    "gaussian": Gaussian(),
    "ordinal": OrdinalProbit(max_cuts=4),
}


def label_free(name, **settings):
    model = Model(3, DATA[name])
    fit = run(model, with_holes(simulate(n=60, d=20).X, 0.1), None, **settings)
    fit.z = encode_samples(model, fit.data, Workers())
    return model, fit


def again(fit):
    return ObservedView(fit.data.view, fit.data.observed, fit.data.state.copy()), fit.z.copy()


@pytest.mark.parametrize("name", DATA)
def test_whole_step_without_labels_is_the_conjugate_one(name):
    """Rows, parameters, scales and bound are those of variational Bayes."""
    _, fit = label_free(name, tol=5e-3)
    (ours, z), (theirs, other) = again(fit), again(fit)
    bound, _ = step_rows(ours, z, np.zeros_like(z.mean), 1.0, Workers())
    if name == "rank":
        stay = update_fused([theirs], fit.prior, other, Workers(), 32, lambda prior, *_: prior)
        expected = stay[0]
    else:
        expected = update_view(theirs, other, Workers(), 32)
    assert_allclose(bound, expected, rtol=1e-10)
    assert_allclose(ours.state.rows.mean, theirs.state.rows.mean, rtol=1e-8, atol=1e-10)
    assert_allclose(ours.state.rows.cov, theirs.state.rows.cov, rtol=1e-8, atol=1e-10)
    for field in fields(ours.state.params):
        one, two = (getattr(item.state.params, field.name) for item in (ours, theirs))
        assert_allclose(one, two, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", DATA)
def test_scores_follow_the_rows(name):
    """One pass leaves a small part of the distance to the scores of the new rows."""
    model, fit = label_free(name, tol=1e-5)
    rng = np.random.default_rng(0)
    response = 3.0 * rng.standard_normal(fit.z.mean.shape)
    data, z = again(fit)
    _, added = step_rows(data, z, response, 0.1, Workers())
    newton_scores(fit.prior, z, added, Workers())
    target = encode_samples(model, data, Workers()).mean
    before = np.abs(fit.z.mean - target).max()
    assert before > 0.01
    assert np.abs(z.mean - target).max() < 0.2 * before


@pytest.mark.parametrize("name", DATA)
def test_settled_scores_are_the_encoded_ones(name):
    _, fit = label_free(name, tol=1e-4)
    data, z = again(fit)
    z = replace(z, mean=z.mean + 0.1 * np.random.default_rng(0).standard_normal(z.mean.shape))
    for _ in range(6):
        settle_scores(data, fit.prior, z, Workers())
    assert_allclose(z.mean, fit.z.mean, atol=2e-3)
