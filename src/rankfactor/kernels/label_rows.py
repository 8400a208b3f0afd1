r"""One row of coefficients given labels and the law of their samples' scores.

`rankfactor.engine.label_rows` has the mathematics. Scores are laid out with samples last: means
with a constant (K + 1, n), packed covariances (P, n).
"""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.evidence import evidence_slopes, total_evidence
from rankfactor.kernels.rng import derive, uniform
from rankfactor.kernels.samplers import truncated_normal
from rankfactor.kernels.slices import SMALLEST

NEWTON_STEPS = 6
SHORT = 0.02  # change of a decision by a Newton step that is the last
ROOM = 1.3  # variance of the normal approximation, relative to that of the last Newton step
TINY = 1e-12  # least variance of a decision
LONGEST = 5.0  # largest change of a decision in one Newton step
_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
def decision_means(X, row):  # type: ignore[no-untyped-def]
    """``row . x_n``, shape (n,)."""
    out = np.zeros(X.shape[1])
    for k in range(len(row)):
        for n in range(len(out)):
            out[n] += row[k] * X[k, n]
    return out


@njit(cache=True, nogil=True, fastmath=_FAST)
def decision_products(cov, one, other):  # type: ignore[no-untyped-def]
    """``beta^T V_n beta'`` of two rows, shape (n,); their intercepts do not count."""
    order = len(one) - 1
    out = np.zeros(cov.shape[1])
    p = 0
    for k in range(order):
        for m in range(k, order):
            weight = one[k] * other[m]
            if m > k:
                weight += one[m] * other[k]
            for n in range(len(out)):
                out[n] += weight * cov[p, n]
            p += 1
    return out


@njit(cache=True, nogil=True)
def decisions(X, cov, row):  # type: ignore[no-untyped-def]
    """Means and variances of the decisions of a row, each (n,)."""
    return decision_means(X, row), np.maximum(decision_products(cov, row, row), TINY)


