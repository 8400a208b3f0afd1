"""Draws of cut points and of ranked latent values.

**Slice step.** All moves below change one number t from its present value 0, with density

    exp( g t - p t^2 / 2 ) (1 + t/below)^a (1 - t/above)^b    on (-below, above), p > 0.

It is log-concave. One slice step (Neal 2003, stepping out and shrinking) leaves it invariant as
long as the first width, here 1/sqrt(p), does not depend on the place that is moved.

**Cut points.** Given the samples' places v between them (`OrdinalProbit`) their density is

    exp( -h^T T h / 2 + linear . h ) prod_j (h_{j+1} - h_j)^within_j    on increasing h,

T tridiagonal. Three kinds of moves along straight lines, each a Gibbs step: all cut points together
(no gap changes, so t is normal and drawn exactly); all from the j-th on (one gap changes); the
j-th alone (two change). The first two make large moves for which single moves would take many
sweeps if the gaps are narrow.

**Ranked values.** w*_n ~ N(w_n, 1) in the order of the data, without constraints among ties. Rank
group by rank group, from below, every value is drawn between the largest of the group below and the
smallest of the one above, or takes its expectation there. With many distinct values this moves each
by little more than the distance of two neighbours, so two steps for the whole feature follow, which
preserve the order: all values shifted, and all multiplied, where r = |w*| given their direction has
the density r^(n-1) exp(-r^2/2 + r w . w*/|w*|). Both are Gibbs steps or, for expectations, go to
the mode.
"""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.ordinal import interval
from rankfactor.kernels.rng import derive, normal, uniform
from rankfactor.kernels.samplers import truncated_normal
from rankfactor.kernels.tails import excess

_WHOLE = 1 << 62  # number, within a row, of the moves of all its values


@njit(cache=True, nogil=True)
def _log_density(t, g, p, a, below, b, above):  # type: ignore[no-untyped-def]
    """Log density of the slice step at t, relative to t = 0."""
    if t <= -below or t >= above:
        return -np.inf
    value = t * (g - 0.5 * p * t)
    if a > 0.0:
        value += a * math.log1p(t / below)
    if b > 0.0:
        value += b * math.log1p(-t / above)
    return value


@njit(cache=True, nogil=True)
def slice_step(g, p, a, below, b, above, key):  # type: ignore[no-untyped-def]
    """One slice step from t = 0; ``a`` or ``b`` is 0 where its end is infinite."""
    level = math.log(uniform(key, 0))
    width = 1.0 / math.sqrt(p)
    low = -width * uniform(key, 1)
    high = low + width
    while low > -below and _log_density(low, g, p, a, below, b, above) > level:
        low -= width
    while high < above and _log_density(high, g, p, a, below, b, above) > level:
        high += width
    low, high = max(low, -below), min(high, above)
    word = 2
    while True:
        t = low + (high - low) * uniform(key, word)
        word += 1
        if _log_density(t, g, p, a, below, b, above) > level:
            return t
        if t < 0.0:
            low = t
        elif t > 0.0:
            high = t
        else:
            return 0.0


@njit(cache=True, nogil=True)
def draw_cut_points(h, n_cuts, diagonal, beside, linear, within, key, first):  # type: ignore[no-untyped-def]
    """One round of moves of every row's cut points h, shape (t, J).

    All arrays but ``n_cuts`` (t,) are of that shape, and the first ``n_cuts[i]`` of a row count. T
    is ``diagonal``, with the prior's precision, and ``beside``. Row i has the index ``first + i``.
    """
    t, width = h.shape
    out = h.copy()
    slope = np.empty(width)  # linear - T h
    weight = np.empty(width)  # T times a vector of ones from the j-th on, summed from there
    for i in range(t):
        row_key = derive(key, first + i)
        last = n_cuts[i]
        place = out[i]
        for j in range(last):
            slope[j] = linear[i, j] - diagonal[i, j] * place[j]
            if j > 0:
                slope[j] -= beside[i, j - 1] * place[j - 1]
            if j < last - 1:
                slope[j] -= beside[i, j] * place[j + 1]
        total = 0.0
        for j in range(last - 1, -1, -1):
            total += diagonal[i, j] + (2.0 * beside[i, j] if j < last - 1 else 0.0)
            weight[j] = total
        for j in range(last):
            force = 0.0
            for m in range(j, last):
                force += slope[m]
            chance = derive(row_key, 2 * j)
            if j == 0:
                step = force / weight[0] + normal(chance, 0) / math.sqrt(weight[0])
            else:
                gap = place[j] - place[j - 1]
                step = slice_step(force, weight[j], within[i, j - 1], gap, 0.0, np.inf, chance)
                # Matters only if a gap is at the limit of floating-point numbers.
                if not place[j] + step > place[j - 1]:
                    step = 0.0
            for m in range(j, last):
                place[m] += step
                slope[m] -= step * diagonal[i, m]
                if m > j:
                    slope[m] -= step * beside[i, m - 1]
                if m < last - 1:
                    slope[m] -= step * beside[i, m]
            if j > 0:
                slope[j - 1] -= step * beside[i, j - 1]
            # The j-th alone.
            below, a, above, b = np.inf, 0.0, np.inf, 0.0
            if j > 0:
                below, a = place[j] - place[j - 1], within[i, j - 1]
            if j < last - 1:
                above, b = place[j + 1] - place[j], within[i, j]
            chance = derive(row_key, 2 * j + 1)
            step = slice_step(slope[j], diagonal[i, j], a, below, b, above, chance)
            moved = place[j] + step
            ordered = j == 0 or moved > place[j - 1]
            if ordered and (j == last - 1 or moved < place[j + 1]):
                place[j] = moved
                slope[j] -= step * diagonal[i, j]
                if j > 0:
                    slope[j - 1] -= step * beside[i, j - 1]
                if j < last - 1:
                    slope[j + 1] -= step * beside[i, j]
    return out


