"""Levels of a feature: the coding that the rank and ordinal likelihoods share.

A feature is cut at observed values c_i1 < ... < c_iJ and enters as ``code = #{j : c_ij < x}``, one
byte per entry, 255 where missing (`rankfactor.kernels.codes`). A fitted model codes new samples
with the same cuts: these observed values, in increasing order, are all that it stores of the table.

A sparse table is coded without densifying: entries that are not stored are zeros, which are
ordinary values, so ties at zero are one level. A stored NaN is a missing value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from scipy.special import ndtri

from rankfactor.errors import check_count
from rankfactor.kernels.codes import MAX_CUTS, code_sparse, code_values, level_counts, look_up
from rankfactor.likelihoods.base import DataLikelihood, Location, Params
from rankfactor.likelihoods.observed import Mapped, Observed, ObservedArray
from rankfactor.typing import Floats


@dataclass(frozen=True)
class Cuts:
    """Cut values of the features that vary."""

    columns: NDArray[np.int64]  # (d,)
    values: Floats  # (d, J), increasing; +inf past n_cuts
    n_cuts: NDArray[np.int64]  # (d,)

    @classmethod
    def learn(cls, values: Any, max_cuts: int, few: Mapping[int, Floats] | None = None) -> Self:
        """Cuts of every feature that varies in an array or a CSC matrix (samples, features).

        ``few`` has all values of some columns, if the table contains only some samples.
        """
        n_samples, n_features = values.shape
        if issparse(values):
            ends = values.indptr
            parts = [values.data[ends[i] : ends[i + 1]] for i in range(n_features)]
            chosen = [choose_cuts(part, max_cuts, n_samples - len(part)) for part in parts]
        else:
            chosen = [choose_cuts(values[:, i], max_cuts) for i in range(n_features)]
        for i, known in (few or {}).items():
            if len(known) <= max_cuts + 1:
                chosen[i] = known[:-1]
        columns = np.array([i for i, cuts in enumerate(chosen) if len(cuts)], np.int64)
        n_cuts = np.array([len(chosen[i]) for i in columns], np.int64)
        table = np.full((len(columns), int(n_cuts.max(initial=0))), np.inf)
        for row, i in enumerate(columns):
            table[row, : n_cuts[row]] = chosen[i]
        return cls(columns, table, n_cuts)

    def observe(self, values: Any) -> ObservedArray:
        """Codes of a table, an array or a CSC matrix of shape (samples, all columns)."""
        codes = np.empty((len(self.columns), values.shape[0]), np.uint8)
        if issparse(values):
            parts = (values.data, values.indices, values.indptr)
            code_sparse(*parts, self.columns, self.values, self.n_cuts, codes)
        else:
            code_values(values, self.columns, self.values, self.n_cuts, codes)
        return ObservedArray(codes)


def choose_cuts(column: Floats, max_cuts: int, n_zeros: int = 0) -> Floats:
    """Cuts of one feature: observed values that have a larger one.

    All of them if there are at most ``max_cuts``, otherwise those nearest to equally spaced
    quantiles. There are ``n_zeros`` further zeros.
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    if n_zeros:
        place = int(np.searchsorted(values, 0.0))
        if place == len(values) or values[place] != 0:
            values, counts = np.insert(values, place, 0.0), np.insert(counts, place, 0)
        counts[place] += n_zeros
    chosen, below = values[:-1], np.cumsum(counts)[:-1]
    if len(chosen) > max_cuts:
        wanted = np.arange(1, max_cuts + 1) / (max_cuts + 1) * counts.sum()
        nearest = np.abs(below - wanted[:, None]).argmin(axis=1)
        chosen = chosen[np.unique(nearest)]
    return chosen


def cuts_in_use(width: int, n_cuts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of ``width`` columns are used by rows with these numbers of cuts, shape (d, width)."""
    return np.asarray(np.arange(width) < n_cuts[:, None])


def cut_location(precision: float, points: Floats, n_cuts: NDArray[np.int64]) -> Location:
    """How cut points (d, J), zero where unused, with a normal prior absorb a shift."""
    pull = np.asarray(precision * points.sum(axis=1), np.float64)
    return Location(np.asarray(precision * n_cuts, np.float64), pull, np.ones(len(points), bool))


def cut_scale_terms(
    precision: float, points: Floats, n_cuts: NDArray[np.int64], factor: Floats
) -> Floats:
    """Log prior of cut points (m, J) times a factor each (m,), with the log Jacobian."""
    squares = (points**2).sum(axis=1)
    return np.asarray(n_cuts * np.log(factor) - 0.5 * precision * squares * factor**2)


def mean_noise(count: Floats, weight: Floats) -> Floats:
    """Inverse of the mean of tau, shape (d,), from its sum and the number of samples."""
    return np.asarray(count / np.maximum(weight, np.finfo(float).tiny))


class CutLikelihood(DataLikelihood[Params]):
    """Base of likelihoods that use a feature through its cuts.

    Attributes
    ----------
    cuts_field : str
        The hyper-parameter with the maximum number of cuts per feature.
    """

    coding: ClassVar[type[Cuts]] = Cuts
    takes_sparse: ClassVar[bool] = True
    cuts_field: ClassVar[str] = "max_cuts"

    @property
    def most_cuts(self) -> int:
        """Maximum number of cuts per feature."""
        return int(getattr(self, self.cuts_field))

    def __post_init__(self) -> None:
        """Refuse a number of cuts that one-byte codes cannot hold."""
        check_count(self.cuts_field, getattr(self, self.cuts_field), most=MAX_CUTS)

    def learn(self, values: Any, few: Mapping[int, Floats] | None = None) -> Cuts:
        """Cuts of every feature that varies."""
        return self.coding.learn(values, self.most_cuts, few)

    def score_levels(self, observed: Observed) -> Floats:
        """Normal quantile of every level's middle rank, scaled to unit variance, shape (d, L)."""
        codes = observed.tile(slice(None), slice(None))
        counts = level_counts(codes, self.most_cuts + 1)
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        middle = np.cumsum(share, axis=1) - 0.5 * share
        # A level without training samples is placed between its neighbours.
        table = ndtri(np.clip(middle, 1e-6, 1 - 1e-6))
        table -= (share * table).sum(axis=1, keepdims=True)
        spread = np.sqrt((share * table**2).sum(axis=1, keepdims=True))
        return np.asarray(np.divide(table, spread, where=spread > 0, out=table))

    def normal_scores(self, observed: Observed, levels: Floats | None = None) -> Observed:
        """The score of every entry's level."""
        table = self.score_levels(observed) if levels is None else levels
        return Mapped(observed, lambda rows, tile: look_up(tile, table[rows]))
