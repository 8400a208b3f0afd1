"""Modified Bessel functions K_0 and K_1, for the generalised inverse Gaussian law of order 0.

For x <= 2, with t = x^2 / 4, L = log(x / 2) and the digamma function psi, the ascending series
(Abramowitz and Stegun 9.6.10 to 9.6.13)

    K_0(x)   = sum_k (psi(k+1) - L) t^k / k!^2
    x K_1(x) = 1 + 2 t sum_k (L - (psi(k+1) + psi(k+2)) / 2) t^k / (k! (k+1)!)

of which twelve terms suffice: the first omitted term is below 1e-16 of either. For x > 2, Chebyshev
series in s = 4/x - 1 of sqrt(x) exp(x) K_0(x) and of the same with K_1, as in Moshier's Cephes. The
ratio K_1 / K_0 has relative errors below 2e-15 for x from 1e-300 to 1e300.

For the law ``x^(-1) exp(-(a x + b / x) / 2)`` and omega = sqrt(a) sqrt(b), which is in range
wherever a and b are,

    E[x] = sqrt(b/a) K_1(omega) / K_0(omega),    E[1/x] = sqrt(a/b) K_1(omega) / K_0(omega),

in one pass. The horseshoe's own omega tends to stay below 2: with E[eta] = 1 / (E[xi] + E[phi]) it
obeys omega K_1(omega) / K_0(omega) < 2 once its updates have converged, so omega < 1.56. So mainly
the series has to be fast.
"""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.lanes import wide_vectors
from rankfactor.kernels.logs import INLINE, STRICT, coefficients, horner, log
from rankfactor.typing import Floats

_SWITCH = 2.0
_TERMS = range(11, -1, -1)  # highest power first


def _psi(k: int) -> float:
    """Digamma function of a positive whole number."""
    return math.fsum([-np.euler_gamma, *(1.0 / j for j in range(1, k))])


def _inverse(k: int, m: int) -> float:
    return 1.0 / (math.factorial(k) * math.factorial(m))


# Coefficients of t^k in the two series: of what L multiplies, and of the rest.
_LOG_0 = tuple(_inverse(k, k) for k in _TERMS)
_REST_0 = tuple(_inverse(k, k) * _psi(k + 1) for k in _TERMS)
_LOG_1 = tuple(_inverse(k, k + 1) for k in _TERMS)
_REST_1 = tuple(_inverse(k, k + 1) * 0.5 * (_psi(k + 1) + _psi(k + 2)) for k in _TERMS)

# Chebyshev coefficients in s, highest order first: discrete cosine transforms of 64 values of
# sqrt(x) exp(x) K(x) in 40 digits. Those left out are below 6e-17.
_FAR_0 = coefficients("""
    -1.6782311257549006383e-16 5.5120559994043333649e-16 -1.8485933779209071694e-15
    6.3400764762766459661e-15 -2.2275133267462963604e-14 8.0328907750683743694e-14
    -2.9800969231481783548e-13 1.1403405882073442347e-12 -4.5145978833745191751e-12
    1.855949114954926555e-11 -7.9574892444773970377e-11 3.5773972814003284472e-10
    -1.6975345093890615156e-9 8.5740340174142260858e-9 -4.6604898976879476656e-8
    2.7668136394450150761e-7 -1.8317555227191194848e-6 1.3949813718876499364e-5
    -1.2849549581627802638e-4 1.5698838857300533749e-3 -3.1448101311964500543e-2
    1.2201515410329777273
    """)
_FAR_1 = coefficients("""
    1.8380935752430454256e-16 -6.0570472706430178228e-16 2.0387031662398608799e-15
    -7.0198370892147688513e-15 2.4771544242195986813e-14 -8.9767051820101460692e-14
    3.3484196660522431201e-13 -1.2891739609498229352e-12 5.1396396734823435404e-12
    -2.1299678384277910216e-11 9.2183151876053141258e-11 -4.1903547593419255842e-10
    2.0150497551970346161e-9 -1.0345762465678097027e-8 5.7410841254500492923e-8
    -3.5019606030878125421e-7 2.4064849478372171171e-6 -1.93619797416608296e-5
    1.9521551847135163111e-4 -2.8578168596227793868e-3 0.10392373657681723844 1.3603130952422213347
    """)


