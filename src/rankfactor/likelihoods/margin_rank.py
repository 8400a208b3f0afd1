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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rankfactor.kernels.codes import MISSING, level_counts
from rankfactor.kernels.packed import Floats
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.sites import margin_rank_draws, margin_rank_sites
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods.base import (
    Chance,
    DataLikelihood,
    Observed,
    RowArrays,
    Sites,
    Statistics,
)
from rankfactor.likelihoods.coding import Cuts, learn_cuts, level_scores

# The number of cuts at which a feature's margin is `MarginRank.margin` itself.
REFERENCE_CUTS = 32


@dataclass(frozen=True)
class CutPoints(RowArrays):
    """Normal law of every latent cut point."""

    mean: Floats  # (d, J)
    variance: Floats  # (d, J)
    n_cuts: NDArray[np.int64]  # (d,)
    margin: Floats  # (d,)
    noise: Floats  # (d,): inverse of the mean of tau

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which of the J columns a row uses, shape (d, J)."""
        return np.arange(self.mean.shape[1]) < self.n_cuts[:, None]

    @classmethod
    def pool(cls, draws: Sequence[CutPoints]) -> CutPoints:
        """Normal laws with the mean and the variance of some draws."""
        values = np.array([one.mean for one in draws])
        noise = np.mean([one.noise for one in draws], axis=0)
        last = draws[-1]
        return cls(values.mean(axis=0), values.var(axis=0), last.n_cuts, last.margin, noise)

    def draw(self, stream: Stream, first: int = 0) -> CutPoints:
        """One draw of every cut point, as a law without variance."""
        width = self.mean.shape[1]
        law = Normal(self.mean.reshape(-1, 1), self.variance.reshape(-1, 1), np.zeros(0))
        mean = law.draw(stream, first * width).mean.reshape(-1, width)
        return CutPoints(
            mean * self.used, np.zeros_like(mean), self.n_cuts, self.margin, self.noise
        )


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
        return learn_cuts(values, self.max_cuts)

    def normal_scores(self, observed: Observed) -> Observed:
        """Normal quantile of every level's middle rank, scaled to unit variance."""
        return level_scores(observed, self.max_cuts)

    def start(self, coding: Cuts, observed: Observed, loadings: Floats) -> CutPoints:
        """Cut points at the normal quantiles of the starting predictor."""
        codes = observed.tile(slice(None), slice(None))
        width = coding.values.shape[1]
        counts = level_counts(codes, width + 1)
        below = np.cumsum(counts, axis=1)[:, :width] / counts.sum(axis=1, keepdims=True)
        spread = np.sqrt((loadings**2).sum(axis=1, keepdims=True))
        mean = spread * ndtri(np.clip(below, 1e-3, 1 - 1e-3))
        margin = self.margin * REFERENCE_CUTS / coding.n_cuts
        noise = np.clip(1.0 - spread[:, 0] ** 2, 0.05, 1.0)
        return CutPoints(mean, np.full_like(mean, 0.01), coding.n_cuts.copy(), margin, noise)

    def noise_variance(self, params: CutPoints) -> Floats:
        """Inverse of the mean of tau, shape (d,)."""
        return params.noise

    def sites(
        self,
        observed: NDArray[Any],
        w: Floats,
        var_w: Floats,
        params: CutPoints,
        chance: Chance | None = None,
    ) -> Sites:
        """Sites of a tile, each array of shape (rows, samples)."""
        tau, rho, *_ = _sites(observed, w, var_w, params, False, chance)
        return Sites(tau, rho)

    def statistics(
        self,
        observed: NDArray[Any],
        w: Floats,
        var_w: Floats,
        params: CutPoints,
        design: Normal,
        chance: Chance | None = None,
    ) -> Statistics:
        """Sums over samples.

        ``cross`` (rows, J, K) holds sum_n E[1/lam_nj] z_n: with it, cut points and rows can be
        updated in turn without another pass over the data.
        """
        tau, rho, inv_lam, weight, signed, bound = _sites(observed, w, var_w, params, True, chance)
        t, width, n = inv_lam.shape
        cross = (inv_lam.reshape(t * width, n) @ design.mean).reshape(t, width, -1)
        pull = np.einsum("ij,ijk->ik", params.mean, cross)  # the part of rho z that the cuts make
        return {
            "second": tau @ design.second,
            "shift": rho @ design.mean - pull,
            "cross": cross,
            "weight": weight,
            "signed": signed,
            "count": (observed != MISSING).sum(axis=1),
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
        total = np.maximum(statistics["weight"].sum(axis=1), np.finfo(float).tiny)
        noise = statistics["count"] / total
        return CutPoints(mean * params.used, 1.0 / precision, params.n_cuts, params.margin, noise)

    def system(self, statistics: Statistics, params: CutPoints) -> tuple[Floats, Floats]:
        """Packed precision (rows, P) and shift (rows, K)."""
        pull = np.einsum("ij,ijk->ik", params.mean, statistics["cross"])
        return statistics["second"], statistics["shift"] + pull

    def params_bound(self, params: CutPoints) -> float:
        """E[log p(b)] - E[log q(b)] over the cuts in use."""
        mean, variance = params.mean[params.used], params.variance[params.used]
        squares = self.cut_precision * (mean**2 + variance)
        return 0.5 * float(np.sum(1.0 + np.log(self.cut_precision * variance) - squares))


def _sites(
    observed: NDArray[Any],
    w: Floats,
    var_w: Floats,
    params: CutPoints,
    keep: bool,
    chance: Chance | None,
) -> Any:
    """What the kernel gives for a tile: expectations of 1/lam, or draws."""
    law = (params.mean, params.variance, params.n_cuts, params.margin)
    if chance is None:
        return margin_rank_sites(observed, w, var_w, *law, keep)
    place = (chance.stream.word, chance.row, chance.sample)
    return margin_rank_draws(observed, w, var_w, *law, keep, *place)
