"""Sweeps that start at exact draws of the joint law leave it unchanged: no mixing is needed.

Every replicate draws parameters from the prior and data given the parameters, independently of all
others, and then runs a few sweeps of the sampler given these data. If the sampler is right, the
state after the sweeps has the joint law again, whether it has moved far or hardly at all. So this
test separates a wrong law from slow mixing, which a single long chain cannot do.

The joint law is compared as a whole. Every variable, mapped through its distribution function given
the variables above it, is a *pivot*: a state has the joint law if and only if its pivots are
independent and uniform on (0, 1). Tested are the uniformity of each kind of pivot (Kolmogorov and
Smirnov) and, by z-scores over replicates, the change of its mean and its spread and of their
products for every pair of kinds. Pivots are bounded, so heavy-tailed priors need no special care.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from benchmarks.from_prior import draw_scales
from scipy.special import gammainc, ndtr
from scipy.stats import kstest
from tests.engine.hand_built import LEVEL, certain, failures, z_score
from tests.shrinkage.wrong import off_by_half, replace_settle

from rankfactor.engine import expansion, gibbs, location, row_scales
from rankfactor.engine.course import History
from rankfactor.engine.vb import Fit
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import (
    Gaussian,
    NoParameters,
    ObservedArray,
    OrdinalProbit,
    OrdinaryRank,
    Probit,
    ordinal_probit,
)
from rankfactor.likelihoods.gaussian import Noise
from rankfactor.likelihoods.ordinal_probit import Thresholds
from rankfactor.likelihoods.ordinary_rank import Boundaries, RankedValues
from rankfactor.model import Model, View, ViewState
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD, tpbn
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers

N, D, R, K, J = 6, 4, 2, 2, 3  # samples, features, labels, factors, cut points
INTERCEPT = 1.0  # prior precision; the model's own would dominate everything
HOLES = np.zeros((D, N), bool)
HOLES[1, 2] = HOLES[3, 0] = True
UNLABELLED = np.zeros((R, N), bool)
UNLABELLED[0, 5] = True

GAUSSIAN, ORDINAL, RANK = Gaussian(3.0, 3.0), OrdinalProbit(cut_precision=0.5), OrdinaryRank()
CASES = {
    "horseshoe": (GAUSSIAN, TPBN(), TPBN(scope="row")),
    "horseshoe, ordinal": (ORDINAL, TPBN(), TPBN(scope="row")),
    "horseshoe, rank": (RANK, TPBN(), TPBN(scope="row")),
    "other shapes": (GAUSSIAN, TPBN(1.0, 0.7, "row"), TPBN(0.8, 1.5)),
    "multiplicative gamma": (GAUSSIAN, MultiplicativeGamma(), NormalARD(2.0, 1.5, "row")),
    "multiplicative gamma, ordinal": (ORDINAL, MultiplicativeGamma(), TPBN(scope="row")),
    "normal": (GAUSSIAN, NormalARD(2.0, 1.5), NormalARD(3.0, 2.0)),
    "normal, rank": (RANK, NormalARD(2.0, 1.5), TPBN(scope="row")),
}


def scale_pivots(prior, scales):
    """Pivots of a view's scales by name, each of shape (rows or 1, K or 1)."""
    if isinstance(prior, TPBN):
        xi, eta, phi, top = scales.xi, scales.eta.mean, scales.phi.mean, scales.top.mean
        return {
            "top": gammainc(0.5, top),
            "phi": gammainc(0.5, phi * top),
            "eta": gammainc(prior.s, eta * phi),
            "xi": gammainc(prior.r, xi * eta),
        }
    if isinstance(prior, MultiplicativeGamma):
        half = 0.5 * prior.nu
        return {
            "delta": gammainc([prior.a1, prior.a2], scales.delta.mean)[None],
            "phi": gammainc(half, half * scales.phi.mean),
        }
    return {"alpha": gammainc(prior.shape, prior.rate * scales.alpha.mean)}


