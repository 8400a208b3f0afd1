r"""Classifiers with a radial kernel on label-free scores, by Nystrom features.

    f(z) = beta . u + b . phi(u) + c,      u = z B,

with ``beta ~ N(0, linear / precision)``, ``b ~ N(0, 1 / precision)`` and a flat prior for c. The
kernel between u and v is ``exp(-gamma |(u - v) M|^2)``. With its values k(u) at L landmarks and
K at pairs of them, ``phi(u) = K^(-1/2) k(u)``: then ``b . phi`` is the kernel machine
restricted to functions of the landmarks, and the cost is linear in the number of samples. The
gradient is in closed form, ``dk_l/du = -2 gamma k_l (u - v_l) M M^T``.

B, the basis, depends only on the table. A direction of the scores with variance lambda per unit of
posterior variance counts ``lambda^(1/2)`` in squared distances: lambda measures how well the table
determines a factor, so noise factors have little weight. Scores are scaled to a mean squared length
of 1. B belongs to the scores and not to their axes: with scores ``z T`` it is ``T^-1 B``.

M, the metric, depends on the labels. It starts at the identity; a round replaces it by the fourth
root of the mean outer product of the gradients ``df/du`` of the classifier of the round before, so
that distances count along the directions in which decisions change. See Radhakrishnan, Beaglehole,
Pandit and Belkin (2024), "Mechanism for feature learning in neural networks and
backpropagation-free machine learning models", Science 383. Rounds are least squares on labels of
+1 and -1; the last classifier has the labels' own likelihood.

Features are taken at the mean scores; the variance of a
score adds ``(df/dz)^T Var(z) (df/dz)`` to that of a decision.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from rankfactor.classifiers.labels import signed_of
from rankfactor.classifiers.row_fit import fit_row
from rankfactor.kernels.packed import add_outer, pack, pair_weights, unpack
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import LabelLikelihood, Observed
from rankfactor.typing import Floats, Index

TOL, STEPS = 1e-2, 50  # change of a decision, whose margin is 1, below which the fit stops
POWER = 0.25  # of lambda, for the scores
METRIC_POWER = 0.25  # of the gradients' outer product, for the scores
LEAST = 1e-4  # weight of a direction along which decisions do not change, before the power
RANK = 1e-5  # eigenvalues of the kernel at the landmarks below this share of the largest are zero
BLOCK = 4096  # samples at a time


@dataclass(frozen=True)
class RadialFeatures:
    """The features (u, phi(u), 1) of scores.

    Attributes
    ----------
    basis : array, shape (K, K)
        B: u = z B.
    metric : array, shape (K, K)
        M.
    landmarks : array, shape (L, K)
        In units of u.
    root : array, shape (L, rank)
        K^(-1/2), without the directions in which the kernel is singular.
    gamma : array, shape (1,)
    linear : array, shape (1,)
        Prior variance of the linear part relative to that of the kernel's.
    path : array, shape (rounds + 1, 2)
        Width and precision of every round, and of the classifier itself. A width is 1 / gamma in
        units of the median squared distance between samples and landmarks; an infinite width leaves
        only the linear part.
    """

    basis: Floats
    metric: Floats
    landmarks: Floats
    root: Floats
    gamma: Floats
    linear: Floats
    path: Floats

    @classmethod
    def at(
        cls, u: Floats, landmarks: Floats, metric: Floats, linear: float, path: Floats
    ) -> RadialFeatures:
        """Features of the last width of a path at u (N, K); the basis is the identity."""
        places = landmarks @ metric
        spread = np.median(_squares(u @ metric, places))
        gamma = 1.0 / max(path[-1, 0] * spread, np.finfo(float).tiny)
        values, vectors = np.linalg.eigh(np.exp(-gamma * _squares(places, places)))
        kept = (values > RANK * values[-1]) & (gamma > 0)
        root = vectors[:, kept] / np.sqrt(values[kept])
        same = np.eye(u.shape[1])
        return cls(same, metric, landmarks, root, np.array([gamma]), np.array([linear]), path)

    def kernel(self, u: Floats) -> Floats:
        """Values of the kernel between u (N, K) and the landmarks, shape (N, L)."""
        return np.exp(-self.gamma * _squares(u @ self.metric, self.landmarks @ self.metric))

    def of(self, z: Floats) -> Floats:
        """Features of scores (N, K), shape (N, P)."""
        u = z @ self.basis
        return np.column_stack([self._weight * u, self.kernel(u) @ self.root, np.ones(len(u))])

    def gradient(self, z: Floats, coefficients: Floats) -> Floats:
        """Gradient in z (N, K) of the features' products with coefficients (N, P), shape (N, K)."""
        u, k = z @ self.basis, z.shape[1]
        pull = self.kernel(u) * (coefficients[:, k:-1] @ self.root.T)  # (N, L)
        smooth = pull @ self.landmarks - pull.sum(axis=1, keepdims=True) * u
        smooth = 2.0 * self.gamma * smooth @ self.metric @ self.metric.T
        return np.asarray((self._weight * coefficients[:, :k] + smooth) @ self.basis.T)

    def mean_slopes(self, z: Floats) -> Floats:
        """Gradients of all features averaged over scores (N, K), shape (P, K)."""
        u = z @ self.basis
        k = self.kernel(u)
        pull = k.sum(axis=0)[:, None] * self.landmarks - k.T @ u  # (L, K)
        smooth = self.root.T @ (2.0 * self.gamma / len(u) * pull @ self.metric @ self.metric.T)
        slopes = np.concatenate([self._weight * np.eye(u.shape[1]), smooth, np.zeros_like(u[:1])])
        return np.asarray(slopes @ self.basis.T)

    @property
    def _weight(self) -> float:
        return float(np.sqrt(self.linear[0]))


