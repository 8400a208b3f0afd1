r"""Number of factors by parallel analysis of the ranks (Horn 1965).

Let s_in be the normal score of feature i in sample n, with mean 0 and variance 1 over the samples
in which the feature is observed. The eigenvalues of the correlation of the features,

    lambda_1 >= lambda_2 >= ...   of   R = S S^T / N,

are compared with those of tables without factors. Such a table is the same table with the values
of every feature permuted over samples, each feature separately (Buja and Eyuboglu 1992). The number
of factors is the number of leading eigenvalues that exceed the 95 % quantile of `PERMUTATIONS`
permuted tables; counting stops at the first one that does not. Normal scores depend on the order of
the values only, so the count does not change under increasing transforms of the features. This
holds for every likelihood: values that a likelihood does not code by their ranks are ranked here.

**Size.** R and the N x N matrix S^T S / N have the same non-zero eigenvalues; the smaller one is
computed, by tiles of features. At most `MOST_SAMPLES` samples are used, and as few as
`FEWEST_SAMPLES` if there are many features as well; the seed draws them. Fewer samples can hide
weak factors.

**Missing values.** An entry of the matrix is a sum over the pairs that are both observed. If c_ij
is the number of these pairs, the entry is divided by c_ij and multiplied by sqrt(c_ii c_jj), so
that features (or samples) with few values have little weight:

    R_ij = sqrt(c_ii c_jj) / c_ij  sum_n s_in s_jn / N.

Zeros instead of missing entries would count a factor twice if some samples lack a whole group of
features: its scores with and without these zeros are two different directions. Permutations move
values among the observed entries of a feature, so permuted tables have the same missing entries.
If missing entries moved as well, samples with few values would look like factors.

**Blocks.** A factor of a small block is lost among the eigenvalues of a large table. For every
block in turn, the components found so far are regressed out of its normal scores. Eigenvalues of
the residuals that exceed chance are added to the count. Chance is that of the block's scores before
the regression. A regression lowers eigenvalues, so a block never adds more factors than a parallel
analysis of that block alone finds. Permuted residuals would be too low a limit: the regression
leaves N - K dimensions, and permuting spreads the same variance over N.

References: J. L. Horn, "A rationale and test for the number of factors in factor analysis",
Psychometrika 30 (1965), 179-185. A. Buja and N. Eyuboglu, "Remarks on parallel analysis",
Multivariate Behavioral Research 27 (1992), 509-540.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh
from scipy.linalg.blas import ssyrk
from scipy.special import ndtri

from rankfactor.kernels.codes import is_known
from rankfactor.likelihoods import Observed
from rankfactor.posterior.factor_count import FactorCount
from rankfactor.steps.workers import Workers
from rankfactor.typing import Floats, Index, Strings

PERMUTATIONS = 10
QUANTILE = 0.95
MOST_FACTORS = 50
MOST_SAMPLES = 2000
MOST_ENTRIES = 2 * 10**6  # entries of the samples used: with more than 1000 features, fewer samples
FEWEST_SAMPLES = 1000  # minimum number of samples used, if available
_KEPT = 10**7  # scores that are kept in memory
_TILE = 512  # features that are read together
_RIDGE = 1e-6  # of the regression on components, whose values have variance 1

Mask = NDArray[np.bool_]
Singles = NDArray[np.float32]


def count_factors(
    observed: Observed,
    scores: Observed,
    seed: int,
    pool: Workers,
    blocks: Strings | None = None,
) -> FactorCount:
    """Count the factors of a coded table.

    Parameters
    ----------
    observed : Observed
        The coded table, features by samples; it shows which entries are missing.
    scores : Observed
        Its normal scores, features by samples.
    seed : int
    pool : Workers
    blocks : str array, shape (features,), optional
        The block of every feature.
    """
    n_features, n_samples = scores.shape
    table = _Sampled(observed, scores, _samples(n_features, n_samples, seed))
    whole = _analyse(table, [seed, 0], pool)
    most = max(min(MOST_FACTORS, n_features - 1, n_samples - 1), 1)
    common = min(whole.n_factors, most)
    names = np.zeros(0, "<U1") if blocks is None else np.array(list(dict.fromkeys(blocks.tolist())))
    added = np.zeros(len(names), np.int64)
    if blocks is not None and len(names) > 1:
        found = [whole.matrix.components(common)]
        for number, name in enumerate(names):
            part = replace(table, features=np.flatnonzero(blocks == name))
            rest = replace(part, components=np.column_stack(found))
            result = _analyse(rest, [seed, 1 + number], pool, chance_of=part)
            added[number] = min(result.n_factors, most - common - int(added.sum()))
            found.append(result.matrix.components(int(added[number])))
    n_factors = max(common + int(added.sum()), 1)
    return FactorCount(
        n_factors, common, whole.eigenvalues, whole.chance, table.shape[1], names, added
    )


def _samples(n_features: int, n_samples: int, seed: int) -> Index:
    """The samples to use: all of them or, of many, some at random."""
    most = min(MOST_SAMPLES, max(FEWEST_SAMPLES, MOST_ENTRIES // n_features))
    if n_samples <= most:
        return slice(0, n_samples)
    return np.sort(np.random.default_rng(seed).choice(n_samples, most, replace=False))


class _Tile(NamedTuple):
    """Standardised scores of some features, zero where missing, and which are observed."""

    values: Singles  # (features, samples)
    seen: Mask  # (features, samples)


@dataclass(frozen=True)
class _Sampled:
    """Standardised normal scores of some features and samples, read by tiles of features.

    Single precision is enough to compare eigenvalues. Few scores are kept, many are read again for
    every permutation.
    """

    observed: Observed
    scores: Observed
    samples: Index
    features: NDArray[np.int64] | None = None  # of the table; None for all
    components: Floats | None = None  # (samples, K), to be regressed out

    @property
    def shape(self) -> tuple[int, int]:
        """Number of features and of samples."""
        n_features, n_samples = self.scores.shape
        if self.features is not None:
            n_features = len(self.features)
        return n_features, n_samples if isinstance(self.samples, slice) else len(self.samples)

    @property
    def by_feature(self) -> bool:
        """Whether the matrix is that of the features; of the samples if these are fewer."""
        n_features, n_samples = self.shape
        return n_features <= n_samples

    def tiles(self) -> Iterator[_Tile]:
        """All scores; in one tile if the matrix is that of the features."""
        n_features, n_samples = self.shape
        if n_features * n_samples <= _KEPT:
            yield from self._kept
        else:
            yield from map(self._read, self._places())

    @cached_property
    def _kept(self) -> list[_Tile]:
        return [self._read(place) for place in self._places()]

    @cached_property
    def pairs(self) -> Floats | None:
        """Numbers of pairs that are both observed (side, side); None if nothing is missing."""
        side = min(self.shape)
        total = np.zeros((side, side))
        complete = True
        for tile in self.tiles():
            complete = complete and bool(tile.seen.all())
            total += _products(tile.seen.astype(np.float32), self.by_feature)
        return None if complete else total

    def _places(self) -> list[list[slice]]:
        """Features of the table that are read together: slices within its blocks."""
        features = np.arange(self.shape[0]) if self.features is None else self.features
        breaks = np.concatenate(
            [
                np.flatnonzero(np.diff(features) != 1) + 1,
                np.searchsorted(features, self.scores.block_ends),
                [] if self.by_feature else np.arange(_TILE, len(features), _TILE),
            ]
        )
        places: list[list[slice]] = [[]]
        length = 0
        for part in np.split(features, np.unique(breaks).astype(np.int64)):
            if not len(part):
                continue
            if length >= _TILE and not self.by_feature:
                places.append([])
                length = 0
            places[-1].append(slice(int(part[0]), int(part[-1]) + 1))
            length += len(part)
        return places

    def _read(self, place: Sequence[slice]) -> _Tile:
        parts = [_normal_scores(self.observed, self.scores, one, self.samples) for one in place]
        values, seen = np.vstack([one[0] for one in parts]), np.vstack([one[1] for one in parts])
        count = np.maximum(seen.sum(axis=1, keepdims=True), 1)
        values -= np.where(seen, values.sum(axis=1, keepdims=True) / count, 0.0)
        spread = np.sqrt((values**2).sum(axis=1, keepdims=True) / count)
        values *= np.divide(1.0, spread, where=spread > 1e-6, out=np.zeros_like(spread))
        if self.components is not None:
            slopes = _regressed(values, seen, self.components, _RIDGE * self.shape[1])
            values = np.where(seen, values - slopes @ self.components.T, 0.0)
        return _Tile(values.astype(np.float32), seen)


def _normal_scores(
    observed: Observed, scores: Observed, rows: slice, samples: Index
) -> tuple[Floats, Mask]:
    """Normal scores (rows, samples), zero where missing, and which values are observed."""
    tile: NDArray[Any] = observed.tile(rows, samples)
    seen = is_known(tile)
    if tile.dtype.kind != "f":  # codes of levels
        return np.array(scores.tile(rows, samples), np.float64), seen
    # Missing values come last. Like scipy.stats.rankdata, which takes half a second to import.
    ranks = pd.DataFrame(np.where(seen, tile, np.inf).T).rank().to_numpy().T - 0.5
    share = ranks / np.maximum(seen.sum(axis=1, keepdims=True), 1)
    return np.where(seen, ndtri(np.where(seen, share, 0.5)), 0.0), seen


def _permuted(tile: _Tile, rng: np.random.Generator) -> Singles:
    """Values of every feature permuted over the samples in which it is observed."""
    complete = tile.seen.all(axis=1)
    if complete.all():
        return rng.permuted(tile.values, axis=1)
    values = tile.values.copy()
    values[complete] = rng.permuted(values[complete], axis=1)
    for row in np.flatnonzero(~complete):
        seen = tile.seen[row]
        values[row, seen] = rng.permutation(values[row, seen])
    return values


def _products(values: Singles, by_feature: bool, total: Singles | None = None) -> Singles:
    """Inner products of features or of samples (side, side), added to a total; lower triangle."""
    # Sums run over columns of a Fortran array, so neither form copies the values.
    values = np.ascontiguousarray(values)
    side = len(values) if by_feature else values.shape[1]
    if total is None:
        total = np.zeros((side, side), np.float32, order="F")
    return np.asarray(
        ssyrk(1.0, values.T, 1.0, total, trans=int(by_feature), lower=1, overwrite_c=1)
    )


def _regressed(values: NDArray[Any], seen: Mask, design: Floats, ridge: float) -> Floats:
    """Coefficients (rows, K) of every row's observed values on a design (columns, K)."""
    k = design.shape[1]
    right = np.where(seen, values, 0.0) @ design
    if seen.all():
        return np.asarray(np.linalg.solve(design.T @ design + ridge * np.eye(k), right.T).T)
    products = (design[:, :, None] * design[:, None, :]).reshape(len(design), k * k)
    left = (seen.astype(float) @ products).reshape(-1, k, k) + ridge * np.eye(k)
    return np.asarray(np.linalg.solve(left, right[:, :, None])[:, :, 0])


