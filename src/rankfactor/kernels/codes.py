"""Values to one-byte codes: ``code_in = #{j : c_ij < x_in}``, 255 where the value is missing.

A value is above cut j exactly when its code exceeds j. The cuts are observed values, so a strictly
increasing transform of a feature (applied to the cuts too) changes no code.
"""

import numpy as np
from numba import njit

MISSING = 255
MAX_CUTS = 254
_TILE = 64  # columns read together: a row-major table is walked without missing the cache


@njit(cache=True, nogil=True)
def code_values(values, columns, cuts, n_cuts, out):  # type: ignore[no-untyped-def]
    """Write the codes of some columns of a table.

    Parameters
    ----------
    values : array, shape (N, D)
        NaN marks a missing value.
    columns : int array, shape (d,)
        The column of ``values`` that holds each coded feature.
    cuts : array, shape (d, J)
        Increasing within a row; only the first ``n_cuts[i]`` count.
    n_cuts : int array, shape (d,)
    out : uint8 array, shape (d, N)
    """
    n_samples = values.shape[0]
    for first in range(0, len(columns), _TILE):
        last = min(first + _TILE, len(columns))
        for n in range(n_samples):
            for i in range(first, last):
                x = values[n, columns[i]]
                if np.isnan(x):
                    out[i, n] = MISSING
                else:
                    low, high = 0, n_cuts[i]
                    while low < high:
                        middle = (low + high) // 2
                        if cuts[i, middle] < x:
                            low = middle + 1
                        else:
                            high = middle
                    out[i, n] = low


@njit(cache=True, nogil=True)
def level_counts(codes, n_levels):  # type: ignore[no-untyped-def]
    """How often each code occurs in each row, shape (d, n_levels); missing values are left out."""
    counts = np.zeros((codes.shape[0], n_levels), np.int64)
    for i in range(codes.shape[0]):
        for n in range(codes.shape[1]):
            if codes[i, n] != MISSING:
                counts[i, codes[i, n]] += 1
    return counts


@njit(cache=True, nogil=True)
def look_up(codes, table):  # type: ignore[no-untyped-def]
    """``table[i, codes[i, n]]``, zero where the value is missing, shape (d, N)."""
    out = np.empty(codes.shape)
    for i in range(codes.shape[0]):
        for n in range(codes.shape[1]):
            out[i, n] = 0.0 if codes[i, n] == MISSING else table[i, codes[i, n]]
    return out
