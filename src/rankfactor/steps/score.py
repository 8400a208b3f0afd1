"""Score step: the factor scores of some samples given everything else.

    P_n = P_0n + sum_i tau_in E[a_i a_i^T]
    h_n = h_0n + sum_i ( rho_in E[a_i] - tau_in E[a_i c_i] )

over the rows of all views, with c_i a row's intercept if it has one, and P_0n and h_0n those of the
prior: I and 0, or those of a mixture's component. Samples are independent
given the rows, so this is also a step of the encoder of new samples, which has no labels' view
(`rankfactor.steps.encode`).
Features are processed tile by tile; no array of the size of the table is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.packed import diagonal_positions, packed_order, packed_size
from rankfactor.kernels.rng import Stream
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns, BareColumns, Columns, Rows, multiply
from rankfactor.likelihoods.base import Chance, DataLikelihood, LabelLikelihood, Sites, Slopes, Tile
from rankfactor.likelihoods.observed import Observed
from rankfactor.model import View, ViewState
from rankfactor.steps.workers import slices
from rankfactor.typing import Floats, Index, Reals

BLOCK = 256  # samples processed together
# Features processed together: minimum, and maximum if samples are few.
TILE, LONGEST_TILE = 128, 1024


def tile_length(n_samples: int) -> int:
    """Features per tile for a number of samples; tiles have about the same number of entries.

    Products of a few samples with 128 features take less time than their function calls.
    """
    return max(TILE, min(LONGEST_TILE, TILE * BLOCK // max(n_samples, 1)))


class Seen(NamedTuple):
    """A tile of a view, and where its rows are."""

    where: slice
    rows: Rows
    tile: Tile


@dataclass
class ObservedView:
    """A view with its observations and its current state."""

    view: View
    observed: Observed
    state: ViewState

    def columns(self, z: Normal, variance: bool = True, kind: Any = None) -> AnyColumns:
        """The scores for products with rows, with a constant if rows have an intercept.

        ``kind`` is their precision, by default the likelihood's.
        """
        likelihood = self.view.likelihood
        law = z.with_one() if self.view.has_intercept else z
        if isinstance(likelihood, LabelLikelihood):
            return BareColumns(law.mean, law.cov)
        kind = likelihood.dtype if kind is None else kind
        return Columns.of(law, kind, variance and likelihood.needs_variance)

    def rows(self, variance: bool = True, kind: Any = None) -> Rows:
        """The current rows, laid out for products; ``kind`` as in `columns`."""
        likelihood = self.view.likelihood
        kind = likelihood.dtype if kind is None else kind
        return Rows.of(self.state.rows, kind, variance and likelihood.needs_variance)

    def tiles(self, length: int) -> list[slice]:
        """Rows processed together: up to a number, and not across the end of a block."""
        starts = (0, *self.observed.block_ends[:-1])
        return [
            slice(start + tile.start, start + tile.stop)
            for start, end in zip(starts, self.observed.block_ends, strict=True)
            for tile in slices(end - start, length)
        ]

    def look(
        self,
        where: slice,
        rows: Rows,
        columns: AnyColumns,
        samples: Index,
        chance: Chance | None = None,
    ) -> Tile:
        """The tile of these rows at some samples; with ``chance`` everything is fixed."""
        likelihood, params = self.view.likelihood, self.state.params.take(where)
        w, var_w = multiply(rows, columns, chance is None and likelihood.needs_variance)
        observed = likelihood.read(self.observed, where, samples, params)
        return Tile(observed, w, var_w, params, chance)

    def slopes(self, tile: Tile) -> Slopes:
        """Derivatives of the bound of a tile in w."""
        likelihood = self.view.likelihood
        assert isinstance(likelihood, DataLikelihood)
        return likelihood.slopes(tile)

    def walk(
        self,
        rows: Rows,
        z: Normal,
        samples: Index,
        stream: Stream | None = None,
        number: int = 0,
    ) -> Iterator[Seen]:
        """All tiles at samples of scores ``z``, in the precision of ``rows``; draws by a stream."""
        columns = self.columns(z, stream is None, rows.mean.dtype)
        for where in self.tiles(tile_length(len(z.mean))):
            chance, part = tile_chance(stream, number, where, samples), rows.take(where)
            yield Seen(where, part, self.look(where, part, columns, samples, chance))


class Sums(NamedTuple):
    """Contribution of a view's rows to some samples.

    Attributes
    ----------
    precision : array, shape (n, P)
    shift : array, shape (n, K)
    curvature : array, shape (n, P)
        Minus the second derivative of the view's bound in the scores' means; zero if not requested.
    """

    precision: Floats
    shift: Floats
    curvature: Floats


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
        added = view_sums(item, laid_out, z, samples, stream, number)
        precision += added.precision
        shift += added.shift
    return sample_law(precision, shift, stream, samples)


def view_sums(
    item: ObservedView,
    rows: Rows,
    z: Normal,
    samples: Index,
    stream: Stream | None = None,
    number: int = 0,
    curved: bool = False,
    left_out: NDArray[np.bool_] | None = None,
) -> Sums:
    """What a view's rows add to some samples, with its curvature if that is asked for.

    ``z`` (n, K) are their scores, ``number`` is the view's own. The work is done in the precision
    of ``rows``; those that are ``left_out`` (d,) do not count.
    """
    n, n_factors = z.mean.shape
    size = packed_size(n_factors)
    # Packed ones in Fortran's order, as products give them.
    total = Sums(np.zeros((size, n)).T, np.zeros((n, n_factors)), np.zeros((size, n)).T)
    for where, part, tile in item.walk(rows, z, samples, stream, number):
        if curved:
            slopes = item.slopes(tile)
            sites = Sites(slopes.tau, slopes.push + slopes.tau * tile.w)
            total.curvature[:] += tile_curvature(part, slopes, item.view.has_intercept)
        else:
            sites = item.view.likelihood.sites(tile)
        if left_out is not None:
            sites = sites.without(left_out[where])
        second, first = tile_sums(part, sites, item.view.has_intercept)
        total.precision[:] += second
        total.shift[:] += first
    return total


def tile_curvature(rows: Rows, slopes: Slopes, has_intercept: bool) -> Reals:
    """``sum_i k_in E[a_i a_i^T]`` of some rows, packed, shape (n, P)."""
    second = rows.sum_second(slopes.curvature)
    return second[:, split_intercept(second.shape[1])[0]] if has_intercept else second


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
