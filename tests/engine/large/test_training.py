"""Predictive training and classifiers over shards against those of the whole table."""

import numpy as np
import pytest

from rankfactor.classifiers import Linear
from rankfactor.classifiers.base import pull
from rankfactor.classifiers.linear import fit_linear
from rankfactor.engine import vb
from rankfactor.engine.large.ascent import shared_of
from rankfactor.engine.large.placement import LocalPlacement
from rankfactor.engine.large.shard import statistics_of, tiles_of, train_shard
from rankfactor.engine.large.training import fit_linear_shards, train_shards, with_labels
from rankfactor.engine.predictive import Predictive, label_free_scores
from rankfactor.kernels.solve import solve_packed
from rankfactor.laws.products import Rows
from rankfactor.likelihoods import Gaussian, Hinge, MarginRank, ObservedArray, OrdinalProbit, Probit
from rankfactor.model import Model
from rankfactor.steps.through_encoder import loading_gradient, settle_scores
from rankfactor.steps.workers import Workers

POOL = Workers()
K = 2  # fewer factors than the table has, so labels change what they are
CASES = {
    "margin rank": (MarginRank(margin=0.05), Hinge()),
    "gaussian": (Gaussian(), Hinge()),
    "ordinal probit": (OrdinalProbit(), Probit()),
}


@pytest.fixture(params=CASES)
def begun(request, counts, small_shards):
    """Model, label-free fit, labels, shards with the same scores, and a classifier."""
    X, labels = counts
    data, label = CASES[request.param]
    model = Model(K, data, label)
    coding = data.learn(X)
    signed = np.stack(
        [np.where(labels[:, 0] == "case", 1.0, -1.0), np.where(labels[:, 1] == "2", 1.0, -1.0)]
    )
    settings = vb.Settings(max_iter=8, warns=False)
    rng = np.random.default_rng(0)
    fit = vb.ascend(model, coding, coding.observe(X), None, settings, rng, POOL)
    label_free_scores(fit, POOL)
    withheld = np.arange(len(X)) % 7 == 0

    def chunks(rows):
        return ((first, X[first : first + rows]) for first in range(0, len(X), rows))

    shards = LocalPlacement(chunks)(coding, K, signed, withheld, POOL)
    for shard in shards.shards:
        shard.z.put(slice(0, shard.size), fit.z.take(slice(shard.first, shard.first + shard.size)))
    seen = np.where(withheld, 0.0, signed)
    classifier = fit_linear(model, ObservedArray(seen), fit.z, POOL)
    return model, fit, signed, seen, shards, classifier


def test_the_gradient_is_that_of_the_whole_table(begun):
    model, fit, _, seen, shards, classifier = begun
    weight = 3.0
    shared = with_labels(shared_of(fit), model, classifier)
    found = shards.sum(train_shard, shared, Linear(classifier.rows), weight)
    data = fit.data
    curvature = settle_scores(data, fit.prior, fit.z, POOL)
    q, bound = pull(classifier, model.label, seen, fit.z)
    assert found["labels"] == pytest.approx(bound, rel=1e-5)
    response = solve_packed(curvature, weight * q)[0]
    columns = data.columns(fit.z)
    for place, tile in enumerate(tiles_of(data)):
        rows = Rows.of(data.state.rows.take(tile), data.view.likelihood.dtype)
        slopes = data.slopes(data.look(tile, rows, columns, slice(0, len(fit.z.mean))))
        wanted = loading_gradient(rows, columns, slopes, response.astype(rows.mean.dtype))
        gradient = statistics_of(found, 0, place)["gradient"]
        np.testing.assert_allclose(gradient, wanted, atol=2e-4 * np.abs(wanted).max())


def test_training_raises_the_labels_bound(begun):
    model, fit, _, _, shards, classifier = begun
    weight = Predictive().label_weight * fit.data.observed.shape[0]

    def label_bound(now):
        shared = with_labels(shared_of(fit), model, now)
        return float(shards.sum(train_shard, shared, Linear(now.rows), weight)["labels"])

    before = label_bound(classifier)
    settings = Predictive(max_steps=15, tol=0.0)
    after = train_shards(model, fit, shards, classifier, settings, 0.05, None)
    # An ordinal probit's own factors tell these labels as well as any.
    least = -0.01 if isinstance(model.data, OrdinalProbit) else 0.02
    assert label_bound(after) > before + least * abs(before)


def test_classifiers_are_those_of_the_whole_table(begun):
    model, fit, signed, seen, shards, classifier = begun
    start = Linear(classifier.rows, classifier.scales)
    for withhold, given in ((True, seen), (False, signed)):
        wanted = fit_linear(model, ObservedArray(given), fit.z, POOL, start).rows
        found = fit_linear_shards(model, shards, start, withhold).rows
        # Covariances of the shards' scores are in single precision.
        np.testing.assert_allclose(found.mean, wanted.mean, atol=2e-4 * np.abs(wanted.mean).max())


def test_steps_that_lower_the_objective_are_taken_back(begun):
    model, fit, _, _, shards, classifier = begun
    seen = []

    def progress(step, objective, change):
        seen.append(objective)

    settings = Predictive(max_steps=30, tol=1e-12)
    train_shards(model, fit, shards, classifier, settings, 1.0, progress)
    assert 1 < len(seen) < 30  # some steps of this size do lower it
    assert seen[-1] > seen[0] - 1e-6 * abs(seen[0])


def test_ctrl_c_keeps_rows_that_raised_the_objective(begun):
    model, fit, _, _, shards, classifier = begun

    def progress(step, objective, change):
        if step == 3:
            raise KeyboardInterrupt

    train_shards(model, fit, shards, classifier, Predictive(tol=0.0), 0.02, progress)
    assert fit.convergence.interrupted
    assert np.isfinite(fit.data.state.rows.mean).all()
