"""Natural logarithm without a call or a branch, so that loops over it become vector instructions.

From Sun's fdlibm (e_log): with x = 2^e (1 + f), 1 + f from sqrt(1/2) to sqrt(2), g = f / (2 + f),

    log x = e log 2 + log(1 + f),    log(1 + f) = f - f^2/2 + g (f^2/2 + R(g^2)),

the polynomial R being of relative error 2^-58; the result is off by less than a unit in its last
place.
"""

from typing import Any

import numpy as np
from numba import njit

_INLINE: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "forceinline": True,
}

# R over g^2, highest power first, and log 2 in two parts.
LOG_SERIES = (
    1.479819860511658591e-01,
    1.531383769920937332e-01,
    1.818357216161805012e-01,
    2.222219843214978396e-01,
    2.857142874366239149e-01,
    3.999999999940941908e-01,
    6.666666666666735130e-01,
)
LOG_2, LOG_2_REST = 6.93147180369123816490e-01, 1.90821492927058770002e-10
# Bits of a float64: those of sqrt(1/2), what takes them to those of 1, the mantissa.
ROOT, RAISE = np.int64(0x3FE6A09E667F3BCD), np.int64(0x00095F619980C433)
MANTISSA = np.int64(0x000FFFFFFFFFFFFF)


@njit(**_INLINE)
def log(x):  # type: ignore[no-untyped-def]
    """Logarithm of a positive normal number in float64; what it is of others is of no use."""
    raised = np.float64(x).view(np.int64) + RAISE
    e = np.float64(np.int32(raised >> np.int64(52)) - np.int32(1023))
    f = np.int64((raised & MANTISSA) + ROOT).view(np.float64) - 1.0
    g = f / (2.0 + f)
    z, half = g * g, 0.5 * (f * f)
    series = LOG_SERIES[0]
    for c in LOG_SERIES[1:]:
        series = series * z + c
    return (f - (half - (g * (half + z * series) + e * LOG_2_REST))) + e * LOG_2
