"""Ordinal probit: truncated normals between cut points, and the ascent of the cut points.

A standard normal t kept to (l, u) is folded so that the middle of the interval is not negative
(for a half-line: so that it is (l, inf)). Three formulas, each where it loses no digits, with
D = u - l, g = l D + D^2 / 2, phi(u) = phi(l) exp(-g), and R(x) = (1 - Phi(x)) / phi(x), Mills:

    half-line      mass = phi(l) R(l),       E[t - l] = 1/R(l) - l
    narrow         t = l + D v, density of v prop. exp(-l D v - D^2 v^2 / 2) on (0, 1): quadrature
    wide           mass = phi(l) (R(l) - exp(-g) R(u)) or, around zero, a difference of erf;
                   E[t] = (phi(l) - phi(u)) / mass,
                   E[t^2] = 1 + (l phi(l) - u phi(u)) / mass

R(x) = 1 / (x + c(x)), where c(l) = E[t - l] of a half-line is `rankfactor.kernels.tails`. Most
entries of a table of counts are at one end of their feature's levels: tails are computed for a
whole row at once, by vector instructions, then intervals for those entries that have one.

The Gibbs sampler draws t in place of its expectation: one branch, decided when the kernel is
compiled, by whether there is a ``key``. Its draw of the cut points is in
`rankfactor.kernels.rank_draws`.
"""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.lanes import wide_vectors
from rankfactor.kernels.logs import STRICT
from rankfactor.kernels.rng import derive
from rankfactor.kernels.samplers import truncated_normal
from rankfactor.kernels.tails import LOG_ROOT_2PI, excess, upper_tail

_ROOT_HALF = math.sqrt(0.5)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS  # on (0, 1)
_NARROW, _FLAT = 2.0, 10.0  # quadrature is exact to rounding up to this D and this l D
_STEPS = 50
_SMALL = 1e-18  # squared Newton decrement at which a row's cut points have converged


@njit(cache=True, nogil=True, error_model="numpy")
def interval(l, u):  # type: ignore[no-untyped-def]  # noqa: E741
    """A standard normal t kept to a bounded (l, u), by ``v = (t - l) / (u - l)``.

    Returns
    -------
    log_mass, mean, square : float
        log(Phi(u) - Phi(l)), E[v], E[v^2].
    """
    folded = l + u < 0.0
    if folded:
        l, u = -u, -l  # noqa: E741
    width = u - l
    if width < _NARROW and l * width < _FLAT:
        mass, mean, square = 0.0, 0.0, 0.0
        for q in range(len(_NODES)):
            v = _NODES[q]
            density = _WEIGHTS[q] * math.exp(-width * v * (l + 0.5 * width * v))
            mass += density
            mean += v * density
            square += v * v * density
        log_mass = -0.5 * l * l - LOG_ROOT_2PI + math.log(width * mass)
        mean, square = mean / mass, square / mass
    else:
        if l > 0.0:
            fall = math.exp(-width * (l + 0.5 * width))
            c, far = excess(l), excess(u)
            mass = 1.0 / (l + c) - fall / (u + far)  # in units of phi(l)
            log_mass = -0.5 * l * l - LOG_ROOT_2PI + math.log(mass)
            low, high = 1.0 / mass, fall / mass
            # E[t] - l: 1 - l R(l) is c / (l + c) without the cancellation.
            shift = (c / (l + c) - fall * (1.0 - l / (u + far))) / mass
        else:
            mass = 0.5 * (math.erf(u * _ROOT_HALF) - math.erf(l * _ROOT_HALF))
            log_mass = math.log(mass)
            low = math.exp(-0.5 * l * l - LOG_ROOT_2PI) / mass
            high = math.exp(-0.5 * u * u - LOG_ROOT_2PI) / mass
            shift = low - high - l
        mean = shift / width
        # E[(t - l)^2] = 1 - D phi(u)/mass - l E[t - l], by parts.
        square = max((1.0 - width * high - l * shift) / (width * width), mean * mean)
    if folded:
        mean, square = 1.0 - mean, 1.0 - 2.0 * mean + square
    return log_mass, mean, square


@njit(cache=True, nogil=True)
def ordinal_scaled(codes, w, h, n_cuts, factor, some):  # type: ignore[no-untyped-def]
    """Log likelihood of rows ``some`` (m,) with w and h times a factor (m,), shape (m,)."""
    out = np.zeros(len(some))
    for place in range(len(some)):
        i, alpha = some[place], factor[place]
        for n in range(w.shape[1]):
            code, m = codes[i, n], alpha * w[i, n]
            if code == MISSING:
                continue
            if code == 0:
                out[place] += upper_tail(m - alpha * h[i, 0])[1]
            elif code == n_cuts[i]:
                out[place] += upper_tail(alpha * h[i, code - 1] - m)[1]
            else:
                out[place] += interval(alpha * h[i, code - 1] - m, alpha * h[i, code] - m)[0]
    return out


