"""Sweeps under margin ranks and hinge labels leave their posterior alone.

Hinges are no probabilities of data, so data cannot be drawn as in `tests.engine.test_geweke`. But
they are at most 1, so that at fixed data the posterior can be drawn from by plain rejection: a draw
of the prior is accepted with the probability ``exp(-2 sum of hinges)`` and, under slabs,
``exp(-sum of a^2 / (2 slab^2))``. Every replicate starts at such a draw, exact and independent of
all others, and has to have the posterior's law after some sweeps again. All is small, so that
enough is accepted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from tests.engine.hand_built import certain, failures, z_score

from rankfactor.engine import axes, column_scales, gibbs, label_rows, location
from rankfactor.engine.course import History
from rankfactor.engine.vb import Fit
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import Stream
from rankfactor.laws.point import Point
from rankfactor.likelihoods import Hinge, MarginRank, NoParameters, ObservedArray, margin_rank
from rankfactor.likelihoods.margin_rank import CutPoints
from rankfactor.model import Model, View, ViewState
from rankfactor.shrinkage import TPBN
from rankfactor.shrinkage.tpbn import TPBNScales
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers

N, D, K, J = 3, 2, 2, 2
INTERCEPT = 2.0  # prior precision
CODES = np.array([[0, 1, 0], [2, 0, MISSING]], np.uint8)
N_CUTS = np.array([1, 2])
SIGNED = np.array([[1.0, -0.5, 0.0]])
USED = np.arange(J) < N_CUTS[:, None]
BATCH = 100_000


@dataclass(frozen=True)
class Case:
    """The parts under test."""

    data: MarginRank
    loadings: TPBN
    coefficients: TPBN


FIXED = MarginRank(0.01, J, cut_precision=2.0, double=True)
INFERRED = MarginRank(0.01, J, cut_precision=2.0, margin_shape=2.0, double=True)
CASES = {
    "horseshoe": Case(FIXED, TPBN(), TPBN(scope="row")),
    "slabs": Case(FIXED, TPBN(slab=3.0), TPBN(scope="row", slab=2.0)),
    "inferred margins": Case(INFERRED, TPBN(1.5, 1.0), TPBN(1.0, 0.7, "row")),
}


def draw_shrunk(rng, prior, n, n_rows):
    """Rows and scales from the prior, and the log of a slab's part, each for n states."""
    by_factor = prior.scope == "factor"
    top = rng.gamma(0.5, size=(n, 1 if by_factor else n_rows, 1))
    phi = rng.gamma(0.5, size=(n, 1, K) if by_factor else (n, n_rows, 1)) / top
    eta = rng.gamma(prior.s, size=(n, n_rows, K)) / phi
    xi = rng.gamma(prior.r, size=(n, n_rows, K)) / eta
    a = rng.standard_normal((n, n_rows, K)) * np.sqrt(xi)
    slab = 0.0 if prior.slab is None else -0.5 * (a**2).sum(axis=(1, 2)) / prior.slab**2
    return [a, xi, eta, phi, top], slab


def draw_margins(rng, data, n):
    """Margins (n, D): fixed, or from their prior."""
    usual = data.margin * margin_rank.REFERENCE_CUTS / N_CUTS
    if data.margin_shape is None:
        return np.tile(usual, (n, 1))
    return rng.gamma(data.margin_shape, size=(n, D)) * usual / data.margin_shape


def data_hinges(w, cuts, margin):
    """Sum of the hinges of the data: shapes (n, D, N), (n, D, J) and (n, D)."""
    side = np.where(CODES[..., None] > np.arange(J), 1.0, -1.0)  # (D, N, J)
    seen = (CODES != MISSING)[..., None] & USED[:, None]
    u = margin[..., None, None] - side * (w[..., None] - cuts[:, :, None])
    return (np.maximum(0.0, u) * seen).sum(axis=(1, 2, 3))


def label_hinges(f):
    """Sum of the hinges of the labels: shape (n, 1, N)."""
    return (np.abs(SIGNED) * np.maximum(0.0, 1.0 - np.sign(SIGNED) * f)).sum(axis=(1, 2))


