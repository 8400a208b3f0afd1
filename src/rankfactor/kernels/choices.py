"""One of several, with given probabilities."""

from __future__ import annotations

import numpy as np
from numba import njit

from rankfactor.kernels.rng import derive, uniform


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