@dataclass(frozen=True)
class _Matrix:
    """The matrix whose eigenvalues are compared, of features or of samples."""

    table: _Sampled
    values: Floats  # (side, side), lower triangle

    @classmethod
    def of(cls, table: _Sampled, seed: Sequence[int] | None = None) -> _Matrix:
        """The matrix of a table or, with a seed, of a permuted one."""
        total: Singles | None = None
        for number, tile in enumerate(table.tiles()):
            values = tile.values
            if seed is not None:
                values = _permuted(tile, np.random.default_rng([*seed, number]))
            total = _products(values, table.by_feature, total)
        assert total is not None
        matrix = total / table.shape[1]
        if table.pairs is not None:
            own = np.sqrt(np.diag(table.pairs))
            several = table.pairs > 0
            matrix *= np.divide(np.outer(own, own), table.pairs, where=several, out=0.0 * matrix)
        return cls(table, matrix.astype(np.float64))

    def leading(self, count: int) -> Floats:
        """The largest eigenvalues, in decreasing order."""
        side = len(self.values)
        found = eigvalsh(self.values, lower=True, subset_by_index=[side - count, side - 1])
        return np.asarray(found[::-1])

    def components(self, count: int) -> Floats:
        """Values (samples, count) of the leading components, each of variance 1."""
        side, table = len(self.values), self.table
        if not count:
            return np.zeros((table.shape[1], 0))
        values, found = eigh(self.values, lower=True, subset_by_index=[side - count, side - 1])
        if table.pairs is not None:  # eigenvectors are weighted by the share of observed values
            found = (
                found / np.sqrt(np.maximum(np.diag(table.pairs), 1.0) / max(table.shape))[:, None]
            )
        if table.by_feature:
            # Each sample's observed scores, regressed on the loadings; noise has variance below 1.
            (tile,) = table.tiles()
            found = _regressed(tile.values.T, tile.seen.T, found * np.sqrt(values), 1.0)
        found = found - found.mean(axis=0)
        return np.asarray(found / np.sqrt((found**2).mean(axis=0)))


class _Analysis(NamedTuple):
    """A table's leading eigenvalues and their quantiles under chance, each of shape (L,)."""

    eigenvalues: Floats
    chance: Floats
    matrix: _Matrix

    @property
    def n_factors(self) -> int:
        """Number of leading eigenvalues that exceed chance."""
        within = np.flatnonzero(self.eigenvalues <= self.chance)
        return int(within[0]) if len(within) else len(self.eigenvalues)


def _analyse(
    table: _Sampled, seed: Sequence[int], pool: Workers, chance_of: _Sampled | None = None
) -> _Analysis:
    """Eigenvalues of a table and of its permutations, or those of ``chance_of``."""
    most = min(MOST_FACTORS, *table.shape)
    permuted = table if chance_of is None else chance_of
    permuted.pairs  # noqa: B018 (scores and pairs are made once, before there are threads)
    by_chance = pool.map(
        lambda number: _Matrix.of(permuted, [*seed, number]).leading(most), range(PERMUTATIONS)
    )
    matrix = _Matrix.of(table)
    chance = np.quantile(by_chance, QUANTILE, axis=0)
    return _Analysis(matrix.leading(most), np.asarray(chance), matrix)