@cache
def accepted(case, n, seed):
    """Exact draws of the posterior: a list of tuples of arrays.

    The labels' part is drawn only for what the data's part has accepted.
    """
    parts, rng, found = CASES[case], np.random.default_rng(seed), []
    while len(found) < n:
        drawn, slab = draw_shrunk(rng, parts.loadings, BATCH, D)
        cuts = USED * rng.standard_normal((BATCH, D, J)) / np.sqrt(parts.data.cut_precision)
        z, margin = rng.standard_normal((BATCH, N, K)), draw_margins(rng, parts.data, BATCH)
        w = np.einsum("sdk,snk->sdn", drawn[0], z)
        log_chance = slab - 2.0 * data_hinges(w, cuts, margin)
        kept = np.flatnonzero(np.log(rng.uniform(size=BATCH)) < log_chance)
        drawn = [one[kept] for one in (*drawn, z, cuts, margin)]
        labels, slab = draw_shrunk(rng, parts.coefficients, len(kept), 1)
        c = rng.standard_normal((len(kept), 1, 1)) / np.sqrt(INTERCEPT)
        f = np.einsum("sdk,snk->sdn", labels[0], drawn[-3]) + c
        log_chance = slab - 2.0 * label_hinges(f)
        labels[0] = np.concatenate([labels[0], c], axis=2)
        last = np.flatnonzero(np.log(rng.uniform(size=len(kept))) < log_chance)
        chosen = [one[last] for one in (*drawn, *labels)]
        found += zip(*chosen, strict=True)
    return found[:n]


def state_of(parts, drawn):
    """A state of the sampler."""
    a, xi, eta, phi, top, z, cuts, margin, row, *label_scales = (np.array(one) for one in drawn)
    scales = TPBNScales(xi, 1.0 / xi, Point(eta), Point(phi), Point(top))
    params = CutPoints(cuts, np.zeros((D, J)), N_CUTS.copy(), margin, np.ones(D))
    view = View(parts.data, parts.loadings)
    data = ObservedView(view, ObservedArray(CODES), ViewState(certain(a), params, scales))
    xi, eta, phi, top = label_scales
    scales = TPBNScales(xi, 1.0 / xi, Point(eta), Point(phi), Point(top))
    view = View(Hinge(), parts.coefficients, INTERCEPT)
    state = ViewState(certain(row), NoParameters(), scales)
    return Fit(data, ObservedView(view, ObservedArray(SIGNED), state), certain(z), History())


def functions(state):
    """What is compared, by name: means over entries."""
    z, params = state.z.mean, state.data.state.params
    a, row = state.data.state.rows.mean, state.labels.state.rows.mean
    cuts, margin = params.mean, params.margin
    w, f = a @ z.T, row[:, :K] @ z.T + row[:, K:]
    seen = CODES != MISSING
    values = {
        "z": z,
        "z by sample": z.mean(axis=1) * np.arange(N),
        "z squared": z**2,
        "z pair": z[:, 0] * z[:, 1],
        "mean of z, squared": z.mean(axis=0) ** 2,
        "hinges of the data": data_hinges(w[None], cuts[None], margin[None]),
        "hinges of the labels": label_hinges(f[None]),
        "cut points": np.tanh(cuts[USED]),
        "cut points squared": cuts[USED] ** 2,
        "order of cut points": np.tanh(cuts[1, 1] - cuts[1, 0]),
        "cut points with w": np.tanh((cuts[:, :1] * w)[seen]),
        "w": np.tanh(w[seen] * (CODES[seen] - 0.6)),
        "size of w": np.log(np.abs(w)),
        "w where missing, squared": np.tanh(np.abs(w[~seen])),
        "f": np.tanh(f * np.sign(SIGNED)),
        "size of f": np.tanh(np.abs(f)),
        "f without a label": np.tanh(np.abs(f[SIGNED == 0])),
        "intercept": row[:, K],
        "intercept squared": row[:, K] ** 2,
        "intercept with f": np.tanh(row[:, K] * f),
        "log margin": np.log(margin),
    }
    for name, rows, item in (("a", a, state.data), ("beta", row[:, :K], state.labels)):
        s = item.state.scales
        values |= {
            f"log |{name}|": np.log(np.abs(rows)),
            f"{name}": np.tanh(rows),
            f"pair of {name}": np.tanh(rows[:, 0] * rows[:, 1]),
            f"spread of {name} given xi": np.log(rows**2 / s.xi) ** 2,
            f"log xi of {name}": np.log(s.xi),
            f"log eta of {name}": np.log(s.eta.mean),
            f"log phi of {name}": np.log(s.phi.mean),
            f"log top of {name}": np.log(s.top.mean),
            f"xi given eta of {name}": np.log(s.xi * s.eta.mean),
            f"eta given phi of {name}": np.log(s.eta.mean * s.phi.mean),
            f"phi given top of {name}": np.log(s.phi.mean * s.top.mean),
        }
    return {name: float(np.mean(value)) for name, value in values.items()}