@njit(**STRICT)
def _tails(codes, w, low, high, x, c, log_mass):  # type: ignore[no-untyped-def]
    """Tails of the entries (n,) of a row as if all were below ``low`` (code 0) or above ``high``.

    Fills x, the distance of the end from w, c = E[t - x] and, unless it is None, ``log_mass``.
    """
    wide_vectors()
    for m in range(len(w)):
        x[m] = w[m] - low if codes[m] == 0 else high - w[m]
        if log_mass is None:
            c[m] = excess(x[m])
        else:
            c[m], log_mass[m] = upper_tail(x[m])


@njit(cache=True, nogil=True)
def ordinal_sites(codes, w, h, n_cuts, key=None, row=0, sample=0):  # type: ignore[no-untyped-def]
    """The sites' rho = w* of a tile, shape (t, n), zero where missing; tau is 1 elsewhere.

    A tile is ``codes`` and ``w`` (t, n) with increasing cut points h (t, J), of which the first
    ``n_cuts`` (t,) of a row count. With a ``key`` w* is drawn; ``row`` and ``sample`` are then the
    numbers of the tile's first feature and sample.
    """
    t, n = w.shape
    rho, x, c = np.zeros((t, n)), np.empty(n), np.empty(n)
    for i in range(t):
        last = n_cuts[i]
        low, high = h[i, 0], h[i, last - 1]
        _tails(codes[i], w[i], low, high, x, c, None)
        for m in range(n):
            code = codes[i, m]
            if code == MISSING:
                continue
            if key is not None:
                chance = derive(derive(key, row + i), sample + m)
            if code == 0 or code == last:
                if key is not None:
                    c[m] = truncated_normal(-x[m], 0.0, np.inf, chance)
                rho[i, m] = low - c[m] if code == 0 else high + c[m]
            else:
                j = code - 1
                start, end = h[i, j] - w[i, m], h[i, j + 1] - w[i, m]
                if key is None:
                    v = interval(start, end)[1]
                else:
                    v = truncated_normal(-start, 0.0, end - start, chance) / (end - start)
                rho[i, m] = h[i, j] + (h[i, j + 1] - h[i, j]) * v
    return rho


@njit(cache=True, nogil=True)
def ordinal_slopes(codes, w, h, n_cuts):  # type: ignore[no-untyped-def]
    """First and minus second derivative in w of a tile's bound, each (t, n), zero where missing.

    They are E[w*] - w and 1 - Var(w*), where w* ~ N(w, 1) is kept to its interval; the variance of
    a half-line is 1 - c (x + c).
    """
    t, n = w.shape
    push, curvature, x, c = np.zeros((t, n)), np.zeros((t, n)), np.empty(n), np.empty(n)
    for i in range(t):
        last = n_cuts[i]
        _tails(codes[i], w[i], h[i, 0], h[i, last - 1], x, c, None)
        for m in range(n):
            code = codes[i, m]
            if code == MISSING:
                continue
            if code == 0 or code == last:
                push[i, m] = -x[m] - c[m] if code == 0 else x[m] + c[m]
                curvature[i, m] = c[m] * (x[m] + c[m])
            else:
                start, end = h[i, code - 1] - w[i, m], h[i, code] - w[i, m]
                width = end - start
                _, v, v_sq = interval(start, end)
                push[i, m] = start + width * v
                curvature[i, m] = 1.0 - width * width * (v_sq - v * v)
    return push, curvature


