"""Scales of the horseshoe: draws given the rows, and scales of stretched rows.

`rankfactor.shrinkage.tpbn` has the laws. Arrays of entries are of shape (rows, K); ``phi`` is of
shape (1, K) or (rows, 1), ``top`` of shape (1, 1) or (rows, 1).
"""

import numpy as np
from numba import njit

from rankfactor.kernels.noise import fill_exponential
from rankfactor.kernels.rng import derive
from rankfactor.kernels.samplers import draw_gamma, horseshoe_precision, inside


@njit(cache=True, nogil=True, error_model="numpy")
def draw_horseshoe_scales(squares, phi, top, floor, key):  # type: ignore[no-untyped-def]
    """Draws of xi, 1/xi, eta, phi and top given the squares of the entries, none below ``floor``.

    Entry i, row by row, has the index i in streams of its own.
    """
    n, order = squares.shape
    by_row = phi.shape[0] > 1 or phi.shape[1] < order
    inv_xi, xi, eta = np.empty((n, order)), np.empty((n, order)), np.empty((n, order))
    fill_exponential(derive(key, 0), 0, eta.reshape(-1))
    shared, local = np.zeros(phi.shape), derive(key, 1)
    for i in range(n):
        for k in range(order):
            at = (i, 0) if by_row else (0, k)
            x = 0.5 * max(squares[i, k], floor) / phi[at]
            t = horseshoe_precision(x, derive(local, i * order + k)) / phi[at]
            inv_xi[i, k], xi[i, k] = t, 1.0 / t
            eta[i, k] = inside(eta[i, k] / (xi[i, k] + phi[at]))
            shared[at] += eta[i, k]
    shape = np.full(phi.size, 0.5 + 0.5 * (order if by_row else n))
    new = draw_gamma(shape, (top + shared).reshape(-1), derive(key, 2), 0).reshape(phi.shape)
    rate = np.empty(top.size)
    for i in range(top.size):
        total = 0.0
        for k in range(phi.shape[1]):
            total += new[i, k]
        rate[i] = 1.0 + total
    shape = np.full(top.size, 0.5 + 0.5 * phi.shape[1])
    above = draw_gamma(shape, rate, derive(key, 3), 0).reshape(top.shape)
    return xi, inv_xi, eta, new, above


@njit(cache=True, nogil=True, error_model="numpy")
def stretched_scales(xi, inv_xi, eta, u, axis):  # type: ignore[no-untyped-def]
    """xi, 1/xi and eta of entries whose column (axis 0) or row (axis 1) is stretched by ``u``."""
    n, order = xi.shape
    parts = np.empty((n, order)), np.empty((n, order)), np.empty((n, order))
    for i in range(n):
        for k in range(order):
            by = u[k] if axis == 0 else u[i]
            parts[0][i, k] = xi[i, k] * by
            parts[1][i, k] = inv_xi[i, k] / by
            parts[2][i, k] = eta[i, k] / by
    return parts
