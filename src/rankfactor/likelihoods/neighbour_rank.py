r"""The paper's printed max-margin rank likelihood, for comparison only: use `MarginRank`.

    L_i(w_n | others) = exp(-2 max(0, eps + w^l_n - w_n)) exp(-2 max(0, w_n + eps - w^u_n)),

eqs. (6) to (8), with w^l the largest w of lower ranks and w^u the smallest of higher ones
(``bounds="extremum"``), or only those of the next lower and the next higher rank (``"nearest"``).
Both bounds are kept fixed while rows and scores that they depend on are updated, so the updates are
not the conditionals of any joint density. Samples at an end have only one hinge, which drives them
outwards, while all others are pulled together: if many samples share an end, as pixels do, and w is
too simple to keep the order, sd(w) grows without end (a thousandfold in a hundred iterations, with
extremum bounds); otherwise it collapses. There is no evidence to bound: the reported value consists
of the terms -(E[u] + sqrt(E[u^2])) of the two hinges at the current bounds.

Errata corrected: a sample of the lowest or highest rank keeps its one hinge with its own +1 or -1
(the printed ones cancel only for the others); tau is 1/lam^l + 1/lam^u itself, not its inverse; and
E[1/lam] = E[u^2]^(-1/2), the variance of w inside:

    tau = E[1/lam^l] + E[1/lam^u],
    rho = E[1/lam^l] (w^l + eps) + 1 + E[1/lam^u] (w^u - eps) - 1.

Ranks are those of at most 255 levels of a feature (`rankfactor.likelihoods.coding`), each with its
two bounds, so new samples are coded as for `MarginRank` and only the cuts are kept. Ties, and
values merged into a level, have no constraint among themselves.
"""

import warnings
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError, check_positive, convergence_warning
from rankfactor.kernels.codes import MAX_CUTS, MISSING
from rankfactor.kernels.rank_draws import level_extremes
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns
from rankfactor.likelihoods.base import Sites, Statistics, Tile
from rankfactor.likelihoods.coding import CutLikelihood, Cuts, mean_noise
from rankfactor.likelihoods.hinge import augmented
from rankfactor.likelihoods.observed import Observed
from rankfactor.likelihoods.ordinal_probit import start_cut_points
from rankfactor.likelihoods.row_arrays import RowArrays
from rankfactor.typing import Floats

# Factor of growth or shrinkage of sd(w) at which a warning is given.
_FAR = 10.0


@dataclass(frozen=True)
class NeighbourBounds(RowArrays):
    """Bounds of every level, and the history of sd(w)."""

    low: Floats  # (d, J + 1), -inf for the lowest level
    high: Floats  # (d, J + 1), inf for the highest level
    noise: Floats  # (d,): inverse of the mean of tau
    spread: Floats  # (d,): root mean square of w over samples, 0 before the first step
    first_spread: Floats  # (d,): the same at the first step
    reported: NDArray[np.bool_]  # (d,): whether the user has been warned

    pooled: ClassVar[tuple[str, ...]] = ("low", "high", "noise")


