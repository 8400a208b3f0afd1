"""The joint test of Geweke (2004) for the sweep of a mixture: see `tests.engine.test_geweke`.

Gaussian data and probit labels, each label under the row of its sample's component. Components,
sticks, concentration, centres and psi are drawn from the prior with the rest.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.engine import test_geweke as plain
from tests.engine.hand_built import certain, failures, z_score
from tests.engine.test_geweke import BLOCK, HOLE, INTERCEPT, RATE, SHAPE, D, K, N

from rankfactor.classifiers import per_component as components
from rankfactor.classifiers.labels import ComponentLabels, shared_out
from rankfactor.engine import expansion, gibbs
from rankfactor.engine.course import History
from rankfactor.engine.vb import Fit
from rankfactor.kernels.rng import Stream
from rankfactor.latent import DPMixture, Mixture
from rankfactor.laws.beta import Share
from rankfactor.laws.categorical import indicators
from rankfactor.laws.point import Point
from rankfactor.likelihoods import Gaussian, NoParameters, ObservedArray, Probit
from rankfactor.likelihoods.gaussian import Noise
from rankfactor.model import Model, View, ViewState
from rankfactor.shrinkage import TPBN
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers

T = 3
HYPER = DPMixture(T, 2.0, 1.5, centre_precision=0.7, scale_shape=3.0, scale_rate=2.0)
LOADINGS, COEFFICIENTS = TPBN(), TPBN(scope="row")
UNLABELLED = 5
MODEL = Model(K, Gaussian(SHAPE, RATE), Probit(), LOADINGS, COEFFICIENTS, latent=HYPER)


def draw_mixture(rng):
    """A mixture and the components of N samples, from the top down."""
    alpha = rng.gamma(HYPER.concentration_shape, size=1) / HYPER.concentration_rate
    g, h = rng.gamma(1.0, size=T - 1), np.maximum(rng.gamma(alpha, size=T - 1), 1e-300)
    v, rest = g / (g + h), h / (g + h)
    shares = np.append(v, 1.0) * np.concatenate([[1.0], np.cumprod(rest)])
    t = rng.choice(T, size=N, p=shares / shares.sum())
    return Mixture(
        HYPER,
        indicators(t, T),
        certain(rng.standard_normal((T, K)) / np.sqrt(HYPER.centre_precision)),
        Point(rng.gamma(HYPER.scale_shape, size=T) / HYPER.scale_rate),
        Share(v, rest),
        Point(alpha),
    )


def own(state):
    """Decision of every sample's own component, shape (N,)."""
    f = plain.predictor(state.labels, state.z)  # (T, N)
    return (f * state.prior.responsibilities.T).sum(axis=0)


def draw_data(rng, state):
    """New data given the parameters, in place."""
    noise = rng.standard_normal((D, N)) / np.sqrt(state.data.state.params.precision)[:, None]
    x = plain.predictor(state.data, state.z) + noise
    x[HOLE] = np.nan
    y = np.sign(own(state) + rng.standard_normal(N))[None]
    y[0, UNLABELLED] = 0.0
    state.data.observed = ObservedArray(x)
    state.labels.observed = ComponentLabels(y, state.prior.responsibilities)


def draw_state(rng):
    """Parameters from the prior, then data."""
    rows, scales = plain.draw_prior(rng, LOADINGS, D)
    t = rng.gamma(SHAPE, size=D) / RATE
    noise = Noise(np.full(D, SHAPE), np.full(D, RATE), t, np.log(t))
    nothing = ObservedArray(np.empty((0, 0)))
    data = ObservedView(
        View(MODEL.data, LOADINGS, INTERCEPT), nothing, ViewState(rows, noise, scales)
    )
    rows, scales = plain.draw_prior(rng, COEFFICIENTS, T)
    labels = ObservedView(
        View(MODEL.label, COEFFICIENTS, INTERCEPT), nothing, ViewState(rows, NoParameters(), scales)
    )
    prior = draw_mixture(rng)
    R = prior.responsibilities
    spread = rng.standard_normal((N, K)) / np.sqrt(R @ prior.psi.mean)[:, None]
    state = Fit(data, labels, certain(R @ prior.centres.mean + spread), History(), prior)
    draw_data(rng, state)
    return state


