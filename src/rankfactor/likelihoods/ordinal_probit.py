r"""Ordinal probit: a latent normal falls between the cut points of the observed level.

    w*_in ~ N(w_in, 1),    code_in = c   if and only if   h_{i,c-1} < w*_in < h_{i,c}

with h_0 = -inf, h_{J+1} = inf and the levels of `rankfactor.likelihoods.coding`. The cut points
have the prior p(h) prop. N(0, 1/cut_precision) on increasing sequences, and are point estimates in
mean field; they replace an intercept, and the unit noise sets the scale.

Mean field: q(w*) is the normal around m = E[w] truncated to its interval; site tau = 1,
rho = E[w*]; the term's part of the bound is log(Phi(h_c - m) - Phi(h_{c-1} - m)) - Var(w)/2.

**Cut points.** At fixed q(w*) no cut point can move: the interval is the support of q. There is
also no quadratic minorant, since the curvature in an end of an interval of width D is about 1/D^2,
unbounded (it is below 1 only for half-lines). So q is expressed in coordinates that move with the
cut points: within its interval ``w* = (1 - v) h_{c-1} + v h_c`` with v in (0, 1), below all cuts
``w* = h_1 - e`` and above all ``w* = h_J + e`` with e > 0. In these the same joint density is

    log N(w*(v, h); w, 1) + log(h_c - h_{c-1}),

where the last term is the Jacobian of a bounded interval. Write w*_n = o_n + sum_j r_nj h_j, where
r contains 1 - v and v or a single 1, and o = -e, e or 0. The expected log density is then

    -h^T T h / 2 + h . ( sum_n E[r_n] m_n - sum_n E[r_n o_n] ) + sum_j N_j log(h_{j+1} - h_j),

concave in h, and jointly in h and m, with T = sum_n E[r_n r_n^T] tridiagonal and N_j the number of
samples between cuts j and j + 1. Its coefficients are sums over samples, so cut points and
rows are updated in turn without another pass over the data, and every step is an exact ascent of
the bound: P_i = sum_n E[z z^T], shift = sum_n E[o_n] z_n + sum_j h_j sum_n E[r_nj] z_n.

**Gibbs sampling** draws w* and, in the same coordinates, the cut points given v and e: from the
exponential of the expression above, with the drawn o and r instead of their expectations
(`rankfactor.kernels.rank_draws`). A cut point then moves by the width of the posterior, about
1/sqrt(N); given w* itself, as in Albert and Chib (1993), it would have to stay between two
neighbours of N points, and move by about 1/N per sweep (Cowles 1996).
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, ndtri

from rankfactor.errors import check_positive
from rankfactor.kernels.codes import MISSING, level_counts
from rankfactor.kernels.ordinal import (
    ordinal_scaled,
    ordinal_sites,
    ordinal_slopes,
    ordinal_statistics,
    raise_cut_points,
)
from rankfactor.kernels.rank_draws import draw_cut_points
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns, sum_over
from rankfactor.likelihoods.base import AsLabels, Location, Params, Sites, Slopes, Statistics, Tile
from rankfactor.likelihoods.coding import (
    CutLikelihood,
    Cuts,
    cut_location,
    cut_scale_terms,
    cuts_in_use,
)
from rankfactor.likelihoods.observed import Observed
from rankfactor.likelihoods.probit import Probit
from rankfactor.likelihoods.row_arrays import RowArrays
from rankfactor.typing import Floats


@dataclass(frozen=True)
class Thresholds(RowArrays):
    """Cut points of every row."""

    h: Floats  # (d, J), increasing; zero past n_cuts
    n_cuts: NDArray[np.int64]  # (d,)

    public_names: ClassVar[dict[str, str] | None] = {"h": "cut_points"}
    pooled: ClassVar[tuple[str, ...]] = ("h",)  # a mean of increasing sequences increases

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which of the J columns a row uses, shape (d, J)."""
        return cuts_in_use(self.h.shape[1], self.n_cuts)


