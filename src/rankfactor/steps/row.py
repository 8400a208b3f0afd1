"""Row step: rows, likelihood parameters and scales of a view given the factor scores.

Statistics are additive over blocks of samples; features are independent given the statistics, so
the step proceeds tile by tile. Within a tile: the likelihood's own parameters, the rows, the
parameters again (cheap once the statistics are known); then the scales of the whole view. The Gibbs
sampler draws the scales at the end of a sweep, after its moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankfactor.kernels.packed import diagonal_positions
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns, Rows
from rankfactor.likelihoods.base import Statistics, Tile
from rankfactor.steps.score import BLOCK, ObservedView, tile_chance, tile_length
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats


def laid_out_scores(
    item: ObservedView, z: Normal, block: int = BLOCK, variance: bool = True
) -> list[AnyColumns]:
    """Scores laid out for products with rows, by blocks of samples."""
    return [item.columns(z.take(samples), variance) for samples in slices(len(z.mean), block)]


def row_statistics(
    item: ObservedView,
    columns: Sequence[AnyColumns],
    tile: slice,
    block: int,
    stream: Stream | None = None,
) -> Statistics:
    """Sums over all samples for the rows of a tile, in double precision."""
    likelihood, variance = item.view.likelihood, stream is None
    rows = Rows.of(
        item.state.rows.take(tile), likelihood.dtype, variance and likelihood.needs_variance
    )
    total: Statistics = {}
    for samples, some in zip(slices(item.observed.shape[1], block), columns, strict=True):
        chance = tile_chance(stream, 0, tile, samples)
        seen = item.look(tile, rows, some, samples, chance)
        add_statistics(total, likelihood.statistics(seen, some))
    return total


def add_statistics(total: Statistics, part: Statistics) -> None:
    """Add those of some samples, in place."""
    for key, value in part.items():
        total[key] = total[key] + value if key in total else value.astype(np.float64)


def update_view(
    item: ObservedView,
    z: Normal,
    pool: Workers,
    block: int = BLOCK,
    stream: Stream | None = None,
    columns: Sequence[AnyColumns] | None = None,
) -> float:
    """Update a view in place: conditionals or, with a stream, draws of them.

    Parameters
    ----------
    item : ObservedView
    z : Normal, shape (N, K)
        Scores.
    pool : Workers
    block : int
        Samples processed together.
    stream : Stream, optional
        Draw instead of taking expectations.
    columns : sequence of columns, optional
        The scores laid out (`laid_out_scores`), for repeated calls with the same scores.

    Returns
    -------
    float
        E[log likelihood] at the state before the update.
    """
    view, state = item.view, item.state
    likelihood = view.likelihood
    prior = row_prior(item)
    if columns is None:
        columns = laid_out_scores(item, z, block, variance=stream is None)
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
        return update_rows_given(item, tile, statistics, prior[tile], stream)

    length = tile_length(min(block, len(z.mean)))
    bound = float(sum(pool.map(update_tile, item.tiles(length))))
    if stream is None:
        update_scales(item, z.order)
    return bound


def update_rows_given(
    item: ObservedView,
    tile: slice,
    statistics: Statistics,
    prior: Floats,
    stream: Stream | None = None,
) -> float:
    """Update parameters and rows of a tile from its statistics, in place; with a stream, draw them.

    ``prior`` (rows, K) holds the rows' prior precisions. Returns E[log likelihood] before.
    """
    likelihood, state = item.view.likelihood, item.state
    rows, params = state.rows.take(tile), state.params.take(tile)
    bound = likelihood.bound(statistics, rows, params)
    if stream is None:
        params = likelihood.update(statistics, rows, params)
    else:
        source = stream.child("params")
        params = likelihood.draw_params(statistics, rows, params, source, tile.start)
    precision, shift = likelihood.system(statistics, params)
    rows = conditional_rows(precision.copy(), shift, prior, stream, tile.start)
    if stream is None:
        params = likelihood.update(statistics, rows, params)
    state.rows.put(tile, rows)
    state.params.put(tile, params)
    return bound


def conditional_rows(
    precision: Any, shift: Any, prior: Floats, stream: Stream | None, first: int
) -> Normal:
    """Law of rows ``a_i ~ N(P_i^-1 h_i, P_i^-1)`` or, with a stream, a draw of it.

    Parameters
    ----------
    precision : array, shape (rows, P)
        Contribution of the data, packed; overwritten.
    shift : array, shape (rows, K)
    prior : array, shape (rows, K)
        Prior precision of every entry.
    stream : Stream or None
        Row i has the index ``first + i`` in it.
    first : int
    """
    precision[:, diagonal_positions(prior.shape[1])] += prior
    if stream is None:
        return Normal.from_natural(precision, shift)
    return Normal.draw_natural(precision, shift, stream.child("rows"), first)


def update_scales(item: ObservedView, n_factors: int, stream: Stream | None = None) -> None:
    """Update the scales of a view given its rows, in place; with a stream, draw them."""
    squares = item.state.rows.squares[:, :n_factors]
    item.state.scales = item.view.shrinkage.update(item.state.scales, squares, stream)


def row_prior(item: ObservedView) -> Floats:
    """Prior precision of every entry of the rows, shape (d, K) or (d, K + 1)."""
    precision = item.view.shrinkage.precision(item.state.scales)
    if not item.view.has_intercept:
        return precision
    return np.column_stack([precision, intercept_precision(item)])


def intercept_precision(item: ObservedView) -> Floats:
    """Prior precision of every row's intercept, shape (d,)."""
    view, state = item.view, item.state
    return view.likelihood.intercept_precision(
        view.intercept_precision, state.params, len(state.rows.mean)
    )


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
        p = intercept_precision(item)
        total += 0.5 * float(np.sum(np.log(p / (2 * np.pi)) - p * squares[:, n_factors]))
    return total
