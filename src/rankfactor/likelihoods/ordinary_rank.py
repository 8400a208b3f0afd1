r"""Ordinary rank likelihood (Hoff 2007): latent normals in the order of the data.

    w*_in ~ N(w_in, 1)    subject to    w*_in < w*_in'  whenever  x_in < x_in'

Ties have no constraint among themselves, nor do missing entries. The site of an observed entry is
tau = 1, rho = w*_in; these are the paper's OR models.

**Gibbs sampling** is exact: feature by feature, every w*_n from N(w_n, 1) between the largest w* of
the next lower rank and the smallest of the next higher, then a shift and a scale of the feature's
whole w* (`rankfactor.kernels.rank_draws`). What depends on all samples at once is drawn in
`refresh`, once a sweep; the scores' step reads the w* of before.

**Variational Bayes** is the paper's: w* takes its mean between bounds at its neighbours' means.
This alone is slow, since values move at most by the distance of two neighbours per iteration: on
120 samples sd(w) was still changing after 4,000. So shift and scale go to the modes of the
distributions above; the same fit then takes about a hundred. It is not a coordinate ascent of one
bound. The reported value is E[log N(w*; w, 1)] at these means: it converges with the fit, but may
decrease, and models must not be compared by it.

**New samples** have no w* among those of the training samples. The cuts that code them
(`rankfactor.likelihoods.coding`) each have a boundary h halfway between the w* on its two sides,
and between these a new sample's w* is that of an `OrdinalProbit`. After a fit training samples are
encoded in the same way, so a posterior needs the cuts, not the table or its w*.

**Memory.** Unlike the other likelihoods this one has state in every entry of the training table: w*
(4 bytes; every chain its own), the rank (2 bytes, 4 above 32,767 samples) and the code (1).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rankfactor.kernels.rank_draws import level_extremes, sweep_ranks
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns
from rankfactor.likelihoods.base import Location, Sites, Statistics, Tile
from rankfactor.likelihoods.coding import Cuts, cut_location, cuts_in_use
from rankfactor.likelihoods.observed import Observed, ObservedArray
from rankfactor.likelihoods.ordinal_probit import LatentNormal, Thresholds, start_cut_points
from rankfactor.likelihoods.row_arrays import RowArrays
from rankfactor.typing import Floats, Index


@dataclass(frozen=True)
class RankedValues(ObservedArray):
    """Codes of a table, and the ranks of its values, which only a fit needs."""

    values: Floats  # (samples, all columns), the table itself
    columns: NDArray[np.int64]  # (rows,)

    @cached_property
    def ranks(self) -> NDArray[Any]:
        """Dense ranks within each row, equal for ties, -1 where missing, shape (rows, samples)."""
        n = len(self.values)
        ranks = np.full((len(self.columns), n), -1, np.int16 if n < 2**15 else np.int32)
        for row, column in enumerate(self.columns):
            seen = ~np.isnan(self.values[:, column])
            ranks[row, seen] = np.unique(self.values[seen, column], return_inverse=True)[1]
        return ranks

    def content(self, rows: slice) -> bytes:
        """Codes and ranks: codes alone do not identify a table."""
        return super().content(rows) + self.ranks[rows].tobytes()


@dataclass(frozen=True)
class RankTable(Cuts):
    """Cut values of the features that vary."""

    def observe(self, values: Floats) -> RankedValues:
        """Codes of a table, shape (samples, all columns)."""
        return RankedValues(super().observe(values).array, values, self.columns)


@dataclass(frozen=True)
class Boundaries(Thresholds):
    """Latent boundaries of every row and, during a fit, the training samples' latent values."""

    latent: NDArray[np.float32]  # (d, N), NaN where missing; (d, 0) except during a fit

    def copy(self) -> Self:
        """Separate boundaries, without the training samples' latent values."""
        nothing = np.empty((len(self.h), 0), np.float32)
        return type(self)(self.h.copy(), self.n_cuts.copy(), nothing)


