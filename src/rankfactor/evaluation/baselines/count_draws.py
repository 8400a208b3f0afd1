"""Draws for Poisson factor analysis: binomial, Chinese restaurant tables, divided counts.

Random numbers are counter-based (`rankfactor.kernels.rng`): those of an entry depend only on its
sample and feature, not on blocks or threads.

Binomial(n, p), p <= 1/2 by symmetry: inversion below a mean of 10; above, BTRS, the transformed
rejection of Hoermann (1993, J. Statist. Comput. Simulation 46); both are exact. Above a variance of
``LARGE_VARIANCE`` a rounded normal draw is used; its error is below ``0.07 / sqrt(variance)``, less
than 1e-3.

CRT(x, r): the number of tables taken by x customers, where the j-th customer takes a new one with
probability ``r / (r + j - 1)``. While new tables are likely, customers are seated one by one. Later
the next new table is drawn directly: the next m customers after j take none with probability

    prod_{i=0}^{m-1} (j + i) / (r + j + i) = E[v^m],    v ~ Beta(j, r),

so the number of customers in between is geometric given v. This is exact, and its cost is
proportional to the number of tables, about ``r log(1 + x / r)``, for counts of any size. Above
``LARGE_TABLES`` expected tables a normal draw with the mean and variance of the sum is used.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from scipy.special import gammaln

from rankfactor.kernels.counts import poisson
from rankfactor.kernels.rng import derive, normal, uniform
from rankfactor.kernels.samplers import gamma

LARGE_VARIANCE = 1e4
LARGE_TABLES = 2e4
# Up to this many units of a count are divided one by one, which is faster than binomials.
ONE_BY_ONE = 12


# Most counts are small: use a lookup table.
_LOG_FACTORIALS = gammaln(np.arange(1024.0) + 1.0)
_INVERSES = 1.0 / np.maximum(np.arange(256.0), 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _log_factorial(k):  # type: ignore[no-untyped-def]
    """Logarithm of k!, by Stirling's series from 1024 on."""
    if k < 1024.0:
        return _LOG_FACTORIALS[int(k)]
    n = k + 1.0
    inv = 1.0 / n
    tail = inv * (1.0 / 12.0 - inv * inv * (1.0 / 360.0 - inv * inv / 1260.0))
    return (n - 0.5) * np.log(n) - n + 0.9189385332046727 + tail


@njit(cache=True, nogil=True, error_model="numpy")
def _power(base, n):  # type: ignore[no-untyped-def]
    """``base ** n`` for a whole number n, by squaring: faster than a logarithm if n is small."""
    left, result = int(n), 1.0
    while left:
        if left & 1:
            result *= base
        base *= base
        left >>= 1
    return result


@njit(cache=True, nogil=True, error_model="numpy")
def binomial(n, p, key):  # type: ignore[no-untyped-def]
    """Binomial draw, a whole number as a float; p is clipped to [0, 1]."""
    if not (n >= 0.0 and p == p):
        return np.nan
    if n == 0.0 or p <= 0.0:
        return 0.0
    if p >= 1.0:
        return n
    if p > 0.5:
        return n - _lower_binomial(n, 1.0 - p, key)
    return _lower_binomial(n, p, key)


@njit(cache=True, nogil=True, error_model="numpy")
def _lower_binomial(n, p, key):  # type: ignore[no-untyped-def]
    """Binomial draw for 0 < p <= 1/2."""
    q = 1.0 - p
    if n * p < 10.0:
        u, k = uniform(key, 0), 0.0
        if u <= 1.0 - n * p:  # below a lower bound of the mass at 0
            return k
        odds, mass = p / q, _power(q, n) if n < 1024.0 else np.exp(n * np.log1p(-p))
        # At k = 200 the rest of u is rounding error, like the masses.
        while u > mass and k < n and k <= 200.0:
            u -= mass
            mass *= odds * (n - k) * _INVERSES[int(k) + 1]
            k += 1.0
        return k
    variance = n * p * q
    spread = np.sqrt(variance)
    if variance > LARGE_VARIANCE:
        return min(max(np.round(n * p + spread * normal(key, 0)), 0.0), n)
    # Hoermann's notation and constants.
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c, v_r = n * p + 0.5, 0.92 - 4.2 / b
    word = 0
    while True:
        v, u = uniform(key, word), uniform(key, word + 1) - 0.5
        word += 2
        us = 0.5 - abs(u)
        k = np.floor((2.0 * a / us + b) * u + c)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0.0 or k > n:
            continue
        mode = np.floor((n + 1.0) * p)
        height = np.log(v * (2.83 + 5.1 / b) * spread / (a / (us * us) + b))
        known = _log_factorial(mode) + _log_factorial(n - mode)
        log_ratio = known - _log_factorial(k) - _log_factorial(n - k)
        if height <= log_ratio + (k - mode) * np.log(p / q):
            return k


