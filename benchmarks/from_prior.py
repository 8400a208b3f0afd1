"""Parameters drawn from a model's prior, and a table and labels drawn from the model.

A draw is a `Fit` whose laws have no variance, which is also what a state of the Gibbs sampler is:
any function of one is a function of the other. Some hyper-parameters of the library are so vague
that almost every draw of the prior would be useless (a noise precision ~ Ga(0.01, 0.01) is mostly
below 1e-20), so models here have others: they are arguments of the same parts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from rankfactor.classifiers.labels import shared_out
from rankfactor.engine.vb import Fit, History
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.packed import packed_size
from rankfactor.latent import DPMixture, Mixture, StandardNormal
from rankfactor.laws.beta import Share
from rankfactor.laws.categorical import indicators
from rankfactor.laws.normal import Normal
from rankfactor.laws.point import Point
from rankfactor.likelihoods import (
    Gaussian,
    NoParameters,
    ObservedArray,
    OrdinalProbit,
    OrdinaryRank,
)
from rankfactor.likelihoods.coding import Cuts
from rankfactor.likelihoods.gaussian import Noise, Scaling
from rankfactor.likelihoods.ordinal_probit import Thresholds
from rankfactor.likelihoods.ordinary_rank import Boundaries
from rankfactor.model import Model, View, ViewState
from rankfactor.shrinkage import TPBN, MultiplicativeGamma
from rankfactor.shrinkage.multiplicative_gamma import MultiplicativeGammaScales
from rankfactor.shrinkage.normal import NormalScales
from rankfactor.shrinkage.tpbn import TPBNScales
from rankfactor.steps.score import ObservedView

INTERCEPT = 1.0  # prior precision; the default of 1e-3 makes nearly all labels equal
N_CUTS = 3


@dataclass(frozen=True)
class ProperModel(Model):
    """A model whose intercepts have a prior precision of ``INTERCEPT``."""

    @property
    def data_view(self) -> View:
        return View(self.data, self.loading_shrinkage, INTERCEPT)

    @property
    def label_view(self) -> View:
        return View(self.label, self.coefficient_shrinkage, INTERCEPT)


@dataclass
class Simulated:
    """What a model made: all parameters with the training data, and new samples."""

    truth: Fit
    coding: Cuts | Scaling
    new: ObservedArray  # (d, new samples)
    decisions: np.ndarray  # (R, new samples), true; with a mixture, averaged over components
    chances: np.ndarray  # (R, new samples), true probabilities of a positive label


def certain(values):
    """Rows (n, K) that are known."""
    values = np.array(values, np.float64)
    n, order = values.shape
    return Normal(values, np.zeros((n, packed_size(order))), np.zeros(n))


def draw_scales(rng, prior, n_rows, k):
    """Scales of a view, from the top down."""
    shared = (1, k) if prior.scope == "factor" else (n_rows, 1)
    if isinstance(prior, TPBN):
        top = rng.gamma(0.5, size=(shared[0], 1))
        phi = rng.gamma(0.5, size=shared) / top
        eta = rng.gamma(prior.s, size=(n_rows, k)) / phi
        xi = rng.gamma(prior.r, size=(n_rows, k)) / eta
        return TPBNScales(xi, 1.0 / xi, Point(eta), Point(phi), Point(top))
    if isinstance(prior, MultiplicativeGamma):
        phi = rng.gamma(0.5 * prior.nu, size=(n_rows, k)) / (0.5 * prior.nu)
        delta = rng.gamma([prior.a1] + [prior.a2] * (k - 1))
        return MultiplicativeGammaScales(Point(phi), Point(delta))
    return NormalScales(Point(rng.gamma(prior.shape, size=shared) / prior.rate), (n_rows, k))


def draw_hierarchy(rng, prior, n_rows, k):
    """Scales of a view, and rows (n_rows, k) given these; without a slab."""
    scales = draw_scales(rng, prior, n_rows, k)
    precision = scales.inv_xi if isinstance(prior, TPBN) else prior.precision(scales)
    return rng.standard_normal((n_rows, k)) / np.sqrt(precision), scales


def draw_rows(rng, view, n_rows, k):
    """Rows and scales of a view; a slab accepts or rejects them, intercepts follow."""
    slab = getattr(view.shrinkage, "slab", None)
    while True:
        rows, scales = draw_hierarchy(rng, view.shrinkage, n_rows, k)
        if slab is None or rng.uniform() < np.exp(-0.5 * (rows**2).sum() / slab**2):
            break
    if view.has_intercept:
        intercept = rng.standard_normal(n_rows) / np.sqrt(view.intercept_precision)
        rows = np.column_stack([rows, intercept])
    return certain(rows), scales


def draw_score_prior(rng, latent, n, k):
    """The prior of the scores: standard normal, or a mixture with the components of n samples."""
    if not isinstance(latent, DPMixture):
        return StandardNormal()
    T = latent.n_components
    alpha = rng.gamma(latent.concentration_shape, size=1) / latent.concentration_rate
    # The logarithm of a Ga(alpha) number, which itself may be below the smallest float.
    left = np.log(rng.gamma(alpha + 1, size=T - 1)) + np.log(rng.uniform(size=T - 1)) / alpha
    other = np.log(rng.gamma(1.0, size=T - 1))
    v, rest = (np.exp(np.maximum(x - np.logaddexp(left, other), -690)) for x in (other, left))
    shares = np.append(v, 1.0) * np.concatenate([[1.0], np.cumprod(rest)])
    chosen = rng.choice(T, size=n, p=shares / shares.sum())
    return Mixture(
        latent,
        indicators(chosen, T),
        certain(rng.standard_normal((T, k)) / np.sqrt(latent.centre_precision)),
        Point(rng.gamma(latent.scale_shape, size=T) / latent.scale_rate),
        Share(v, rest),
        Point(alpha),
    )


def draw_scores(rng, prior, n, k):
    """Scores (n, k) given their prior."""
    z = rng.standard_normal((n, k))
    if isinstance(prior, Mixture):
        R = prior.responsibilities
        z = R @ prior.centres.mean + z / np.sqrt(R @ prior.psi.mean)[:, None]
    return z


def predictor(item, z):
    """w of a view's rows at scores (n, K)."""
    return item.state.rows.mean @ item.columns(z).mean.T


