"""The max-margin rank likelihood given w: all 1/lam, then the cut points, then the sites.

The formulas are those of `rankfactor.kernels.sites`. Here all samples of a feature are available,
so that 1/lam, evaluated (or drawn) once at the old cut points, is used for the update of the cut
points

    b_j ~ N(m, 1/P),    P = cut_precision + sum_n 1/lam_nj,
    P m = sum_n ( (w_n - s_nj eps) / lam_nj - s_nj ),

and then the site of every entry at the new ones. The 1/lam of one feature stay in a scratch array
that fits the processor's cache, and are never written out.
"""

import numpy as np
from numba import njit

from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.noise import fill_noise_rows, inverse_gaussian_from
from rankfactor.kernels.rng import derive
from rankfactor.kernels.sites import FAST, TINY

# Sums are in working precision within blocks of this many samples, in double precision over blocks.
PART = 512
# Samples are padded to whole vectors, so that no loop has a scalar remainder.
VECTOR = 16
NOISE = 4096  # random numbers made at once, or those of one cut: few enough to stay in the cache


@njit(cache=True, nogil=True, error_model="numpy", fastmath=FAST)
def margin_rank_augment(  # type: ignore[no-untyped-def]
    codes, w, var_w, b, var_b, n_cuts, eps, cut_precision, noise=None, key=None, row=0
):
    """Sites of a tile of features, for all samples; they overwrite ``w`` and ``var_w``.

    With a ``key`` 1/lam and, by the standard normals ``noise`` (t, J), the cut points are drawn.

    Returns
    -------
    tau, rho : array, shape (t, N)
    mean, variance, weight : array, shape (t, J)
        New cut points, zero where there is none, and sum_n 1/lam.
    count : int array, shape (t,)
        Samples with a value.
    bound : array, shape (t,)
        At the old cut points.
    """
    t, n = w.shape
    number = w.dtype.type
    rho, tau = w, (var_w if key is None else np.empty((t, n), w.dtype))
    mean, weight, variance = np.zeros(b.shape), np.zeros(b.shape), np.zeros(b.shape)
    variance[:, :] = 1.0 / cut_precision
    count, bound = np.zeros(t, np.int64), np.zeros(t)
    tally = np.zeros(MISSING + 1, np.int64)
    # Buffers of one feature, padded to whole vectors with missing samples.
    width = -(-n // VECTOR) * VECTOR
    x, v = np.zeros(width, w.dtype), np.zeros(width, w.dtype)
    v[:] = 1
    level, seen = np.zeros(width, w.dtype), np.zeros(width, w.dtype)
    total_tau, total_rho = np.zeros(width, w.dtype), np.zeros(width, w.dtype)
    inv_lam = np.empty((b.shape[1], width), w.dtype)
    # Cuts whose random numbers are made at once.
    together = 0 if key is None else max(1, min(NOISE // max(width, 1), b.shape[1]))
    y = np.empty((together, width), np.float32)
    chance = np.empty(y.shape, np.float32)
    for i in range(t):
        # Loops instead of slices and np.bincount, which take three times as long to compile.
        tally[:] = 0
        for m in range(n):
            x[m], level[m], seen[m] = w[i, m], codes[i, m], codes[i, m] != MISSING
            tally[codes[i, m]] += 1
        if key is None:
            for m in range(n):
                v[m] = var_w[i, m]
        present = n - tally[MISSING]
        count[i] = present
        over = present  # samples above the cut; initially all
        total_tau[:] = 0
        for j in range(n_cuts[i]):
            spread = var_b[i, j] + number(TINY)
            above, below = b[i, j] + eps[i], b[i, j] - eps[i]
            place = number(j)
            if key is not None and j % together == 0:
                some = min(together, n_cuts[i] - j)
                fill_noise_rows(derive(key, row + i), j, y[:some], chance[:some])
            pull = 0.0  # sum_n (w - s eps) / lam
            for start in range(0, width, PART):
                total, reach, loss = number(0), number(0), number(0)
                part = slice(start, min(start + PART, width))
                at, near, found, tau_part = x[part], v[part], inv_lam[j, part], total_tau[part]
                code, here = level[part], seen[part]
                if key is not None:
                    a, c = y[j % together, part], chance[j % together, part]
                # Few arrays, unit stride and selects instead of branches: a fit spends most of its
                # time in this loop, which must be vectorised.
                for m in range(len(at)):
                    up = code[m] > place
                    r = at[m] - (above if up else below)
                    if key is not None:
                        q = here[m] * number(inverse_gaussian_from(abs(r), a[m], c[m]))
                        root = here[m] * abs(r)
                    else:
                        square = r * r + near[m] + spread
                        q = here[m] / np.sqrt(square)
                        root = q * square
                    found[m] = q
                    tau_part[m] += q
                    total += q
                    reach += q * r
                    loss += root - (here[m] * r if up else -here[m] * r)
                weight[i, j] += total
                pull += reach + b[i, j] * total  # w - s eps = r + b
                bound[i] -= loss
            over -= tally[j]
            variance[i, j] = 1.0 / (cut_precision + weight[i, j])
            mean[i, j] = variance[i, j] * (pull - (2 * over - present))
            if key is not None:
                mean[i, j] += np.sqrt(variance[i, j]) * noise[i, j]
                variance[i, j] = 0.0
        for m in range(width):
            # sum_j s_j = 2 x code - J
            total_rho[m] = seen[m] * (number(2) * level[m] - number(n_cuts[i]))
        for j in range(n_cuts[i]):
            above, below = number(mean[i, j]) + eps[i], number(mean[i, j]) - eps[i]
            place, found = number(j), inv_lam[j]
            for m in range(width):
                total_rho[m] += found[m] * (above if level[m] > place else below)
        for m in range(n):
            rho[i, m], tau[i, m] = total_rho[m], total_tau[m]
    return tau, rho, mean, variance, weight, count, bound