@njit(cache=True, nogil=True, error_model="numpy")
def tables(count, r, key):  # type: ignore[no-untyped-def]
    """CRT draw: tables taken by ``count`` customers at concentration r, as a float."""
    if not (count >= 0.0 and 0.0 < r < np.inf):
        return np.nan
    if count == 0.0:
        return 0.0
    if r * np.log1p(count / r) > LARGE_TABLES:
        # Sums over customers by the Euler-Maclaurin formula: r is large, so the terms are smooth.
        last = r / (r + count)
        mean = r * np.log1p(count / r) + 0.5 * (1.0 - last)
        squares = r * (1.0 - last) + 0.5 * (1.0 - last * last)
        spread = np.sqrt(max(mean - squares, 0.0))
        return min(max(np.round(mean + spread * normal(key, 0)), 1.0), count)
    total, seated, word = 1.0, 1.0, 0  # the first customer always takes a table
    single = min(count, 4.0 * r + 16.0)
    while seated < single:
        total += uniform(key, word) * (r + seated) < r
        seated += 1.0
        word += 1
    step = 0
    while seated < count:
        item = derive(key, step)
        step += 1
        g, h = gamma(seated, 1.0, derive(item, 0)), gamma(r, 1.0, derive(item, 1))
        # v = g / (g + h); -log v without cancellation for h much smaller than g.
        seated += np.floor(-np.log(uniform(item, 0)) / np.log1p(h / g)) + 1.0
        total += seated <= count
    return total


@njit(cache=True, nogil=True)
def draw_tables(counts, r, key, first):  # type: ignore[no-untyped-def]
    """Sums (K,) over samples of CRT draws, of counts (N, K) and r (K,).

    Sample n has the index ``first + n`` in the stream of the key.
    """
    n, order = counts.shape
    total = np.zeros(order)
    for s in range(n):
        item = derive(key, first + s)
        for k in range(order):
            total[k] += tables(counts[s, k], r[k], derive(item, k))
    return total


@njit(cache=True, nogil=True, error_model="numpy")
def divide_counts(counts, phi, theta, key, first):  # type: ignore[no-untyped-def]
    """Divide every count among the factors: multinomial, in proportion to ``phi_ik theta_nk``.

    Of counts (N, D), phi (D, K) and theta (N, K); a missing count, NaN, is drawn from its Poisson
    law first. Sample n has the index ``first + n`` in the stream of the key.

    Returns
    -------
    by_feature : array, shape (D, K)
        Sums over samples: whole numbers, so that their sum over blocks is exact.
    by_sample : array, shape (N, K)
        Sums over features.
    """
    n, d = counts.shape
    order = phi.shape[1]
    by_feature, by_sample = np.zeros((d, order)), np.zeros((n, order))
    weight, rest = np.empty(order), np.empty(order)
    for s in range(n):
        sample = derive(key, first + s)
        # Large factors first, so that few binomials divide most of a count.
        turn = np.argsort(-theta[s])
        for i in range(d):
            x = counts[s, i]
            if x == 0.0:
                continue
            item = derive(sample, i)
            total = 0.0
            # Backwards, so that rest[j], the sum from j on, needs no subtraction.
            for j in range(order - 1, -1, -1):
                weight[j] = phi[i, turn[j]] * theta[s, turn[j]]
                total += weight[j]
                rest[j] = total
            if x != x:
                x = poisson(total, derive(item, order))
            if not total > 0.0:  # all weights underflowed: any division will do
                for j in range(order):
                    weight[j], rest[j] = 1.0, np.float64(order - j)
            left, j = x, 0
            while left > ONE_BY_ONE and j < order - 1:
                part = binomial(left, weight[j] / rest[j], derive(item, j))
                by_feature[i, turn[j]] += part
                by_sample[s, turn[j]] += part
                left -= part
                j += 1
            if j == order - 1:
                by_feature[i, turn[j]] += left
                by_sample[s, turn[j]] += left
                continue
            for c in range(int(left)):
                u, k = uniform(item, c) * rest[j], j
                while k < order - 1 and u <= rest[k + 1]:
                    k += 1
                by_feature[i, turn[k]] += 1.0
                by_sample[s, turn[k]] += 1.0
    return by_feature, by_sample
