"""States of real chains, and the log of their joint density written out, for the tests of moves.

A move is held against that density: its law has to be the density of the moved state, times the
Jacobian, as a function of how far it goes.
"""

from __future__ import annotations

import copy
import warnings
from functools import cache
from itertools import chain

import numpy as np
from scipy.special import log_ndtr, logsumexp
from scipy.stats import norm
from tests.engine.test_expansion import log_density as log_shrinkage
from tests.engine.test_expansion import variables
from tests.engine.test_vb import run
from tests.simulate import simulate

from rankfactor.engine import gibbs
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import Stream
from rankfactor.latent import DPMixture, Mixture
from rankfactor.likelihoods import (
    Gaussian,
    Hinge,
    MarginRank,
    ObservedArray,
    OrdinalProbit,
    OrdinaryRank,
    Probit,
)
from rankfactor.likelihoods.by_block import LikelihoodByBlock
from rankfactor.model import Model
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD, ShrinkageByBlock
from rankfactor.steps.row import intercept_precision
from rankfactor.steps.workers import Workers

K, N = 3, 24  # K as in `test_expansion`
ORDINAL, MARGIN = OrdinalProbit(3, cut_precision=0.3), MarginRank(0.3, 4, 0.2)
BLOCKS = LikelihoodByBlock(
    ("answers", "ranks", "numbers"), (ORDINAL, MARGIN, Gaussian()), ((0, 2), (1, 2), (2, 3))
)
RANKED = LikelihoodByBlock(("ranks", "numbers"), (OrdinaryRank(), Gaussian()), ((0, 4), (1, 3)))
ROW, SLAB = TPBN(scope="row"), TPBN(scope="row", slab=1.1)
MODELS = {
    "gaussian": Model(K, Gaussian(), Probit(), TPBN(), ROW),
    "margin rank": Model(K, MARGIN, Hinge(), TPBN(slab=1.4), SLAB),
    "ordinal": Model(K, ORDINAL, Probit(), MultiplicativeGamma(), NormalARD(2.0, 1.5, "row")),
    "ordinary rank": Model(K, OrdinaryRank(), None, NormalARD(2.0, 3.0)),
    "other shapes": Model(K, ORDINAL, Hinge(), TPBN(1.3, 0.7, "row"), TPBN(0.8, 1.4)),
    "blocks": Model(K, BLOCKS, Hinge(), TPBN(slab=2.0), SLAB),
    "ranked blocks": Model(K, RANKED, Probit(), TPBN(scope="row"), ROW),
    "mixture": Model(K, ORDINAL, Probit(), TPBN(), ROW, latent=DPMixture(3)),
}


@cache
def _state(case):
    model, data = MODELS[case], simulate(n=N, d=7, k=K, noise=0.7)
    X = data.X.copy()
    X[3, 2] = X[5, 0] = X[7, 6] = np.nan
    signed = np.where(data.y > 0, 1.0, -1.0)[None]
    signed[0, 4] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few iterations are enough for a start
        labels = None if model.label is None else ObservedArray(signed)
        fit = run(model, X, labels, max_iter=3)
    stream = Stream.from_seed(1)
    state = gibbs.start_chain(model, fit, stream).state
    for sweep in range(3):
        state, _ = gibbs._sweep(model, state, gibbs.Gibbs(), stream.child(sweep), Workers())
    return state


def state_of(case):
    """A state after some sweeps that shares no arrays."""
    return copy.deepcopy(_state(case))


def predictors(item, z):
    """Predictors of all entries, shape (rows, samples)."""
    return item.state.rows.mean @ item.columns(z, kind=np.float64).mean.T


