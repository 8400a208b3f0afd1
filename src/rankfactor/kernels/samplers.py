"""Exact draws from the distributions of the Gibbs sampler.

Scalar functions take the parameters and an item's key and use the item's words 0, 1, ... as needed;
array drivers give element i the key ``derive(key, first + i)``. Invalid parameters give NaN: a
rejection loop would otherwise not end.

Gamma(shape, rate): Marsaglia and Tsang (2000). For shape < 1, ``x(shape) = x(shape + 1)
U^(1/shape)``, in logarithms, since the power underflows long before the product with 1/rate does.
Arrays take exponentials, shape 1, from `rankfactor.kernels.noise`, eight times faster; whether an
element does depends on its own shape only.

Inverse Gaussian of mean 1/u and shape 1: Michael, Schucany and Haas (1976) take the smaller root
of ``y = (u x - 1)^2 / (2 x)``, y = chi2_1 / 2, or its conjugate. With
``T = u + y + sqrt(y (y + 2 u))`` the roots are 1/T and T/u^2: sums of positive terms, so no digits
are lost, and u = 0, where the law is that of 1/chi2_1, is no special case.

Generalised inverse Gaussian, ``x^(p-1) exp(-(a x + b/x) / 2)``: Devroye (2014, Statistics and
Computing 24). For p >= 0 the density of v = log(x / mode) is, up to a factor, exp(psi(v)),

    psi(v) = -alpha (cosh v - 1) - p (e^v - v - 1),
    alpha = sqrt(a b + p^2) - p,    mode = (p + sqrt(a b + p^2)) / a,

concave with its maximum at 0. It lies under 0 and under its tangents at t > 0 and -s < 0; Devroye's
t and s bound the rejections uniformly in all parameters. In this form b = 0 is the gamma law. For
p < 0, 1/x has order -p with a and b exchanged.

Horseshoe precision, ``exp(-x t) / (1 + t)`` for t > 0: from x = 1 on, exponentials of rate x,
accepted with probability 1 / (1 + t). Below, y = 1 + t has the density ``exp(-x y) / y`` from 1 on,
which lies under 1/y up to 1/x and under ``x exp(-x y)`` beyond. More than half are accepted.

N(m, 1) on (low, high): with the ends measured from m, if they enclose 0 and lie far apart, normals
until one falls inside. Otherwise, from the end nearer to m, at distance x, the excess e has density
``exp(-x e - e^2/2)`` on (0, width): an exponential of rate c, cut at the width, accepted with
probability ``exp(-(x + e - c)^2 / 2)``, which is valid for any c between the ends. Robert (1995)
gives the best c for infinite width; the middle of the interval is taken if it comes before.
Acceptance is never much below one half, however far in the tail, and e loses no digits there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit

from rankfactor.kernels.noise import fill_exponential
from rankfactor.kernels.rng import Stream, derive, normal, uniform
from rankfactor.typing import Floats

# Positive draws are clipped to these, so that they and their reciprocals are positive and finite.
SMALLEST, LARGEST = 1e-300, 1e300
# cosh 1 - 1, e - 2 and 1/e: what psi(1) and psi(-1) are made of.
_COSH_1, _EXP_1, _EXP_MINUS_1 = np.cosh(1.0) - 1.0, np.exp(1.0) - 2.0, np.exp(-1.0)
# Intervals around the mode are wide above this: both methods then accept about equally often.
_WIDE = 3.0
# A pivot this small relative to its variance is rounding error.
_NO_PIVOT = 1e-14


@njit(cache=True, nogil=True)
def inside(x):  # type: ignore[no-untyped-def]
    """The number, or the nearest that a positive draw may be."""
    return min(max(x, SMALLEST), LARGEST)


@njit(cache=True, nogil=True, error_model="numpy")
def gamma(shape, rate, key):  # type: ignore[no-untyped-def]
    """Gamma draw, ``x^(shape-1) exp(-rate x)``."""
    if not (0.0 < shape < np.inf and rate > 0.0):
        return np.nan
    d = shape - 1.0 / 3.0 if shape >= 1.0 else shape + 2.0 / 3.0
    c = 1.0 / (3.0 * np.sqrt(d))
    v, word = 0.0, 1  # word 0 is kept for the power
    while True:
        z, u = normal(key, word), uniform(key, word + 1)
        word += 2
        v = 1.0 + c * z
        if v <= 0.0:
            continue
        v = v * v * v
        if u < 1.0 - 0.0331 * z**4 or np.log(u) < 0.5 * z * z + d * (1.0 - v + np.log(v)):
            break
    if shape >= 1.0:
        return inside(d * v / rate)
    return inside(np.exp(np.log(d * v) + np.log(uniform(key, 0)) / shape - np.log(rate)))


@njit(cache=True, nogil=True, error_model="numpy")
def inverse_gaussian(u, key):  # type: ignore[no-untyped-def]
    """Inverse Gaussian draw of mean 1/u and shape 1, u >= 0."""
    if not 0.0 <= u < np.inf:
        return np.nan
    z = normal(key, 0)
    y = 0.5 * z * z
    T = u + y + np.sqrt(y * (y + 2.0 * u))
    if uniform(key, 1) * (u + T) <= T:
        return inside(1.0 / T)
    return inside(T / u / u)


@njit(cache=True, nogil=True, error_model="numpy")
def _psi(v, alpha, p):  # type: ignore[no-untyped-def]
    """Log density of v = log(x / mode) relative to its maximum, and its derivative; p >= 0."""
    if v > -0.5:
        less = np.expm1(v)  # e^v - 1
        power = 1.0 + less
    else:
        power = np.exp(v)
        less = power - 1.0
    ratio = less / power
    # cosh v - 1 = (e^v - 1)^2 / (2 e^v), without cancellation
    value = -0.5 * alpha * less * ratio - p * (less - v)
    return value, -0.5 * alpha * (less + ratio) - p * less


@njit(cache=True, nogil=True, error_model="numpy")
def _devroye(alpha, p, key):  # type: ignore[no-untyped-def]
    """Draw of v with density exp(psi(v)): flat between the tangents, exponential beyond."""
    drop = alpha * _COSH_1 + p * _EXP_1  # -psi(1)
    if drop > 2.0:
        t = np.sqrt(2.0 / (alpha + p))
    elif drop < 0.5:
        t = np.log(4.0 / (alpha + 2.0 * p))
    else:
        t = 1.0
    drop = alpha * _COSH_1 + p * _EXP_MINUS_1  # -psi(-1)
    if drop > 2.0:
        s = np.sqrt(4.0 / (alpha * (_COSH_1 + 1.0) + p))
    elif drop < 0.5:
        s = min(1.0 / p, np.log(1.0 + (1.0 + np.sqrt(1.0 + 2.0 * alpha)) / alpha))
    else:
        s = 1.0
    at_t, slope_t = _psi(t, alpha, p)
    at_s, slope_s = _psi(-s, alpha, p)
    right, left = -1.0 / slope_t, 1.0 / slope_s  # areas under the two tangents, below 0
    high, low = t + at_t * right, -s - at_s * left  # where the tangents reach 0
    centre = high - low
    total = left + centre + right
    word = 0
    while True:
        place = total * uniform(key, word)
        u = uniform(key, word + 1)
        height = uniform(key, word + 2)
        word += 3
        if place < centre:
            v = low + centre * u
        else:
            # By construction the tangent's height at v is u itself.
            height *= u
            v = high - right * np.log(u) if place < centre + right else low + left * np.log(u)
        if height <= np.exp(_psi(v, alpha, p)[0]):
            return v


@njit(cache=True, nogil=True, error_model="numpy")
def generalised_inverse_gaussian(p, a, b, key):  # type: ignore[no-untyped-def]
    """Generalised inverse Gaussian draw, ``x^(p-1) exp(-(a x + b/x) / 2)``.

    An ``a`` or ``b`` of zero is raised to ``SMALLEST``: where that still is a law nothing changes,
    where it is not (b = 0, p <= 0) the draw is close to 0 but positive.
    """
    if not (np.isfinite(p) and 0.0 <= a < np.inf and 0.0 <= b < np.inf):
        return np.nan
    a, b = max(a, SMALLEST), max(b, SMALLEST)
    omega, order = np.sqrt(a) * np.sqrt(b), abs(p)
    # Root of omega^2 + p^2 by a ratio: the squares themselves may underflow or overflow.
    longer, shorter = max(omega, order), min(omega, order)
    scale = longer * np.sqrt(1.0 + (shorter / longer) ** 2) + order
    v = _devroye(omega * (omega / scale), order, key)
    if p >= 0.0:
        return inside(scale / a * np.exp(v))
    return inside(b / scale * np.exp(-v))


@njit(cache=True, nogil=True, error_model="numpy")
def horseshoe_precision(x, key):  # type: ignore[no-untyped-def]
    """Draw of t with density ``exp(-x t) / (1 + t)``, x > 0."""
    if not 0.0 < x < np.inf:
        return np.nan
    word = 0
    if x >= 1.0:
        while True:
            t = -np.log(uniform(key, word)) / x
            if uniform(key, word + 1) * (1.0 + t) <= 1.0:
                return inside(t)
            word += 2
    near = -np.log(x)  # the mass of 1/y from 1 to 1/x; that of the tail is 1/e
    while True:
        place, u = (near + _EXP_MINUS_1) * uniform(key, word), uniform(key, word + 1)
        word += 2
        if place < near:
            t = np.expm1(place)  # y = e^place
            if u <= np.exp(-x * (1.0 + t)):
                return inside(t)
        else:
            # y = (1 + an exponential) / x, by what is left of the place, which is uniform.
            y = 1.0 - np.log((place - near) / _EXP_MINUS_1)
            if u * y <= 1.0:
                return inside(y / x - 1.0)


@njit(cache=True, nogil=True, error_model="numpy")
def _excess(x, width, key):  # type: ignore[no-untyped-def]
    """Draw of e with density exp(-x e - e^2/2) on (0, width)."""
    ahead = min(2.0 / (x + np.sqrt(x * x + 4.0)), 0.5 * width)
    rate = x + ahead
    reach = np.expm1(-rate * width)
    flat = abs(rate) * width < 1e-200
    word = 0
    while True:
        u = uniform(key, word)
        e = width * u if flat else -np.log1p(u * reach) / rate
        miss = e - ahead
        if uniform(key, word + 1) <= np.exp(-0.5 * miss * miss):
            return min(e, width)
        word += 2


@njit(cache=True, nogil=True, error_model="numpy")
def truncated_normal(m, low, high, key):  # type: ignore[no-untyped-def]
    """Draw from N(m, 1) on (low, high); either end may be infinite."""
    if low == high:
        return low
    if not (low < high and np.isfinite(m) and low < np.inf and high > -np.inf):
        return np.nan
    width = high - low
    if low < m < high and width >= _WIDE:
        word = 0
        while True:
            x = m + normal(key, word)
            if low < x < high:
                return x
            word += 1
    # The end that is nearer to m, or on m's side of the interval, is finite here.
    if m - low <= high - m:
        return min(low + _excess(low - m, width, key), high)
    return max(high - _excess(m - high, width, key), low)


@njit(cache=True, nogil=True, error_model="numpy")
def draw_gamma(shape, rate, key, first):  # type: ignore[no-untyped-def]
    """Gamma draws for flat arrays of parameters; those of shape 1 are exponentials by the array."""
    out = np.empty(shape.size)
    others = np.sum(shape != 1.0)
    if others < out.size:
        fill_exponential(key, first, out)
        # No branch, so that this becomes vector instructions.
        for i in range(out.size):
            x = inside(out[i] / rate[i])
            out[i] = x if rate[i] > 0.0 else np.nan
    if others:
        for i in range(out.size):
            if shape[i] != 1.0:
                out[i] = gamma(shape[i], rate[i], derive(key, first + i))
    return out


@njit(cache=True, nogil=True)
def draw_inverse_gaussian(u, key, first):  # type: ignore[no-untyped-def]
    """Inverse Gaussian draws for a flat array of 1/mean."""
    return np.array([inverse_gaussian(u[i], derive(key, first + i)) for i in range(u.size)])


@njit(cache=True, nogil=True)
def draw_gig(p, a, b, key, first):  # type: ignore[no-untyped-def]
    """Generalised inverse Gaussian draws for flat arrays of parameters."""
    out = np.empty(a.size)
    for i in range(out.size):
        out[i] = generalised_inverse_gaussian(p[i], a[i], b[i], derive(key, first + i))
    return out


@njit(cache=True, nogil=True)
def draw_horseshoe_precision(x, key, first):  # type: ignore[no-untyped-def]
    """Draws with density ``exp(-x t) / (1 + t)`` for a flat array of x."""
    return np.array([horseshoe_precision(x[i], derive(key, first + i)) for i in range(x.size)])


@njit(cache=True, nogil=True)
def draw_truncated_normal(m, low, high, key, first):  # type: ignore[no-untyped-def]
    """Draws from N(m, 1) on (low, high) for flat arrays of parameters."""
    out = np.empty(m.size)
    for i in range(out.size):
        out[i] = truncated_normal(m[i], low[i], high[i], derive(key, first + i))
    return out


def draw_elements(
    driver: Callable[..., Any], stream: Stream, first: int, *parameters: Floats | float
) -> Floats:
    """Run an array driver on parameters of any shapes that broadcast.

    Element i of the result, row by row, has the index ``first + i`` in the stream.
    """
    arrays = [np.asarray(parameter, np.float64) for parameter in parameters]
    shapes = {array.shape for array in arrays}
    shape = shapes.pop() if len(shapes) == 1 else np.broadcast_shapes(*shapes)
    flat = []
    for array in arrays:
        if array.shape != shape:
            # A copy rather than a broadcast view: that is read-only, another type to the compiler.
            full = np.empty(shape)
            full[...] = array
            array = full
        flat.append(array.ravel())
    return np.asarray(driver(*flat, stream.word, first)).reshape(shape)


@njit(cache=True, nogil=True)
def draw_choices(probabilities, key, first):  # type: ignore[no-untyped-def]
    """Number of the category drawn for every row, shape (n,).

    A row's probabilities (n, T) need not sum to one; row i has the index ``first + i``.
    """
    n, count = probabilities.shape
    out = np.zeros(n, np.int64)
    for i in range(n):
        total = 0.0
        for t in range(count):
            total += probabilities[i, t]
        place = total * uniform(derive(key, first + i), 0)
        reached = 0.0
        for t in range(count):
            # Rounding may leave the place beyond the last sum; it then belongs to the last category
            # that has a probability.
            if probabilities[i, t] > 0.0:
                out[i] = t
                reached += probabilities[i, t]
                if place < reached:
                    break
    return out


@njit(cache=True, nogil=True, error_model="numpy")
def draw_rows(mean, cov, key, first):  # type: ignore[no-untyped-def]
    """Draws of multivariate normal rows (n, K): ``mean + L eps`` with covariance ``L L^T``.

    Covariances (n, P) are packed, and may be singular, or zero. Row i has the index ``first + i``.
    """
    n, order = mean.shape
    out = np.empty((n, order))
    low = np.zeros((order, order))  # Cholesky factor, lower triangle
    eps = np.empty(order)
    for row in range(n):
        p = 0
        for k in range(order):
            for m in range(k, order):
                low[m, k] = cov[row, p]
                p += 1
        for k in range(order):
            variance = low[k, k]
            for m in range(k):
                low[k, k] -= low[k, m] * low[k, m]
            inverse = 0.0
            if low[k, k] <= _NO_PIVOT * variance:
                low[k, k] = 0.0
            else:
                low[k, k] = np.sqrt(low[k, k])
                inverse = 1.0 / low[k, k]
            for i in range(k + 1, order):
                for m in range(k):
                    low[i, k] -= low[i, m] * low[k, m]
                low[i, k] *= inverse
        item = derive(key, first + row)
        for i in range(order):
            eps[i] = normal(item, i)
            total = 0.0
            for k in range(i + 1):
                total += low[i, k] * eps[k]
            out[row, i] = mean[row, i] + total
    return out
