"""The joint test of Geweke (2004): a sweep leaves the joint law of parameters and data alone.

If (parameters, data) are drawn from the model, then a sweep of the sampler given the data and new
data given the parameters lead to a pair of the same law, over and over. Here many short chains
begin at independent draws from the prior, rather than one long chain anywhere: each state then has
exactly the law that it should have, however slowly the horseshoe mixes, and the chains are
independent, so the standard errors are those of a plain average. What is compared is the mean of a
function over a chain with the function at the chain's own beginning: the difference has mean zero,
and little variance where the chain is sticky, so the test has the power of a long chain.

One long chain cannot test the horseshoe together with data: one sweep changes the logarithm of a
feature's w by about 0.5 / |w|, so a chain stays at a size M for about M^2 sweeps, while the share
of features above M falls only as 1/M. No error estimated within a chain is then valid (six chains
of 50,000 sweeps: `benchmarks/long_chains.py`). One long chain is therefore run where it mixes: with
light tails and known global scales, and under the whole horseshoe with nothing observed. That the
laws are right is tested without mixing: one by one in `tests/shrinkage/test_conditionals.py` and
`tests/shrinkage/test_tpbn.py`, and as a whole in `tests/engine/test_exact_start.py`.

Horseshoe scales have no moments; functions are logarithms, bounded, or ratios of known law.

Every move of a sweep is proven here or, where it is one of cut points or latent values, in
`tests/engine/test_exact_start.py`; for likelihoods that are no probabilities, in
`tests/engine/test_exact_hinges.py`. For each move there is a wrong one that has to be found.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from itertools import count

import numpy as np
import pytest
from tests.engine.hand_built import certain, failures, z_score
from tests.shrinkage.wrong import off_by_half, replace_settle

from rankfactor.engine import axes, column_scales, expansion, gibbs, label_rows, location
from rankfactor.engine.course import History
from rankfactor.engine.vb import Fit
from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.point import Point, settle
from rankfactor.likelihoods import Gaussian, NoParameters, ObservedArray, Probit
from rankfactor.likelihoods.base import Augmented, Sites
from rankfactor.likelihoods.gaussian import Noise
from rankfactor.model import Model, View, ViewState
from rankfactor.shrinkage import TPBN, tpbn
from rankfactor.shrinkage.base import Shrinkage
from rankfactor.shrinkage.tpbn import TPBNScales
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers

N, D, K = 6, 4, 2
SHAPE, RATE = 3.0, 3.0  # of the noise precision: tame
INTERCEPT = 1.0  # prior precision of intercepts: the model's own would drown everything
BLOCK = 4  # two blocks of samples
HOLE = (1, 2)  # one missing value ...
UNLABELLED = (0, 5)  # ... and one missing label


@dataclass(frozen=True)
class Configuration:
    """The parts under test."""

    loadings: TPBN
    coefficients: TPBN
    noise: Gaussian = field(default_factory=lambda: Gaussian(SHAPE, RATE))
    label: Probit = field(default_factory=Probit)


class GivenScores(Probit):
    """Coefficients drawn given the scores, as for likelihoods without evidence."""

    def evidence_kind(self, signed):
        return None


class Steady(TPBN):
    """Global scales that are known to be 1; never a horseshoe, whose moves would need phi."""

    def update(self, scales, squares, stream=None):
        right = super().update(scales, squares, stream)
        return TPBNScales(right.xi, right.inv_xi, right.eta, scales.phi, scales.top)

    # What moves along with a factor's unit may not include phi.
    stretch, stretched = Shrinkage.stretch, Shrinkage.stretched


RIGHT = {
    "horseshoe": Configuration(TPBN(), TPBN(scope="row")),
    "other-shapes": Configuration(TPBN(1.0, 0.7, "row"), TPBN(0.8, 1.5, "factor")),
    "slabs": Configuration(TPBN(slab=1.5), TPBN(scope="row", slab=1.0)),
    "given-scores": Configuration(TPBN(), TPBN(scope="row"), label=GivenScores()),
}


def draw_prior(rng, prior, n_rows):
    """Scales and rows of a view, from the top down; a slab accepts them or not."""
    while True:
        rows, scales = draw_hierarchy(rng, prior, n_rows)
        squares = (rows.mean[:, :K] ** 2).sum()
        if prior.slab is None or rng.uniform() < np.exp(-0.5 * squares / prior.slab**2):
            return rows, scales


def draw_hierarchy(rng, prior, n_rows):
    """The same without a slab."""
    by_factor = prior.scope == "factor"
    top = rng.gamma(0.5, size=(1, 1) if by_factor else (n_rows, 1))
    phi = rng.gamma(0.5, size=(1, K) if by_factor else (n_rows, 1)) / top
    if isinstance(prior, Steady):
        top, phi = np.ones_like(top), np.ones_like(phi)
    eta = rng.gamma(prior.s, size=(n_rows, K)) / phi
    xi = rng.gamma(prior.r, size=(n_rows, K)) / eta
    a = rng.standard_normal((n_rows, K)) * np.sqrt(xi)
    intercept = rng.standard_normal((n_rows, 1)) / np.sqrt(INTERCEPT)
    scales = TPBNScales(xi, 1.0 / xi, Point(eta), Point(phi), Point(top))
    return certain(np.hstack([a, intercept])), scales


def predictor(item, z):
    return item.state.rows.mean @ item.columns(z).mean.T


def draw_data(rng, state):
    """New data given the parameters, in place."""
    t = state.data.state.params.precision
    noise = rng.standard_normal((D, N)) / np.sqrt(t)[:, None]
    x = predictor(state.data, state.z) + noise
    x[HOLE] = np.nan
    y = np.sign(predictor(state.labels, state.z) + rng.standard_normal((1, N)))
    y[UNLABELLED] = 0.0
    state.data.observed, state.labels.observed = ObservedArray(x), ObservedArray(y)


def draw_state(rng, parts):
    """Parameters from the prior, then data."""
    rows, scales = draw_prior(rng, parts.loadings, D)
    t = rng.gamma(SHAPE, size=D) / RATE
    noise = Noise(np.full(D, SHAPE), np.full(D, RATE), t, np.log(t))
    nothing = ObservedArray(np.empty((0, 0)))
    data_view = View(parts.noise, parts.loadings, INTERCEPT)
    data = ObservedView(data_view, nothing, ViewState(rows, noise, scales))
    rows, scales = draw_prior(rng, parts.coefficients, 1)
    label_view = View(parts.label, parts.coefficients, INTERCEPT)
    labels = ObservedView(label_view, nothing, ViewState(rows, NoParameters(), scales))
    z = certain(rng.standard_normal((N, K)))
    state = Fit(data, labels, z, History())
    draw_data(rng, state)
    return state


def snapshot(state):
    """All of a state, in a flat tuple of arrays that no later sweep writes to."""
    parts = []
    for item in (state.data, state.labels):
        scales = item.state.scales
        parts += [item.state.rows.mean.copy(), item.observed.array, scales.xi]
        parts += [law.mean for law in (scales.eta, scales.phi, scales.top)]
    return (*parts, state.z.mean.copy(), state.data.state.params.precision.copy())


def functions(states):
    """What is compared, by name, each of shape (chains, states): means over entries."""
    stacked = [np.array(part) for part in zip(*states, strict=True)]
    data, labels, (z, t) = stacked[:6], stacked[6:12], stacked[12:]
    values = {
        "z": z,
        "z squared": z**2,
        "z pair": z[..., 0] * z[..., 1],
        "mean of z, squared": z.mean(axis=-2) ** 2,
        "log t": np.log(t),
    }
    for view, (rows, observed, xi, eta, phi, top) in {"data": data, "labels": labels}.items():
        a, intercept = rows[..., :K], rows[..., K]
        reach = a @ np.swapaxes(z, -1, -2)
        w = reach + intercept[..., None]
        values |= {
            f"{view}: log |a|": np.log(np.abs(a)),
            f"{view}: a at most 1": np.abs(a) < 1,
            f"{view}: tanh a": np.tanh(a),
            f"{view}: pair of a": np.tanh(a[..., 0]) * np.tanh(a[..., 1]),
            f"{view}: log xi": np.log(xi),
            f"{view}: log eta": np.log(eta),
            f"{view}: log phi": np.log(phi),
            f"{view}: log top": np.log(top),
            f"{view}: a given xi": a**2 / xi,
            f"{view}: spread of a given xi": np.log(a**2 / xi) ** 2,
            f"{view}: xi given eta": xi * eta,
            f"{view}: eta given phi": eta * phi,
            f"{view}: phi given top": phi * top,
            f"{view}: intercept": intercept,
            f"{view}: intercept squared": intercept**2,
            f"{view}: intercept with a . z": np.tanh(intercept[..., None] * reach),
            f"{view}: a . z": np.tanh(reach),
            f"{view}: size of a . z": np.tanh(np.abs(reach)),
            f"{view}: observed": np.tanh(observed),
            f"{view}: observed with w": np.tanh(observed) * np.tanh(w),
            f"{view}: observed with intercept": np.tanh(observed) * np.tanh(intercept)[..., None],
            f"{view}: observed with a . z": np.tanh(observed) * np.tanh(reach),
        }
        if view == "data":
            square = t[..., None] * (observed - w) ** 2
            values |= {"residual": square, "residual with t": square * np.log(t)[..., None]}
    return {
        name: np.nanmean(value, axis=tuple(range(1, value.ndim))) for name, value in values.items()
    }


def sampler(parts, stream):
    """A function of a state that gives the state after one more sweep."""
    model = Model(K, parts.noise, parts.label, parts.loadings, parts.coefficients)
    settings, pool, sweeps = gibbs.Gibbs(block=BLOCK, n_chains=2), Workers(), count()

    def sweep(state):
        return gibbs._sweep(model, state, settings, stream.child("sweep", next(sweeps)), pool)[0]

    return sweep


def joint_test(parts, n_chains, length, seed):
    """z-scores by name of what should have mean zero."""
    rng = np.random.default_rng(seed)
    stream = Stream.from_seed(seed)
    states = []
    for number in range(n_chains):
        state = draw_state(rng, parts)
        states.append(snapshot(state))
        sweep = sampler(parts, stream.child("chain", number))
        for step in range(length):
            if step:
                draw_data(rng, state)
            state = sweep(state)
            states.append(snapshot(state))
    scores = {}
    for name, value in functions(states).items():
        value = value.reshape(n_chains, length + 1)
        scores[name] = z_score(value[:, 1:].mean(axis=1) - value[:, 0])
    return scores


@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT.keys())
@pytest.mark.slow
def test_a_sweep_leaves_the_joint_law_alone(parts):
    assert not failures(joint_test(parts, n_chains=1000, length=3, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize(("n_chains", "length"), [(6000, 4), (600, 40)])
@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT.keys())
def test_a_sweep_leaves_the_joint_law_alone_at_length(parts, n_chains, length):
    assert not failures(joint_test(parts, n_chains, length, seed=2))


STEADY = Configuration(Steady(2.0, 3.0), Steady(3.0, 4.0, "row"))


def long_chain_test(parts, length, n_batches, seed):
    """z-scores by name of a single chain's means against those of draws from the model."""
    rng = np.random.default_rng(seed)
    direct = functions([snapshot(draw_state(rng, parts)) for _ in range(length)])
    state = draw_state(rng, parts)
    sweep, states = sampler(parts, Stream.from_seed(seed)), []
    for _ in range(length):
        draw_data(rng, state)
        state = sweep(state)
        states.append(snapshot(state))
    scores = {}
    for name, value in functions(states).items():
        batches = value.reshape(n_batches, -1).mean(axis=1)
        error = np.hypot(batches.std(ddof=1) / n_batches**0.5, direct[name].std() / length**0.5)
        distance = batches.mean() - direct[name].mean()
        scores[name] = distance / max(error, np.finfo(float).tiny)
    return scores