@dataclass(frozen=True)
class OrdinaryRank(LatentNormal[Boundaries]):
    """Ordinary rank likelihood.

    Attributes
    ----------
    table_cuts : int
        Maximum number of cuts per feature for coding new samples, up to 254. Training uses all
        ranks.
    """

    table_cuts: int = 64

    name: ClassVar[str] = "ordinary_rank"
    phrase: ClassVar[str] = "rank likelihood (only the order of a feature's values counts)"
    coding: ClassVar[type[Cuts]] = RankTable
    parameters: ClassVar[type[RowArrays]] = Boundaries
    cuts_field: ClassVar[str] = "table_cuts"
    takes_sparse: ClassVar[bool] = False
    has_gradient: ClassVar[bool] = False
    has_monotone_bound: ClassVar[bool] = False

    def start(self, coding: Cuts, observed: Observed, loadings: Floats) -> Boundaries:
        """Boundaries at the normal quantiles of w* under the starting loadings."""
        h = start_cut_points(coding, observed, loadings)
        return Boundaries(h, coding.n_cuts.copy(), np.empty((len(h), 0), np.float32))

    def prepare(self, observed: Observed, rows: Normal, params: Boundaries) -> Boundaries:
        """Latent values at the normal quantiles of the ranks, if there are none yet."""
        assert isinstance(observed, RankedValues)
        if params.latent.shape == observed.shape:
            return params
        spread = np.sqrt(1.0 + (rows.mean**2).sum(axis=1))
        latent = np.full(observed.shape, np.nan, np.float32)
        for row, ranks in enumerate(observed.ranks):
            seen = ranks >= 0
            counts = np.bincount(ranks[seen])
            middle = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
            latent[row, seen] = spread[row] * ndtri(middle)[ranks[seen]]
        return replace(params, latent=latent)

    def refresh(self, observed: Observed, rows: slice, tile: Tile) -> Boundaries:
        """Latent values of all samples, and the boundaries between them."""
        assert isinstance(observed, RankedValues)
        params = tile.params
        latent = sweep_ranks(observed.ranks[rows], tile.w, params.latent, *tile.place[:2])
        width = params.h.shape[1]
        top, bottom = level_extremes(observed.array[rows], latent, width + 1)
        # Halfway between the levels; entries past n_cuts are unused.
        used = cuts_in_use(width, params.n_cuts)
        h = 0.5 * np.add(top[:, :-1], bottom[:, 1:], where=used, out=np.zeros(used.shape))
        return Boundaries(h, params.n_cuts, latent)

    def read(
        self, observed: Observed, rows: slice, samples: Index, params: Boundaries
    ) -> NDArray[Any]:
        """Latent values of training samples during a fit, otherwise codes."""
        if params.latent.shape[1]:
            return params.latent[:, samples]
        return observed.tile(rows, samples)

    def sites(self, tile: Tile) -> Sites:
        """Sites of a tile of latent values or of codes, each array of shape (rows, samples)."""
        if tile.observed.dtype != np.float32:
            return super().sites(tile)
        seen = ~np.isnan(tile.observed)
        rho = np.where(seen, tile.observed, 0.0).astype(np.float64)
        return Sites(seen.astype(np.float64), rho)

    def location(self, params: Boundaries, n_rows: int) -> Location:
        """Latent values absorb a shift, since only w determines their location."""
        return cut_location(0.0, params.h, params.n_cuts)

    def shifted(self, params: Boundaries, shift: Floats) -> Boundaries:
        """Latent values and the boundaries in use, shifted."""
        latent = params.latent + shift[:, None].astype(np.float32)
        return replace(params, h=params.h + shift[:, None] * params.used, latent=latent)

    def has_scale(self, params: Boundaries) -> bool:
        """Rows are multiplied together with the latent values of a fit."""
        return bool(params.latent.shape[1])

    def scale_terms(self, tile: Tile, factor: Floats, some: NDArray[np.int64]) -> Floats:
        """Log density of w and latent values multiplied by a factor, shape (m,)."""
        latent = tile.observed[some]
        misses = np.nansum((latent - tile.w[some]) ** 2, axis=1)
        count = (~np.isnan(latent)).sum(axis=1)
        return np.asarray(count * np.log(factor) - 0.5 * misses * factor**2)

    def scaled(self, params: Boundaries, factor: Floats) -> Boundaries:
        """Latent values and boundaries times a factor."""
        latent = params.latent * factor[:, None].astype(np.float32)
        return replace(params, h=params.h * factor[:, None], latent=latent)

    def statistics(self, tile: Tile, columns: AnyColumns) -> Statistics:
        """Sums over samples of a tile of latent values.

        The bound is E[log N(w*; w, 1)] at these: the likelihood itself when they are drawn.
        """
        tau, rho = self.sites(tile)
        miss = tau * (rho - tile.w) ** 2
        return {
            "second": tau @ columns.second,
            "shift": rho @ columns.mean,
            "squares": (tau * tile.w**2).sum(axis=1),
            "bound": -0.5 * (miss + np.log(2 * np.pi) * tau).sum(axis=1),
        }
