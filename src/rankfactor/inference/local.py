"""Local step: the factor scores of some samples given everything else.

    P_n = I + sum_i tau_in E[a_i a_i^T],    h_n = sum_i ( rho_in E[a_i] - tau_in E[a_i c_i] )

over the rows of all views, c_i being a row's intercept where it has one. Samples are independent
given the rows, so this is also the encoder of new samples: the same step, without the labels' view.
Features go tile by tile; no array of the size of the table is made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from rankfactor.inference.acceleration import Anderson
from rankfactor.inference.threads import slices
from rankfactor.kernels.packed import diagonal_positions, packed_order
from rankfactor.kernels.rng import Stream
from rankfactor.latent import StandardNormal
from rankfactor.laws.normal import Index, Normal, product_moments
from rankfactor.likelihoods.base import Chance, Observed
from rankfactor.model import View, ViewState

TILE = 128  # features worked on together
BLOCK = 256  # samples worked on together


@dataclass
class ObservedView:
    """A view with its observations and its current state."""

    view: View
    observed: Observed
    state: ViewState

    def design(self, z: Normal) -> Normal:
        """What the rows multiply: the scores, with a constant where rows have an intercept."""
        return z.with_one() if self.view.has_intercept else z


def update_scores(
    views: Sequence[ObservedView],
    latent: StandardNormal,
    z: Normal,
    samples: Index,
    stream: Stream | None = None,
) -> Normal:
    """One update of the scores ``z`` (n, K) of the given samples.

    With a stream, the conditional's draw in place of the conditional itself; the samples are then a
    slice.
    """
    n, n_factors = z.mean.shape
    precision, shift = latent.natural(n, n_factors)
    for number, item in enumerate(views):
        likelihood = item.view.likelihood
        design = item.design(z)
        for tile in slices(item.observed.shape[0], TILE):
            rows, params = item.state.rows.take(tile), item.state.params.take(tile)
            chance = tile_chance(stream, number, tile, samples)
            w, var_w = product_moments(rows, design, likelihood.needs_variance and not stream)
            observed = likelihood.read(item.observed, tile, samples, params)
            sites = likelihood.sites(observed, w, var_w, params, chance)
            second = sites.tau.T @ rows.second
            shift += sites.rho.T @ rows.mean[:, :n_factors]
            if item.view.has_intercept:
                keep, last = split_intercept(second.shape[1])
                shift -= second[:, last]
                second = second[:, keep]
            precision += second
    law = Normal.from_natural(precision, shift)
    if stream is None:
        return law
    assert isinstance(samples, slice)
    return law.draw(stream.child("scores"), samples.start)


def tile_chance(stream: Stream | None, view: int, tile: slice, samples: Index) -> Chance | None:
    """Where a tile's auxiliary variables are drawn from, or None for their expectations."""
    if stream is None:
        return None
    assert isinstance(samples, slice)
    return Chance(stream.child("auxiliary", view), tile.start, samples.start)


@cache
def split_intercept(size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Packed positions of E[a a^T] and of E[a c] within those of the rows (a, c)."""
    order = packed_order(size)
    last = diagonal_positions(order)[:-1] + np.arange(order - 1, 0, -1)
    everything = np.arange(size)
    return np.setdiff1d(everything, np.append(last, size - 1)), last


def encode(
    views: Sequence[ObservedView],
    latent: StandardNormal,
    samples: slice,
    n_factors: int,
    *,
    tol: float,
    max_steps: int,
) -> Normal:
    """Scores of the samples from the prior to the fixed point of `update_scores`.

    A sample stops by itself once the step would move no score by more than ``tol``, so its result
    does not depend on which others are encoded with it. The steps in between are accelerated
    (`rankfactor.inference.acceleration`): about 10 in place of 30.
    """
    index = np.arange(samples.start, samples.stop)
    z = latent.prior(len(index), n_factors)
    active = np.arange(len(index))
    path = Anderson(len(index), n_factors)
    for _ in range(max_steps):
        old = z.take(active)
        new = update_scores(views, latent, old, index[active])
        z.put(active, new)
        going = np.flatnonzero(np.abs(new.mean - old.mean).max(axis=1) > tol)
        if not len(going):
            return z
        proposed = path.propose(old.mean, new.mean)
        path.keep(going)
        active = active[going]
        last, z.mean[active] = new.mean[going], proposed[going]
    z.mean[active] = last
    return z
