import warnings
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.test_vb import run
from tests.simulate import simulate, with_holes

from rankfactor import RankFactorClassifier
from rankfactor.classifiers import Gated, Linear, fit_classifier, pull
from rankfactor.classifiers.fitting import BRIEF, FIRST_STEP
from rankfactor.engine.predictive import Predictive, train, training_classifier
from rankfactor.errors import InputError
from rankfactor.kernels.solve import solve_packed
from rankfactor.latent import MixedExperts
from rankfactor.likelihoods import (
    Gaussian,
    Hinge,
    MarginRank,
    ObservedArray,
    OrdinalProbit,
    Probit,
)
from rankfactor.model import Model
from rankfactor.steps import encode
from rankfactor.steps.score import ObservedView
from rankfactor.steps.through_encoder import loading_gradient, settle_scores
from rankfactor.steps.workers import Workers

DATA = {
    "rank": MarginRank(double=True),
    "gaussian": Gaussian(),
    "ordinal": OrdinalProbit(max_cuts=4),
}


def label_free(model, n=60, d=20, holes=0.1):
    simulated = simulate(n=n, d=d)
    fit = run(model, with_holes(simulated.X, holes), None, tol=1e-4)
    fit.z = encode.encode_samples(model, fit.data, Workers())
    return fit, np.where(simulated.y == 1, 1.0, -1.0)[None]


@pytest.mark.parametrize("name", DATA)
def test_gradient_is_that_of_the_whole_fixed_point(name, monkeypatch):
    """Against finite differences: scores encoded again to convergence at changed loadings."""
    monkeypatch.setattr(encode, "TOL", 1e-11)
    monkeypatch.setattr(encode, "STEPS", 2000)
    model = Model(3, DATA[name])
    fit, _ = label_free(model)
    rng = np.random.default_rng(3)
    q = rng.standard_normal(fit.z.mean.shape)
    response = solve_packed(settle_scores(fit.data, fit.prior, fit.z, Workers()), q)[0]
    rows, columns, state = fit.data.rows(), fit.data.columns(fit.z), fit.data.state
    seen = fit.data.look(slice(0, 20), rows, columns, slice(0, 60))
    gradient = loading_gradient(rows, columns, fit.data.slopes(seen), response)[:, :3]

    def total(i, k, move):
        mean = state.rows.mean.copy()
        mean[i, k] += move
        moved = replace(state, rows=replace(state.rows, mean=mean))
        z = encode.encode_samples(
            model, ObservedView(fit.data.view, fit.data.observed, moved), Workers()
        )
        return float((q * z.mean).sum())

    places = [(i, k) for i in range(0, 20, 2) for k in range(3)]
    step = 1e-4
    exact = np.array([(total(i, k, step) - total(i, k, -step)) / (2 * step) for i, k in places])
    ours = np.array([gradient[i, k] for i, k in places])
    if name == "gaussian":
        assert_allclose(ours, exact, rtol=1e-4, atol=1e-4 * np.abs(exact).max())
    else:
        # Variances move with the loadings, and part of the curvature is left out.
        assert np.corrcoef(ours, exact)[0, 1] > 0.99
        assert 0.9 < (ours @ exact) / (exact @ exact) < 1.1


