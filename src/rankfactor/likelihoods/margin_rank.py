"""Max-margin rank likelihood: every sample meets every cut.

Feature i has cuts c_i1 < ... < c_iJ at observed values, each with a latent cut point b_ij, and

    L = prod_n prod_j exp(-2 max(0, u_inj)),   u_inj = eps_i - s_inj (w_in - b_ij),

s = +1 where x_in > c_ij and -1 elsewhere. The constraint set is that of the paper's eq. (6),
w_n < w_n' - eps whenever x_n < x_n'; with one latent point per cut, in place of bounds that move
with the rows they depend on, all updates are those of one joint density and the bound is monotone
(the printed updates diverge or collapse).

Mean field (`rankfactor.kernels.sites`): E[1/lam] = E[u^2]^(-1/2), and for a cut point under the
prior b ~ N(0, 1/cut_precision), precision cut_precision + sum_n E[1/lam] and shift sum_n (
E[1/lam] (w - s eps) - s ).

Dividing w and b by eps_i shows that the margin is a temperature: eps_i J_i is the weight of a
feature's whole likelihood, since the prior of its loadings is free to take up any scale. So that
a feature of two levels weighs as much as one of a thousand, eps_i = margin x 32 / J_i: ``margin``
is the margin of a feature with 32 cuts, and ``max_cuts`` is a matter of resolution only
(docs/decisions.md).

The data enter through one-byte codes only, so a fitted model codes new samples against its cuts and
carries no training data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rankfactor.kernels.codes import MAX_CUTS, code_values, level_counts, look_up
from rankfactor.kernels.packed import Floats
from rankfactor.kernels.sites import margin_rank_sites
from rankfactor.laws.normal import Index, Normal
from rankfactor.likelihoods.base import (
    DataLikelihood,
    Observed,
    ObservedArray,
    RowArrays,
    Sites,
    Statistics,
)

# The number of cuts at which a feature's margin is `MarginRank.margin` itself.
REFERENCE_CUTS = 32


@dataclass(frozen=True)
class CutPoints(RowArrays):
    """Normal law of every latent cut point."""

    mean: Floats  # (d, J)
    variance: Floats  # (d, J)
    n_cuts: NDArray[np.int64]  # (d,)
    margin: Floats  # (d,)

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which of the J columns a row uses, shape (d, J)."""
        return np.arange(self.mean.shape[1]) < self.n_cuts[:, None]


@dataclass(frozen=True)
class Cuts:
    """Cut values of the features that vary."""

    columns: NDArray[np.int64]  # (d,)
    values: Floats  # (d, J), increasing; +inf past n_cuts
    n_cuts: NDArray[np.int64]  # (d,)

    def observe(self, values: Floats) -> ObservedArray:
        """Codes of a table, shape (samples, all columns)."""
        codes = np.empty((len(self.columns), len(values)), np.uint8)
        code_values(values, self.columns, self.values, self.n_cuts, codes)
        return ObservedArray(codes)


@dataclass(frozen=True)
class _LevelScores:
    """Mean normal score of every level, looked up tile by tile."""

    observed: Observed
    table: Floats  # (d, J + 1)

    @property
    def shape(self) -> tuple[int, int]:
        return self.observed.shape

    def tile(self, rows: slice, samples: Index) -> Floats:
        return np.asarray(look_up(self.observed.tile(rows, samples), self.table[rows]))


def choose_cuts(column: Floats, max_cuts: int) -> Floats:
    """Cuts of one feature: observed values that have a larger one.

    All of them if there are at most ``max_cuts``, else those nearest to equally spaced quantiles.
    """
    values, counts = np.unique(column[~np.isnan(column)], return_counts=True)
    chosen, below = values[:-1], np.cumsum(counts)[:-1]
    if len(chosen) > max_cuts:
        wanted = np.arange(1, max_cuts + 1) / (max_cuts + 1) * counts.sum()
        nearest = np.abs(below - wanted[:, None]).argmin(axis=1)
        chosen = chosen[np.unique(nearest)]
    return chosen


