"""Noise precisions of Gaussian features, drawn with their sites in one pass over a tile."""

import math

import numpy as np
from numba import njit

from rankfactor.kernels.rng import derive
from rankfactor.kernels.samplers import gamma

_LOG_2PI = math.log(2 * math.pi)


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def draw_noise(x, w, precision, shape, rate, key, first):  # type: ignore[no-untyped-def]
    """Draws of t_i ~ Ga(shape + N_i/2, rate + sum_n (x_in - w_in)^2 / 2), and the sites t_i, t_i x.

    Values (rows, samples) are NaN where missing. ``precision`` (rows,) are the present t_i; row i
    has the index ``first + i`` in the stream.

    Returns
    -------
    tau, rho : array, shape (rows, samples)
    law : array, shape (2, rows)
        Shapes and rates.
    drawn : array, shape (rows,)
    log_likelihood : float
        At the present precisions.
    """
    n_rows, n = x.shape
    tau, rho = np.empty((n_rows, n)), np.empty((n_rows, n))
    law, drawn, total = np.empty((2, n_rows)), np.empty(n_rows), 0.0
    for i in range(n_rows):
        values, at, squares, count = x[i], w[i], 0.0, 0
        for m in range(n):
            seen = values[m] == values[m]
            miss = values[m] - at[m] if seen else 0.0
            squares += miss * miss
            count += 1 if seen else 0
        total += 0.5 * (count * (math.log(precision[i]) - _LOG_2PI) - precision[i] * squares)
        law[0, i], law[1, i] = shape + 0.5 * count, rate + 0.5 * squares
        t = gamma(law[0, i], law[1, i], derive(key, first + i))
        drawn[i] = t
        for m in range(n):
            seen = values[m] == values[m]
            tau[i, m] = t if seen else 0.0
            rho[i, m] = t * values[m] if seen else 0.0
    return tau, rho, law, drawn, total
