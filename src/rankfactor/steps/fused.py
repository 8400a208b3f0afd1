"""Rows and scores in one pass over the table.

The auxiliary variables lam of a likelihood are evaluated (or drawn) once an iteration, at the rows
and scores it begins with; then come the likelihood's own parameters, the rows given lam and the
scores, and the scores given lam and the new rows. Each step maximises the bound in its own block
(or draws from its own conditional), so the bound never decreases and a sweep leaves the posterior
as it is. The steps of `rankfactor.steps.score` and `rankfactor.steps.row` evaluate lam
twice and take the variances of w twice, which is most of their work.

A tile of features is processed with all samples at once: w, sites, rows, and the contribution of
the new rows to the scores. Only the latter, N x (P + K) numbers, is summed over the tiles.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.packed import packed_size
from rankfactor.kernels.rng import Stream
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import Rows, multiply
from rankfactor.likelihoods import LabelLikelihood
from rankfactor.steps.row import conditional_rows, row_prior, update_scales
from rankfactor.steps.score import ObservedView, sample_law, tile_chance, tile_sums
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats, Reals

# Most entries of a tile, least and most features, tiles that there should be for threads to share,
# and samples whose sums are taken in working precision.
ENTRIES, LEAST, MOST, TILES, PART = 2**19, 32, 768, 4, 2048

After = Callable[[ScorePrior, Normal, slice], ScorePrior]


def update_fused(
    views: Sequence[ObservedView],
    prior: ScorePrior,
    z: Normal,
    pool: Workers,
    block: int,
    after: After,
) -> tuple[float, list[ScorePrior]]:
    """Update the table's view and all scores, in place.

    Parameters
    ----------
    views : sequence of ObservedView
        The table, whose likelihood augments, then the labels, if any; their rows stay.
    prior : ScorePrior
        Of all samples.
    z : Normal
        Scores of all samples.
    pool : Workers
    block : int
        Samples whose scores are computed together.
    after : callable
        Returns the new prior of a block from its prior, its new scores and its samples.

    Returns
    -------
    bound : float
        E[log likelihood] of table and labels before the update.
    priors : list of ScorePrior
        Results of ``after``, block by block.
    """
    label_rows = [item.rows() for item in views[1:]]
    bound, second, first = update_rows(views[0], z, pool)
    update_scales(views[0], z.order)

    def update_block(samples: slice) -> tuple[float, ScorePrior]:
        near, old = prior.take(samples), z.take(samples)
        precision, shift = near.natural(*old.mean.shape)
        precision = np.add(precision, second[samples], order="F")
        shift += first[samples]
        terms = 0.0
        for item, rows in zip(views[1:], label_rows, strict=True):
            more, push, part = label_sums(item, rows, old, samples)
            precision += more
            shift += push
            terms += part
        new = sample_law(precision, shift, None, samples)
        z.put(samples, new)
        return terms, after(near, new, samples)

    done = pool.map(update_block, slices(len(z.mean), block))
    return bound + sum(terms for terms, _ in done), [prior for _, prior in done]


def label_sums(
    item: ObservedView, rows: Rows, z: Normal, samples: slice, stream: Stream | None = None
) -> tuple[Reals, Reals, float]:
    """Contribution of the labels to precision and shift of samples, and E[log likelihood]."""
    likelihood, everything = item.view.likelihood, slice(0, len(rows.mean))
    assert isinstance(likelihood, LabelLikelihood)
    f, var_f = multiply(rows, item.columns(z, stream is None), stream is None)
    chance = tile_chance(stream, 1, everything, samples)
    signed = item.observed.tile(everything, samples)
    sites, terms = likelihood.label_sites(signed, f, var_f, chance)
    return *tile_sums(rows, sites, item.view.has_intercept), float(terms.sum())


def update_rows(
    item: ObservedView,
    z: Normal,
    pool: Workers,
    stream: Stream | None = None,
    left_out: NDArray[np.bool_] | None = None,
) -> tuple[float, Floats, Floats]:
    """Update parameters and rows of the table's view, in place; with a stream, draw them.

    Rows that are ``left_out`` (d,) are updated, but do not contribute to the scores.

    Returns
    -------
    bound : float
        E[log likelihood] before.
    precision, shift : array, shape (N, P) and (N, K)
        Contribution of the new rows to the scores.
    """
    view, state, certain = item.view, item.state, stream is not None
    likelihood, prior = view.likelihood, row_prior(item)
    columns = item.columns(z, not certain)
    everyone = slice(0, len(z.mean))

    def update_tile(tile: slice) -> tuple[float, Reals, Reals]:
        variance = likelihood.needs_variance and not certain
        old = Rows.of(state.rows.take(tile), likelihood.dtype, variance)
        chance = tile_chance(stream, 0, tile, everyone)
        seen = item.look(tile, old, columns, everyone, chance)
        sites, params, bound = likelihood.augment(seen)
        precision = sums(columns.second.T, sites.tau.T).T  # in Fortran's order
        shift = sums(sites.rho, columns.mean)
        rows = conditional_rows(precision, shift, prior[tile], stream, tile.start)
        state.rows.put(tile, rows)
        state.params.put(tile, params)
        laid_out = Rows.of(rows, likelihood.dtype, variance=False)
        if left_out is not None:
            sites = sites.without(left_out[tile])
        return bound, *tile_sums(laid_out, sites, view.has_intercept)

    bound = 0.0
    precision, shift = np.zeros((packed_size(z.order), len(z.mean))).T, np.zeros(z.mean.shape)
    # A chain has one thread.
    tiles = 1 if certain else TILES
    length = fused_length(item.observed.shape[0], len(z.mean), tiles=tiles)
    for part, second, first in pool.stream(update_tile, item.tiles(length)):
        bound += part
        precision += second
        shift += first
        del second, first  # N x P numbers, which would stay in memory during the next step
    return bound, precision, shift


def fused_length(n_rows: int, n_samples: int, entries: int = ENTRIES, tiles: int = TILES) -> int:
    """Features of a tile that holds all samples."""
    return max(LEAST, min(MOST, entries // n_samples, -(-n_rows // tiles)))


def sums(left: Reals, right: Reals) -> Reals:
    """``left @ right`` in working precision, summed in double precision over parts."""
    if len(right) <= PART:
        return np.asarray(left @ right)
    total = np.zeros((len(left), right.shape[1]))
    for samples in slices(len(right), PART):
        total += left[:, samples] @ right[samples]
    return total.astype(left.dtype)
