r"""Evidence of labels whose decision is uncertain, ``log E[p(y | f)]`` over f ~ N(m, v).

Formulas are in `rankfactor.likelihoods.probit` and `rankfactor.likelihoods.hinge`. A kernel takes
the kind of label likelihood as a number.
"""

import math

from numba import njit

from rankfactor.kernels.tails import excess, upper_tail

PROBIT, HINGE = 0, 1
_ROOT_2PI = math.sqrt(2 * math.pi)
_ROOT_HALF = math.sqrt(0.5)
# Phi(-6) is 1e-9: a product above the least one stays in range when it is multiplied by it.
_LOWEST, _LEAST = -6.0, 1e-250


@njit(cache=True, nogil=True)
def log_lower(x):  # type: ignore[no-untyped-def]
    """Log of Phi(x)."""
    if x < 0.0:
        return upper_tail(-x)[1]
    return math.log1p(-0.5 * math.erfc(x * _ROOT_HALF))


@njit(cache=True, nogil=True)
def _log_sum(one, other):  # type: ignore[no-untyped-def]
    """Log of ``exp(one) + exp(other)``."""
    top = max(one, other)
    return top + math.log1p(math.exp(min(one, other) - top))


@njit(cache=True, nogil=True, error_model="numpy")
def log_evidence(kind, signed, m, v):  # type: ignore[no-untyped-def]
    """Log evidence of one label, a signed weight."""
    y = 1.0 if signed > 0.0 else -1.0
    if kind == PROBIT:
        return log_lower(y * m / math.sqrt(1.0 + v))
    return _log_sum(*hinge_sides(y * m, abs(signed), v))


@njit(cache=True, nogil=True, error_model="numpy")
def hinge_sides(nu, c, v):  # type: ignore[no-untyped-def]
    """Logs of A and B: the parts where the hinge is inactive and active."""
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
    density = math.exp(-0.5 * a * a - _log_sum(above, below)) / (s * _ROOT_2PI)
    slope = 2.0 * c * share
    return y * slope, slope * slope - 4.0 * c * c * share + 2.0 * c * density


@njit(cache=True, nogil=True, error_model="numpy")
def scaled_evidence(kind, signed, mean, variance, u):  # type: ignore[no-untyped-def]
    """Sum of the log evidence of labels (n,) at decisions N(sqrt(u) m, u v).

    Probabilities of a probit are multiplied before the logarithm is taken, as many as stay in
    range.
    """
    root, total, product = math.sqrt(u), 0.0, 1.0
    for n in range(len(signed)):
        if kind != PROBIT:
            total += log_evidence(kind, signed[n], root * mean[n], u * variance[n])
            continue
        x = root * mean[n] / math.sqrt(1.0 + u * variance[n])
        x = x if signed[n] > 0.0 else -x
        if x < _LOWEST:
            total += log_lower(x)
            continue
        product *= 0.5 * math.erfc(-x * _ROOT_HALF)
        if product < _LEAST:
            total += math.log(product)
            product = 1.0
    return total + math.log(product)


@njit(cache=True, nogil=True)
def total_evidence(kind, signed, mean, variance):  # type: ignore[no-untyped-def]
    """Sum of the log evidence of labels (n,)."""
    return scaled_evidence(kind, signed, mean, variance, 1.0)


@njit(cache=True, nogil=True)
def log_likelihood(kind, signed, f):  # type: ignore[no-untyped-def]
    """Sum of the log likelihoods of labels (rows, n) at certain decisions; 0: unlabelled."""
    total = 0.0
    for r in range(len(signed)):
        for n in range(signed.shape[1]):
            c, u = abs(signed[r, n]), math.copysign(1.0, signed[r, n]) * f[r, n]
            if c > 0.0:
                total += log_lower(u) if kind == PROBIT else -2.0 * c * max(1.0 - u, 0.0)
    return total
