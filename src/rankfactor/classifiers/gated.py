r"""Classifiers behind gates: one likelihood term per label, on the mixed decision.

    f_n = b . ( r_n (x) d_n ),     d_n = (z_n, 1),     r_n = r(z_n), the weights of the gates,

with the gates taken at the mean scores. The sum of ``tau_n (r r^T) (x) E[d d^T]`` that a row needs
is one matrix product, pairs of gates by samples by pairs of coordinates, so scores keep their
variance and no array of N x (gates K)^2 is made. The prior of b is normal with fixed precisions:
learned ones shrink the local deviations away (docs/decisions.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from rankfactor.kernels.packed import add_outer, pack, pair_weights, unpack
from rankfactor.latent.gates import Gates
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import LabelLikelihood
from rankfactor.typing import Floats


@dataclass(frozen=True)
class Design:
    """Samples as the gated rows see them.

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
    def at(cls, z: Normal, gates: Gates) -> Design:
        """Design of scores (N, K)."""
        return cls(z.with_one(), gates.weights(z.mean))

    @property
    def _pairs(self) -> Floats:
        """R r^T, packed, shape (N, pairs of gates)."""
        n, g = self.gates.shape
        return np.asarray(add_outer(self.gates, np.zeros((n, g * (g + 1) // 2))))

    def decisions(self, rows: Normal) -> tuple[Floats, Floats]:
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


@dataclass(frozen=True)
class Experts:
    """Fitted local classifiers.

    Attributes
    ----------
    gates : Gates
    rows : Normal, shape (R, gates (K + 1))
        Coefficients and intercept of every gate in turn.
    """

    gates: Gates
    rows: Normal

    def decisions(self, z: Normal) -> tuple[Floats, Floats]:
        """Mean and variance of every row's decision for every sample, each (N, R)."""
        f, var_f = Design.at(z, self.gates).decisions(self.rows)
        return f.T, var_f.T

    def average(self, z: Normal) -> Normal:
        """Coefficients averaged over samples, shape (R, K + 1): the classifiers as a linear one."""
        share = self.gates.weights(z.mean).mean(axis=0)  # (gates,)
        n_gates, order = len(share), z.order + 1
        mean = np.einsum("g,rgk->rk", share, self.rows.mean.reshape(-1, n_gates, order))
        blocks = unpack(self.rows.cov).reshape(-1, n_gates, order, n_gates, order)
        cov = np.einsum("g,rgkhl,h->rkl", share, blocks, share, optimize=True)
        return Normal(mean, pack(cov), np.linalg.slogdet(cov)[1])

    def reordered(self, order: NDArray[np.int64], sign: Floats) -> Experts:
        """Experts on the scores ``sign * z[order]``."""
        size, n_gates = len(order) + 1, self.gates.n_gates
        full = np.append(order, len(order))
        places = (np.arange(n_gates)[:, None] * size + full).ravel()
        signs = np.tile(np.append(sign, 1.0), n_gates)
        return Experts(self.gates.reordered(order, sign), self.rows.reordered(places, signs))


def fit_gated(
    label: LabelLikelihood,
    signed: Floats,
    design: Design,
    precision: Floats,
    *,
    start: Normal | None = None,
    tol: float,
    max_steps: int,
) -> Normal:
    """Rows (R, G (K + 1)) for signed labels (R, N), iterated until no decision moves by ``tol``."""
    n_rows = len(signed)
    rows = start
    if rows is None:
        rows = Normal.isotropic(np.zeros((n_rows, len(precision))), 0.01)
    f, var_f = design.decisions(rows)
    for _ in range(max_steps):
        sites, _ = label.label_sites(signed, f, var_f)
        rows = design.solve(sites.tau, sites.rho, precision)
        old = f
        f, var_f = design.decisions(rows)
        if np.abs(f - old).max(initial=0.0) < tol:
            break
    return rows