def functions(state):
    """What is compared, by name: means over entries."""
    prior, z, beta = state.prior, state.z.mean, state.labels.state.rows.mean
    R, psi, mu = prior.responsibilities, prior.psi.mean, prior.centres.mean
    scales, y, f = state.labels.state.scales, state.labels.observed.signed[0], own(state)
    a, t = state.data.state.rows.mean[:, :K], state.data.state.params.precision
    residual = state.data.observed.array - plain.predictor(state.data, state.z)
    square = (R @ psi) * ((z - R @ mu) ** 2).sum(axis=1)
    pairs = [R[:, i] @ R[:, j] for i in range(T) for j in range(i)]
    values = {
        "z": z,
        "z squared": np.tanh(z**2),
        "mu": mu,
        "mu squared": mu**2,
        "log psi": np.log(psi),
        "psi": psi,
        "z given its component": square,
        "z given its component, with psi": square * np.log(R @ psi),
        "z with its centre": np.tanh(z * (R @ mu)),
        "sticks": prior.sticks.value,
        "log sticks": prior.sticks.log_mean,
        "log rest": prior.sticks.log_rest,
        "sticks given alpha": prior.alpha.mean * prior.sticks.log_rest,
        "log alpha": np.log(prior.alpha.mean),
        "alpha": prior.alpha.mean,
        **{f"size of {i}": R[:, i] for i in range(T)},
        "sizes squared": R.sum(axis=0) ** 2,
        "pairs": pairs,
        "component with its share": R @ prior.log_share,
        "label": y,
        "label with f": y * np.tanh(f),
        "label with intercept": y * np.tanh(R @ beta[:, K]),
        "label with other components": y * np.tanh(plain.predictor(state.labels, state.z)[0]),
        "coefficients": np.tanh(beta),
        "log coefficients": np.log(np.abs(beta[:, :K])),
        "coefficients given xi": beta[:, :K] ** 2 / scales.xi,
        "coefficients, used or not": np.tanh(np.abs(beta).sum(axis=1) * R.sum(axis=0)),
        "intercept squared": beta[:, K] ** 2,
        "loadings given xi": a**2 / state.data.state.scales.xi,
        "log loadings": np.log(np.abs(a)),
        "log t": np.log(t),
        "residual": t[:, None] * residual**2,
    }
    return {name: np.nanmean(value) for name, value in values.items()}


def joint_test(n_chains, length, seed):
    """z-scores by name of what should have mean zero."""
    rng, stream = np.random.default_rng(seed), Stream.from_seed(seed)
    settings, differences = gibbs.Gibbs(block=BLOCK, n_chains=2), []
    for number in range(n_chains):
        state = draw_state(rng)
        first, total = functions(state), {}
        for step in range(length):
            if step:
                draw_data(rng, state)
            source = stream.child("chain", number, step)
            state = gibbs._sweep(MODEL, state, settings, source, Workers())[0]
            for name, value in functions(state).items():
                total[name] = total.get(name, 0.0) + value / length
        differences.append([total[name] - first[name] for name in first])
    return dict(zip(first, map(z_score, np.transpose(differences)), strict=True))


@pytest.mark.slow
def test_a_sweep_leaves_the_joint_law_alone():
    assert not failures(joint_test(n_chains=1000, length=3, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize(("n_chains", "length"), [(6000, 4), (600, 40)])
def test_a_sweep_leaves_the_joint_law_alone_at_length(n_chains, length):
    assert not failures(joint_test(n_chains, length, seed=2))


def without_labels(labels, z, samples):
    """The paper's t_n, which does not see the label."""
    return np.zeros((len(z.mean), T))


@pytest.mark.slow
def test_components_that_do_not_see_the_labels_are_found(monkeypatch):
    monkeypatch.setattr(components, "label_evidence", without_labels)
    assert failures(joint_test(n_chains=1000, length=3, seed=3))


def wrong_unit(views, z, mixture, stream):
    """The power of u without that of psi."""
    law = expansion.common_unit_law(views, mixture, K)
    u = type(law)(law.p - T * HYPER.scale_shape, law.a, law.b).draw(stream)
    expansion.change_units(views, z, np.repeat(u, K))
    return mixture.in_unit(u)


@pytest.mark.slow
def test_a_wrong_unit_is_found(monkeypatch):
    monkeypatch.setattr(gibbs, "draw_common_unit", wrong_unit)
    assert failures(joint_test(n_chains=300, length=3, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["turned", "moved"])
def test_centres_left_behind_by_a_move_are_found(name, monkeypatch):
    """Rotations and shifts of the scores that the centres do not follow."""
    monkeypatch.setattr(Mixture, name, lambda self, by: self)
    assert failures(joint_test(n_chains=1000, length=3, seed=3))


def printed_update(self, z, stream=None):
    """The paper's psi: mu^2 in the place of |z - mu|^2, and K/2 without N_t."""
    right = plain_update(self, z, stream)
    rate = HYPER.scale_rate + 0.5 * (right.centres.mean**2).sum(axis=1)
    draw = np.random.default_rng(stream.key).gamma(HYPER.scale_shape + 0.5 * K, size=T)
    return replace(right, psi=Point(draw / rate))


plain_update = Mixture.update


@pytest.mark.slow
def test_the_printed_psi_is_found(monkeypatch):
    monkeypatch.setattr(Mixture, "update", printed_update)
    assert failures(joint_test(n_chains=300, length=3, seed=3))


def test_a_draw_of_the_labels_rows_is_that_of_the_component_only():
    """Rows of components without samples see no label: their sites are zero."""
    state = draw_state(np.random.default_rng(0))
    everything = slice(0, T), slice(0, N)
    shared = shared_out(state.labels.observed, state.prior).tile(*everything)
    signed = state.labels.observed.signed
    assert (shared.sum(axis=0) == signed[0]).all()
    assert ((shared != 0).sum(axis=0) <= 1).all()