@njit(cache=True, nogil=True)
def between(m, low, high):  # type: ignore[no-untyped-def]
    """Mean of N(m, 1) on (low, high); either end may be infinite."""
    if low == high:
        return low
    if low == -np.inf:
        return m if high == np.inf else high - excess(m - high)
    if high == np.inf:
        return low + excess(low - m)
    return low + (high - low) * interval(low - m, high - m)[1]


@njit(cache=True, nogil=True)
def _move_all(values, seen, w, key, row):  # type: ignore[no-untyped-def]
    """Shift, then multiply, the values at the places ``seen``, in place: by draws or by modes."""
    n = len(seen)
    shift = 0.0
    for m in seen:
        shift += (w[m] - values[m]) / n
    if key is not None:
        chance = derive(derive(key, row), _WHOLE)
        shift += normal(chance, 0) / math.sqrt(n)
    square, reach = 0.0, 0.0
    for m in seen:
        value = values[m] + shift
        square += value * value
        reach += value * w[m]
    r = math.sqrt(square)
    reach /= r
    if key is not None:
        # derive: the slice step counts its numbers from 0.
        new = r + slice_step(reach - r, 1.0, n - 1.0, r, 0.0, np.inf, derive(chance, 1))
    else:
        new = 0.5 * (reach + math.sqrt(reach * reach + 4.0 * (n - 1.0)))
    for m in seen:
        values[m] = (values[m] + shift) * (new / r)


@njit(cache=True, nogil=True)
def sweep_ranks(ranks, w, values, key=None, row=0):  # type: ignore[no-untyped-def]
    """Ranked values of some rows after one sweep, shape (t, n), float32.

    ``ranks`` are dense, from 0, equal for ties, -1 where missing; ``values`` (float32) the present
    ones, in order, NaN where missing. With a ``key`` new ones are drawn, ``row`` being the number
    of the first row, else they are expectations. Rounding to float32 keeps the order: at worst
    neighbours become equal.
    """
    t, n = w.shape
    out = values.copy()
    order = np.empty(n, np.int64)
    for i in range(t):
        # Places by rank: group g holds order[start[g]:start[g + 1]].
        # Loops instead of np.bincount, np.cumsum and slices, which take long to compile.
        n_groups = 0
        for m in range(n):
            n_groups = max(n_groups, ranks[i, m] + 1)
        start, fill = np.zeros(n_groups + 1, np.int64), np.zeros(n_groups + 1, np.int64)
        for m in range(n):
            start[ranks[i, m] + 1] += 1
        start[0] = 0  # missing entries
        for g in range(n_groups):
            start[g + 1] += start[g]
            fill[g] = start[g]
        for m in range(n):
            if ranks[i, m] >= 0:
                order[fill[ranks[i, m]]] = m
                fill[ranks[i, m]] += 1
        low = -np.inf
        for g in range(n_groups):
            high = np.inf
            if g < n_groups - 1:
                for p in range(start[g + 1], start[g + 2]):
                    high = min(high, np.float64(out[i, order[p]]))
            top = -np.inf
            for p in range(start[g], start[g + 1]):
                m = order[p]
                if key is not None:
                    value = truncated_normal(w[i, m], low, high, derive(derive(key, row + i), m))
                else:
                    value = between(w[i, m], low, high)
                out[i, m] = min(max(value, low), high)
                top = max(top, np.float64(out[i, m]))
            low = top
        if n_groups > 1:
            _move_all(out[i], order[: start[-1]], w[i], key, row + i)
    return out


@njit(cache=True, nogil=True)
def level_extremes(codes, values, n_levels):  # type: ignore[no-untyped-def]
    """Largest and smallest value of every level, each of shape (t, n_levels).

    ``codes`` and ``values`` are of shape (t, n). Missing entries are left out; a level that does
    not occur has -inf and inf.
    """
    t, n = values.shape
    top, bottom = np.full((t, n_levels), -np.inf), np.full((t, n_levels), np.inf)
    for i in range(t):
        for m in range(n):
            code = codes[i, m]
            if code != MISSING:
                top[i, code] = max(top[i, code], np.float64(values[i, m]))
                bottom[i, code] = min(bottom[i, code], np.float64(values[i, m]))
    return top, bottom
