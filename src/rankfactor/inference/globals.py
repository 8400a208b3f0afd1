"""Global step: rows, likelihood parameters and scales of a view given the factor scores.

Statistics are additive over blocks of samples; features are independent given the statistics, so
the step goes tile by tile. Within a tile: the likelihood's own parameters, the rows, the
parameters again (they cost nothing once the statistics are there); then the scales of the whole
view.
"""

from __future__ import annotations

import numpy as np

from rankfactor.inference.local import BLOCK, TILE, ObservedView
from rankfactor.inference.threads import Workers, slices
from rankfactor.kernels.packed import Floats, diagonal_positions
from rankfactor.laws.normal import Normal, product_moments
from rankfactor.likelihoods.base import Statistics


def row_statistics(item: ObservedView, z: Normal, tile: slice, block: int) -> Statistics:
    """Sums over all samples for the rows of a tile."""
    rows, params = item.state.rows.take(tile), item.state.params.take(tile)
    likelihood = item.view.likelihood
    total: Statistics = {}
    for samples in slices(item.observed.shape[1], block):
        design = item.design(z.take(samples))
        w, var_w = product_moments(rows, design, likelihood.needs_variance)
        part = likelihood.statistics(
            item.observed.tile(tile, samples),
            w,
            var_w,
            params,
            design,
        )
        total = {key: total[key] + value for key, value in part.items()} if total else part
    return total


def update_view(item: ObservedView, z: Normal, pool: Workers, block: int = BLOCK) -> float:
    """Update a view in place.

    Returns
    -------
    float
        E[log likelihood] at the state before the update.
    """
    view, state = item.view, item.state
    likelihood = view.likelihood
    prior = row_prior(item)

    def update_tile(tile: slice) -> float:
        statistics = row_statistics(item, z, tile, block)
        rows, params = state.rows.take(tile), state.params.take(tile)
        bound = likelihood.bound(statistics, rows, params)
        params = likelihood.update(statistics, rows, params)
        precision, shift = likelihood.system(statistics, params)
        precision = precision.copy()
        precision[:, diagonal_positions(rows.order)] += prior[tile]
        rows = Normal.from_natural(precision, shift)
        state.rows.put(tile, rows)
        state.params.put(tile, likelihood.update(statistics, rows, params))
        return bound

    bound = float(sum(pool.map(update_tile, slices(item.observed.shape[0], TILE))))
    n_factors = z.order
    state.scales = view.shrinkage.update(state.scales, state.rows.squares[:, :n_factors])
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
