"""The upper tail of the standard normal without a call or a branch, for loops over many entries.

With Q(x) = 1 - Phi(x) and t a standard normal, kept above x, let c(x) = E[t - x], so that

    Q(x) = phi(x) / (x + c(x)).

For y >= 0, (1 + y) c(y) runs smoothly from sqrt(2/pi) to 1, and is a polynomial in u =
(y - 7/2) / (y + 7/2), from -1 to 1: of degree 24, from its Chebyshev series, with a relative error
below 3e-15. No digits are lost far in the tail, where phi/Q - x would cancel. Below zero, with
y = -x and R = phi(y) / (y + c(y)), the other tail,

    c(x) = phi(y) / (1 - R) + y,    Q(x) = 1 - R.
"""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.logs import INLINE, LOG_2, LOG_2_REST, coefficients, horner, log

LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)
_ROOT_2PI = math.sqrt(2 * math.pi)
_MIDDLE = 3.5
# (1 + y) c(y) over u, highest power first.
_EXCESS = coefficients("""
    -3.03924851557795276e-08 1.87056320792644618e-07 4.11547749582343876e-07
    -1.90637555761414021e-06 -3.03741451338203298e-06 1.02052181988679804e-05
    1.62501153641263213e-05 -3.97148445725913060e-05 -7.03886264931947558e-05
    1.30993065491970663e-04 2.61677615531144157e-04 -4.03888236852161127e-04
    -8.64740906817355708e-04 1.24988907721288616e-03 2.58364636114963341e-03
    -4.06167639479897320e-03 -6.90102726637999674e-03 1.40147491026782842e-02
    1.49562251339958423e-02 -5.02549148666924725e-02 -9.89556005772547487e-03
    1.74064598759046008e-01 -2.32401837567592140e-01 -3.36508019619058824e-02
    1.13126069185964884e+00
    """)
_EVEN, _ODD = _EXCESS[::2], _EXCESS[1::2]
# exp(-a) = 2^-n exp(r), |r| <= log(2) / 2, by Taylor's series of degree 13, highest power first.
_EXP = tuple(1.0 / math.factorial(n) for n in range(13, -1, -1))
_PER_LOG_2 = 1.0 / math.log(2.0)
# Adding it rounds to a whole number, which is then in the last bits.
_ROUND = 1.5 * 2.0**52
_BIAS = np.int64(1023) - np.int64(np.float64(_ROUND).view(np.int64))
_MOST = 700.0  # exp(-700) is 1e-304, as good as zero here


@njit(**INLINE)
def _exp_minus(a):  # type: ignore[no-untyped-def]
    """``exp(-a)`` for a >= 0."""
    a = min(a, _MOST)
    rounded = _ROUND - a * _PER_LOG_2
    n = rounded - _ROUND
    r = (-a - n * LOG_2) - n * LOG_2_REST
    power = np.int64((np.float64(rounded).view(np.int64) + _BIAS) << np.int64(52))
    return horner(_EXP, r) * power.view(np.float64)


@njit(**INLINE)
def _near(y):  # type: ignore[no-untyped-def]
    """``c(y)`` for y >= 0."""
    u = 1.0 - 2.0 * _MIDDLE / (y + _MIDDLE)
    return (horner(_EVEN, u * u) + u * horner(_ODD, u * u)) / (1.0 + y)


@njit(**INLINE)
def excess(x):  # type: ignore[no-untyped-def]
    """``E[t - x]`` of a standard normal t kept above x."""
    y = abs(x)
    near = _near(y)
    density = _exp_minus(0.5 * y * y) / _ROOT_2PI
    beyond = density / (1.0 - density / (y + near)) + y
    return near if x >= 0.0 else beyond


@njit(**INLINE)
def upper_tail(x):  # type: ignore[no-untyped-def]
    """``excess(x)`` and the log of Q(x)."""
    y = abs(x)
    near, half = _near(y), 0.5 * y * y
    density = _exp_minus(half) / _ROOT_2PI
    rest = 1.0 - density / (y + near)
    c = near if x >= 0.0 else density / rest + y
    size = log(y + near if x >= 0.0 else rest)
    return c, (-half - LOG_ROOT_2PI - size if x >= 0.0 else size)