@dataclass(frozen=True)
class MarginRank(DataLikelihood[CutPoints]):
    """Max-margin rank likelihood.

    Attributes
    ----------
    margin : float
        The margin of a feature with 32 cuts; one with J cuts has ``32 / J`` times as much.
    max_cuts : int
        Most cuts of a feature, at most 254: a finer or coarser view of the ranks.
    cut_precision : float
        Prior precision of a cut point.
    """

    margin: float = 0.05
    max_cuts: int = 16
    cut_precision: float = 1e-3

    def learn(self, values: Floats) -> Cuts:
        """Cuts of every feature that varies."""
        chosen = [choose_cuts(values[:, i], self.max_cuts) for i in range(values.shape[1])]
        columns = np.array([i for i, cuts in enumerate(chosen) if len(cuts)], np.int64)
        n_cuts = np.array([len(chosen[i]) for i in columns], np.int64)
        table = np.full((len(columns), int(n_cuts.max(initial=0))), np.inf)
        for row, i in enumerate(columns):
            table[row, : n_cuts[row]] = chosen[i]
        return Cuts(columns, table, n_cuts)

    def normal_scores(self, observed: Observed) -> Observed:
        """Normal quantile of every level's middle rank, scaled to unit variance."""
        codes = observed.tile(slice(None), slice(None))
        counts = level_counts(codes, min(int(self.max_cuts), MAX_CUTS) + 1)
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        middle = np.cumsum(share, axis=1) - 0.5 * share
        table = np.where(share > 0, ndtri(np.clip(middle, 1e-6, 1 - 1e-6)), 0.0)
        table -= (share * table).sum(axis=1, keepdims=True)
        spread = np.sqrt((share * table**2).sum(axis=1, keepdims=True))
        return _LevelScores(observed, np.divide(table, spread, where=spread > 0, out=table))

    def start(self, coding: Cuts, observed: Observed, loadings: Floats) -> CutPoints:
        """Cut points at the normal quantiles of the starting predictor."""
        codes = observed.tile(slice(None), slice(None))
        width = coding.values.shape[1]
        counts = level_counts(codes, width + 1)
        below = np.cumsum(counts, axis=1)[:, :width] / counts.sum(axis=1, keepdims=True)
        spread = np.sqrt((loadings**2).sum(axis=1, keepdims=True))
        mean = spread * ndtri(np.clip(below, 1e-3, 1 - 1e-3))
        margin = self.margin * REFERENCE_CUTS / coding.n_cuts
        return CutPoints(mean, np.full_like(mean, 0.01), coding.n_cuts.copy(), margin)

    def noise_variance(self, params: CutPoints, n_samples: int) -> Floats:
        """Inverse of the mean of tau, shape (d,).

        The precision of a cut point is its prior's plus sum_n E[1/lam], so the cut points know it.
        """
        weight = np.where(params.used, 1.0 / params.variance - self.cut_precision, 0.0).sum(axis=1)
        return np.asarray(n_samples / np.maximum(weight, np.finfo(float).tiny))

    def sites(self, observed: NDArray[Any], w: Floats, var_w: Floats, params: CutPoints) -> Sites:
        """Sites of a tile, each array of shape (rows, samples)."""
        tau, rho, *_ = margin_rank_sites(
            observed, w, var_w, params.mean, params.variance, params.n_cuts, params.margin, False
        )
        return Sites(tau, rho)

    def statistics(
        self, observed: NDArray[Any], w: Floats, var_w: Floats, params: CutPoints, design: Normal
    ) -> Statistics:
        """Sums over samples.

        ``cross`` (rows, J, K) holds sum_n E[1/lam_nj] z_n: with it, cut points and rows can be
        updated in turn without another pass over the data.
        """
        tau, rho, inv_lam, weight, signed, bound = margin_rank_sites(
            observed, w, var_w, params.mean, params.variance, params.n_cuts, params.margin, True
        )
        t, width, n = inv_lam.shape
        cross = (inv_lam.reshape(t * width, n) @ design.mean).reshape(t, width, -1)
        pull = np.einsum("ij,ijk->ik", params.mean, cross)  # the part of rho z that the cuts make
        return {
            "second": tau @ design.second,
            "shift": rho @ design.mean - pull,
            "cross": cross,
            "weight": weight,
            "signed": signed,
            "bound": bound,
        }

    def bound(self, statistics: Statistics, rows: Normal, params: CutPoints) -> float:
        """Sum over samples and cuts of -(E[u] + sqrt(E[u^2]))."""
        return float(statistics["bound"].sum())

    def update(self, statistics: Statistics, rows: Normal, params: CutPoints) -> CutPoints:
        """Cut points given the rows."""
        precision = self.cut_precision + statistics["weight"]
        reach = np.einsum("ijk,ik->ij", statistics["cross"], rows.mean)
        mean = (reach - statistics["signed"]) / precision
        return CutPoints(mean * params.used, 1.0 / precision, params.n_cuts, params.margin)

    def system(self, statistics: Statistics, params: CutPoints) -> tuple[Floats, Floats]:
        """Packed precision (rows, P) and shift (rows, K)."""
        pull = np.einsum("ij,ijk->ik", params.mean, statistics["cross"])
        return statistics["second"], statistics["shift"] + pull

    def params_bound(self, params: CutPoints) -> float:
        """E[log p(b)] - E[log q(b)] over the cuts in use."""
        mean, variance = params.mean[params.used], params.variance[params.used]
        squares = self.cut_precision * (mean**2 + variance)
        return 0.5 * float(np.sum(1.0 + np.log(self.cut_precision * variance) - squares))