@pytest.mark.slow
def test_one_long_chain_where_it_mixes():
    assert not failures(long_chain_test(STEADY, length=20_000, n_batches=100, seed=4))


@pytest.mark.slow
def test_one_long_chain_finds_a_fault(monkeypatch):
    replace_settle(monkeypatch, tpbn, off_by_half("eta"))
    assert failures(long_chain_test(STEADY, length=4000, n_batches=50, seed=4))


def observe_nothing(rng, state):
    """All values and labels missing, in place of `draw_data`."""
    state.data.observed = ObservedArray(np.full((D, N), np.nan))
    state.labels.observed = ObservedArray(np.zeros((1, N)))


def long_chain_without_data(monkeypatch, length, n_batches):
    """z-scores of a chain under the horseshoe that moves freely; none of the data's functions."""
    monkeypatch.setattr(sys.modules[__name__], "draw_data", observe_nothing)
    scores = long_chain_test(RIGHT["horseshoe"], length, n_batches, seed=4)
    return {k: z for k, z in scores.items() if "observed" not in k and "residual" not in k}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
def test_one_long_chain_of_the_horseshoe_without_data(monkeypatch):
    assert not failures(long_chain_without_data(monkeypatch, length=20_000, n_batches=100))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Mean of empty slice:RuntimeWarning")