class Kernel(NamedTuple):
    """A fitted classifier with a radial kernel.

    Attributes
    ----------
    features : RadialFeatures
    rows : Normal, shape (R, P)
        Coefficients of the features.
    """

    features: RadialFeatures
    rows: Normal

    def decide(self, z: Normal) -> tuple[Floats, Floats]:
        """Mean and variance of every row's decision at scores (N, K), each (N, R)."""
        n, n_rows = len(z.mean), len(self.rows.mean)
        f, var_f = np.empty((n, n_rows)), np.empty((n, n_rows))
        for start in range(0, n, BLOCK):
            some = slice(start, start + BLOCK)
            near = z.take(some)
            F = self.features.of(near.mean)
            f[some] = F @ self.rows.mean.T
            for row, cov in enumerate(unpack(self.rows.cov)):
                var_f[some, row] = _quadratic(F, cov)
            var_f[some] += self._spread(near)
        return f, var_f

    def _spread(self, z: Normal) -> Floats:
        """Variance of decisions that comes from the scores (N, K), shape (N, R)."""
        result = np.empty((len(z.mean), len(self.rows.mean)))
        weights = pair_weights(z.order)
        for row in range(len(self.rows.mean)):
            slope = self._slope(z.mean, row)
            pairs = add_outer(slope, np.zeros((len(slope), len(weights))))
            result[:, row] = np.einsum("np,np,p->n", pairs, z.cov, weights)
        return result

    def _slope(self, z: Floats, row: int) -> Floats:
        mean = self.rows.mean[row]
        return self.features.gradient(z, np.broadcast_to(mean, (len(z), len(mean))))

    def gradient(self, z: Normal, slope: Floats) -> Floats:
        """``sum_r slope_rn df_rn / dz_n``, shape (N, K), of slopes (R, N)."""
        return self.features.gradient(z.mean, slope.T @ self.rows.mean)

    def draw(self, stream: Stream) -> Kernel:
        """The classifier with coefficients drawn from their law."""
        return self._replace(rows=self.rows.draw(stream))

    def average(self, z: Normal) -> Normal:
        """Gradients averaged over samples, shape (R, K + 1): a linear summary.

        The intercept preserves the mean decision of the samples.
        """
        slopes = self.features.mean_slopes(z.mean)  # (P, K)
        rest = self.features.of(z.mean).mean(axis=0) - slopes @ z.mean.mean(axis=0)
        lead = np.column_stack([slopes, rest])  # (P, K + 1)
        cov = np.einsum("pk,rpq,ql->rkl", lead, unpack(self.rows.cov), lead, optimize=True)
        return Normal(self.rows.mean @ lead, pack(cov), np.linalg.slogdet(cov)[1])

    def transformed(self, matrix: Floats) -> Kernel:
        """The classifiers on the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        basis = np.asarray(np.linalg.solve(matrix, self.features.basis), np.float64)
        return Kernel(replace(self.features, basis=basis), self.rows)

    def flipped(self, sign: Floats) -> Kernel:
        """The classifiers whose decisions are ``sign`` (R,) times these."""
        return Kernel(self.features, self.rows.flipped(sign))


def fit_kernel(
    label: LabelLikelihood,
    labels: Observed,
    z: Normal,
    basis: Floats,
    landmarks: Floats,
    linear: float,
    path: Floats,
    intercept_precision: float,
    *,
    tol: float = TOL,
    max_steps: int = STEPS,
) -> Kernel:
    """A kernel classifier of fixed scores, given its widths and precisions.

    Parameters
    ----------
    label : LabelLikelihood
    labels : Observed, shape (R, N)
        Signed weights.
    z : Normal, shape (N, K)
    basis : array, shape (K, K)
    landmarks : array, shape (L, K)
        In units of u.
    linear : float
    path : array, shape (rounds + 1, 2)
        Width and precision of every round of the metric, and of the classifier.
    intercept_precision : float
    tol : float
        Largest change of a decision at which the fit stops.
    max_steps : int
    """
    signed, u = signed_of(labels), z.mean @ basis
    metric = np.eye(len(basis))
    for stop in range(1, len(path)):
        features = RadialFeatures.at(u, landmarks, metric, linear, path[:stop])
        metric = next_metric(features, u, signed, intercept_precision)
    features = RadialFeatures.at(u, landmarks, metric, linear, path)
    design = features.of(u)
    starts = least_squares(design, signed, path[-1:, 1], intercept_precision)[0]
    prior = prior_precision(design.shape[1], path[-1, 1], intercept_precision)
    spread = np.full(len(design), 0.01)
    rows = [
        fit_row(label, one, design, prior, design @ start, spread, tol, max_steps)
        for one, start in zip(signed, starts, strict=True)
    ]
    means, covs, log_dets = (np.array(part) for part in zip(*rows, strict=True))
    return Kernel(replace(features, basis=basis), Normal(means, pack(covs), log_dets))


def prior_precision(size: int, precision: float, intercept_precision: float) -> Floats:
    """Prior precisions of a row with this number of features, shape (P,)."""
    return np.append(np.full(size - 1, precision), intercept_precision)


def table_basis(z: Normal) -> Floats:
    """B of scores (N, K), shape (K, K): from the variance of scores over that of each score."""
    between = np.cov(z.mean.T, bias=True).reshape(z.order, z.order)
    within = unpack(np.asarray(z.cov.mean(axis=0, dtype=np.float64))[None])[0]
    total = max(np.trace(between) + np.trace(within), np.finfo(float).tiny)
    values, vectors = eigh(between, within + 1e-6 * total * np.eye(z.order))
    values = np.maximum(values, 1e-8 * max(values[-1], np.finfo(float).tiny))
    scaled = vectors * values ** (POWER - 0.5)
    return np.asarray(scaled / np.sqrt((values ** (2 * POWER)).sum()))


def next_metric(
    features: RadialFeatures, u: Floats, signed: Floats, intercept_precision: float
) -> Floats:
    """The metric (K, K) after a round of least squares at u (N, K) on signed weights (R, N)."""
    design = features.of(u)
    rows = least_squares(design, signed, features.path[-1:, 1], intercept_precision)[0]
    total = np.zeros((u.shape[1], u.shape[1]))
    for row, weight in zip(rows, np.abs(signed), strict=True):
        known = weight > 0
        slope = features.gradient(u[known], np.broadcast_to(row, (known.sum(), len(row))))
        total += (slope * weight[known, None]).T @ slope
    values, vectors = np.linalg.eigh(total)
    largest = max(values[-1], np.finfo(float).tiny)
    values = np.maximum(values / largest, LEAST) ** METRIC_POWER
    return np.asarray((vectors * values) @ vectors.T)


def least_squares(
    design: Floats, signed: Floats, precisions: Floats, intercept_precision: float
) -> Floats:
    """Rows of ridge regressions on the labels' signs, shape (precisions, R, P).

    Parameters
    ----------
    design : array, shape (N, P)
    signed : array, shape (R, N)
    precisions : array
    intercept_precision : float
    """
    size = design.shape[1]
    result = np.empty((len(precisions), len(signed), size))
    # The rows of a task have the same weights, and hence the same system.
    weights, group = np.unique(np.abs(signed), axis=0, return_inverse=True)
    for number, weight in enumerate(weights):
        rows: Index = np.flatnonzero(group.ravel() == number)
        known = weight > 0
        gram = _gram(design[known], weight[known])
        shift = design.T @ signed[rows].T  # (P, rows)
        for place, precision in enumerate(precisions):
            prior = np.diag(prior_precision(size, precision, intercept_precision))
            result[place, rows] = cho_solve(cho_factor(gram + prior, lower=True), shift).T
    return result


def _gram(features: Floats, weight: Floats) -> Floats:
    return np.asarray((features * weight[:, None]).T @ features)


def _quadratic(features: Floats, cov: Floats) -> Floats:
    """Variances of products with features (N, P), shape (N,)."""
    return np.asarray(np.maximum(np.einsum("np,np->n", features @ cov, features), 0.0))


def _squares(a: Floats, b: Floats) -> Floats:
    """Squared distances of points (n, K) and (m, K), shape (n, m)."""
    squares = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    return np.asarray(np.maximum(squares, 0.0))
