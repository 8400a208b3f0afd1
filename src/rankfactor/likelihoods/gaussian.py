"""Gaussian features with a mean and a noise precision each.

    x_in ~ N(a_i . z_n + m_i, 1/t_i),   t_i ~ Ga(shape, rate)

The mean m_i is the row's intercept, so it is updated jointly with a_i. Values are standardised with
the training table's mean and standard deviation, tile by tile: a large table is never copied.
Site: tau = t_i, rho = t_i x. Noise: q(t_i) = Ga(shape + N_i/2, rate + sum_n E[(x - w)^2]/2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.residuals import draw_noise
from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns, sum_over
from rankfactor.likelihoods.base import Augmented, DataLikelihood, Sites, Slopes, Statistics, Tile
from rankfactor.likelihoods.observed import Coding, Mapped, Observed
from rankfactor.likelihoods.row_arrays import RowArrays
from rankfactor.typing import Floats, Index


@dataclass(frozen=True)
class Noise(RowArrays):
    """Gamma law of each row's noise precision; arrays of shape (d,)."""

    shape: Floats
    rate: Floats
    precision: Floats  # E[t], or a draw of t
    log_precision: Floats  # E[log t], or the log of the draw

    public_names: ClassVar[dict[str, str] | None] = {"precision": "noise_precision"}

    @classmethod
    def of(cls, shape: Floats, rate: Floats) -> Noise:
        """The law with its expectation."""
        law = Gamma(shape, rate)
        return cls(shape, rate, law.mean, law.log_mean)

    @property
    def law(self) -> Gamma:
        """The law as such."""
        return Gamma(self.shape, self.rate)

    @classmethod
    def pool(cls, draws: Sequence[Noise]) -> Noise:
        """Gamma laws with the mean and the variance of some draws."""
        values = np.array([one.precision for one in draws])
        mean, variance = values.mean(axis=0), np.maximum(values.var(axis=0), 1e-12)
        return cls.of(mean**2 / variance, mean / variance)

    def draw(self, stream: Stream, first: int = 0) -> Noise:
        """One draw of every precision, together with its distribution."""
        drawn = self.law.draw(stream, first)
        return Noise(self.shape, self.rate, drawn, np.log(drawn))


# Entries of a table whose standardised values are kept, 8 MB.
SMALL = 2**20


def _complete(values: Floats) -> bool:
    """Whether no value is missing."""
    return not np.isnan(values.sum())


