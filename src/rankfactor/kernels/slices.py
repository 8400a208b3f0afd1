r"""Slice sampling (Neal 2003): draws from densities that can only be evaluated.

Given the current value of a variable, a level is drawn below the density there, and the variable is
drawn from the part of the line where the density is above that level: an interval is placed at
random around the current value, widened until both ends are below the level, and shrunk towards the
value at every draw that falls below it. This leaves the density invariant. On a circle the initial
interval is the whole circle (Murray, Adams and MacKay 2010).

This module has the densities that a sweep uses most often, each in one compiled loop:

- of t = log u, u the square of a scale,
  ``power t - rate u - inverse / u + slope sqrt(u) + sum_n log evidence_n(sqrt(u) m_n, u v_n)``;
- of the angle by which two columns of rows are rotated;
- of the multiple of one column of rows that is added to another.
"""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankfactor.kernels.evidence import scaled_evidence
from rankfactor.kernels.planes import plane_log_density, shear_log_density
from rankfactor.kernels.rng import derive, fill_uniform, uniform

STEP, MOST_STEPS = 1.0, 30  # of an interval: first width, and how often it may grow
REACH = 4.0  # of a shear's interval, in the standard deviations that the scores give it
SMALLEST = 1e-10  # width at which an interval counts as a point


@njit(cache=True, nogil=True, error_model="numpy")
def _scale_density(t, power, rate, inverse, slope, kind, signed, mean, variance):  # type: ignore[no-untyped-def]
    u = math.exp(t)
    total = power * t - rate * u - inverse / u + slope * math.sqrt(u)
    return total + scaled_evidence(kind, signed, mean, variance, u)


@njit(cache=True, nogil=True, error_model="numpy")
def slice_scale(key, power, rate, inverse, slope, kind, signed, mean, variance):  # type: ignore[no-untyped-def]
    """Draw of log u, from 0 on; labels of a kind (n,) with their decisions, or none."""
    given = power, rate, inverse, slope, kind, signed, mean, variance
    level = _scale_density(0.0, *given) + math.log(uniform(key, 0))
    low = -STEP * uniform(key, 1)
    high = low + STEP
    left = int(MOST_STEPS * uniform(key, 2))
    right = MOST_STEPS - 1 - left
    while left > 0 and _scale_density(low, *given) > level:
        low -= STEP
        left -= 1
    while right > 0 and _scale_density(high, *given) > level:
        high += STEP
        right -= 1
    word = 3
    while high - low > SMALLEST:
        t = low + (high - low) * uniform(key, word)
        word += 1
        if _scale_density(t, *given) > level:
            return t
        if t < 0.0:
            low = t
        else:
            high = t
    return 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def slice_columns(key, Q, h, power, rate, inverse):  # type: ignore[no-untyped-def]
    """Draws of log u for one factor after another, shape (K,).

    The log density of column k is ``alpha (h_k - sum_{l != k} Q_kl) - alpha^2 Q_kk / 2``, alpha =
    sqrt(u), and ``power t - rate_k u - inverse_k / u``. Q and h follow the draws, in place.
    """
    nothing = np.empty(0)
    found = np.zeros(len(h))
    for k in range(len(h)):
        others = 0.0
        for m in range(len(h)):
            others += Q[k, m]
        slope = h[k] + Q[k, k] - others
        given = power, rate[k] + 0.5 * Q[k, k], inverse[k], slope
        found[k] = slice_scale(derive(key, k), *given, 0, nothing, nothing, nothing)
        alpha = math.exp(0.5 * found[k])
        # Loops: slices of arrays take ten times as long to compile.
        for m in range(len(h)):
            Q[k, m] *= alpha
        for m in range(len(h)):
            Q[m, k] *= alpha
        h[k] *= alpha
    return found


def random_pairs(key: np.uint64, order: int) -> NDArray[np.int64]:
    """Pairs of numbers below ``order``, from as many divisions at random as each has others."""
    half, numbers = order // 2, np.empty((order - 1, order))
    for number, row in enumerate(numbers):
        fill_uniform(key, 0, number, row)
    shuffled = np.argsort(numbers, axis=1)
    pairs = np.stack([shuffled[:, :half], shuffled[:, half : 2 * half]], axis=2)
    return pairs.reshape(-1, 2)