def draw_view(rng, view, n_rows):
    """Rows, scales and a likelihood's parameters from the prior; nothing observed yet."""
    scales = draw_scales(rng, view.shrinkage, n_rows, K)
    rows = rng.standard_normal((n_rows, K)) / np.sqrt(view.shrinkage.precision(scales))
    if view.has_intercept:
        rows = np.column_stack([rows, rng.standard_normal(n_rows) / np.sqrt(INTERCEPT)])
    likelihood, params = view.likelihood, NoParameters()
    if isinstance(likelihood, Gaussian):
        t = rng.gamma(likelihood.shape, size=n_rows) / likelihood.rate
        params = Noise(np.full(n_rows, 3.0), np.full(n_rows, 3.0), t, np.log(t))
    elif isinstance(likelihood, OrdinalProbit):
        cuts = np.sort(rng.standard_normal((n_rows, J)), axis=1) / np.sqrt(likelihood.cut_precision)
        params = Thresholds(cuts, np.full(n_rows, J))
    nothing = ObservedArray(np.empty((0, 0)))
    return ObservedView(view, nothing, ViewState(certain(rows), params, scales))


def predictor(item, z):
    return item.state.rows.mean @ item.columns(z).mean.T


def observe(rng, item, z):
    """Data given all parameters, in place."""
    w, likelihood, params = predictor(item, z), item.view.likelihood, item.state.params
    latent = w + rng.standard_normal(w.shape)
    if isinstance(likelihood, Gaussian):
        x = w + (latent - w) / np.sqrt(params.precision)[:, None]
        item.observed = ObservedArray(np.where(HOLES, np.nan, x))
    elif isinstance(likelihood, OrdinalProbit):
        codes = (latent[:, :, None] > params.h[:, None]).sum(axis=2)
        item.observed = ObservedArray(np.where(HOLES, MISSING, codes).astype(np.uint8))
    elif isinstance(likelihood, OrdinaryRank):
        latent = np.where(HOLES, np.nan, latent).astype(np.float32)
        coding = likelihood.learn(latent.T.astype(float))
        item.observed = coding.observe(latent.T.astype(float))
        assert isinstance(item.observed, RankedValues)
        cuts = np.zeros((D, coding.values.shape[1]))
        item.state.params = Boundaries(cuts, coding.n_cuts, latent)
    else:
        item.observed = ObservedArray(np.where(UNLABELLED, 0.0, np.sign(latent)))