@njit(cache=True, nogil=True)
def ordinal_statistics(codes, w, h, n_cuts, z, key=None, row=0, sample=0):  # type: ignore[no-untyped-def]
    """Sums over the samples of a tile, with scores z (n, K), for rows and cut points.

    Arguments are those of `ordinal_sites`. ``w*_n = o_n + sum_j r_nj h_j`` (at most two r are not
    zero; `OrdinalProbit`). Where o and r are drawn, each stands for its own expectation.

    Returns
    -------
    offset : array, shape (t, n)
        E[o].
    cross : array, shape (t, J, K)
        sum_n E[r_nj] z_n.
    diagonal, beside, pull, within : array, shape (t, J)
        sum_n of E[r_nj^2], E[r_nj r_n,j+1] and E[r_nj o_n], and the number of samples between cut
        points j and j + 1.
    squares, bound : array, shape (t,)
        sum_n of w^2 and of log(Phi(h_c - w) - Phi(h_{c-1} - w)).
    """
    t, n = w.shape
    width, order = h.shape[1], z.shape[1]
    offset, cross = np.zeros((t, n)), np.zeros((t, width, order))
    diagonal, beside = np.zeros((t, width)), np.zeros((t, width))
    pull, within = np.zeros((t, width)), np.zeros((t, width))
    squares, bound = np.zeros(t), np.zeros(t)
    x, c, log_mass = np.empty(n), np.empty(n), np.empty(n)
    everyone = np.zeros(order)
    for m in range(n):
        everyone += z[m]
    for i in range(t):
        last = n_cuts[i]
        _tails(codes[i], w[i], h[i, 0], h[i, last - 1], x, c, log_mass)
        # The r of a present sample sum to one: those of the first cut are what the others leave.
        cross[i, 0] = everyone
        for m in range(n):
            code = codes[i, m]
            if code == MISSING:
                for k in range(order):
                    cross[i, 0, k] -= z[m, k]
                continue
            squares[i] += w[i, m] * w[i, m]
            if key is not None:
                chance = derive(derive(key, row + i), sample + m)
            if code == 0 or code == last:
                if key is not None:
                    c[m] = truncated_normal(-x[m], 0.0, np.inf, chance)
                j, o = (0, -c[m]) if code == 0 else (last - 1, c[m])
                offset[i, m] = o
                bound[i] += log_mass[m]
                diagonal[i, j] += 1.0
                pull[i, j] += o
                if j > 0:
                    for k in range(order):
                        cross[i, j, k] += z[m, k]
                        cross[i, 0, k] -= z[m, k]
            else:
                j = code - 1
                start, end = h[i, j] - w[i, m], h[i, j + 1] - w[i, m]
                log_between, v, v_sq = interval(start, end)
                if key is not None:
                    v = truncated_normal(-start, 0.0, end - start, chance) / (end - start)
                    v_sq = v * v
                bound[i] += log_between
                within[i, j] += 1.0
                diagonal[i, j] += 1.0 - 2.0 * v + v_sq
                diagonal[i, j + 1] += v_sq
                beside[i, j] += v - v_sq
                for k in range(order):
                    cross[i, j + 1, k] += v * z[m, k]
                    cross[i, 0, k] -= v * z[m, k]
                if j > 0:
                    for k in range(order):
                        cross[i, j, k] += (1.0 - v) * z[m, k]
                        cross[i, 0, k] -= (1.0 - v) * z[m, k]
    return offset, cross, diagonal, beside, pull, within, squares, bound


@njit(cache=True, nogil=True)
def raise_cut_points(h, n_cuts, diagonal, beside, linear, within):  # type: ignore[no-untyped-def]
    """Cut points that maximise a concave function, row by row, shape (t, J).

        Q(h) = -h^T T h / 2 + linear . h + sum_j within_j log(h_{j+1} - h_j)

    with T tridiagonal (``diagonal``, ``beside``). The weights ``within`` are whole numbers, so -Q
    is self-concordant: a Newton step divided by 1 + lam, lam the Newton decrement, stays ordered
    and raises Q (Nesterov and Nemirovskii 1994); no line search is needed.
    """
    t, width = h.shape
    out = h.copy()
    gradient, slope = np.empty(width), np.empty(width)
    pivot, upper, step = np.empty(width), np.empty(width), np.empty(width)
    for i in range(t):
        last = n_cuts[i]
        for _ in range(_STEPS):
            for j in range(last):
                gradient[j] = linear[i, j] - diagonal[i, j] * out[i, j]
                pivot[j] = diagonal[i, j]
            for j in range(last - 1):
                gap = out[i, j + 1] - out[i, j]
                gradient[j] -= beside[i, j] * out[i, j + 1] + within[i, j] / gap
                gradient[j + 1] += within[i, j] / gap - beside[i, j] * out[i, j]
                barrier = within[i, j] / (gap * gap)
                pivot[j] += barrier
                pivot[j + 1] += barrier
                upper[j] = beside[i, j] - barrier
            # Solve -Q'' step = gradient: Gaussian elimination of a tridiagonal matrix.
            slope[0] = gradient[0]
            for j in range(1, last):
                ratio = upper[j - 1] / pivot[j - 1]
                pivot[j] -= ratio * upper[j - 1]
                slope[j] = gradient[j] - ratio * slope[j - 1]
            decrement = 0.0
            for j in range(last - 1, -1, -1):
                above = upper[j] * step[j + 1] if j < last - 1 else 0.0
                step[j] = (slope[j] - above) / pivot[j]
                decrement += step[j] * gradient[j]
            lam = math.sqrt(max(decrement, 0.0))
            size = 1.0 / (1.0 + lam) if lam > 0.25 else 1.0
            for j in range(last):
                out[i, j] += size * step[j]
            if decrement < _SMALL:
                break
    return out