def decisions(fit):
    """Decisions (R, N); with a mixture, averaged by the samples' responsibilities.

    In a draw these are indicators: the decision is that of a sample's own component.
    """
    f = predictor(fit.labels, fit.z)
    if not isinstance(fit.prior, Mixture):
        return f
    R = fit.prior.responsibilities.T  # (T, N)
    return (f.reshape(-1, *R.shape) * R).sum(axis=1)


def draw_table(rng, model, fit, n, holes):
    """Coding, observations of the first n samples (with holes) and of the others, parameters."""
    likelihood, w = model.data, predictor(fit.data, fit.z)
    d = len(w)
    latent = w + rng.standard_normal(w.shape)
    if isinstance(likelihood, Gaussian):
        t = rng.gamma(likelihood.shape, size=d) / likelihood.rate
        values = w + (latent - w) / np.sqrt(t)[:, None]
        values[:, :n][holes] = np.nan
        # Not standardised: the prior is that of the values.
        coding = Scaling(np.arange(d), np.zeros(d), np.ones(d))
        law = np.full(d, likelihood.shape), np.full(d, likelihood.rate)
        return coding, ObservedArray(values), Noise(*law, t, np.log(t))
    if isinstance(likelihood, OrdinalProbit):
        h = rng.standard_normal((d, N_CUTS)) / np.sqrt(likelihood.cut_precision)
        h.sort(axis=1)
        codes = (latent[:, :, None] > h[:, None]).sum(axis=2)
        codes[:, :n][holes] = MISSING
        # All levels count, whether any sample has them or not.
        levels = np.tile(np.arange(N_CUTS, dtype=float), (d, 1))
        coding = Cuts(np.arange(d), levels, np.full(d, N_CUTS))
        return coding, ObservedArray(codes.astype(np.uint8)), Thresholds(h, coding.n_cuts.copy())
    assert isinstance(likelihood, OrdinaryRank)
    latent = latent.astype(np.float32)
    latent[:, :n][holes] = np.nan
    # Only the order of the training samples counts.
    coding = likelihood.learn(latent[:, :n].T.astype(float))
    cuts = np.zeros(coding.values.shape)
    params = Boundaries(cuts, coding.n_cuts, latent[:, :n].copy())
    return coding, coding.observe(latent.T.astype(float)), params


def simulate(rng, model, n=30, d=6, n_labels=2, n_new=20):
    """A draw of everything; 1 in 15 entries is missing, the last 5 samples have no labels."""
    k = model.n_factors
    prior = draw_score_prior(rng, model.latent, n + n_new, k)
    z = certain(draw_scores(rng, prior, n + n_new, k))
    nothing = ObservedArray(np.empty((0, 0)))
    rows, scales = draw_rows(rng, model.data_view, d, k)
    data = ObservedView(model.data_view, nothing, ViewState(rows, NoParameters(), scales))
    rows, scales = draw_rows(rng, model.label_view, n_labels * (model.n_components or 1), k)
    labels = ObservedView(model.label_view, nothing, ViewState(rows, NoParameters(), scales))
    everyone = Fit(data, labels, z, History(), prior)
    holes = rng.random((d, n)) < 1 / 15
    coding, observed, data.state.params = draw_table(rng, model, everyone, n, holes)
    f = decisions(everyone)
    signed = np.sign(f + rng.standard_normal(f.shape))[:, :n]
    signed[:, n - 5 :] = 0.0
    first, new = slice(0, n), slice(n, n + n_new)
    if isinstance(model.data, OrdinaryRank):
        data.observed = coding.observe(observed.values[first])
    else:
        data.observed = ObservedArray(np.ascontiguousarray(observed.array[:, first]))
    truth = Fit(data, labels, z.take(first), History(), prior.take(first))
    labels.observed = shared_out(ObservedArray(signed), truth.prior)
    later = ObservedArray(np.ascontiguousarray(observed.array[:, new]))
    # The decision of a mixture is its mean over the components that a score may belong to.
    averaged = decisions(Fit(data, labels, z, History(), prior.assign(z)))
    return Simulated(truth, coding, later, averaged[:, new], ndtr(f[:, new]))
