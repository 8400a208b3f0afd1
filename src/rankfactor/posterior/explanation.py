r"""Contributions of the features of a sample to its decisions.

At the encoder's fixed point the scores are a sum over features,

    z_n = V_n ( h_0n + sum_i s_in ),     s_in = rho_in E[a_i] - tau_in E[a_i c_i],
    V_n = ( P_0n + sum_i tau_in E[a_i a_i^T] )^-1,

with c_i a feature's mean if it has one, and P_0n and h_0n those of the prior (I and 0, or a
mixture's). With g_n the gradient of a decision, averaged along the path from 0 to z_n,

    f_n = base_n + sum_i phi_in,     phi_in = g_n^T V_n s_in,

exactly for linear decisions, whose gradient is beta everywhere. A decision of two parts
(`rankfactor.classifiers.two_part`) is linear in the scores and in the normal scores s,

    f_n = ( beta - sum_i known_in gamma_i l_i ) . z_n + sum_i gamma_i s_in + const,

so gamma_i s_in is added to phi_in, and g_n is the bracket. For nonlinear decisions the average is
taken at a few points (Gauss-Legendre): integrated gradients, whose error is reported as the
remainder. Contributions are reported relative to their mean over the training samples
(`rankfactor.posterior.effects`), so that a typical value contributes nothing. A missing entry has
tau = rho = 0 and contributes nothing either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from rankfactor.classifiers import Classifier, Residual
from rankfactor.classifiers.two_part import feature_tiles
from rankfactor.kernels.codes import is_known
from rankfactor.kernels.packed import packed_size
from rankfactor.kernels.solve import solve_packed
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import Rows
from rankfactor.likelihoods import Observed
from rankfactor.likelihoods.base import Sites
from rankfactor.model import Model
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import BLOCK, ObservedView, split_intercept, view_sums
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats, Index, Reals

POINTS = 5  # quadrature points for the gradient of a nonlinear decision
SINGLE = "Single features"  # the part of a decision outside the factors
BASE = "Base"


@dataclass(frozen=True)
class Explanation:
    """Contributions of the features to one decision of every sample.

    The first five fields have the names of ``shap.Explanation``, so that plotting functions written
    for it accept the result.

    Attributes
    ----------
    values : array, shape (N, D)
        Contribution of each feature to the decision, relative to its mean over the training
        samples; zero for missing entries and for features that did not vary in training.
    base_values : array, shape (N,)
        The decision minus the sum of the values: that of a sample whose features all contribute
        their mean. It differs between samples if entries are missing.
    data : array, shape (N, D)
        The table, NaN where missing.
    feature_names : list of str
    output_name : str
        The task, and the class that a positive decision favours.
    sample_names : list
        Names from the table, or sample numbers.
    by_factor : DataFrame, samples x parts
        The same decision by its parts: ``Base``, every factor, and ``Single features`` if decisions
        have a second part. Rows add up to the decision.
    remainder : array, shape (N,)
        Part of ``Base`` in ``by_factor`` that is the error of the integrated gradients; zero to
        rounding for linear decisions.
    """

    values: Floats
    base_values: Floats
    data: Floats
    feature_names: list[str]
    output_name: str
    sample_names: list[Any]
    by_factor: pd.DataFrame
    remainder: Floats

    @property
    def decisions(self) -> Floats:
        """Decisions of the samples, shape (N,)."""
        return np.asarray(self.base_values + self.values.sum(axis=1))

    def frame(self) -> pd.DataFrame:
        """Values as a frame, samples x features."""
        return pd.DataFrame(self.values, self.sample_names, self.feature_names)


class Decider(NamedTuple):
    """Everything that determines decisions: view, prior of scores, classifier, second part."""

    model: Model
    item: ObservedView
    prior: ScorePrior
    classifier: Classifier
    residual: Residual | None = None

    @property
    def n_rows(self) -> int:
        """Number of decisions of a sample."""
        return len(self.classifier.rows.mean)

    def encode(self, pool: Workers) -> Normal:
        """Label-free scores of all samples."""
        return encode_samples(self.model, self.item, pool, prior=self.prior)

    def decide(
        self, z: Normal, pool: Workers, samples: Index = slice(None)
    ) -> tuple[Floats, Floats]:
        """Mean and variance of the decisions of some samples with scores (n, K), each (n, R)."""
        mean, variance = self.classifier.decide(z)
        if self.residual is None:
            return mean, variance
        data, observed = self.model.data, self.item.observed
        more, spread = self.residual.decide(data, observed, z, pool, samples)
        return mean + more, variance + spread

    def ranked(self) -> Observed:
        """Normal scores of the table, used by the second part of decisions."""
        assert self.residual is not None
        return self.model.data.normal_scores(self.item.observed, self.residual.levels)


class Contributions(NamedTuple):
    """Decisions of N samples, and their parts by feature and by factor.

    Attributes
    ----------
    decisions, remainder : array, shape (N, R)
    features : array, shape (R, N, d)
    factors : array, shape (R, N, K)
    single : array, shape (R, N)
        Part outside the factors.
    """

    decisions: Floats
    remainder: Floats
    features: Floats
    factors: Floats
    single: Floats


def contributions(decider: Decider, pool: Workers) -> Contributions:
    """Contributions of every feature in the model and every factor to all decisions."""
    z, item, k = decider.encode(pool), decider.item, decider.model.n_factors
    n, n_rows = len(z.mean), decider.n_rows
    rows = item.rows(kind=np.float64)
    values = np.zeros((n_rows, n, len(rows.mean)))
    through = mean_gradients(decider.classifier, z, n_rows)
    factors = through * z.mean
    at_zero = decider.classifier.decide(Normal(0.0 * z.mean, z.cov, z.log_det))[0]
    alone = decider.classifier.decide(z)[0]
    decisions = decider.decide(z, pool)[0]
    gradients = through - residual_slopes(decider)
    if decider.residual is not None:
        ranked = decider.ranked()
        for tile in feature_tiles(item.observed):
            s = ranked.tile(tile, slice(None))
            for row, gamma in enumerate(decider.residual.weights[:, tile]):
                values[row, :, tile] += (gamma[:, None] * s).T

    def explain(samples: slice) -> None:
        near = z.take(samples)
        precision, _ = decider.prior.assign(near).natural(*near.mean.shape)
        precision += view_sums(item, rows, near, samples).precision
        leads = [solve_packed(precision, one[samples])[0] for one in gradients]  # V_n g_n
        for where, part, tile in item.walk(rows, near, samples):
            sites = item.view.likelihood.sites(tile)
            for row, lead in enumerate(leads):
                added = added_to_decision(part, sites, lead, k, item.view.has_intercept)
                values[row, samples, where] += added.T

    pool.map(explain, slices(n, BLOCK))
    remainder = alone - at_zero - factors.sum(axis=2).T
    return Contributions(decisions, remainder, values, factors, (decisions - alone).T)


def added_to_decision(
    rows: Rows, sites: Sites, lead: Reals, n_factors: int, has_intercept: bool
) -> Floats:
    """``lead_n . s_in`` of some rows and samples, shape (rows, n), of V_n g_n (n, K)."""
    added = sites.rho * (rows.mean[:, :n_factors] @ lead.T)
    if has_intercept:
        last = split_intercept(packed_size(n_factors + 1))[1]
        added -= sites.tau * (rows.pairs[:, last] @ lead.T)
    return np.asarray(added)


def residual_slopes(decider: Decider, samples: Index = slice(None)) -> Floats:
    """``sum_i known_in gamma_i l_i`` of some samples, shape (R, n, K); 0 without a second part."""
    residual, observed = decider.residual, decider.item.observed
    if residual is None:
        return np.zeros((decider.n_rows, 1, decider.model.n_factors))
    n = len(np.arange(observed.shape[1])[samples])
    total = np.zeros((decider.n_rows, n, decider.model.n_factors))
    for tile in feature_tiles(observed):
        known = is_known(observed.tile(tile, samples)).astype(float)
        for row, gamma in enumerate(residual.weights[:, tile]):
            total[row] += known.T @ (gamma[:, None] * residual.loadings[tile])
    return total


def mean_gradients(classifier: Classifier, z: Normal, n_rows: int) -> Floats:
    """Gradient of every row's decision averaged between 0 and the scores, shape (R, N, K)."""
    points, weights = np.polynomial.legendre.leggauss(POINTS)
    total = np.zeros((n_rows, *z.mean.shape))
    for point, weight in zip(0.5 * (points + 1.0), 0.5 * weights, strict=True):
        total += weight * gradients_at(classifier, Normal(point * z.mean, z.cov, z.log_det), n_rows)
    return total


def gradients_at(classifier: Classifier, z: Normal, n_rows: int) -> Floats:
    """Gradient of every row's decision at the scores, shape (R, N, K)."""
    found = np.empty((n_rows, *z.mean.shape))
    for row in range(n_rows):
        slope = np.zeros((n_rows, len(z.mean)))
        slope[row] = 1.0
        found[row] = classifier.gradient(z, slope)
    return found