@njit(cache=True, nogil=True, error_model="numpy")
def slice_planes(key, pairs, sides, turn):  # type: ignore[no-untyped-def]
    """Rotate factors in one plane after another by angles drawn from the density of their rows.

    ``pairs`` (m, 2) are the planes; a side is rows (K, d), their units (K, d), the table of the log
    density of an entry and the precision of a slab, which rotations do not change. The rows, and
    ``turn`` (K, K), are rotated in place.
    """
    for number in range(len(pairs)):
        k, m = pairs[number]
        item = derive(key, number)
        level = math.log(uniform(item, 0))
        for rows, unit, table, _ in sides:
            level += plane_log_density(rows[k], rows[m], unit[k], unit[m], table, 0.0)
        high = math.pi * uniform(item, 1)  # the period of squares
        low = high - math.pi
        angle, word = 0.0, 2
        while high - low > SMALLEST:
            angle = low + (high - low) * uniform(item, word)
            word += 1
            value = 0.0
            for rows, unit, table, _ in sides:
                value += plane_log_density(rows[k], rows[m], unit[k], unit[m], table, angle)
            if value > level:
                break
            if angle < 0.0:
                low = angle
            else:
                high = angle
            angle = 0.0
        c, s = math.cos(angle), math.sin(angle)
        for rows, _, _, _ in sides:
            _turn(rows[k], rows[m], c, s)
        _turn(turn[k], turn[m], c, s)


@njit(cache=True, nogil=True, error_model="numpy")
def slice_shears(key, pairs, sides, moment, turn):  # type: ignore[no-untyped-def]
    """Add a multiple e of column k of all rows to column l, for one pair (k, l) after another.

    ``pairs`` and ``sides`` as for `slice_planes`. ``moment`` S (K, K) gives the scores' part of the
    log density, ``-(S_kk - 2 e S_kl + e^2 S_ll) / 2``. Rows, moment and ``turn`` follow, in place.
    """
    for number in range(len(pairs)):
        k, m = pairs[number]
        item = derive(key, number)
        curvature, slope = moment[m, m], moment[k, m]
        level = math.log(uniform(item, 0))
        for rows, unit, table, ridge in sides:
            level += shear_log_density(rows[k], rows[m], unit[m], table, 0.0)
            curvature += ridge * _product(rows[k], rows[k])
            slope -= ridge * _product(rows[k], rows[m])
        # Neither column k of the rows nor the scores of factor l change, so the width does not.
        width = REACH / math.sqrt(curvature)
        high = width * uniform(item, 1)
        low = high - width
        by, word = 0.0, 2
        while high - low > SMALLEST * width:
            by = low + (high - low) * uniform(item, word)
            word += 1
            value = by * slope - 0.5 * by * by * curvature
            for rows, unit, table, _ in sides:
                value += shear_log_density(rows[k], rows[m], unit[m], table, by)
            if value > level:
                break
            if by < 0.0:
                low = by
            else:
                high = by
            by = 0.0
        for rows, _, _, _ in sides:
            _add(rows[m], rows[k], by)
        _add(moment[k], moment[m], -by)
        _add(moment[:, k], moment[:, m], -by)
        _add(turn[k], turn[m], -by)


@njit(cache=True, nogil=True)
def _turn(one, other, c, s):  # type: ignore[no-untyped-def]
    for i in range(len(one)):
        x, y = one[i], other[i]
        one[i] = c * x + s * y
        other[i] = c * y - s * x


@njit(cache=True, nogil=True)
def _add(one, other, by):  # type: ignore[no-untyped-def]
    for i in range(len(one)):
        one[i] += by * other[i]


@njit(cache=True, nogil=True)
def _product(one, other):  # type: ignore[no-untyped-def]
    total = 0.0
    for i in range(len(one)):
        total += one[i] * other[i]
    return total