@njit(**INLINE)
def _chebyshev(coefficients, s):  # type: ignore[no-untyped-def]
    """Sum of Chebyshev polynomials, highest order first (Clenshaw)."""
    double = s + s
    before, now = 0.0, coefficients[0]
    for c in coefficients[1:-1]:
        before, now = now, double * now - before + c
    return s * now - before + coefficients[-1]


@njit(**INLINE)
def _near(x):  # type: ignore[no-untyped-def]
    """K_0(x) and x K_1(x) for x <= 2."""
    t, L = 0.25 * x * x, log(0.5 * x)
    k0 = horner(_REST_0, t) - L * horner(_LOG_0, t)
    return k0, 1.0 + 2.0 * t * (L * horner(_LOG_1, t) - horner(_REST_1, t))


@njit(**INLINE)
def _far(x):  # type: ignore[no-untyped-def]
    """K_0(x) and K_1(x) for x > 2, both times sqrt(x) exp(x): they do not underflow."""
    s = 4.0 / x - 1.0
    return _chebyshev(_FAR_0, s), _chebyshev(_FAR_1, s)


# The series is evaluated for all elements, since a loop with a branch is three times slower; where
# x > 2 (or is 0 or NaN) its result is then replaced.


@njit(**STRICT)
def _fill_moments(a, b, mean, inv_mean):  # type: ignore[no-untyped-def]
    wide_vectors()
    n_far = 0
    for i in range(mean.size):
        root_a, root_b = math.sqrt(a[i]), math.sqrt(b[i])
        x, unit = root_a * root_b, root_b / root_a
        k0, x_k1 = _near(x)
        ratio = x_k1 / (x * k0)
        mean[i] = unit * ratio
        inv_mean[i] = ratio / unit
        n_far += not 0.0 < x <= _SWITCH
    if n_far == 0:
        return
    for i in range(mean.size):
        root_a, root_b = math.sqrt(a[i]), math.sqrt(b[i])
        x, unit = root_a * root_b, root_b / root_a
        if not 0.0 < x <= _SWITCH:
            k0, k1 = _far(x)
            ratio = k1 / k0
            mean[i] = unit * ratio
            inv_mean[i] = ratio / unit


@njit(**STRICT)
def _fill_log_k0(a, b, out):  # type: ignore[no-untyped-def]
    wide_vectors()
    n_far = 0
    for i in range(out.size):
        x = math.sqrt(a[i]) * math.sqrt(b[i])
        out[i] = log(_near(x)[0])
        n_far += not 0.0 < x <= _SWITCH
    if n_far == 0:
        return
    for i in range(out.size):
        x = math.sqrt(a[i]) * math.sqrt(b[i])
        if not 0.0 < x <= _SWITCH:
            out[i] = math.log(_far(x)[0]) - 0.5 * math.log(x) - x


def order_zero_moments(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """E[x] and E[1/x] of generalised inverse Gaussian laws of order 0; NaN for invalid parameters.

    ``a`` and ``b`` broadcast.
    """
    a, b = np.broadcast_arrays(a, b)
    mean, inv_mean = np.empty(a.shape), np.empty(a.shape)
    _fill_moments(a.ravel(), b.ravel(), mean.ravel(), inv_mean.ravel())
    return mean, inv_mean


def order_zero_log_k0(a: Floats, b: Floats) -> Floats:
    """Logarithm of K_0(sqrt(a b)), by element."""
    a, b = np.broadcast_arrays(a, b)
    out = np.empty(a.shape)
    _fill_log_k0(a.ravel(), b.ravel(), out.ravel())
    return out
