r"""Classifiers behind gates: one likelihood term per label, on the mixed decision.

    f_n = b . ( r_n (x) d_n ),     d_n = (z_n, 1),     r_n = r(z_n), the weights of the gates,

with the gates at the mean scores. The sum of ``tau_n (r r^T) (x) E[d d^T]`` of a row is one matrix
product, pairs of gates by samples by pairs of coordinates, so scores keep their variance and no
array of N x (gates K)^2 is allocated. The prior of b is normal with fixed precisions: learned ones
shrink the local deviations to zero (docs/notes/decisions.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from rankfactor.classifiers.centres import class_aware_centres, label_groups
from rankfactor.classifiers.labels import signed_of
from rankfactor.kernels.packed import add_outer, pack, pair_weights, unpack
from rankfactor.kernels.rng import Stream
from rankfactor.latent.gates import Gates
from rankfactor.latent.mixed_experts import MixedExperts
from rankfactor.laws.normal import Normal, dual
from rankfactor.likelihoods import Observed
from rankfactor.model import Model
from rankfactor.typing import Floats

TOL, STEPS = 1e-3, 500  # change of a decision, whose margin is 1, below which the fit stops


@dataclass(frozen=True)
class GatedScores:
    """Samples, as used by the gated rows.

    Attributes
    ----------
    scores : Normal, shape (N, K + 1)
        Law of (z, 1).
    gates : array, shape (N, G)
        r.
    """

    scores: Normal
    gates: Floats

    @classmethod
    def at(cls, z: Normal, gates: Gates) -> GatedScores:
        """Scores (N, K) behind gates."""
        return cls(z.with_one(), gates.weights(z.mean))

    @property
    def _pairs(self) -> Floats:
        """R r^T, packed, shape (N, pairs of gates)."""
        n, g = self.gates.shape
        return np.asarray(add_outer(self.gates, np.zeros((n, g * (g + 1) // 2))))

    def decide(self, rows: Normal) -> tuple[Floats, Floats]:
        """Mean and variance of f for rows (R, G (K + 1)), each of shape (R, N)."""
        n, order = self.scores.mean.shape
        n_gates = self.gates.shape[1]
        f, var_f = np.empty((len(rows.mean), n)), np.empty((len(rows.mean), n))
        weights = pair_weights(order)
        pairs = self._pairs * pair_weights(n_gates)
        second = self.scores.second * weights
        for row, (mean, cov) in enumerate(zip(rows.mean, unpack(rows.cov), strict=True)):
            local = self.gates @ mean.reshape(n_gates, order)  # (N, K + 1): the sample's own beta
            f[row] = np.einsum("nk,nk->n", local, self.scores.mean)
            spread = (add_outer(local, np.zeros_like(self.scores.cov)) * self.scores.cov) @ weights
            blocks = cov.reshape(n_gates, order, n_gates, order).transpose(0, 2, 1, 3)
            first, other = np.triu_indices(n_gates)
            chosen = blocks[first, other]  # (pairs, K + 1, K + 1)
            packed = pack(0.5 * (chosen + chosen.transpose(0, 2, 1)))
            uncertain = np.einsum("np,np->n", pairs, second @ packed.T)
            var_f[row] = np.maximum(spread + uncertain, 0.0)
        return f, var_f

    def solve(self, tau: Floats, rho: Floats, precision: Floats) -> Normal:
        """Rows of sites (R, N) under prior precisions (G (K + 1),)."""
        order, n_gates = self.scores.order, self.gates.shape[1]
        size = n_gates * order
        first, other = np.triu_indices(n_gates)
        second, pairs = self.scores.second, self._pairs
        means, covs, log_dets = [], [], []
        for t, r in zip(tau, rho, strict=True):
            sums = unpack((pairs * t[:, None]).T @ second)  # (pairs, K + 1, K + 1)
            full = np.empty((n_gates, n_gates, order, order))
            full[first, other] = full[other, first] = sums
            P = full.transpose(0, 2, 1, 3).reshape(size, size)
            P[np.diag_indices(size)] += precision
            shift = (self.gates * r[:, None]).T @ self.scores.mean
            factor = cho_factor(P, lower=True)
            means.append(cho_solve(factor, shift.ravel()))
            covs.append(cho_solve(factor, np.eye(size)))
            log_dets.append(-2 * np.log(np.diag(factor[0])).sum())
        return Normal(np.array(means), pack(np.array(covs)), np.array(log_dets))


class Gated(NamedTuple):
    """Fitted local classifiers behind gates.

    Attributes
    ----------
    gates : Gates
    rows : Normal, shape (R, gates (K + 1))
        Coefficients and intercept of every gate in turn.
    """

    gates: Gates
    rows: Normal

    def decide(self, z: Normal) -> tuple[Floats, Floats]:
        """Mean and variance of every row's decision at scores (N, K), each (N, R)."""
        f, var_f = GatedScores.at(z, self.gates).decide(self.rows)
        return f.T, var_f.T

    def gradient(self, z: Normal, slope: Floats) -> Floats:
        """``sum_r slope_rn df_rn / dz_n``, shape (N, K), of slopes (R, N): gates move, too."""
        scores, order = GatedScores.at(z, self.gates), z.order
        total = np.zeros(z.mean.shape)
        for row, g in zip(self.rows.mean, slope, strict=True):
            local = row.reshape(-1, order + 1)  # (gates, K + 1)
            values = scores.scores.mean @ local.T  # (N, gates)
            move = scores.gates @ local[:, :order] + self.gates.slope(z.mean, values)
            total += g[:, None] * move
        return total

    def draw(self, stream: Stream) -> Gated:
        """The classifier with coefficients drawn from their law."""
        return self._replace(rows=self.rows.draw(stream))

    def average(self, z: Normal) -> Normal:
        """Coefficients averaged over samples, shape (R, K + 1): a linear summary."""
        share = self.gates.weights(z.mean).mean(axis=0)  # (gates,)
        n_gates, order = len(share), z.order + 1
        mean = np.einsum("g,rgk->rk", share, self.rows.mean.reshape(-1, n_gates, order))
        blocks = unpack(self.rows.cov).reshape(-1, n_gates, order, n_gates, order)
        cov = np.einsum("g,rgkhl,h->rkl", share, blocks, share, optimize=True)
        return Normal(mean, pack(cov), np.linalg.slogdet(cov)[1])

    def transformed(self, matrix: Floats) -> Gated:
        """The classifiers on the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        every = np.kron(np.eye(self.gates.n_gates), dual(matrix, len(matrix) + 1))
        rows = self.rows.transformed(np.asarray(every, np.float64))
        return Gated(self.gates.transformed(matrix), rows)

    def flipped(self, sign: Floats) -> Gated:
        """The classifiers whose decisions are ``sign`` (R,) times these."""
        return Gated(self.gates, self.rows.flipped(sign))


def begin_gated(
    model: Model, labels: Observed, z: Normal, seed: int | np.random.Generator
) -> Gated:
    """Gates on class-aware regions of scores (N, K), with coefficients before any label is seen."""
    assert isinstance(model.experts, MixedExperts)
    signed, rng = signed_of(labels), np.random.default_rng(seed)
    centres = class_aware_centres(z.mean, label_groups(signed), model.experts.n_components, rng)
    gates = model.experts.gates(z.mean, centres)
    size = gates.n_gates * (z.order + 1)
    return Gated(gates, Normal.isotropic(np.zeros((len(signed), size)), 0.01))


def fit_gated(
    model: Model,
    labels: Observed,
    z: Normal,
    start: Gated | None = None,
    *,
    seed: int | np.random.Generator = 0,
    tol: float = TOL,
    max_steps: int = STEPS,
) -> Gated:
    """Local classifiers of fixed scores (N, K), with one likelihood term per label.

    Parameters
    ----------
    model : Model
        With mixed experts.
    labels : Observed, shape (R, N)
        Signed weights.
    z : Normal, shape (N, K)
    start : Gated, optional
        Classifiers to start from, whose gates are kept; otherwise gates are placed on class-aware
        regions.
    seed : int or numpy.random.Generator
        Seed of k-means, which places the gates.
    tol : float
        Largest change of a decision at which the fit stops.
    max_steps : int
    """
    assert isinstance(model.experts, MixedExperts)
    assert model.label is not None
    signed = signed_of(labels)
    gates, rows = begin_gated(model, labels, z, seed) if start is None else start
    precision = model.experts.prior_precision(gates, model.label_view.intercept_precision)
    scores = GatedScores.at(z, gates)
    f, var_f = scores.decide(rows)
    for _ in range(max_steps):
        sites, _ = model.label.label_sites(signed, f, var_f)
        rows = scores.solve(sites.tau, sites.rho, precision)
        old = f
        f, var_f = scores.decide(rows)
        if np.abs(f - old).max(initial=0.0) < tol:
            break
    return Gated(gates, rows)