@pytest.mark.parametrize("name", ["xi", "eta", "phi", "top"])
def test_one_long_chain_of_the_horseshoe_finds_a_fault(name, monkeypatch):
    replace_settle(monkeypatch, tpbn, off_by_half(name))
    assert failures(long_chain_without_data(monkeypatch, length=2000, n_batches=40))


class WrongEta(TPBN):
    """Shape of eta too large by a quarter."""

    def update(self, scales, squares, stream=None):
        right = super().update(scales, squares, stream)
        law = Gamma(self.r + self.s + 0.25, scales.xi + scales.phi.mean)
        return TPBNScales(right.xi, right.inv_xi, settle(law, stream, "eta"), right.phi, right.top)


class WrongNoise(Gaussian):
    """Missing values counted as seen."""

    def update(self, statistics, rows, params):
        right = super().update(statistics, rows, params)
        return Noise.of(np.full(D, self.shape + 0.5 * N), right.rate)

    def augment(self, tile):
        sites, right, bound = super().augment(tile)
        wrong = Noise.of(np.full(D, self.shape + 0.5 * N), right.rate).draw(tile.chance.stream)
        ratio = (wrong.precision / right.precision)[:, None]
        return Augmented(Sites(ratio * sites.tau, ratio * sites.rho), wrong, bound)