@pytest.mark.parametrize("label", [Hinge(), Probit()])
@pytest.mark.parametrize("experts", [None, MixedExperts(n_components=4, gradient="mixed")])
def test_pull_is_the_gradient_of_the_labels_bound(label, experts):
    """Two rows with weights and missing labels, variances held."""
    model = Model(3, Gaussian(), label, experts=experts)
    fit, signed = label_free(model)
    signed = np.vstack([signed, 0.5 * np.roll(signed, 7)])
    signed[1, ::5] = 0.0
    rng = np.random.default_rng(0)
    labels = ObservedArray(signed)
    start = training_classifier(model, labels, fit.z, rng)
    classifier = fit_classifier(model, labels, fit.z, Workers(), start=start, effort=FIRST_STEP)
    assert isinstance(classifier, Linear if experts is None else Gated)
    gradient, _ = pull(classifier, label, signed, fit.z)
    held = {}

    def bound(z):
        f, var_f = (part.T for part in classifier.decide(z))
        return label.label_sites(signed, f, held.setdefault("var_f", var_f))[1].sum()

    bound(fit.z)
    for n, k in [(0, 0), (7, 1), (23, 2), (40, 0)]:
        ends = []
        for move in (1e-6, -1e-6):
            mean = fit.z.mean.copy()
            mean[n, k] += move
            ends.append(bound(replace(fit.z, mean=mean)))
        assert_allclose(gradient[n, k], (ends[0] - ends[1]) / 2e-6, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", DATA)
def test_training_lowers_the_labels_loss_and_raises_the_objective(name):
    model = Model(3, DATA[name], Hinge())
    fit, signed = label_free(model)
    labels = ObservedArray(signed)
    start = training_classifier(model, labels, fit.z, 0)

    def bound():
        refit = fit_classifier(model, labels, fit.z, Workers(), start=start, effort=BRIEF)
        return pull(refit, model.label, signed, fit.z)[1]

    before = bound()
    seen = []
    train(
        model,
        fit,
        labels,
        start,
        Predictive(3.0, max_steps=60),
        Workers(),
        progress=lambda step, objective, change: seen.append(objective),
    )
    assert len(seen) > 5
    # Classifier, noise and cut points follow bounds of their own: the objective may fall a little.
    assert np.diff(seen).min() > -0.05 * (seen[-1] - seen[0])
    assert seen[-1] == pytest.approx(max(seen), rel=1e-2)
    assert bound() > 0.95 * before  # bounds are negative


def test_weight_zero_changes_nothing():
    model = Model(3, MarginRank(), Hinge())
    fit, signed = label_free(model)
    rows = fit.data.state.rows.mean.copy()
    labels = ObservedArray(signed)
    start = training_classifier(model, labels, fit.z, 0)
    train(model, fit, labels, start, Predictive(0), Workers())
    assert_array_equal(fit.data.state.rows.mean, rows)


def fitted(n_threads=1, **arguments):
    simulated = simulate(n=90, d=25)
    settings = {"n_factors": 3, "training": "predictive", "random_state": 0, "n_threads": n_threads}
    model = RankFactorClassifier(**{**settings, **arguments})
    return model.fit(simulated.X, simulated.y), simulated


@pytest.mark.usefixtures("threads_for_all")
@pytest.mark.parametrize("model", ["R-L-BSVM", "R-NL-BSVM"])
@pytest.mark.quick_cases("R-L-BSVM")
def test_threads_do_not_change_the_answer(model):
    one, simulated = fitted(1, model=model)
    two, _ = fitted(2, model=model)
    assert_array_equal(one.decision_function(simulated.X), two.decision_function(simulated.X))


def test_transforms_do_not_change_the_answer():
    one, simulated = fitted()
    two = RankFactorClassifier(n_factors=3, training="predictive", random_state=0, n_threads=1)
    two.fit(np.exp(0.1 * simulated.X.clip(-30, 30)), simulated.y)
    clipped = simulated.X.clip(-30, 30)
    three = RankFactorClassifier(n_factors=3, training="predictive", random_state=0, n_threads=1)
    three.fit(clipped, simulated.y)
    assert_array_equal(
        two.decision_function(np.exp(0.1 * clipped)), three.decision_function(clipped)
    )
    assert one.score(simulated.X, simulated.y) > 0.9


def test_several_tasks_with_holes_and_weights():
    simulated = simulate(n=90, d=25)
    y = np.column_stack([simulated.y, np.arange(90) % 3]).astype(object)
    y[::9, 0] = None
    model = RankFactorClassifier(
        n_factors=3, training="predictive", class_weight="balanced", random_state=0
    )
    model.fit(with_holes(simulated.X), y)
    first, second = model.predict_proba(simulated.X)
    assert first.shape == (90, 2)
    assert second.shape == (90, 3)
    assert np.mean(model.predict(simulated.X)[:, 0] == simulated.y) > 0.9


@pytest.mark.slow
def test_label_weight_can_be_chosen():
    model, _ = fitted(label_weight="auto")
    assert model.label_weight_ in (0.0, 1.0, 3.0, 10.0)
    again, _ = fitted(label_weight="auto")
    assert again.label_weight_ == model.label_weight_


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"label_weight": -1.0}, "label_weight must be a number of at least 0"),
        ({"label_weight": "much"}, "label_weight must be a number or 'auto'"),
        ({"engine": "gibbs"}, "has no Gibbs sampler"),
        ({"model": "OR-L-BSVM"}, "no gradient for the likelihood"),
    ],
)
def test_what_cannot_be_trained_is_refused(arguments, words):
    with pytest.raises(InputError, match=words):
        fitted(**arguments)


def test_interrupt_keeps_the_steps_so_far():
    calls = []

    def progress(step, objective, change):
        calls.append(step)
        if calls.count(3) == 2:  # the first was an iteration without labels
            raise KeyboardInterrupt

    simulated = simulate(n=90, d=25)
    model = RankFactorClassifier(
        n_factors=3, training="predictive", random_state=0, progress=progress
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(simulated.X, simulated.y)
    assert any("interrupted after" in str(one.message) for one in seen)
    assert model.score(simulated.X, simulated.y) > 0.8
