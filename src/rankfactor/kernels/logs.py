"""Natural logarithm without a call or a branch, so that loops over it become vector instructions.

From Sun's fdlibm (e_log): with x = 2^e (1 + f), 1 + f from sqrt(1/2) to sqrt(2), g = f / (2 + f),

    log x = e log 2 + log(1 + f),    log(1 + f) = f - f^2/2 + g (f^2/2 + R(g^2)),

the polynomial R being of relative error 2^-58; the result is off by less than a unit in its last
place.
"""

from typing import Any

import numpy as np
from numba import njit

# Stated although it is the default: numba passes the flags of a caller to functions that state
# none, and then caches the result.
STRICT: dict[str, Any] = {"cache": True, "nogil": True, "error_model": "numpy", "fastmath": False}
# For functions called only by compiled code: with a separate cache numba would emit them twice.
INLINE: dict[str, Any] = {**STRICT, "cache": False, "forceinline": True}


def coefficients(text: str, kind: Any = float) -> tuple[Any, ...]:
    """The numbers of a table, for compiled code."""
    return tuple(kind(number) for number in text.split())


# R over g^2, highest power first, and log 2 in two parts.
_LOG_SERIES = coefficients("""
    1.479819860511658591e-01 1.531383769920937332e-01 1.818357216161805012e-01
    2.222219843214978396e-01 2.857142874366239149e-01 3.999999999940941908e-01
    6.666666666666735130e-01
    """)
LOG_2, LOG_2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Bits of a float64: those of sqrt(1/2), what takes them to those of 1, the mantissa.
_ROOT, _RAISE = np.int64(0x3FE6A09E667F3BCD), np.int64(0x00095F619980C433)
_MANTISSA = np.int64(0x000FFFFFFFFFFFFF)


@njit(**INLINE)
def horner(coefficients, x):  # type: ignore[no-untyped-def]
    """Polynomial, coefficients from the highest power down."""
    total = coefficients[0]
    for c in coefficients[1:]:
        total = total * x + c
    return total


@njit(**INLINE)
def log_of_parts(e, f):  # type: ignore[no-untyped-def]
    """Logarithm of 2^e (1 + f), 1 + f from sqrt(1/2) to sqrt(2)."""
    g = f / (2.0 + f)
    z, half = g * g, 0.5 * (f * f)
    tail = z * horner(_LOG_SERIES, z)
    return (f - (half - (g * (half + tail) + e * LOG_2_REST))) + e * LOG_2


@njit(**INLINE)
def parts(x):  # type: ignore[no-untyped-def]
    """E and f of a positive normal number in float64; undefined for others."""
    raised = np.float64(x).view(np.int64) + _RAISE
    e = np.float64(np.int32(raised >> np.int64(52)) - np.int32(1023))
    return e, np.int64((raised & _MANTISSA) + _ROOT).view(np.float64) - 1.0


@njit(**INLINE)
def log(x):  # type: ignore[no-untyped-def]
    """Logarithm of a positive normal number in float64; undefined for others."""
    e, f = parts(x)
    return log_of_parts(e, f)