class WrongLabel(GivenScores):
    """The expectation of f* in the place of a draw."""

    def label_sites(self, signed, f, var_f, chance=None):
        return super().label_sites(signed, f, 0.0)


WRONG = {
    "eta": Configuration(WrongEta(), TPBN(scope="row")),
    "noise": Configuration(TPBN(), TPBN(scope="row"), WrongNoise(SHAPE, RATE)),
    "label": Configuration(TPBN(), TPBN(scope="row"), label=WrongLabel()),
}


@pytest.mark.slow
def test_the_test_can_fail():
    assert failures(joint_test(WRONG["eta"], n_chains=200, length=3, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG.keys())
def test_small_faults_are_found(parts):
    assert failures(joint_test(parts, n_chains=4000, length=3, seed=3))


def wrong_units(views, z, stream):
    """The power of u too large by 1/2, as if there were one sample less."""
    law = expansion.unit_law(views, z)
    u = type(law)(law.p + 0.5, law.a, law.b).draw(stream)
    expansion.change_units(views, z, u)


def wrong_location(views, locations, z, prior):
    """The precision of delta three times too small."""
    precision, shift = location_law(views, locations, z, prior)
    return precision / 3.0, shift


def without_intercepts(item):
    """No prior of the intercepts."""
    return 0.0 * intercept_precision(item)


def exchanged_units(item, order):
    """The units of the two columns exchanged."""
    rows, unit, *others = side(item, order)
    return rows, np.ascontiguousarray(unit[::-1]), *others


def no_update(item, n_factors, stream=None):
    """Scales of entries are not drawn again after a rotation."""


def wrong_shears(key, pairs, sides, moment, turn):
    """Scores that move in the wrong direction."""
    own = np.eye(len(turn))
    slice_shears(key, pairs, sides, moment, own)
    turn[:] = np.linalg.inv(own) @ turn


def wrong_columns(key, Q, h, power, rate, inverse):
    """The power of u too large by 1/2."""
    return slice_columns(key, Q, h, power + 0.5, rate, inverse)


def certain_decisions(kind, signed, X, cov, *others):
    """The evidence without the variance of the decisions."""
    return draw_label_row(kind, signed, X, 0.0 * cov, *others)


def certain_scale(key, *given):
    """The same for the scale of a row."""
    return slice_scale(key, *given[:-1], 1e-12 * given[-1])


def wrong_row_scale(key, power, *others):
    """The power of u too large by 1/2, as if the intercept were counted twice."""
    return slice_scale(key, power + 0.5, *others)


def mean_latent(self, signed, mean, variance, stream):
    """Latent values that are not drawn."""
    return Sites(np.ones(len(mean)), mean)


location_law, intercept_precision = location.location_law, location.intercept_precision
side, slice_shears = axes._side, axes.slice_shears
slice_columns = column_scales.slice_columns
draw_label_row, slice_scale = label_rows.draw_label_row, label_rows.slice_scale
MOVES = {
    "units": [(gibbs, "draw_units", wrong_units)],
    "location": [(location, "location_law", wrong_location)],
    "location, intercepts": [(location, "intercept_precision", without_intercepts)],
    "rotation, units": [(axes, "_side", exchanged_units)],
    "rotation, scales": [(gibbs, "update_scales", no_update)],
    "shears": [(axes, "slice_shears", wrong_shears)],
    "column scales": [(column_scales, "slice_columns", wrong_columns)],
    "label rows, variance": [
        (label_rows, "draw_label_row", certain_decisions),
        (label_rows, "slice_scale", certain_scale),
    ],
    "label rows, scale": [(label_rows, "slice_scale", wrong_row_scale)],
    "label rows, decisions": [(Probit, "draw_sites", mean_latent)],
}


@pytest.mark.slow
@pytest.mark.parametrize("move", MOVES)
def test_wrong_moves_are_found(move, monkeypatch):
    for fault in MOVES[move]:
        monkeypatch.setattr(*fault)
    assert failures(joint_test(RIGHT["horseshoe"], n_chains=2000, length=3, seed=3))


@pytest.mark.slow
def test_without_rotations_no_new_scales_are_needed(monkeypatch):
    """Without both moves the law is right, so the failure above is due to leaving out one."""
    monkeypatch.setattr(gibbs, "update_scales", no_update)
    monkeypatch.setattr(gibbs, "draw_axes", lambda views, z, prior, stream: prior)
    assert not failures(joint_test(RIGHT["horseshoe"], n_chains=2000, length=3, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["xi", "eta", "phi", "top"])
def test_wrong_scales_are_found(name, monkeypatch):
    replace_settle(monkeypatch, tpbn, off_by_half(name))
    assert failures(joint_test(RIGHT["horseshoe"], n_chains=1000, length=3, seed=3))
