r"""Rows, then scores, in one pass over the table: a step of predictive training.

`rankfactor.engine.predictive` has the mathematics. For a tile of features and all samples:

1. Sites, push and curvature k at the rows and scores before the step. They give the
   gradient of the labels' bound in the rows,

       G_i = sum_n ( push_in r_n - k_in (a_i . r_n) z_n ),

   the likelihood's parameters and the rows' conditional, towards which the rows move.
2. The same at the new rows and parameters. Variances of w, which are most of the work, stay.
   Summed over the tiles they give one Newton step of the scores,

       z_n <- z_n + H_n^-1 g_n,    g_n = h_n - P_n z_n,    H_n = I + sum_i k_in E[a_i a_i^T],

   and the covariances P_n^-1, as in `rankfactor.steps.encode`.

H_n is also used for the next step's responses r_n = H_n^-1 q_n.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rankfactor.kernels.packed import packed_size, times
from rankfactor.kernels.solve import solve_packed
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns, Rows
from rankfactor.likelihoods.base import Sites, Slopes, Tile
from rankfactor.steps.fused import fused_length, sums
from rankfactor.steps.row import add_statistics, conditional_rows, row_prior, update_scales
from rankfactor.steps.score import (
    BLOCK,
    TILE,
    ObservedView,
    Sums,
    tile_curvature,
    tile_sums,
    view_sums,
)
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats, Reals

ENTRIES = 2**17  # of a tile: its sums over rows, N x P numbers each, cost as much as a few rows
FARTHEST = 1.0  # largest move of a score in one step, in prior standard deviations


def settle_scores(item: ObservedView, prior: ScorePrior, z: Normal, pool: Workers) -> Floats:
    """Move all scores by one Newton step at the current rows, in place; return H_n, as below."""
    rows, size, n = item.rows(), packed_size(z.order), len(z.mean)
    total = Sums(np.zeros((size, n)).T, np.zeros(z.mean.shape), np.zeros((size, n)).T)

    def find(samples: slice) -> None:
        added = view_sums(item, rows, z.take(samples), samples, curved=True)
        for one, more in zip(total, added, strict=True):
            one[samples] = more

    pool.map(find, slices(n, BLOCK))
    return newton_scores(prior, z, total, pool)


def loading_gradient(rows: Rows, columns: AnyColumns, slopes: Slopes, response: Reals) -> Floats:
    """G_i of some rows at all samples, shape (rows, K) or (rows, K + 1): zero for an intercept."""
    order = response.shape[1]
    total = np.zeros(rows.mean.shape)
    total[:, :order] = sums(slopes.push, response)
    through = slopes.curvature * (rows.mean[:, :order] @ response.T)
    total[:, :order] -= sums(through, columns.mean[:, :order])
    return total


class _Conditional(NamedTuple):
    """Parameters of a tile's rows, the system of the rows given them, and the bound before."""

    params: Any
    precision: Reals  # (rows, P)
    shift: Reals  # (rows, K)
    bound: float
    statistics: Any = None


def _conditional(item: ObservedView, seen: Tile, rows: Normal, columns: Any) -> _Conditional:
    likelihood = item.view.likelihood
    if likelihood.has_fused_step:
        sites, params, bound = likelihood.augment(seen)
        second = sums(columns.second.T, sites.tau.T).T
        return _Conditional(params, second, sums(sites.rho, columns.mean), bound)
    found: dict[str, Any] = {}
    for some in slices(seen.w.shape[1], BLOCK):
        part = seen._replace(
            observed=seen.observed[:, some], w=seen.w[:, some], var_w=seen.var_w[:, some]
        )
        add_statistics(found, likelihood.statistics(part, columns.take(some)))
    bound = likelihood.bound(found, rows, seen.params)
    params = likelihood.update(found, rows, seen.params)
    precision, shift = likelihood.system(found, params)
    return _Conditional(params, precision.copy(), shift, bound, found)


def step_rows(
    item: ObservedView, z: Normal, response: Reals, step: float, pool: Workers
) -> tuple[float, Sums]:
    """Move rows, parameters and scales of the table's view, in place.

    Parameters
    ----------
    item : ObservedView
    z : Normal, shape (N, K)
    response : array, shape (N, K)
        r_n, including the labels' weight.
    step : float
        Step of the rows' means, as a share of the way to the conditional.
    pool : Workers

    Returns
    -------
    bound : float
        E[log likelihood] before.
    added : Sums
        Contribution of the new rows to the scores' precision, shift and curvature.
    """
    view, state, n = item.view, item.state, len(z.mean)
    likelihood, prior, intercept = view.likelihood, row_prior(item), view.has_intercept
    columns, everyone = item.columns(z), slice(0, n)
    pull = response.astype(likelihood.dtype)

    def update_tile(tile: slice) -> tuple[float, Reals, Reals, Reals]:
        law = state.rows.take(tile)
        old = Rows.of(law, likelihood.dtype, likelihood.needs_variance)
        seen = item.look(tile, old, columns, everyone)
        gradient = loading_gradient(old, columns, item.slopes(seen), pull)
        var_w = seen.var_w.copy()  # its buffer may be reused
        found = _conditional(item, seen, law, columns)
        shift = found.shift + gradient.astype(found.shift.dtype)
        rows = conditional_rows(found.precision, shift, prior[tile], None, tile.start)
        rows = replace(rows, mean=law.mean + step * (rows.mean - law.mean))
        params = found.params
        if found.statistics is not None:
            params = likelihood.update(found.statistics, rows, params)
        state.rows.put(tile, rows)
        state.params.put(tile, params)
        new = Rows.of(rows, likelihood.dtype, variance=False)
        moved = seen._replace(w=new.mean @ columns.mean.T, var_w=var_w, params=params)
        slopes = item.slopes(moved)
        sites = Sites(slopes.tau, slopes.push + slopes.tau * moved.w)
        added = tile_sums(new, sites, intercept)
        return found.bound, *added, tile_curvature(new, slopes, intercept)

    length = fused_length(item.observed.shape[0], n, ENTRIES)
    if not likelihood.has_fused_step:
        length = min(length, TILE)
    size, bound = packed_size(z.order), 0.0
    total = Sums(np.zeros((size, n)).T, np.zeros(z.mean.shape), np.zeros((size, n)).T)
    for part, *added in pool.stream(update_tile, item.tiles(length)):
        bound += part
        for one, more in zip(total, added, strict=True):
            one += more
        del added, more
    update_scales(item, z.order)
    return bound, total


def newton_scores(prior: ScorePrior, z: Normal, added: Sums, pool: Workers) -> Floats:
    """Move all scores by one Newton step, in place; H_n of every sample, packed, shape (N, P)."""

    def move(samples: slice) -> None:
        old = z.take(samples)
        precision, shift = prior.take(samples).natural(*old.mean.shape)
        added.curvature[samples] += precision
        precision = np.add(precision, added.precision[samples], order="F")
        shift += added.shift[samples]
        gradient = shift - times(precision, old.mean)
        way = solve_packed(added.curvature[samples], gradient)[0]
        way *= np.minimum(1.0, FARTHEST / np.maximum(np.abs(way).max(axis=1), FARTHEST))[:, None]
        new = Normal.from_natural(precision, shift)
        z.put(samples, replace(new, mean=old.mean + way))

    pool.map(move, slices(len(z.mean), BLOCK))
    return added.curvature