class LatentNormal(CutLikelihood[Params]):
    """Base of likelihoods of a latent w* ~ N(w, 1) between cut points ``params.h``."""

    needs_variance: ClassVar[bool] = False

    def noise_variance(self, params: Any) -> Floats:
        """Unit noise, shape (d,)."""
        return np.ones(len(params.n_cuts))

    def sites(self, tile: Tile) -> Sites:
        """Sites of a tile of codes, each array of shape (rows, samples)."""
        given = tile.observed, tile.w, tile.params.h, tile.params.n_cuts
        return Sites(tau_of(tile), ordinal_sites(*given, *tile.place))

    def bound(self, statistics: Statistics, rows: Normal, params: Any) -> float:
        """Sum of the statistic ``bound`` minus half the variance of w, over observed entries."""
        second = rows.second_products(statistics["second"])
        variance = np.maximum(second - statistics["squares"], 0.0)
        return float(np.sum(statistics["bound"] - 0.5 * variance))


@dataclass(frozen=True)
class OrdinalProbit(LatentNormal[Thresholds]):
    """Ordinal probit likelihood, for features of few levels.

    Attributes
    ----------
    max_cuts : int
        Maximum number of cuts per feature, up to 254; with more levels, neighbours are merged.
    cut_precision : float
        Prior precision of a cut point.
    """

    max_cuts: int = 16
    cut_precision: float = 1e-3

    name: ClassVar[str] = "ordinal_probit"
    phrase: ClassVar[str] = (
        "ordinal probit likelihood (only the order of a feature's values counts)"
    )
    parameters: ClassVar[type[RowArrays]] = Thresholds
    has_curvature: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse hyper-parameters out of range."""
        super().__post_init__()
        check_positive("cut_precision", self.cut_precision)

    def slopes(self, tile: Tile) -> Slopes:
        """Derivatives of a tile's bound in w, each of shape (rows, samples)."""
        given = tile.observed, tile.w, tile.params.h, tile.params.n_cuts
        return Slopes(tau_of(tile), *ordinal_slopes(*given))

    def start(self, coding: Cuts, observed: Observed, loadings: Floats) -> Thresholds:
        """Cut points at the normal quantiles of w* under the starting loadings."""
        return Thresholds(start_cut_points(coding, observed, loadings), coding.n_cuts.copy())

    def statistics(self, tile: Tile, columns: AnyColumns) -> Statistics:
        """Sums over samples, from which rows and cut points are updated in turn."""
        given = tile.observed, tile.w, tile.params.h, tile.params.n_cuts, columns.mean
        offset, *found = ordinal_statistics(*given, *tile.place)
        names = ("cross", "diagonal", "beside", "pull", "within", "squares", "bound")
        return {
            "second": sum_over(columns, tile.observed != MISSING),
            "shift": offset @ columns.mean,
            **dict(zip(names, found, strict=True)),
        }

    def update(self, statistics: Statistics, rows: Normal, params: Thresholds) -> Thresholds:
        """Cut points given the rows."""
        diagonal, beside, linear, within = self._target(statistics, rows)
        within = np.maximum(within, 1.0)  # a level without samples must not collapse
        h = raise_cut_points(params.h, params.n_cuts, diagonal, beside, linear, within)
        return Thresholds(h, params.n_cuts)

    def draw_params(
        self,
        statistics: Statistics,
        rows: Normal,
        params: Thresholds,
        stream: Stream,
        first: int = 0,
    ) -> Thresholds:
        """A draw of the cut points given the rows and the samples' places between them."""
        target = self._target(statistics, rows)
        h = draw_cut_points(params.h, params.n_cuts, *target, stream.word, first)
        return Thresholds(h, params.n_cuts)

    def _target(
        self, statistics: Statistics, rows: Normal
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Diagonals of T, linear term and counts of the cut points' density, each (rows, J)."""
        reach = np.einsum("ijk,ik->ij", statistics["cross"], rows.mean)
        return (
            statistics["diagonal"] + self.cut_precision,
            statistics["beside"],
            reach - statistics["pull"],
            statistics["within"],
        )

    def system(self, statistics: Statistics, params: Thresholds) -> tuple[Floats, Floats]:
        """Packed precision (rows, P) and shift (rows, K)."""
        pull = np.einsum("ij,ijk->ik", params.h, statistics["cross"])
        return statistics["second"], statistics["shift"] + pull

    def location(self, params: Thresholds, n_rows: int) -> Location:
        """Cut points absorb a shift, under their normal prior."""
        return cut_location(self.cut_precision, params.h, params.n_cuts)

    def shifted(self, params: Thresholds, shift: Floats) -> Thresholds:
        """The cut points in use, shifted."""
        return Thresholds(params.h + shift[:, None] * params.used, params.n_cuts)

    def has_scale(self, params: Thresholds) -> bool:
        """Rows are multiplied together with their cut points."""
        return True

    def scale_terms(self, tile: Tile, factor: Floats, some: NDArray[np.int64]) -> Floats:
        """Log density of rows and cut points multiplied by a factor, shape (m,)."""
        p = tile.params
        terms = ordinal_scaled(tile.observed, tile.w, p.h, p.n_cuts, factor, some)
        prior = cut_scale_terms(self.cut_precision, p.h[some], p.n_cuts[some], factor)
        return np.asarray(terms + prior)

    def scaled(self, params: Thresholds, factor: Floats) -> Thresholds:
        """Cut points times a factor."""
        return Thresholds(params.h * factor[:, None], params.n_cuts)

    def two_levels(self, params: Thresholds) -> NDArray[np.int64]:
        """Rows with a single cut."""
        return np.flatnonzero(params.n_cuts == 1)

    def as_labels(self, params: Thresholds, rows: NDArray[np.int64]) -> AsLabels:
        """``Phi(s (w - h))``: a probit."""
        return AsLabels(Probit(), np.ones(len(rows)), params.h[rows, 0], self.cut_precision)

    def with_cuts(self, params: Thresholds, rows: NDArray[np.int64], cuts: Floats) -> Thresholds:
        """Their only cut points."""
        h = params.h.copy()
        h[rows, 0] = cuts
        return Thresholds(h, params.n_cuts)

    def params_bound(self, params: Thresholds) -> float:
        """Log prior density of the cut points; log n! because they are ordered."""
        squares = self.cut_precision * params.h[params.used] ** 2
        terms = np.log(self.cut_precision / (2 * np.pi)) - squares
        return 0.5 * float(terms.sum()) + float(gammaln(params.n_cuts + 1.0).sum())


def tau_of(tile: Tile) -> Floats:
    """1, or 0 where missing, shape (rows, samples); a read-only broadcast if nothing is missing."""
    missing = tile.observed == MISSING
    return ~missing * 1.0 if missing.any() else np.broadcast_to(1.0, missing.shape)


def start_cut_points(coding: Cuts, observed: Observed, loadings: Floats) -> Floats:
    """Cut points (d, J) at the normal quantiles of w* under the starting loadings."""
    codes = observed.tile(slice(None), slice(None))
    width = coding.values.shape[1]
    # Adding half a sample to every level keeps the quantiles finite and distinct.
    counts = level_counts(codes, width + 1) + 0.5
    counts[np.arange(width + 1) > coding.n_cuts[:, None]] = 0.0
    below = np.cumsum(counts, axis=1)[:, :width] / counts.sum(axis=1, keepdims=True)
    spread = np.sqrt(1.0 + (loadings**2).sum(axis=1, keepdims=True))
    used = cuts_in_use(width, coding.n_cuts)
    return np.asarray(spread * ndtri(np.where(used, below, 0.5)))
