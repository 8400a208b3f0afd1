r"""Evidence of labels whose decision is uncertain, ``log E[p(y | f)]`` over f ~ N(m, v).

Formulas are in `rankfactor.likelihoods.probit` and `rankfactor.likelihoods.hinge`. A kernel takes
the kind of label likelihood as a number.
"""

import math

from numba import njit

from rankfactor.kernels.ordinal import excess, log_upper

PROBIT, HINGE = 0, 1
_ROOT_2PI = math.sqrt(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)


@njit(cache=True, nogil=True)
def log_lower(x):  # type: ignore[no-untyped-def]
    """Log of Phi(x)."""
    if x < 0.0:
        return log_upper(-x, excess(-x))
    return math.log1p(-0.5 * math.erfc(x * _ROOT_HALF))


@njit(cache=True, nogil=True, error_model="numpy")
def log_evidence(kind, signed, m, v):  # type: ignore[no-untyped-def]
    """Log evidence of one label, a signed weight."""
    y = 1.0 if signed > 0.0 else -1.0
    if kind == PROBIT:
        return log_lower(y * m / math.sqrt(1.0 + v))
    above, below = hinge_sides(y * m, abs(signed), v)
    top = max(above, below)
    return top + math.log1p(math.exp(min(above, below) - top))


@njit(cache=True, nogil=True, error_model="numpy")
def hinge_sides(nu, c, v):  # type: ignore[no-untyped-def]
    """Logs of A and B: where the hinge is quiet, and where it is not."""
    s = math.sqrt(v)
    below = 2.0 * c * (nu - 1.0 + c * v) + log_lower((1.0 - nu - 2.0 * c * v) / s)
    return log_lower((nu - 1.0) / s), below


@njit(cache=True, nogil=True, error_model="numpy")
def evidence_slopes(kind, signed, m, v):  # type: ignore[no-untyped-def]
    """First and minus second derivative of a label's log evidence in m."""
    y, c = (1.0 if signed > 0.0 else -1.0), abs(signed)
    if kind == PROBIT:
        root = math.sqrt(1.0 + v)
        beyond = excess(-y * m / root)
        ratio = beyond - y * m / root  # phi / Phi
        return y * ratio / root, ratio * beyond / (1.0 + v)
    above, below = hinge_sides(y * m, c, v)
    share = 1.0 / (1.0 + math.exp(min(above - below, 700.0)))
    a, s = (y * m - 1.0) / math.sqrt(v), math.sqrt(v)
    density = math.exp(-0.5 * a * a - log_evidence(kind, signed, m, v)) / (s * _ROOT_2PI)
    slope = 2.0 * c * share
    return y * slope, slope * slope - 4.0 * c * c * share + 2.0 * c * density


@njit(cache=True, nogil=True)
def total_evidence(kind, signed, mean, variance):  # type: ignore[no-untyped-def]
    """Sum of the log evidence of labels (n,)."""
    total = 0.0
    for n in range(len(signed)):
        total += log_evidence(kind, signed[n], mean[n], variance[n])
    return total
