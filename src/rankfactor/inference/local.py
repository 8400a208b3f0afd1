"""Local step: the factor scores of some samples given everything else.

    P_n = P_0n + sum_i tau_in E[a_i a_i^T]
    h_n = h_0n + sum_i ( rho_in E[a_i] - tau_in E[a_i c_i] )

over the rows of all views, c_i being a row's intercept where it has one, P_0n and h_0n those of the
prior: I and 0, or what a mixture's component says. Samples are independent
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
from rankfactor.kernels.packed import Floats, Reals, diagonal_positions, packed_order, packed_size
from rankfactor.kernels.rng import Stream
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Index, Normal
from rankfactor.laws.products import AnyColumns, BareColumns, Columns, Rows, multiply
from rankfactor.likelihoods.base import Chance, LabelLikelihood, Observed, Sites
from rankfactor.model import View, ViewState

TILE = 128  # features worked on together
BLOCK = 256  # samples worked on together
_LEAST, _STEP = 64, 16  # encoded samples are padded to 64, 80, 96, ...


@dataclass
class ObservedView:
    """A view with its observations and its current state."""

    view: View
    observed: Observed
    state: ViewState

    def design(self, z: Normal, variance: bool = True) -> AnyColumns:
        """What the rows multiply: the scores, with a constant where rows have an intercept."""
        likelihood = self.view.likelihood
        law = z.with_one() if self.view.has_intercept else z
        if isinstance(likelihood, LabelLikelihood):
            return BareColumns(law.mean, law.cov)
        return Columns.of(law, likelihood.dtype, variance and likelihood.needs_variance)

    def rows(self, variance: bool = True) -> Rows:
        """The rows as they are now, laid out for products."""
        likelihood = self.view.likelihood
        return Rows.of(self.state.rows, likelihood.dtype, variance and likelihood.needs_variance)


def update_scores(
    views: Sequence[ObservedView],
    prior: ScorePrior,
    z: Normal,
    samples: Index,
    stream: Stream | None = None,
    rows: Sequence[Rows] | None = None,
) -> Normal:
    """One update of the scores ``z`` (n, K) of the given samples; ``prior`` is theirs.

    With a stream, the conditional's draw in place of the conditional itself; the samples are then a
    slice. ``rows`` are those of every view, laid out for products; made here if not given.
    """
    if rows is None:
        rows = [item.rows(variance=stream is None) for item in views]
    precision, shift = prior.natural(*z.mean.shape)
    for number, (item, laid_out) in enumerate(zip(views, rows, strict=True)):
        second, first = view_sums(item, laid_out, z, samples, stream, number)
        precision += second
        shift += first
    return sample_law(precision, shift, stream, samples)


def view_sums(
    item: ObservedView,
    rows: Rows,
    z: Normal,
    samples: Index,
    stream: Stream | None = None,
    number: int = 0,
) -> tuple[Floats, Floats]:
    """What a view's rows add to the precision (n, P) and the shift (n, K) of some samples.

    ``z`` (n, K) are their scores, ``number`` is the view's own.
    """
    likelihood, certain = item.view.likelihood, stream is not None
    n, n_factors = z.mean.shape
    precision = np.zeros((n, packed_size(n_factors)))
    shift = np.zeros((n, n_factors))
    design = item.design(z, not certain)
    for tile in slices(item.observed.shape[0], TILE):
        part, params = rows.take(tile), item.state.params.take(tile)
        chance = tile_chance(stream, number, tile, samples)
        w, var_w = multiply(part, design, likelihood.needs_variance and not certain)
        observed = likelihood.read(item.observed, tile, samples, params)
        sites = likelihood.sites(observed, w, var_w, params, chance)
        second, first = tile_sums(part, sites, item.view.has_intercept)
        precision += second
        shift += first
    return precision, shift


def tile_sums(rows: Rows, sites: Sites, has_intercept: bool) -> tuple[Reals, Reals]:
    """What some rows with these sites add to samples' precision (n, P) and shift (n, K)."""
    second, first = rows.sum_second(sites.tau), sites.rho.T @ rows.mean
    if has_intercept:
        keep, last = split_intercept(second.shape[1])
        return second[:, keep], first[:, :-1] - second[:, last]
    return second, first


def sample_law(precision: Floats, shift: Floats, stream: Stream | None, samples: Index) -> Normal:
    """The law of some samples' scores or, with a stream, a draw of it."""
    if stream is None:
        return Normal.from_natural(precision, shift)
    assert isinstance(samples, slice)
    return Normal.draw_natural(precision, shift, stream.child("scores"), samples.start)


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


def _padded(active: NDArray[np.int64]) -> NDArray[np.int64]:
    """Samples, some of them repeated, so many that a product gives each its usual digits.

    Products of a few columns go another way through the linear algebra library and round otherwise.
    """
    count = max(-(-len(active) // _STEP) * _STEP, _LEAST)
    return np.resize(active, count)


def encode(
    views: Sequence[ObservedView],
    prior: ScorePrior,
    samples: slice,
    n_factors: int,
    *,
    tol: float,
    max_steps: int,
    rows: Sequence[Rows] | None = None,
) -> Normal:
    """Scores of the samples from the prior to the fixed point of `update_scores`.

    A sample stops by itself once the step would move no score by more than ``tol``, so its result
    does not depend on which others are encoded with it. The steps in between are accelerated
    (`rankfactor.inference.acceleration`): about 10 in place of 30. A mixture's responsibilities are
    taken at the scores of the step before; at the first step a sample may belong anywhere.
    """
    index = np.arange(samples.start, samples.stop)
    z = prior.fresh(len(index)).law(len(index), n_factors)
    active = np.arange(len(index))
    path = Anderson(len(index), n_factors)
    for step in range(max_steps):
        together = _padded(active)
        padded = z.take(together)
        near = prior.assign(padded) if step else prior.fresh(len(together))
        moved = update_scores(views, near, padded, index[together], rows=rows)
        old, new = padded.take(slice(0, len(active))), moved.take(slice(0, len(active)))
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
