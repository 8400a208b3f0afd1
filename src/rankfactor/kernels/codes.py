"""Values to one-byte codes: ``code_in = #{j : c_ij < x_in}``, 255 where the value is missing.

A value is above cut j exactly when its code exceeds j. The cuts are observed values, so a strictly
increasing transform of a feature (applied to the cuts too) changes no code.
"""

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from rankfactor.typing import Integers

MISSING = 255
MAX_CUTS = 254
_TILE = 64  # columns read together: a row-major table is walked without missing the cache


@njit(nogil=True, forceinline=True)  # a call costs 50 % more
def _code(x, cuts, n_cuts, i):  # type: ignore[no-untyped-def]
    """Code of x as feature i."""
    if np.isnan(x):
        return MISSING
    low, high = 0, n_cuts[i]
    while low < high:
        middle = (low + high) // 2
        if cuts[i, middle] < x:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True, nogil=True)
def code_values(values, columns, cuts, n_cuts, out):  # type: ignore[no-untyped-def]
    """Write the codes of some columns (d,) of a table (N, D) to ``out`` (d, N).

    ``cuts`` (d, J) increase within a row; only the first ``n_cuts[i]`` are used.
    """
    n_samples = values.shape[0]
    for first in range(0, len(columns), _TILE):
        last = min(first + _TILE, len(columns))
        for n in range(n_samples):
            for i in range(first, last):
                out[i, n] = _code(values[n, columns[i]], cuts, n_cuts, i)


@njit(cache=True, nogil=True)
def code_sparse(data, indices, indptr, columns, cuts, n_cuts, out):  # type: ignore[no-untyped-def]
    """`code_values` of a table in SciPy's CSC format, no entry stored twice."""
    for i in range(len(columns)):
        out[i, :] = _code(0.0, cuts, n_cuts, i)
        for place in range(indptr[columns[i]], indptr[columns[i] + 1]):
            out[i, indices[place]] = _code(data[place], cuts, n_cuts, i)


def is_known(tile: NDArray[Any]) -> NDArray[np.bool_]:
    """Which entries of a tile, codes or values, are not missing."""
    return np.asarray(tile != MISSING if tile.dtype == np.uint8 else ~np.isnan(tile))


def level_counts(codes: NDArray[np.uint8], n_levels: int) -> Integers:
    """How often each code occurs in each row, shape (d, n_levels); missing values are left out."""
    counts = [np.bincount(row[row != MISSING], minlength=n_levels) for row in codes]
    return np.array(counts, np.int64).reshape(-1, n_levels)


@njit(cache=True, nogil=True)
def look_up(codes, table):  # type: ignore[no-untyped-def]
    """``table[i, codes[i, n]]``, zero where the value is missing, shape (d, N)."""
    out = np.empty(codes.shape)
    for i in range(codes.shape[0]):
        for n in range(codes.shape[1]):
            out[i, n] = 0.0 if codes[i, n] == MISSING else table[i, codes[i, n]]
    return out
