"""Logarithm without a branch, against NumPy."""

import numpy as np
from numba import njit
from numpy.testing import assert_allclose

from rankfactor.kernels import logs


@njit
def logarithms(x):
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = logs.log(x[i])
    return out


def test_agrees_with_numpy():
    rng = np.random.default_rng(0)
    x = np.concatenate([10.0 ** rng.uniform(-300, 300, 5000), rng.uniform(0.5, 2.0, 5000), [1.0]])
    assert_allclose(logarithms(x), np.log(x), rtol=4e-16, atol=0)