@njit(cache=True, nogil=True, fastmath=_FAST)
def row_sums(rows, tau, rho):  # type: ignore[no-untyped-def]
    """What rows (R, K + 1) with sites (R, n) say of the scores: precision (P, n), shift (n, K)."""
    order, n = rows.shape[1] - 1, tau.shape[1]
    precision, shift = np.zeros((order * (order + 1) // 2, n)), np.zeros((n, order))
    for r in range(len(rows)):
        row, p = rows[r], 0
        for k in range(order):
            for m in range(k, order):
                weight, out = row[k] * row[m], precision[p]
                for i in range(n):
                    out[i] += weight * tau[r, i]
                p += 1
        for i in range(n):
            push = rho[r, i] - row[order] * tau[r, i]
            for k in range(order):
                shift[i, k] += push * row[k]
    return precision, shift


@njit(cache=True, nogil=True, error_model="numpy")
def draw_latents(signed, mean, variance, key):  # type: ignore[no-untyped-def]
    """Draws of f* ~ N(mean, 1 + variance) on the side of its label, shape (n,)."""
    out = np.empty(len(mean))
    for i in range(len(out)):
        root = math.sqrt(1.0 + variance[i])
        low, high = (0.0, np.inf) if signed[i] > 0.0 else (-np.inf, 0.0)
        out[i] = root * truncated_normal(mean[i] / root, low, high, derive(key, i))
    return out


@njit(cache=True, nogil=True, fastmath=_FAST)
def _weighted_pairs(X, weight):  # type: ignore[no-untyped-def]
    """``sum_n weight_n x_n x_n^T``, shape (K + 1, K + 1)."""
    size, n = X.shape
    out = np.empty((size, size))
    for k in range(size):
        for m in range(k, size):
            one, other, total = X[k], X[m], 0.0
            for i in range(n):
                total += weight[i] * one[i] * other[i]
            out[k, m] = out[m, k] = total
    return out


@njit(cache=True, nogil=True, fastmath=_FAST)
def _weighted_covariances(cov, weight, size):  # type: ignore[no-untyped-def]
    """``sum_n weight_n V_n``, shape (K + 1, K + 1), without variance of the constant."""
    out = np.zeros((size, size))
    p = 0
    for k in range(size - 1):
        for m in range(k, size - 1):
            one, total = cov[p], 0.0
            for i in range(len(weight)):
                total += weight[i] * one[i]
            out[k, m] = out[m, k] = total
            p += 1
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _cholesky(P):  # type: ignore[no-untyped-def]
    """Whether a matrix is positive definite; its Cholesky factor takes its place."""
    for k in range(len(P)):
        for m in range(k + 1):
            total = P[k, m]
            for t in range(m):
                total -= P[k, t] * P[m, t]
            if m < k:
                P[k, m] = total / P[m, m]
            elif 0.0 < total < np.inf:
                P[k, k] = math.sqrt(total)
            else:
                return False
        P[k, k + 1 :] = 0.0
    return True


@njit(cache=True, nogil=True, error_model="numpy", fastmath=_FAST)
def _solve_lower(factor, X):  # type: ignore[no-untyped-def]
    """``L^-1 X``, shape (K + 1, n)."""
    out = X.copy()
    for k in range(len(out)):
        row = out[k]
        for m in range(k):
            c, other = factor[k, m], out[m]
            for i in range(len(row)):
                row[i] -= c * other[i]
        inverse = 1.0 / factor[k, k]
        for i in range(len(row)):
            row[i] *= inverse
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def _solve_upper(factor, x):  # type: ignore[no-untyped-def]
    """``L^-T x``, shape (K + 1,)."""
    out = x.copy()
    for k in range(len(out) - 1, -1, -1):
        for m in range(k + 1, len(out)):
            out[k] -= factor[m, k] * out[m]
        out[k] /= factor[k, k]
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def approximate_row(kind, signed, X, cov, prior):  # type: ignore[no-untyped-def]
    """Normal approximation of the row: centre (K + 1,) and Cholesky factor of its precision."""
    size, n = X.shape
    row, spread = np.zeros(size), np.ones(n)
    slope, curvature, within = np.zeros(n), np.zeros(n), np.zeros(n)
    factor = np.diag(np.sqrt(prior))
    for _ in range(NEWTON_STEPS):
        mean, variance = decision_means(X, row), decision_products(cov, row, row)
        for i in range(n):
            v = max(variance[i], 0.0) + max(spread[i], TINY)
            slope[i], curvature[i] = evidence_slopes(kind, signed[i], mean[i], v)
            # The derivative of the log evidence in the variance is (slope^2 - curvature) / 2.
            within[i] = curvature[i] - slope[i] * slope[i]
        inner = _weighted_covariances(cov, within, size)
        P = _weighted_pairs(X, np.maximum(curvature, 0.0))
        P += _weighted_covariances(cov, np.maximum(within, 0.0), size)
        gradient = np.empty((size, 1))
        for k in range(size):
            gradient[k, 0] = np.sum(X[k] * slope) - np.sum(inner[k] * row) - prior[k] * row[k]
            P[k, k] += prior[k]
        if not (np.isfinite(gradient).all() and _cholesky(P)):
            break
        factor = P
        step = _solve_upper(factor, _solve_lower(factor, gradient)[:, 0])
        # Far steps overshoot where the evidence is nearly flat.
        reach = 0.0
        for change in decision_means(X, step):
            reach = max(reach, abs(change))
        row += step * min(1.0, LONGEST / max(reach, TINY))
        if reach < SHORT:
            break
        lower = _solve_lower(factor, X)
        spread[:] = 0.0
        for k in range(size):
            spread += lower[k] * lower[k]
    return row, factor / math.sqrt(ROOM)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_label_row(kind, signed, X, cov, prior, row, noise, key):  # type: ignore[no-untyped-def]
    """The next row by elliptical slice sampling around the approximation, shape (K + 1,).

    ``noise`` (K + 1,) are standard normals.
    """
    centre, factor = approximate_row(kind, signed, X, cov, prior)
    start, other = row - centre, _solve_upper(factor, noise)
    rows = (centre, start, other)
    means = [decision_means(X, one) for one in rows]
    squares = [decision_products(cov, one, one) for one in rows]
    pairs = [decision_products(cov, rows[i], rows[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    # With d = factor^T (b - centre), |d|^2 is a quadratic in the angle's cosine and sine.
    ahead, aside = start @ factor, other @ factor
    mean, variance = np.empty(len(signed)), np.empty(len(signed))
    level, high, word = 0.0, 2 * math.pi * uniform(key, 1), 2
    low, angle = high - 2 * math.pi, 0.0
    while high - low > SMALLEST:
        c, s = math.cos(angle), math.sin(angle)
        b = centre + c * start + s * other
        value = 0.0
        for k in range(len(b)):
            distance = c * ahead[k] + s * aside[k]
            value += 0.5 * (distance * distance - prior[k] * b[k] * b[k])
        for n in range(len(signed)):
            mean[n] = means[0][n] + c * means[1][n] + s * means[2][n]
            v = squares[0][n] + c * c * squares[1][n] + s * s * squares[2][n]
            v += 2.0 * (c * pairs[0][n] + s * pairs[1][n] + c * s * pairs[2][n])
            variance[n] = max(v, TINY)
        value += total_evidence(kind, signed, mean, variance)
        if word == 2:  # where the row is
            level = value + math.log(uniform(key, 0))
        elif value > level:
            return b
        elif angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * uniform(key, word)
        word += 1
    return row