@dataclass(frozen=True)
class Standardised(Observed):
    """Standardised values of a table, NaN where missing; made tile by tile if it is not small."""

    values: Floats  # (N, D), not copied
    scaling: Scaling

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows (features) and of samples."""
        return len(self.scaling.columns), len(self.values)

    def tile(self, rows: slice, samples: Index) -> Floats:
        """Standardised values of some features and samples, shape (rows, samples)."""
        if self.values.size <= SMALL:
            return self._all[rows, samples]
        return self._scaled(rows, samples)

    @cached_property
    def _all(self) -> Floats:
        """All standardised values, shape (rows, samples), of a small table."""
        return self._scaled(slice(None), slice(None))

    def _scaled(self, rows: slice, samples: Index) -> Floats:
        by = self.scaling
        if isinstance(samples, slice):
            part = self.values[samples][:, by.columns[rows]]
        else:  # without a copy of all columns
            part = self.values[np.ix_(samples, by.columns[rows])]
        scaled = (part - by.centre[rows]) / by.scale[rows]
        return np.ascontiguousarray(scaled.T, dtype=np.float64)

    def moved(self, keep: Callable[[NDArray[Any]], NDArray[Any]]) -> Standardised:
        """The same observations, with ``keep`` applied to their values."""
        by = self.scaling
        values = keep(self.values[:, by.columns])
        return Standardised(values, replace(by, columns=np.arange(len(by.columns))))


@dataclass(frozen=True)
class Scaling:
    """Centre and scale of the features that vary."""

    columns: NDArray[np.int64]  # (d,)
    centre: Floats  # (d,)
    scale: Floats  # (d,)

    @classmethod
    def learn(cls, values: Floats) -> Scaling:
        """Mean and standard deviation of every feature that varies in a table."""
        n_columns = values.shape[1]
        centre, scale = np.zeros(n_columns), np.zeros(n_columns)
        for i in range(n_columns):  # column by column, to avoid an array of the table's size
            column = values[:, i]
            column = column[~np.isnan(column)]
            if column.size and column.min() < column.max():
                # Scaling by the range first keeps huge and tiny values from overflowing.
                reach = np.abs(column).max()
                centre[i] = (column / reach).mean() * reach
                scale[i] = ((column - centre[i]) / reach).std() * reach
        columns = np.flatnonzero(scale > 0)
        return cls(columns, centre[columns], scale[columns])

    def observe(self, values: Floats) -> Standardised:
        """Observations of a table, shape (samples, all columns)."""
        return Standardised(values, self)


@dataclass(frozen=True)
class StandardisedLikelihood(DataLikelihood[Noise]):
    """Base of likelihoods of standardised values with a mean and a noise precision per feature."""

    shape: float = 1e-2
    rate: float = 1e-2

    coding: ClassVar[type[Coding]] = Scaling
    parameters: ClassVar[type[RowArrays]] = Noise
    has_intercept: ClassVar[bool] = True
    uses_values: ClassVar[bool] = True

    def learn(self, values: Floats, few: Mapping[int, Floats] | None = None) -> Scaling:
        """Mean and standard deviation of every feature that varies."""
        return Scaling.learn(values)

    def normal_scores(self, observed: Observed, levels: Floats | None = None) -> Observed:
        """The standardised values themselves, zero where missing."""
        return Mapped(observed, lambda _, tile: np.nan_to_num(tile, nan=0.0))

    def start(self, coding: Scaling, observed: Observed, loadings: Floats) -> Noise:
        """Noise precision given unit variance and the loadings."""
        left = np.clip(1.0 - (loadings**2).sum(axis=1), 0.05, 1.0)
        return Noise.of(np.ones(len(loadings)), left)

    def noise_variance(self, params: Noise) -> Floats:
        """Inverse of the noise precision, shape (d,)."""
        return np.asarray(1.0 / params.precision)

    def residuals(self, statistics: Statistics, rows: Normal) -> Floats:
        """Sum over samples of E[(x - w)^2], weighted if there are weights, shape (rows,)."""
        return statistics["residuals"]

    def update(self, statistics: Statistics, rows: Normal, params: Noise) -> Noise:
        """Noise precision given the rows."""
        return Noise.of(
            self.shape + 0.5 * statistics["count"],
            self.rate + 0.5 * self.residuals(statistics, rows),
        )

    def system(self, statistics: Statistics, params: Noise) -> tuple[Floats, Floats]:
        """Packed precision (rows, P) and shift (rows, K), from statistics for unit precision."""
        t = params.precision[:, None]
        return t * statistics["second"], t * statistics["shift"]

    def params_bound(self, params: Noise) -> float:
        """E[log p(t)] - E[log q(t)]."""
        return params.law.gain_over(self.shape, self.rate)


@dataclass(frozen=True)
class Gaussian(StandardisedLikelihood):
    """Gaussian likelihood.

    Attributes
    ----------
    shape, rate : float
        Prior of the noise precision of a standardised feature.
    """

    name: ClassVar[str] = "gaussian"
    phrase: ClassVar[str] = "Gaussian likelihood"
    needs_variance: ClassVar[bool] = False
    has_fixed_sites: ClassVar[bool] = True

    def sites(self, tile: Tile) -> Sites:
        """Sites of a tile, each array of shape (rows, samples)."""
        t, x = tile.params.precision[:, None], tile.observed
        if _complete(x):
            return Sites(np.broadcast_to(t, x.shape), t * x)
        return Sites(t * ~np.isnan(x), t * np.nan_to_num(x, nan=0.0))

    @property
    def has_fused_draw(self) -> bool:
        """The noise needs nothing but w."""
        return True

    def augment(self, tile: Tile) -> Augmented:
        """Draws of the noise precisions given w, then the sites at these."""
        chance = tile.chance
        assert chance is not None
        given = tile.observed, tile.w, tile.params.precision, self.shape, self.rate
        tau, rho, law, drawn, bound = draw_noise(*given, chance.stream.word, chance.row)
        params = Noise(law[0], law[1], drawn, np.log(drawn))
        return Augmented(Sites(tau, rho), params, bound)

    def slopes(self, tile: Tile) -> Slopes:
        """Derivatives of a tile's bound in w: it is quadratic, so the curvature is tau itself."""
        sites = self.sites(tile)
        return Slopes(sites.tau, sites.rho - sites.tau * tile.w, sites.tau)

    def statistics(self, tile: Tile, columns: AnyColumns) -> Statistics:
        """Sums over samples for unit precision; `system` multiplies by the precision."""
        x = tile.observed
        seen = ~np.isnan(x)
        if not seen.all():
            x = np.nan_to_num(x, nan=0.0)
        return {
            "second": sum_over(columns, seen),
            "shift": x @ columns.mean,
            "count": seen.sum(axis=1, dtype=np.float64),
            "squares": np.einsum("in,in->i", x, x),
        }

    def residuals(self, statistics: Statistics, rows: Normal) -> Floats:
        """Sum over samples of E[(x - w)^2], shape (rows,)."""
        cross = np.einsum("ik,ik->i", rows.mean, statistics["shift"])
        squares = rows.second_products(statistics["second"])
        return np.asarray(np.maximum(statistics["squares"] - 2 * cross + squares, 0.0))

    def bound(self, statistics: Statistics, rows: Normal, params: Noise) -> float:
        """E[log N(x; w, 1/t)]."""
        terms = statistics["count"] * (params.log_precision - np.log(2 * np.pi))
        residuals = self.residuals(statistics, rows)
        return 0.5 * float(np.sum(terms - params.precision * residuals))
