r"""A move of the Gibbs sampler that scales the rows of features together with their cut points.

A feature whose values can be predicted well is known by the order of its predictors more than by
their size: multiplying its loadings and its cut points by ``sqrt(u)`` changes its likelihood little
over a wide range. Drawn given auxiliary variables, which know the size well, both would move along
that range by small steps. So log u is drawn by slices (`rankfactor.kernels.slices`) from the
likelihood without auxiliary variables, times the prior of the cut points and the shrinkage prior
with the row's own scales moved along (`rankfactor.shrinkage.base`).

Latent values that are part of the state (ordinary ranks) are multiplied as well: their likelihood
N(w*; w, 1) and the Jacobian make the density of u.

A sweep does this for one tile of features, all of them in a small table.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.rng import Stream, fill_uniform, uniform
from rankfactor.kernels.slices import MOST_STEPS, SMALLEST, STEP
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods.base import Tile
from rankfactor.steps.score import ObservedView
from rankfactor.typing import Floats

ENTRIES = 2**16  # of the tile

Density = Callable[[Floats, NDArray[np.int64]], Floats]


def draw_row_scales(item: ObservedView, z: Normal, stream: Stream) -> None:
    """Draw the scale of every row of a tile, in place; nothing where a likelihood has none."""
    likelihood, state = item.view.likelihood, item.state
    n, order = z.mean.shape
    tiles = item.tiles(max(ENTRIES // n, 1))
    where = tiles[int(len(tiles) * uniform(stream.child("tile").word, 0))]
    params = state.params.take(where)
    if not likelihood.has_scale(params):
        return
    rows, everyone = state.rows.mean, slice(0, n)
    w = rows[where] @ item.columns(z, variance=False, kind=np.float64).mean.T
    observed = likelihood.read(item.observed, where, everyone, params)
    tile = Tile(observed, w, np.zeros_like(w), params)
    power, rate, inverse = item.view.shrinkage.stretch(state.scales, rows[:, :order] ** 2, axis=1)
    rate, inverse = rate[where], inverse[where]

    def log_density(t: Floats, some: NDArray[np.int64]) -> Floats:
        u = np.exp(t)
        terms = power * t - rate[some] * u - inverse[some] / u
        return np.asarray(terms + likelihood.scale_terms(tile, np.sqrt(u), some))

    u = np.ones(len(rows))
    u[where] = np.exp(draw_slices(log_density, len(w), stream, where.start))
    factor = np.sqrt(u)
    rows[:, :order] *= factor[:, None]
    state.params.put(where, likelihood.scaled(params, factor[where]))
    state.scales = item.view.shrinkage.stretched(state.scales, u, axis=1)


def draw_slices(log_density: Density, n: int, stream: Stream, first: int = 0) -> Floats:
    """Draws of n variables from 0 on, shape (n,).

    Parameters
    ----------
    log_density : callable
        Given values (m,) and the numbers (m,) of the variables that they are of, their log
        densities (m,).
    n : int
    stream : Stream
        Variable i has the index ``first + i`` in it.
    first : int
    """
    rounds = 0

    def numbers() -> Floats:
        nonlocal rounds
        rounds += 1
        values = np.empty(n)
        fill_uniform(stream.word, first, rounds, values)
        return values

    every = np.arange(n)
    level = log_density(np.zeros(n), every) + np.log(numbers())
    low = -STEP * numbers()
    high = low + STEP
    left = np.floor(MOST_STEPS * numbers())
    for end, by, room in ((low, -STEP, left), (high, STEP, MOST_STEPS - 1 - left)):
        going = every[room > 0]
        while len(going):
            going = going[log_density(end[going], going) > level[going]]
            end[going] += by
            room[going] -= 1
            going = going[room[going] > 0]
    found, going = np.zeros(n), every
    while len(going):
        t = low[going] + (high - low)[going] * numbers()[going]
        inside = log_density(t, going) > level[going]
        found[going[inside]] = t[inside]
        out, t = going[~inside], t[~inside]
        low[out], high[out] = np.where(t < 0, t, low[out]), np.where(t < 0, high[out], t)
        going = out[(high - low)[out] > SMALLEST]
    return found
