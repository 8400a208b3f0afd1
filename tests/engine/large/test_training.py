"""Predictive training and classifiers over shards against those of the whole table."""

import numpy as np
import pytest

from rankfactor.classifiers import Linear
from rankfactor.classifiers.base import pull
from rankfactor.classifiers.linear import fit_linear
from rankfactor.classifiers.probabilities import class_probabilities
from rankfactor.engine import vb
from rankfactor.engine.calibration import best_scale
from rankfactor.engine.fit_settings import Labels
from rankfactor.engine.large.ascent import shared_of
from rankfactor.engine.large.held_out import HeldOut
from rankfactor.engine.large.placement import LocalPlacement
from rankfactor.engine.large.shard import statistics_of, tiles_of, train_shard
from rankfactor.engine.large.training import (
    _shortened,
    _step_rows,
    fit_linear_shards,
    train_shards,
    with_labels,
)
from rankfactor.engine.predictive import PATIENCE, Predictive, label_free_scores
from rankfactor.kernels.packed import unpack
from rankfactor.kernels.solve import solve_packed
from rankfactor.laws.products import Rows
from rankfactor.likelihoods import Gaussian, Hinge, MarginRank, ObservedArray, OrdinalProbit, Probit
from rankfactor.model import Model
from rankfactor.steps.row import row_prior
from rankfactor.steps.through_encoder import loading_gradient, settle_scores
from rankfactor.steps.workers import Workers
from rankfactor.tasks import Task

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
    settings = Predictive(max_steps=30, tol=0.0)
    after = train_shards(model, fit, shards, classifier, settings, None)
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

    settings = Predictive(max_steps=30, first_step=1.0, tol=1e-12)
    train_shards(model, fit, shards, classifier, settings, progress)
    assert 1 < len(seen) < 30  # some steps of this size do lower it
    assert seen[-1] > seen[0] - 1e-6 * abs(seen[0])


def test_ctrl_c_keeps_rows_that_raised_the_objective(begun):
    model, fit, _, _, shards, classifier = begun

    def progress(step, objective, change):
        if step == 3:
            raise KeyboardInterrupt

    settings = Predictive(first_step=0.02, tol=0.0)
    train_shards(model, fit, shards, classifier, settings, progress)
    assert fit.convergence.interrupted
    assert np.isfinite(fit.data.state.rows.mean).all()


@pytest.mark.parametrize("best", [0, 2])
def test_the_step_with_the_least_loss_of_held_out_labels_is_kept(begun, best):
    model, fit, _, _, shards, classifier = begun
    rows, seen, tops = [fit.data.state.rows.mean.copy()], [], []

    def loss(now):
        rows.append(fit.data.state.rows.mean.copy())  # after the step
        seen.append(now.rows.mean.copy())
        return 0.5 if len(seen) == best + 1 else 0.6 + 0.001 * len(seen)

    class Kept:
        def keep(self, fit, top, **more):
            tops.append(top)

        def finish(self, fit, **more):
            tops.append(fit.history.elbo[-1])

    settings = Predictive(first_step=0.01, tol=0.0)
    after = train_shards(model, fit, shards, classifier, settings, None, Kept(), loss)
    assert len(seen) == best + 1 + PATIENCE
    assert fit.convergence.converged
    assert "held-out labels has not fallen by 1%" in str(fit.convergence)
    np.testing.assert_array_equal(fit.data.state.rows.mean, rows[best])
    np.testing.assert_array_equal(after.rows.mean, seen[best])
    # The history ends with the rows and scores that are kept.
    state, _, elbo, moment = tops[best]
    assert fit.history.elbo[-1] == tops[-1] == elbo
    loadings = state.rows.mean[:, :K]
    sd_w = np.sqrt(np.einsum("ik,kl,il->i", loadings, moment, loadings).mean())
    assert fit.history.sd_w[-1] == pytest.approx(sd_w)
    assert not np.array_equal(rows[0], rows[-1])


def test_ctrl_c_while_the_end_is_written_loses_nothing(begun):
    model, fit, _, _, shards, classifier = begun
    written = []

    class Interrupted:
        def keep(self, fit, **more):
            written.append(fit.data.state.rows.mean.copy())

        def finish(self, fit, **more):
            written.append(fit.data.state.rows.mean.copy())
            raise KeyboardInterrupt

        def write(self):
            pass

    settings = Predictive(first_step=0.01, max_steps=4, tol=0.0)
    train_shards(model, fit, shards, classifier, settings, None, Interrupted())
    assert fit.convergence.interrupted
    assert len(written) == 5
    np.testing.assert_array_equal(fit.data.state.rows.mean, written[-1])


def test_the_slope_is_that_of_the_gradient_along_the_step(begun):
    model, fit, _, _, shards, classifier = begun
    shared = with_labels(shared_of(fit), model, classifier)
    found = shards.sum(train_shard, shared, Linear(classifier.rows), 48.0)
    (tile,), likelihood, prior = tiles_of(fit.data), fit.data.view.likelihood, row_prior(fit.data)
    before, statistics = fit.data.state.copy(), statistics_of(found, 0, 0)
    gradient = statistics.pop("gradient")
    step, (_, slope) = 1e-3, _step_rows(fit.data, found, 1e-3)
    params = likelihood.update(statistics, before.rows.take(tile), before.params.take(tile))
    precision, shift = likelihood.system(statistics, params)
    a, moved = before.rows.mean, fit.data.state.rows.mean
    whole = shift + gradient - np.einsum("ikl,il->ik", unpack(precision), a) - prior * a
    assert slope == pytest.approx((whole * (moved - a)).sum() / step, rel=1e-5)
    assert slope > 0


def test_a_shortened_step_is_at_the_top_of_a_parabola():
    slope, curvature, step = 3.0, 20.0, 0.5
    fall = curvature * step**2 - slope * step
    assert _shortened(step, fall, slope) == pytest.approx(slope / (2 * curvature))
    assert _shortened(step, 1e9, slope) == pytest.approx(step / 10)


def test_losses_and_scales_of_held_out_labels(begun):
    model, fit, signed, _, shards, classifier = begun
    class_index = np.column_stack([signed[0] > 0, signed[1] > 0]).astype(int)
    class_index[3::7, 1] = -1  # none of these is held out
    signed[1, 3::7] = 0.0
    tasks = tuple(Task(name, np.array(["a", "b"])) for name in ("first", "second"))
    withheld = np.arange(signed.shape[1]) % 7 == 0
    held = HeldOut(model.label, Labels(tasks, class_index, signed), withheld, shards)
    assert held.enough()
    mean, variance = classifier.decide(fit.z.take(withheld))
    scales, losses = held.scales(classifier), []
    for task in (0, 1):
        given = mean[:, [task]], variance[:, [task]]
        index, weight = class_index[withheld, task], np.abs(signed[task, withheld])
        scale = best_scale(model.label, *given, index, weight)
        assert scales[task] == pytest.approx(scale, rel=0.01)
        chance = class_probabilities(model.label, *given, scale)[np.arange(len(index)), index]
        losses.append(-np.log(chance).mean())
    assert held.loss(classifier) == pytest.approx(np.mean(losses), rel=1e-3)
    assert held.loss(classifier) < np.log(2)
    class_index[withheld, 1] = -1
    assert not held.enough()  # a task without held-out labels
