"""Draws of Poisson counts, and of sums of as many one-sided normals.

Poisson(rate): below a rate of 10, uniforms are multiplied until they fall under ``exp(-rate)``;
above, PTRS, the transformed rejection of Hoermann (1993, Insurance: Mathematics and Economics 12),
both exact. Above ``LARGE_RATE`` the logarithms of PTRS cannot resolve a single count; the
rounded normal used then has an error below ``0.07 / sqrt(rate)``, less than 1e-6.

A sum of k draws of N(m, 1) on one side of zero uses k draws up to ``LONGEST``. Above, it is
the normal of the same mean and variance, which differs from the law of the sum by about
``0.07 skewness / sqrt(k)`` (the first term of Edgeworth's series). Such large counts occur only if
the side has all but about ten parts in 10^5 of the mass, so that hardly anything is cut off: the
skewness is then at most 0.02, and the difference below 5e-6.
"""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.rng import derive, normal, uniform
from rankfactor.kernels.samplers import gamma, truncated_normal

LARGE_RATE = 1e10
LONGEST = 100_000


@njit(cache=True, nogil=True, error_model="numpy")
def poisson(rate, key):  # type: ignore[no-untyped-def]
    """Poisson draw, a whole number as a float."""
    if not 0.0 <= rate < np.inf:
        return np.nan
    if rate < 10.0:
        limit, product, count = np.exp(-rate), 1.0, 0
        while True:
            product *= uniform(key, count)
            if product <= limit:
                return np.float64(count)
            count += 1
    if rate > LARGE_RATE:
        return max(np.round(rate + np.sqrt(rate) * normal(key, 0)), 0.0)
    # Hoermann's notation and constants.
    b = 0.931 + 2.53 * np.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inv_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2.0)
    log_rate, word = np.log(rate), 0
    while True:
        u, v = uniform(key, word) - 0.5, uniform(key, word + 1)
        word += 2
        us = 0.5 - abs(u)
        k = np.floor((2.0 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0.0 or (us < 0.013 and v > us):
            continue
        height = np.log(v * inv_alpha / (a / (us * us) + b))
        if height <= k * log_rate - rate - math.lgamma(k + 1.0):
            return k


@njit(cache=True, nogil=True, error_model="numpy")
def _one_sided_sum(count, m, sign, mean, variance, key):  # type: ignore[no-untyped-def]
    """Sum of a number of draws from N(m, 1) on the side ``sign``, whose moments are given."""
    if count > LONGEST:
        return count * mean + np.sqrt(count * variance) * normal(key, 0)
    low, high = (0.0, np.inf) if sign > 0 else (-np.inf, 0.0)
    total = 0.0
    for q in range(int(count)):
        total += truncated_normal(m, low, high, derive(key, q))
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def draw_opposite(shape, odds, m, sign, mean, variance, key, first):  # type: ignore[no-untyped-def]
    """Counts k ~ Poisson(g odds), g ~ Gamma(shape, 1), and sums of k one-sided normals.

    All are of shape (n,): ``m`` and ``sign`` are location and side of the normals, ``mean`` and
    ``variance`` their moments on that side. Where the shape is 0 so are the count and the sum.
    Element i has the index ``first + i`` in the stream.
    """
    counts, sums = np.zeros(shape.size), np.zeros(shape.size)
    for i in range(shape.size):
        if shape[i] > 0.0:
            item = derive(key, first + i)
            rate = gamma(shape[i], 1.0, derive(item, 0)) * odds[i]
            counts[i] = poisson(rate, derive(item, 1))
            sums[i] = _one_sided_sum(
                counts[i], m[i], sign[i], mean[i], variance[i], derive(item, 2)
            )
    return counts, sums
