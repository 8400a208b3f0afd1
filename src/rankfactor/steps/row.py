"""Global step: rows, likelihood parameters and scales of a view given the factor scores.

Statistics are additive over blocks of samples; features are independent given the statistics, so
the step goes tile by tile. Within a tile: the likelihood's own parameters, the rows, the
parameters again (they cost nothing once the statistics are there); then the scales of the whole
view.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfactor.kernels.packed import Floats, diagonal_positions
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns, Rows, multiply
from rankfactor.likelihoods.base import Statistics, Tile
from rankfactor.steps.score import BLOCK, TILE, ObservedView, tile_chance
from rankfactor.steps.workers import Workers, slices


def designs(
    item: ObservedView, z: Normal, block: int = BLOCK, variance: bool = True
) -> list[AnyColumns]:
    """What the rows multiply, block of samples by block."""
    return [item.design(z.take(samples), variance) for samples in slices(len(z.mean), block)]


def row_statistics(
    item: ObservedView,
    columns: Sequence[AnyColumns],
    tile: slice,
    block: int,
    stream: Stream | None = None,
) -> Statistics:
    """Sums over all samples for the rows of a tile, in double precision."""
    params, likelihood = item.state.params.take(tile), item.view.likelihood
    variance = likelihood.needs_variance and stream is None
    rows = Rows.of(item.state.rows.take(tile), likelihood.dtype, variance)
    total: Statistics = {}
    for samples, design in zip(slices(item.observed.shape[1], block), columns, strict=True):
        w, var_w = multiply(rows, design, variance)
        observed = likelihood.read(item.observed, tile, samples, params)
        chance = tile_chance(stream, 0, tile, samples)
        part = likelihood.statistics(Tile(observed, w, var_w, params, chance), design)
        for key, value in part.items():
            total[key] = total[key] + value if key in total else value.astype(np.float64)
    return total


def update_view(
    item: ObservedView,
    z: Normal,
    pool: Workers,
    block: int = BLOCK,
    stream: Stream | None = None,
    columns: Sequence[AnyColumns] | None = None,
) -> float:
    """Update a view in place: conditionals or, with a stream, draws of them.

    ``columns`` are the scores laid out (`designs`), for those who come again with the same.

    Returns
    -------
    float
        E[log likelihood] at the state before the update.
    """
    view, state = item.view, item.state
    likelihood = view.likelihood
    prior = row_prior(item)
    if columns is None:
        columns = designs(item, z, block, variance=stream is None)
    state.params = likelihood.prepare(item.observed, state.rows, state.params)

    def update_tile(tile: slice) -> float:
        if likelihood.has_refresh:
            everyone = slice(0, len(z.mean))
            w = state.rows.mean[tile] @ np.concatenate([part.mean for part in columns]).T
            part, chance = state.params.take(tile), tile_chance(stream, 0, tile, everyone)
            observed = item.observed.tile(tile, everyone)
            whole = Tile(observed, w, np.zeros_like(w), part, chance)
            state.params.put(tile, likelihood.refresh(item.observed, tile, whole))
        statistics = row_statistics(item, columns, tile, block, stream)
        rows, params = state.rows.take(tile), state.params.take(tile)
        bound = likelihood.bound(statistics, rows, params)
        if stream is None:
            params = likelihood.update(statistics, rows, params)
        else:
            source = stream.child("params")
            params = likelihood.draw_params(statistics, rows, params, source, tile.start)
        precision, shift = likelihood.system(statistics, params)
        precision = precision.copy()
        precision[:, diagonal_positions(rows.order)] += prior[tile]
        if stream is None:
            rows = Normal.from_natural(precision, shift)
            params = likelihood.update(statistics, rows, params)
        else:
            rows = Normal.draw_natural(precision, shift, stream.child("rows"), tile.start)
        state.rows.put(tile, rows)
        state.params.put(tile, params)
        return bound

    bound = float(sum(pool.map(update_tile, slices(item.observed.shape[0], TILE))))
    n_factors = z.order
    scale_stream = None if stream is None else stream.child("scales")
    squares = state.rows.squares[:, :n_factors]
    state.scales = view.shrinkage.update(state.scales, squares, scale_stream)
    return bound


def row_prior(item: ObservedView) -> Floats:
    """Prior precision of every entry of the rows, shape (d, K) or (d, K + 1)."""
    precision = item.view.shrinkage.precision(item.state.scales)
    if not item.view.has_intercept:
        return precision
    return np.column_stack([precision, np.full(len(precision), item.view.intercept_precision)])


def view_bound(item: ObservedView, n_factors: int) -> float:
    """E[log p] - E[log q] of a view's rows, parameters and scales."""
    view, state = item.view, item.state
    squares = state.rows.squares
    total = (
        view.shrinkage.bound(state.scales, squares[:, :n_factors])
        + state.rows.entropy()
        + view.likelihood.params_bound(state.params)
    )
    if view.has_intercept:
        p = view.intercept_precision
        total += 0.5 * float(np.sum(np.log(p / (2 * np.pi)) - p * squares[:, n_factors]))
    return total
