r"""One row of coefficients given labels and the law of their samples' scores.

`rankfactor.engine.label_rows` has the mathematics. Scores are laid out with samples last: means
with a constant (K + 1, n), packed covariances (P, n).
"""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.evidence import evidence_slopes, total_evidence
from rankfactor.kernels.rng import uniform
from rankfactor.kernels.slices import SMALLEST

NEWTON_STEPS = 6
ROOM = 1.3  # variance of the normal approximation, relative to that of the last Newton step
TINY = 1e-12  # least variance of a decision
LONGEST = 5.0  # change of a decision by one Newton step
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


@njit(cache=True, nogil=True, fastmath=_FAST)
def _second(X, cov, inner, outer):  # type: ignore[no-untyped-def]
    """``sum_n inner_n x_n x_n^T + outer_n V_n``, shape (K + 1, K + 1)."""
    size = len(X)
    out = np.zeros((size, size))
    p = 0
    for k in range(size):
        for m in range(k, size):
            total = 0.0
            for n in range(len(inner)):
                total += inner[n] * X[k, n] * X[m, n]
            if m < size - 1:
                for n in range(len(inner)):
                    total += outer[n] * cov[p, n]
                p += 1
            out[k, m] = out[m, k] = total
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def approximate_row(kind, signed, X, cov, prior):  # type: ignore[no-untyped-def]
    """Normal approximation of the row: centre (K + 1,) and Cholesky factor of its precision."""
    size, n = X.shape
    row, spread = np.zeros(size), np.ones(n)
    slope, curvature = np.zeros(n), np.zeros(n)
    factor = np.diag(np.sqrt(prior))
    for _ in range(NEWTON_STEPS):
        mean, variance = decision_means(X, row), decision_products(cov, row, row)
        for i in range(n):
            v = max(variance[i], 0.0) + max(spread[i], TINY)
            slope[i], curvature[i] = evidence_slopes(kind, signed[i], mean[i], v)
        # The derivative of the log evidence in the variance is (slope^2 - curvature) / 2.
        within = curvature - slope**2
        nothing = np.zeros(n)
        gradient = X @ slope - _second(X, cov, nothing, within) @ row - prior * row
        P = _second(X, cov, np.maximum(curvature, 0.0), np.maximum(within, 0.0))
        if not (np.isfinite(P).all() and np.isfinite(gradient).all()):
            break
        factor = np.linalg.cholesky(P + np.diag(prior))
        step = np.linalg.solve(factor.T, np.linalg.solve(factor, gradient))
        # Far steps overshoot where the evidence is nearly flat.
        reach = np.max(np.abs(np.append(decision_means(X, step), 0.0)))
        row = row + step * min(1.0, LONGEST / max(reach, TINY))
        spread = np.sum(np.linalg.solve(factor, X) ** 2, axis=0)
    return row, factor / math.sqrt(ROOM)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_label_row(kind, signed, X, cov, prior, row, noise, key):  # type: ignore[no-untyped-def]
    """The next row by elliptical slice sampling around the approximation, shape (K + 1,).

    ``noise`` (K + 1,) are standard normals.
    """
    centre, factor = approximate_row(kind, signed, X, cov, prior)
    start, other = row - centre, np.linalg.solve(factor.T, noise)
    rows = (centre, start, other)
    means = [decision_means(X, one) for one in rows]
    squares = [decision_products(cov, one, one) for one in rows]
    pairs = [decision_products(cov, rows[i], rows[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    level, high, word = 0.0, 2 * math.pi * uniform(key, 1), 2
    low, angle = high - 2 * math.pi, 0.0
    b = row
    while high - low > SMALLEST:
        c, s = math.cos(angle), math.sin(angle)
        b = centre + c * start + s * other
        variance = squares[0] + c * c * squares[1] + s * s * squares[2]
        variance += 2.0 * (c * pairs[0] + s * pairs[1] + c * s * pairs[2])
        mean = means[0] + c * means[1] + s * means[2]
        distance = factor.T @ (b - centre)
        value = 0.5 * (np.sum(distance**2) - np.sum(prior * b**2))
        value += total_evidence(kind, signed, mean, np.maximum(variance, TINY))
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
