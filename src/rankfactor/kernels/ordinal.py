"""Ordinal probit: truncated normals between cut points, and the ascent of the cut points.

A standard normal t kept to (l, u) is folded so that the middle of the interval is not negative
(for a half-line: so that it is (l, inf)). Three formulas, each where it loses no digits, with
D = u - l, g = l D + D^2 / 2, phi(u) = phi(l) exp(-g), and R(x) = (1 - Phi(x)) / phi(x), Mills:

    half-line      mass = phi(l) R(l),       E[t - l] = 1/R(l) - l
    narrow         t = l + D v, density of v prop. exp(-l D v - D^2 v^2 / 2) on (0, 1): quadrature
    wide           mass = phi(l) (R(l) - exp(-g) R(u)) or, around zero, a difference of erf;
                   E[t] = (phi(l) - phi(u)) / mass,
                   E[t^2] = 1 + (l phi(l) - u phi(u)) / mass

R(x) = 1 / (x + c(x)); far in the tail c comes from the continued fraction
c = 1/(x + 2/(x + 3/(x + ...))), so E[t - l] = c keeps its digits where 1/R - l would cancel.

The Gibbs sampler draws t in place of its expectation: one branch, decided when the kernel is
compiled, by whether there is a ``key``. Its draw of the cut points is in
`rankfactor.kernels.rank_draws`.
"""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import derive
from rankfactor.kernels.samplers import truncated_normal

_LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_ROOT_HALF_PI = math.sqrt(0.5 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_NODES, _WEIGHTS = 0.5 * (_NODES + 1.0), 0.5 * _WEIGHTS  # on (0, 1)
_FAR = 6.0  # beyond it the continued fraction is exact to rounding
_TERMS = 40
_NARROW, _FLAT = 2.0, 10.0  # quadrature is exact to rounding up to this D and this l D
_STEPS = 50
_SMALL = 1e-18  # squared Newton decrement at which a row's cut points have converged


@njit(cache=True, nogil=True)
def excess(x):  # type: ignore[no-untyped-def]
    """E[t - x] of a standard normal t kept above x: the c of ``R(x) = 1 / (x + c)``."""
    if x > _FAR:
        tail = x
        for k in range(_TERMS, 1, -1):
            tail = x + k / tail
        return 1.0 / tail
    return math.exp(-0.5 * x * x) / (_ROOT_HALF_PI * math.erfc(x * _ROOT_HALF)) - x


@njit(cache=True, nogil=True)
def log_upper(x, c):  # type: ignore[no-untyped-def]
    """Log of 1 - Phi(x), given ``c = excess(x)``."""
    if x > _FAR:
        return -0.5 * x * x - _LOG_ROOT_2PI - math.log(x + c)
    return math.log(0.5 * math.erfc(x * _ROOT_HALF))


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
        log_mass = -0.5 * l * l - _LOG_ROOT_2PI + math.log(width * mass)
        mean, square = mean / mass, square / mass
    else:
        if l > 0.0:
            fall = math.exp(-width * (l + 0.5 * width))
            c, far = excess(l), excess(u)
            mass = 1.0 / (l + c) - fall / (u + far)  # in units of phi(l)
            log_mass = -0.5 * l * l - _LOG_ROOT_2PI + math.log(mass)
            low, high = 1.0 / mass, fall / mass
            # E[t] - l: 1 - l R(l) is c / (l + c) without the cancellation.
            shift = (c / (l + c) - fall * (1.0 - l / (u + far))) / mass
        else:
            mass = 0.5 * (math.erf(u * _ROOT_HALF) - math.erf(l * _ROOT_HALF))
            log_mass = math.log(mass)
            low = math.exp(-0.5 * l * l - _LOG_ROOT_2PI) / mass
            high = math.exp(-0.5 * u * u - _LOG_ROOT_2PI) / mass
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
                x = m - alpha * h[i, 0]
                out[place] += log_upper(x, excess(x))
            elif code == n_cuts[i]:
                x = alpha * h[i, code - 1] - m
                out[place] += log_upper(x, excess(x))
            else:
                out[place] += interval(alpha * h[i, code - 1] - m, alpha * h[i, code] - m)[0]
    return out


@njit(cache=True, nogil=True)
def ordinal_sites(codes, w, h, n_cuts, z=None, key=None, row=0, sample=0):  # type: ignore[no-untyped-def]
    """Sites of a tile and, with scores z (n, K), the sums over samples for rows and cut points.

    A tile is ``codes`` and ``w`` (t, n) with increasing cut points h (t, J), of which the first
    ``n_cuts`` (t,) of a row count. With a ``key`` w* is drawn; ``row`` and ``sample`` are then the
    numbers of the tile's first feature and sample.

    ``w*_n = o_n + sum_j r_nj h_j`` (at most two r are not zero; `OrdinalProbit`). Where o and r are
    drawn, each stands for its own expectation.

    Returns
    -------
    tau, rho : array, shape (t, n)
        rho = w*. Without scores what follows is empty.
    cross, shift : array, shape (t, J, K) and (t, K)
        sum_n of E[r_nj] z_n and of E[o_n] z_n.
    diagonal, beside, pull, within : array, shape (t, J)
        sum_n of E[r_nj^2], E[r_nj r_n,j+1] and E[r_nj o_n], and the number of samples between cut
        points j and j + 1.
    squares, bound : array, shape (t,)
        sum_n of w^2 and of log(Phi(h_c - w) - Phi(h_{c-1} - w)).
    """
    t, n = w.shape
    tau, rho = np.zeros((t, n)), np.zeros((t, n))
    rows, order = (0, 0) if z is None else (t, z.shape[1])
    width = h.shape[1]
    cross, shift = np.zeros((rows, width, order)), np.zeros((rows, order))
    diagonal, beside = np.zeros((rows, width)), np.zeros((rows, width))
    pull, within = np.zeros((rows, width)), np.zeros((rows, width))
    squares, bound = np.zeros(rows), np.zeros(rows)
    for i in range(t):
        last = n_cuts[i]
        for m in range(n):
            code = codes[i, m]
            if code == MISSING:
                continue
            tau[i, m] = 1.0
            if z is not None:
                squares[i] += w[i, m] ** 2
            if code == 0 or code == last:
                j = 0 if code == 0 else last - 1
                side = -1.0 if code == 0 else 1.0
                x = side * (h[i, j] - w[i, m])
                c = excess(x) if key is None or z is not None else 0.0
                if z is not None:
                    bound[i] += log_upper(x, c)
                if key is not None:
                    c = truncated_normal(-x, 0.0, np.inf, derive(derive(key, row + i), sample + m))
                rho[i, m] = h[i, j] + side * c
                if z is not None:
                    diagonal[i, j] += 1.0
                    pull[i, j] += side * c
                    for k in range(order):
                        cross[i, j, k] += z[m, k]
                        shift[i, k] += side * c * z[m, k]
            else:
                j = code - 1
                low, high = h[i, j] - w[i, m], h[i, j + 1] - w[i, m]
                log_mass, v, v_sq = 0.0, 0.0, 0.0
                if key is None or z is not None:
                    log_mass, v, v_sq = interval(low, high)
                if key is not None:
                    chance = derive(derive(key, row + i), sample + m)
                    v = truncated_normal(-low, 0.0, high - low, chance) / (high - low)
                    v_sq = v * v
                rho[i, m] = h[i, j] + (h[i, j + 1] - h[i, j]) * v
                if z is not None:
                    bound[i] += log_mass
                    within[i, j] += 1.0
                    diagonal[i, j] += 1.0 - 2.0 * v + v_sq
                    diagonal[i, j + 1] += v_sq
                    beside[i, j] += v - v_sq
                    for k in range(order):
                        cross[i, j, k] += (1.0 - v) * z[m, k]
                        cross[i, j + 1, k] += v * z[m, k]
    return tau, rho, cross, shift, diagonal, beside, pull, within, squares, bound


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
