"""Distinct values of the columns of a table, collected row by row while they are few.

For every column a sorted list of at most L values is kept. A value is looked up by bisection and
inserted if it is new; a column with more than L values is abandoned at once, so that only columns
with few values cost more than a comparison. Integers from 0 to 255 that occurred before are
recognised by a flag, without bisection. Missing values (NaN) are counted separately.
"""

from __future__ import annotations

import numpy as np
from numba import njit

GIVEN_UP = -1  # instead of the number of values
FLAGS = 256
_ROWS = 32  # of a block, whose cells and whose list of values stay in the fastest cache


@njit(cache=True, nogil=True)
def _note_value(value, levels, count, flags):  # type: ignore[no-untyped-def]
    """Enter a value into the sorted list of a column; return its new length, or GIVEN_UP."""
    if 0.0 <= value < FLAGS:
        whole = np.int64(value)
        if value == whole:
            if flags[whole]:
                return count
            flags[whole] = True
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        if levels[middle] < value:
            low = middle + 1
        else:
            high = middle
    if low < count and levels[low] == value:
        return count
    if count == levels.shape[0]:
        return GIVEN_UP
    for place in range(count, low, -1):
        levels[place] = levels[place - 1]
    levels[low] = value
    return count + 1


@njit(cache=True, nogil=True)
def note_dense(values, levels, counts, flags, missing):  # type: ignore[no-untyped-def]
    """Enter rows, (n, d), into the lists of all columns.

    ``levels`` is (d, L), ``counts`` and ``missing`` (d,), ``flags`` (d, FLAGS), at first False.
    """
    for first in range(0, values.shape[0], _ROWS):
        last = min(first + _ROWS, values.shape[0])
        for i in range(values.shape[1]):
            for n in range(first, last):
                value = np.float64(values[n, i])
                if np.isnan(value):
                    missing[i] += 1
                elif counts[i] != GIVEN_UP:
                    counts[i] = _note_value(value, levels[i], counts[i], flags[i])


@njit(cache=True, nogil=True)
def note_sparse(data, indices, n_rows, levels, counts, flags, missing, stored):  # type: ignore[no-untyped-def]
    """Enter rows of a CSR array without doubles; ``stored`` (d,) is a workspace."""
    stored[:] = 0
    for place in range(data.shape[0]):
        value, i = np.float64(data[place]), indices[place]
        stored[i] += 1
        if np.isnan(value):
            missing[i] += 1
        elif counts[i] != GIVEN_UP:
            counts[i] = _note_value(value, levels[i], counts[i], flags[i])
    for i in range(stored.shape[0]):
        if stored[i] < n_rows and counts[i] != GIVEN_UP:
            counts[i] = _note_value(0.0, levels[i], counts[i], flags[i])