def exact_test(case, n, length, seed=1):
    """z-scores by name of what should have mean zero."""
    parts, stream = CASES[case], Stream.from_seed(seed)
    model = Model(K, parts.data, Hinge(), parts.loadings, parts.coefficients)
    settings, differences = gibbs.Gibbs(), []
    for number, drawn in enumerate(accepted(case, n, seed)):
        state = state_of(parts, drawn)
        first, total = functions(state), {}
        for step in range(length):
            source = stream.child(number, step)
            state = gibbs._sweep(model, state, settings, source, Workers())[0]
            for name, value in functions(state).items():
                total[name] = total.get(name, 0.0) + value / length
        differences.append([total[name] - first[name] for name in first])
    columns = np.transpose(differences)
    # A fixed margin does not move.
    return {k: z_score(v) for k, v in zip(first, columns, strict=True) if np.ptp(v) > 0}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_sweeps_leave_the_posterior_alone(case):
    assert not failures(exact_test(case, 3000, 3))


def without_jacobian(precision, points, n_cuts, factor):
    """The prior of multiplied cut points without the Jacobian."""
    return cut_scale_terms(precision, points, n_cuts, factor) - n_cuts * np.log(factor)


def without_prior(precision, points, n_cuts):
    """Cut points follow a shift as if they had no prior."""
    return cut_location(0.0, points, n_cuts)


def exchanged_units(item, order):
    """The units of the two columns exchanged."""
    rows, unit, *others = side(item, order)
    return rows, np.ascontiguousarray(unit[::-1]), *others


def wrong_shears(key, pairs, sides, moment, turn):
    """Scores that move in the wrong direction."""
    own = np.eye(len(turn))
    slice_shears(key, pairs, sides, moment, own)
    turn[:] = np.linalg.inv(own) @ turn


def wrong_columns(key, Q, h, power, rate, inverse):
    """The power of u too large by 1/2."""
    return slice_columns(key, Q, h, power + 0.5, rate, inverse)


def wrong_row_scale(key, power, *others):
    """The power of u too large by 1/2."""
    return slice_scale(key, power + 0.5, *others)


def wrong_cuts(item, rows):
    """Cut points of binary features without their prior."""
    part = as_label_rows(item, rows)
    part.prior[:, -1] = 0.0
    return part


def mirrored_decision(self, signed, mean, variance, stream):
    """Decisions given the other label."""
    return draw_decision(self, -signed, mean, variance, stream)


cut_scale_terms, cut_location = margin_rank.cut_scale_terms, margin_rank.cut_location
side, slice_columns, slice_scale = axes._side, column_scales.slice_columns, label_rows.slice_scale
draw_decision, slice_shears = Hinge.draw_decision, axes.slice_shears
as_label_rows = gibbs.as_label_rows
MOVES = {
    "row scales": (margin_rank, "cut_scale_terms", without_jacobian),
    "location": (margin_rank, "cut_location", without_prior),
    "location, intercepts": (location, "intercept_precision", lambda item: 0.0),
    "rotation": (axes, "_side", exchanged_units),
    "shears": (axes, "slice_shears", wrong_shears),
    "binary rows": (gibbs, "as_label_rows", wrong_cuts),
    "column scales": (column_scales, "slice_columns", wrong_columns),
    "label rows, scale": (label_rows, "slice_scale", wrong_row_scale),
    "label rows, decisions": (Hinge, "draw_decision", mirrored_decision),
}


@pytest.mark.slow
@pytest.mark.parametrize("move", MOVES)
def test_wrong_moves_are_found(move, monkeypatch):
    monkeypatch.setattr(*MOVES[move])
    assert failures(exact_test("horseshoe", 3000, 3))