@dataclass(frozen=True)
class NeighbourRank(CutLikelihood[NeighbourBounds]):
    """The paper's printed rank likelihood, which diverges or collapses.

    Attributes
    ----------
    margin : float
        The eps of all features.
    bounds : {"extremum", "nearest"}
        Bounds at the extremes of all lower and higher ranks, or of the neighbouring ones.
    table_cuts : int
        Maximum number of cuts per feature, up to 254; with more levels, neighbours are merged.
    """

    margin: float = 0.05
    bounds: str = "extremum"
    table_cuts: int = MAX_CUTS

    name: ClassVar[str] = "neighbour_rank"
    phrase: ClassVar[str] = "max-margin rank likelihood with the bounds of the paper's print"
    parameters: ClassVar[type[RowArrays]] = NeighbourBounds
    cuts_field: ClassVar[str] = "table_cuts"
    has_gradient: ClassVar[bool] = False
    has_monotone_bound: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse hyper-parameters out of range."""
        super().__post_init__()
        check_positive("margin", self.margin)
        if self.bounds not in ("extremum", "nearest"):
            raise InputError(f"bounds must be 'extremum' or 'nearest', not {self.bounds!r}.")

    def start(self, coding: Cuts, observed: Observed, loadings: Floats) -> NeighbourBounds:
        """Bounds at normal quantiles; the first step moves them to those of w."""
        h = start_cut_points(coding, observed, loadings)
        low, high = _between_levels(h, h)
        high[np.arange(high.shape[1]) >= coding.n_cuts[:, None]] = np.inf
        zero, one = np.zeros(len(h)), np.ones(len(h))
        return NeighbourBounds(low, high, one, zero, zero.copy(), np.zeros(len(h), bool))

    def noise_variance(self, params: NeighbourBounds) -> Floats:
        """Inverse of the mean of tau, shape (d,)."""
        return params.noise

    def prepare(self, observed: Observed, rows: Normal, params: NeighbourBounds) -> NeighbourBounds:
        """Warn once per fit if the root mean square of w is far from its start."""
        now, first = (float(np.sqrt(np.mean(x**2))) for x in (params.spread, params.first_spread))
        if first == 0 or params.reported.any() or first / _FAR < now < first * _FAR:
            return params
        what = "grown without end" if now > first else "collapsed"
        warnings.warn(
            f"sd(w) has {what}, from {first:.3g} to {now:.3g}: the printed rank likelihood has "
            f"no joint density to settle in (bounds={self.bounds!r}); use MarginRank, the model "
            "R-L-BSVM.",
            convergence_warning(),
            stacklevel=2,
        )
        return replace(params, reported=np.ones_like(params.reported))

    def refresh(self, observed: Observed, rows: slice, tile: Tile) -> NeighbourBounds:
        """Bounds at the present w, the same whether that is a mean or a draw."""
        w = tile.w
        params: NeighbourBounds = tile.params
        top, bottom = level_extremes(tile.observed, w, params.low.shape[1])
        if self.bounds == "extremum":
            top = np.maximum.accumulate(top, axis=1)
            bottom = np.minimum.accumulate(bottom[:, ::-1], axis=1)[:, ::-1]
        low, high = _between_levels(top[:, :-1], bottom[:, 1:])
        spread = np.sqrt(np.mean(w**2, axis=1))
        first = np.where(params.first_spread == 0, spread, params.first_spread)
        return replace(params, low=low, high=high, spread=spread, first_spread=first)

    def terms(self, tile: Tile) -> tuple[Sites, Floats]:
        """Sites and bound terms of a tile, each array of shape (rows, samples)."""
        codes, w, chance = tile.observed, tile.w, tile.chance
        level = np.where(codes == MISSING, 0, codes).astype(np.intp)
        tau, rho, terms = np.zeros((3, *w.shape))
        # s = +1 for the lower bound, -1 for the upper: u = eps - s (w - bound).
        for number, (s, table) in enumerate(((1.0, tile.params.low), (-1.0, tile.params.high))):
            bound = np.take_along_axis(table, level, axis=1)
            there = np.isfinite(bound) & (codes != MISSING)
            bound = np.where(there, bound, 0.0)
            u = self.margin - s * (w - bound)
            side = None if chance is None else replace(chance, stream=chance.stream.child(number))
            root, inv_lam = augmented(u, tile.var_w, there.astype(np.float64), side)
            tau += inv_lam
            rho += inv_lam * (bound + s * self.margin) + s * there
            terms -= there * (u + root)
        return Sites(tau, rho), terms

    def statistics(self, tile: Tile, columns: AnyColumns) -> Statistics:
        """Sums over the samples of a tile."""
        sites, terms = self.terms(tile)
        return {
            "second": sites.tau @ columns.second,
            "shift": sites.rho @ columns.mean,
            "weight": sites.tau.sum(axis=1),
            "count": (tile.observed != MISSING).sum(axis=1),
            "bound": terms.sum(axis=1),
        }

    def update(
        self, statistics: Statistics, rows: Normal, params: NeighbourBounds
    ) -> NeighbourBounds:
        """The noise; bounds are updated by `refresh`."""
        return replace(params, noise=mean_noise(statistics["count"], statistics["weight"]))


def _between_levels(below: Floats, above: Floats) -> tuple[Floats, Floats]:
    """Lower and upper bounds (d, J + 1) from those between levels (d, J); none at the ends."""
    end = np.full((len(below), 1), np.inf)
    return np.column_stack([-end, below]), np.column_stack([above, end])
