"""Rows of lanes as vectors of the processor: the innermost step of many systems in parallel.

An array of lanes has one row for every number of a small system and one column for every system, as
many as go into ``WIDTH`` bytes. Cholesky factors, their inverses and the products of these need

    out[c] = (out[c] - sum_t left[a + t] * right[b + t]) * scale[s]

and nothing else, on whole rows: `reduce_row`. In addition, `wide_vectors` tells the compiler where
the widest vectors of a processor pay off. Both are written in the compiler's own language
(`rankfactor.kernels.llvm_lanes`), since a loop over lanes reads and writes ``out[c]`` in every
term. If numba no longer allows that, or ``RANKFACTOR_PLAIN_LANES`` is set, plain versions are used:
the same numbers, more slowly. When you set that variable, also set ``NUMBA_CACHE_DIR``: numba's
cache of compiled kernels does not depend on it.
"""

import os
from typing import Any

import numba
from numba import njit

# Bytes of a row of lanes: half or twice as many are slower by a quarter to a half.
WIDTH = 128
# The fast versions are known to work here; elsewhere they are tested first, which takes 0.3 s.
KNOWN_NUMBA = "0.68."


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
def plain_reduce_row(out, c, left, a, right, b, count, scale, s):  # type: ignore[no-untyped-def]
    """``out[c] = (out[c] - (left[a : a + count] * right[b : b + count]).sum(0)) * scale[s]``.

    All arrays are of one type. Terms are subtracted one after the other; a product and the
    difference it goes into may be rounded once. Rows are not checked.
    """
    target, factor = out[c], scale[s]
    for t in range(count):
        x, y = left[a + t], right[b + t]
        for lane in range(len(target)):
            target[lane] -= x[lane] * y[lane]
    for lane in range(len(target)):
        target[lane] *= factor[lane]


@njit(cache=True, nogil=True)
def plain_wide_vectors():  # type: ignore[no-untyped-def]
    """Leave the width of vectors to the compiler."""


def _chosen() -> tuple[Any, Any]:
    """`reduce_row` and `wide_vectors`: those that can be built, compile and compute."""
    if not os.environ.get("RANKFACTOR_PLAIN_LANES"):
        try:
            from rankfactor.kernels import llvm_lanes

            if numba.__version__.startswith(KNOWN_NUMBA) or llvm_lanes.probe():
                return llvm_lanes.reduce_row, llvm_lanes.wide_vectors
        except Exception:
            pass
    return plain_reduce_row, plain_wide_vectors


reduce_row, wide_vectors = _chosen()
