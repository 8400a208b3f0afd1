"""Draws of a mixture as they are kept: matched factors, decisions without names of components."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.test_mixture import mixed
from tests.engine.test_vb import labels_of, run
from tests.simulate import simulate

from rankfactor.classifiers import Gated
from rankfactor.classifiers.per_component import gate_major
from rankfactor.engine import gibbs
from rankfactor.engine.pooling import collect
from rankfactor.kernels.rng import Stream
from rankfactor.laws.beta import Share
from rankfactor.laws.normal import Normal
from rankfactor.laws.point import Point
from rankfactor.likelihoods import Gaussian, Hinge, ObservedArray, Probit
from rankfactor.model import Model, ViewState
from rankfactor.posterior.diagnostics import _mixed_decisions
from rankfactor.posterior.draws import certain
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers

T, K = 4, 3


@pytest.fixture(scope="module")
def fitted():
    simulated = simulate(n=90, d=20, seed=3)
    labels = labels_of(simulated, "tasks")
    model = mixed(Model(K, Gaussian(), Hinge()), T=T)
    return model, run(model, simulated.X, labels, tol=1e-4), labels


@pytest.mark.parametrize("rotate", [False, True], ids=["permuted", "rotated"])
def test_a_kept_draw_encodes_and_decides_as_its_state(fitted, rotate):
    """For any reference of the matching, loadings, coefficients and centres rotate together."""
    model, fit, _ = fitted
    stream = Stream.from_seed(1)
    chain = gibbs.start_chain(model, fit, stream)
    loadings = fit.data.state.rows.mean[:, :K]
    reference = loadings[:, [2, 0, 1]] * [1.0, -1.0, 1.0]
    settings = gibbs.Gibbs(
        n_draws=2, burn_in=0, align="rotate" if rotate else "permute", n_chains=2
    )
    gibbs.run_chain(model, chain, reference, settings, stream, Workers())
    state, draw = chain.state, chain.draws[-1]
    kept = ViewState(certain(draw.loadings), draw.params, None)
    item = ObservedView(fit.data.view, fit.data.observed, kept)
    z = encode_samples(model, item, Workers(), prior=draw.prior)
    own = encode_samples(model, state.data, Workers(), prior=state.prior)
    assert np.abs(z.mean - own.mean).max() > 0.1
    loadings = state.data.state.rows.mean[:, :K]
    # Kept values have 32 bits, and encoding stops at a tolerance.
    assert_allclose(z.mean @ kept.rows.mean[:, :K].T, own.mean @ loadings.T, atol=2e-3)
    rows = draw.coefficients
    n_rows = len(rows)
    assert rows.shape == (n_rows, T, K + 1)
    assert_array_equal(rows[2, 1, K], chain.state.labels.state.rows.mean[2 * T + 1, K].astype("f4"))
    ours = Gated(draw.prior.gates(z), gate_major(certain(rows.reshape(-1, K + 1)), n_rows)).decide(
        z
    )[0]
    theirs = Gated(state.prior.gates(own), gate_major(state.labels.state.rows, n_rows)).decide(own)[
        0
    ]
    assert_allclose(ours, theirs, atol=0.02 * np.abs(theirs).max())


@pytest.fixture(scope="module")
def drawn(fitted):
    model, fit, labels = fitted
    settings = gibbs.Gibbs(n_draws=2, burn_in=3, n_chains=1)
    chains = gibbs.sample(model, fit, settings, Stream.from_seed(2), 1)
    return collect(model, chains, fit.data.observed, labels, 2, Workers()), fit.z


def test_predictions_average_over_the_draws_own_mixtures(fitted, drawn):
    model, fit, _ = fitted
    draws, _ = drawn
    found = []
    for place, number in enumerate(draws.chosen):
        item = ObservedView(fit.data.view, fit.data.observed, draws.state(number))
        z = encode_samples(model, item, Workers(), prior=draws.priors[number])
        found.append(draws.experts[place].decide(z)[0])
    mean, _ = draws.decide(model, model.data_view, fit.data.observed, Workers())
    assert_allclose(mean, np.mean(found, axis=0), rtol=1e-12)
    assert np.abs(found[0] - found[1]).max() > 1e-3


def test_a_probit_predicts_by_the_draws_own_coefficients():
    """Unless its labels have weights: it is a pseudo-likelihood then, and refitted."""
    simulated = simulate(n=60, d=12, seed=4)
    labels = labels_of(simulated, "tasks")
    model = mixed(Model(K, Gaussian(), Probit()), T=T)
    fit = run(model, simulated.X, labels, tol=1e-3)
    settings = gibbs.Gibbs(n_draws=2, burn_in=1, n_chains=1)
    chains = gibbs.sample(model, fit, settings, Stream.from_seed(2), 1)
    weighted = ObservedArray(2.0 * labels.array)
    for given, own in ((labels, True), (weighted, False)):
        draws = collect(model, chains, fit.data.observed, given, 2, Workers())
        for place, number in enumerate(draws.chosen):
            item = ObservedView(fit.data.view, fit.data.observed, draws.state(number))
            z = encode_samples(model, item, Workers(), prior=draws.priors[number])
            drawn = draws.coefficients[number]
            rows = gate_major(certain(drawn.reshape(-1, K + 1)), len(drawn))
            expected = Gated(draws.priors[number].gates(z), rows).decide(z)[0]
            found = draws.experts[place].decide(z)[0]
            assert np.allclose(found, expected, rtol=1e-6, atol=1e-9) == own


def test_draws_in_another_order_of_the_factors_decide_alike(fitted, drawn):
    model, fit, _ = fitted
    draws, _ = drawn
    turned = draws.transformed(np.eye(K)[:, [2, 0, 1]] * [1.0, -1.0, -1.0])
    for ours, expected in zip(
        *(
            one.decide(model, model.data_view, fit.data.observed, Workers())
            for one in (turned, draws)
        ),
        strict=True,
    ):
        assert_allclose(ours, expected, rtol=1e-3, atol=1e-3 * np.abs(expected).max())


def test_decisions_of_draws_are_those_of_their_experts(drawn):
    draws, z = drawn
    same = replace(draws, loadings=np.repeat(draws.loadings[:1], 2, axis=0))  # units of 1
    n_rows = draws.coefficients.shape[1]
    for number, f in enumerate(_mixed_decisions(same, z)):
        rows = gate_major(certain(draws.coefficients[number].reshape(-1, K + 1)), n_rows)
        expected = Gated(draws.priors[number].gates(z), rows).decide(z)[0]
        assert_allclose(f, expected.T, rtol=1e-6, atol=1e-9)


def in_unit(draws, units):
    """Every draw as it is when its scores are divided by its unit."""
    k, scale = slice(0, K), units[:, None, None]
    loadings, coefficients = draws.loadings.astype(float), draws.coefficients.astype(float)
    loadings[..., k] *= scale
    coefficients[..., k] *= scale[..., None]
    priors = tuple(
        one.in_unit(np.array([unit**2])) for one, unit in zip(draws.priors, units, strict=True)
    )
    return replace(draws, loadings=loadings, coefficients=coefficients, priors=priors)


def test_decisions_of_draws_do_not_depend_on_their_units(drawn):
    draws, z = drawn
    same = replace(draws, loadings=np.repeat(draws.loadings[:1], 2, axis=0))
    other = in_unit(same, np.array([1.4, 0.6]))  # the mean loadings stay
    assert_allclose(_mixed_decisions(other, z), _mixed_decisions(same, z), rtol=1e-6, atol=1e-9)


def test_decisions_of_draws_do_not_depend_on_the_numbers_of_components(drawn):
    draws, z = drawn
    order = np.array([2, 0, 3, 1])

    def turned(one):
        share = np.exp(one.log_share)[order]
        left = 1.0 - np.concatenate([[0.0], np.cumsum(share)[:-2]])
        sticks = Share(share[:-1] / left, 1.0 - share[:-1] / left)
        centres = Normal(one.centres.mean[order], one.centres.cov[order], one.centres.log_det)
        return replace(one, centres=centres, psi=Point(one.psi.value[order]), sticks=sticks)

    other = replace(
        draws,
        coefficients=draws.coefficients[:, :, order],
        priors=tuple(turned(one) for one in draws.priors),
    )
    assert_allclose(_mixed_decisions(other, z), _mixed_decisions(draws, z), rtol=1e-5, atol=1e-6)
