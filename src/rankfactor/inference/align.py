"""Matching factors: a model is the same in any order of its factors and with any of them negated.

Loadings are matched to a reference by the order and the signs that maximise the sum of absolute
cosines between columns (a linear assignment), so that draws and chains can be compared.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from rankfactor.kernels.packed import Floats


def match_factors(loadings: Floats, reference: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Order (K,) and signs (K,) such that ``sign * loadings[:, order]`` is like ``reference``."""
    product = reference.T @ loadings  # (K, K): reference factor by factor
    tiny = np.finfo(float).tiny
    scale = np.sqrt((reference**2).sum(axis=0)[:, None] * (loadings**2).sum(axis=0))
    cosine = product / np.maximum(scale, tiny)
    _, order = linear_sum_assignment(-np.abs(cosine))
    sign = np.where(product[np.arange(len(order)), order] < 0, -1.0, 1.0)
    return np.asarray(order, np.int64), sign