def data_pivots(rng, item, z):
    """Pivots of a likelihood's parameters and of the data, NaN where missing."""
    w, likelihood, params = predictor(item, z), item.view.likelihood, item.state.params
    if isinstance(likelihood, OrdinaryRank):
        return {"latent": ndtr(params.latent - w)}
    values = item.observed.array
    if isinstance(likelihood, Gaussian):
        t = params.precision[:, None]
        noise = gammainc(likelihood.shape, likelihood.rate * t)
        return {"noise": noise, "x": ndtr((values - w) * np.sqrt(t))}
    if isinstance(likelihood, OrdinalProbit):
        # Of ordered uniforms, (u_j / u_{j+1})^j are independent and uniform.
        u = np.column_stack([ndtr(params.h * np.sqrt(likelihood.cut_precision)), np.ones(D)])
        ends = np.pad(params.h, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
        code = np.where(values == MISSING, 0, values).astype(int)
        low, high = (ndtr(np.take_along_axis(ends, code + step, 1) - w) for step in (0, 1))
        pivots = {"cuts": (u[:, :-1] / u[:, 1:]) ** np.arange(1, J + 1)}
        missing = values == MISSING
    else:
        low, high = np.where(values > 0, ndtr(-w), 0.0), np.where(values > 0, 1.0, ndtr(-w))
        pivots, missing = {}, values == 0
    between = low + (high - low) * rng.uniform(size=w.shape)
    return pivots | {"x": np.where(missing, np.nan, between)}


def pivots(rng, state):
    """All pivots of a state, by name: letters of the axes, and values.

    Features are "i", labels "l", factors "k", samples "n", cut points "j".
    """
    found = {"z": ("nk", ndtr(state.z.mean))}
    for name, letter, item in (("data", "i", state.data), ("labels", "l", state.labels)):
        prior, scales = item.view.shrinkage, item.state.scales
        rows = item.state.rows.mean
        for key, value in scale_pivots(prior, scales).items():
            found[f"{name}: {key}"] = (letter + "k", value)
        found[f"{name}: a"] = (letter + "k", ndtr(rows[:, :K] * np.sqrt(prior.precision(scales))))
        if item.view.has_intercept:
            found[f"{name}: intercept"] = (letter + "k", ndtr(rows[:, K:] * np.sqrt(INTERCEPT)))
        for key, value in data_pivots(rng, item, state.z).items():
            found[f"{name}: {key}"] = (letter + ("j" if key == "cuts" else "n"), value)
    return found


def without_single_axes(letters, values):
    """Letters and stacked values (replicates, ...) without axes of length 1."""
    kept = [length > 1 for length in values.shape[1:]]
    letters = "".join(one for one, keep in zip(letters, kept, strict=True) if keep)
    return letters, values.reshape(len(values), *(n for n in values.shape[1:] if n > 1))


def summaries(states):
    """Of every replicate, by name: means of what has mean zero where pivots are iid uniform."""
    result, parts = {}, {}
    for name, (letters, _) in states[0].items():
        values = np.array([state[name][1] for state in states])
        letters, u = without_single_axes(letters, values)
        # Legendre polynomials, orthonormal; nothing where missing.
        mean, spread = np.sqrt(3.0) * (2 * u - 1), np.sqrt(5.0) * (6 * u * (u - 1) + 1)
        for what, value in {"mean": mean, "spread": spread}.items():
            value = np.nan_to_num(value, nan=0.0)
            parts[name, what] = letters, value
            total = value.reshape(len(value), -1)
            result[f"{what} of {name}"] = total.sum(axis=1)
            if letters:
                within = total.sum(axis=1) ** 2 - (total**2).sum(axis=1)
                result[f"pairs in {what} of {name}"] = within
    for one, other in combinations(states[0], 2):
        for what, which in product(("mean", "spread"), repeat=2):
            (s, x), (t, y) = parts[one, what], parts[other, which]
            result[f"{what} of {one} with {which} of {other}"] = np.einsum(f"r{s},r{t}->r", x, y)
    return result


def one_sweep(model):
    def step(state, stream):
        return gibbs._sweep(model, state, gibbs.Gibbs(block=4, n_chains=2), stream, Workers())[0]

    return step


def units_alone(state, stream):
    expansion.draw_units([state.data, state.labels], state.z, stream)
    return state


def location_alone(state, stream):
    location.draw_location([state.data, state.labels], state.z, state.prior, stream)
    return state


def row_scales_alone(state, stream):
    row_scales.draw_row_scales(state.data, state.z, stream)
    return state


ALONE = {"units": units_alone, "location": location_alone, "row scales": row_scales_alone}


def run(case, n_replicates, n_steps, seed, alone=None, off=()):
    """What speaks against the joint law after some steps, by name: z-scores and p-values.

    ``alone`` is a move that is done and nothing else, ``off`` are moves that sweeps go without.
    """
    likelihood, loadings, coefficients = CASES[case]
    model = Model(K, likelihood, Probit(), loadings, coefficients)
    step = one_sweep(model) if alone is None else ALONE[alone]
    rng, stream = np.random.default_rng(seed), Stream.from_seed(seed)
    before, after = [], []
    with pytest.MonkeyPatch.context() as patch:
        for move in off:
            patch.setattr(gibbs, move, lambda *_: None)
        for number in range(n_replicates):
            z = certain(rng.standard_normal((N, K)))
            data = draw_view(rng, View(likelihood, loadings, INTERCEPT), D)
            labels = draw_view(rng, View(Probit(), coefficients, INTERCEPT), R)
            for item in (data, labels):
                observe(rng, item, z)
            state = Fit(data, labels, z, History())
            before.append(pivots(rng, state))
            for number_of_step in range(n_steps):
                state = step(state, stream.child(number, number_of_step))
            after.append(pivots(rng, state))
    first = summaries(before)
    scores = {name: z_score(v - first[name]) for name, v in summaries(after).items()}
    found = failures(scores)
    for name in after[0]:
        u = np.concatenate([np.ravel(state[name][1]) for state in after])
        p = kstest(u[~np.isnan(u)], "uniform").pvalue
        if not p > LEVEL / len(after[0]):
            found[f"law of {name}"] = p
    return found


# The quick version: one case of every likelihood.
@pytest.mark.parametrize("case", ["horseshoe", "multiplicative gamma, ordinal", "normal, rank"])
def test_sweeps_leave_the_joint_law_alone(case):
    assert run(case, 120, 2, seed=1) == {}


def test_a_wrong_shape_is_found(monkeypatch):
    replace_settle(monkeypatch, tpbn, off_by_half("eta"))
    assert run("horseshoe", 120, 2, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_sweeps_leave_the_joint_law_alone_in_many_replicates(case):
    assert run(case, 2000, 2, seed=2) == {}


@pytest.mark.slow
@pytest.mark.parametrize("case", ["horseshoe", "normal, rank"])
def test_sweeps_without_the_move_of_units_leave_the_joint_law_alone(case):
    assert run(case, 2000, 2, seed=2, off=["draw_units"]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_the_move_of_units_alone_leaves_the_joint_law_alone(case):
    assert run(case, 2000, 1, seed=2, alone="units") == {}


def wrong_units(views, z, stream):
    """The power of u too large by 1/2."""
    law = expansion.unit_law(views, z)
    expansion.change_units(views, z, type(law)(law.p + 0.5, law.a, law.b).draw(stream))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_wrong_units_are_found(case, monkeypatch):
    monkeypatch.setattr(expansion, "draw_units", wrong_units)
    assert run(case, 2000, 1, seed=2, alone="units")


CUTS = [case for case in CASES if "ordinal" in case]
LATENT = [case for case in CASES if "rank" in case]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("move", "case"),
    [("location", case) for case in CASES] + [("row scales", case) for case in CUTS + LATENT],
)
def test_moves_alone_leave_the_joint_law_alone(move, case):
    assert run(case, 2000, 1, seed=2, alone=move) == {}


def without_prior(precision, points, n_cuts):
    """Cut points follow a shift as if they had no prior."""
    return cut_location(0.0, points, n_cuts)


def without_jacobian(precision, points, n_cuts, factor):
    """The prior of multiplied cut points without the Jacobian."""
    return cut_scale_terms(precision, points, n_cuts, factor) - n_cuts * np.log(factor)


def without_latent_jacobian(self, tile, factor, some):
    """The density of multiplied latent values without the Jacobian."""
    count = (~np.isnan(tile.observed[some])).sum(axis=1)
    return scale_terms(self, tile, factor, some) - count * np.log(factor)


cut_location, cut_scale_terms = ordinal_probit.cut_location, ordinal_probit.cut_scale_terms
scale_terms = OrdinaryRank.scale_terms
MOVES = {
    "location": (CUTS[0], (ordinal_probit, "cut_location", without_prior)),
    "row scales": (CUTS[0], (ordinal_probit, "cut_scale_terms", without_jacobian)),
    "row scales of latent values": (
        "normal, rank",
        (OrdinaryRank, "scale_terms", without_latent_jacobian),
    ),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")  # cut points run far off
@pytest.mark.parametrize("move", MOVES)
def test_wrong_moves_are_found_in_sweeps(move, monkeypatch):
    case, fault = MOVES[move]
    monkeypatch.setattr(*fault)
    assert run(case, 2000, 2, seed=2)


def no_jacobian(self, statistics, rows):
    """The density of the cut points without the widths of their intervals."""
    diagonal, beside, linear, within = target(self, statistics, rows)
    return diagonal, beside, linear, 0.0 * within


def short_of_w(self, observed, rows, tile):
    """Latent values around 0.9 w."""
    return refresh(self, observed, rows, tile._replace(w=0.9 * tile.w))


target, refresh = OrdinalProbit._target, OrdinaryRank.refresh


@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "kind", "name", "fault"),
    [
        ("horseshoe, ordinal", OrdinalProbit, "_target", no_jacobian),
        ("normal, rank", OrdinaryRank, "refresh", short_of_w),
    ],
)
def test_wrong_likelihoods_are_found(case, kind, name, fault, monkeypatch):
    """Sweeps go without the scales of rows, which would mend most of the damage at once."""
    monkeypatch.setattr(kind, name, fault)
    assert run(case, 2000, 2, seed=2, off=["draw_row_scales"])