def log_likelihoods(likelihood, observed, params, w):
    """Log likelihood of every row without auxiliary variables, shape (rows,)."""
    if isinstance(likelihood, LikelihoodByBlock):
        parts = zip(likelihood.parts, observed.parts, params.parts, strict=True)
        rows = np.split(w, params.ends[:-1])
        return np.concatenate([log_likelihoods(*p, x) for p, x in zip(parts, rows, strict=True)])
    if isinstance(likelihood, OrdinaryRank):
        return np.nansum(norm.logpdf(params.latent, w), axis=1)
    values = observed.tile(slice(0, len(w)), slice(0, w.shape[1]))
    if isinstance(likelihood, Gaussian):
        scale = params.precision[:, None] ** -0.5
        return np.nansum(norm.logpdf(values, w, scale), axis=1)
    if isinstance(likelihood, Probit):
        return (np.abs(values) * log_ndtr(np.sign(values) * w)).sum(axis=1)
    if isinstance(likelihood, Hinge):
        return (-2 * np.abs(values) * np.maximum(0, 1 - np.sign(values) * w)).sum(axis=1)
    rows = []
    for code, x, i in zip(values, w, range(len(w)), strict=True):
        seen, n_cuts = code != MISSING, params.n_cuts[i]
        code, x = code[seen].astype(int), x[seen]
        if isinstance(likelihood, MarginRank):
            side = np.where(code[:, None] > np.arange(n_cuts), 1.0, -1.0)
            u = params.margin[i] - side * (x[:, None] - params.mean[i, :n_cuts])
            rows.append(-2.0 * np.maximum(0.0, u).sum())
        else:
            ends = np.concatenate([[-np.inf], params.h[i, :n_cuts], [np.inf]])
            low, high = ends[code] - x, ends[code + 1] - x
            flip = low > 0  # differences of lower tails keep digits
            low, high = np.where(flip, -high, low), np.where(flip, -low, high)
            both = np.stack([log_ndtr(high), log_ndtr(low)])
            rows.append(logsumexp(both, axis=0, b=np.array([[1.0], [-1.0]])).sum())
    return np.array(rows)


def cut_points(likelihood, params):
    """Cut points in use with their prior precision, row by row: a list of arrays."""
    if isinstance(likelihood, LikelihoodByBlock):
        return list(chain(*map(cut_points, likelihood.parts, params.parts)))
    if isinstance(likelihood, (MarginRank, OrdinalProbit)):
        points = params.mean if isinstance(likelihood, MarginRank) else params.h
        return [
            (one[:n], likelihood.cut_precision)
            for one, n in zip(points, params.n_cuts, strict=True)
        ]
    return [(np.empty(0), 1.0)] * len(next(iter(vars(params).values()), ()))


def latent_values(likelihood, params):
    """Latent values that are part of the state, row by row: a list of arrays."""
    if isinstance(likelihood, LikelihoodByBlock):
        return list(chain(*map(latent_values, likelihood.parts, params.parts)))
    if isinstance(likelihood, OrdinaryRank):
        return [one[~np.isnan(one)].astype(float) for one in params.latent]
    return [np.empty(0)] * len(next(iter(vars(params).values()), ()))


def shrinkage_parts(prior, rows, scales):
    """(prior, rows, scales) of every block."""
    if isinstance(prior, ShrinkageByBlock):
        return [(prior.base, rows[i], one) for i, one in zip(prior.rows, scales, strict=True)]
    return [(prior, rows, scales)]


def view_density(item, z):
    """Log of a view's part of the joint density."""
    view, state = item.view, item.state
    total = log_likelihoods(view.likelihood, item.observed, state.params, predictors(item, z)).sum()
    for part in shrinkage_parts(view.shrinkage, state.rows.mean[:, :K], state.scales):
        total += log_shrinkage(*part)
    if view.has_intercept:
        p = intercept_precision(item)
        total -= 0.5 * (p * state.rows.mean[:, K] ** 2).sum()
    for points, precision in cut_points(view.likelihood, state.params):
        total -= 0.5 * precision * (points**2).sum()
    return total


def score_density(z, prior):
    """Log density of the scores, and of a mixture's centres."""
    if not isinstance(prior, Mixture):
        return norm.logpdf(z.mean).sum()
    R, centres = prior.responsibilities, prior.centres.mean
    sd = (R @ prior.psi.mean)[:, None] ** -0.5
    total = norm.logpdf(z.mean, R @ centres, sd).sum()
    return total - 0.5 * prior.hyper.centre_precision * (centres**2).sum()


def joint_density(state):
    """Log of the joint density of a state and its data, up to a constant."""
    return score_density(state.z, state.prior) + sum(view_density(x, state.z) for x in state.views)


def log_variables(item):
    """Logs of the absolute values that a change of scale multiplies, in one vector."""
    view, state = item.view, item.state
    parts = [state.rows.mean]
    for prior, _, scales in shrinkage_parts(view.shrinkage, state.rows.mean, state.scales):
        parts += variables(prior, scales)
    parts += [points for points, _ in cut_points(view.likelihood, state.params)]
    parts += latent_values(view.likelihood, state.params)
    return np.log(np.abs(np.concatenate([np.ravel(part) for part in parts])))
