"""Max-margin rank likelihood: one hinge for every sample and cut.

Feature i has cuts c_i1 < ... < c_iJ at observed values, each with a latent cut point b_ij, and

    L = prod_n prod_j exp(-2 max(0, u_inj)),   u_inj = eps_i - s_inj (w_in - b_ij),

s = +1 where x_in > c_ij and -1 elsewhere. The constraint set is that of the paper's eq. (6), w_n <
w_n' - eps whenever x_n < x_n'. With one latent point per cut, instead of bounds that move with the
rows they depend on, all updates belong to one joint density and the bound is monotone (the printed
updates diverge or collapse).

Mean field (`rankfactor.kernels.sites`): E[1/lam] = E[u^2]^(-1/2), and for a cut point under the
prior b ~ N(0, 1/cut_precision), precision cut_precision + sum_n E[1/lam] and shift sum_n (
E[1/lam] (w - s eps) - s ).

Dividing w and b by eps_i shows that the margin is a temperature: eps_i J_i is the weight of a
feature's whole likelihood, since the prior of its loadings can adapt to any scale. To give a
feature of two levels the same weight as one of a thousand, eps_i = margin x 32 / J_i: ``margin`` is
the margin of a feature with 32 cuts, and ``max_cuts`` only sets the resolution
(docs/notes/decisions.md).

The margin may be inferred, one per feature, under eps_i ~ Gamma(shape, rate_i) with the mean of the
fixed margin. Given lam a term of the likelihood is normal in eps, so that

    q(eps_i) prop. eps^(shape-1) exp( -T eps^2 / 2 + (h - rate_i) eps ),
    T = sum_nj E[1/lam],    h = sum_nj ( E[1/lam] s (w - b) - 1 ),

and Var(eps) joins the variances in E[u^2]. The paper calls the Gamma prior conjugate; the
distribution is a `ModifiedHalfNormal`, for shape 1 a normal truncated to eps > 0. Shapes below 1
are refused: their density has a pole at 0. A likelihood without a normaliser does not identify a
temperature: every factor exp(-2 max(0, u)) increases as eps decreases, so only the prior keeps the
margin away from zero (docs/notes/decisions.md).

The data enter only through one-byte codes, so a fitted model codes new samples with its cuts. These
observed values are all that it stores of the table.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from rankfactor.errors import InputError, check_positive
from rankfactor.kernels.augment import margin_rank_augment
from rankfactor.kernels.codes import MISSING, level_counts
from rankfactor.kernels.noise import fill_normal
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.sites import (
    margin_rank_scaled,
    margin_rank_sites,
    margin_rank_slopes,
    margin_sums,
)
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.modified_half_normal import ModifiedHalfNormal
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns
from rankfactor.likelihoods.base import (
    AsLabels,
    Augmented,
    Location,
    Sites,
    Slopes,
    Statistics,
    Tile,
)
from rankfactor.likelihoods.coding import (
    CutLikelihood,
    Cuts,
    cut_location,
    cut_scale_terms,
    cuts_in_use,
    mean_noise,
)
from rankfactor.likelihoods.hinge import Hinge
from rankfactor.likelihoods.observed import Coding, Observed
from rankfactor.likelihoods.row_arrays import RowArrays
from rankfactor.typing import Floats

# Features x margin kept for tables of few features, and the largest margin.
LEAST_WEIGHT, USUAL, LARGEST = 2.0, 0.05, 0.2
# The number of cuts at which a feature's margin is `MarginRank.margin` itself.
REFERENCE_CUTS = 32


@dataclass(frozen=True)
class CutPoints(RowArrays):
    """Normal law of every latent cut point, and the margins.

    The last two fields are zero where the margin is fixed or drawn, and may then be left out.
    """

    mean: Floats  # (d, J)
    variance: Floats  # (d, J)
    n_cuts: NDArray[np.int64]  # (d,)
    margin: Floats  # (d,): eps, or E[eps]
    noise: Floats  # (d,): inverse of the mean of tau
    margin_variance: Floats = field(default_factory=lambda: np.zeros(0))  # (d,)
    # (d,): E[log p(eps)] - E[log q(eps)]
    margin_bound: Floats = field(default_factory=lambda: np.zeros(0))

    public_names: ClassVar[dict[str, str] | None] = {"mean": "cut_points"}

    def __post_init__(self) -> None:
        """Margins without a distribution are fixed."""
        for name in ("margin_variance", "margin_bound"):
            if getattr(self, name).shape != self.margin.shape:
                object.__setattr__(self, name, np.zeros(self.margin.shape))

    @property
    def used(self) -> NDArray[np.bool_]:
        """Which of the J columns a row uses, shape (d, J)."""
        return cuts_in_use(self.mean.shape[1], self.n_cuts)

    @classmethod
    def pool(cls, draws: Sequence[CutPoints]) -> CutPoints:
        """Laws with the mean and the variance of some draws."""
        values = np.array([one.mean for one in draws])
        margins = np.array([one.margin for one in draws])
        noise = np.mean([one.noise for one in draws], axis=0)
        # A fixed margin is equal in all draws, but their mean may differ from it by rounding.
        fixed = (margins == margins[0]).all(axis=0)
        return cls(
            values.mean(axis=0),
            values.var(axis=0),
            draws[-1].n_cuts,
            np.where(fixed, margins[0], margins.mean(axis=0)),
            noise,
            np.where(fixed, 0.0, margins.var(axis=0)),
        )

    def draw(self, stream: Stream, first: int = 0) -> CutPoints:
        """One draw of every cut point and margin, as laws without variance.

        An uncertain margin is drawn from the Gamma distribution of its mean and variance, which
        suffices for the start of a chain; the chain itself draws from the conditional.
        """
        width = self.mean.shape[1]
        law = Normal(self.mean.reshape(-1, 1), self.variance.reshape(-1, 1), np.zeros(0))
        mean = law.draw(stream, first * width).mean.reshape(-1, width)
        margin, uncertain = self.margin, self.margin_variance > 0
        if uncertain.any():
            rate = margin / np.where(uncertain, self.margin_variance, 1.0)
            drawn = Gamma(margin * rate, rate).draw(stream.child("margin"), first)
            margin = np.where(uncertain, drawn, margin)
        return CutPoints(mean * self.used, np.zeros_like(mean), self.n_cuts, margin, self.noise)


def margin_for(n_features: int) -> float:
    """Margin for a table with this number of features.

    The information of a table on a sample's scores grows as features x margin, that of the prior is
    fixed. With few features the prior dominates, and factors that separate classes are switched
    off; so below 40 features the margin rises to keep the product at 2, but not beyond 0.2
    (docs/notes/decisions.md).
    """
    return min(max(LEAST_WEIGHT / max(n_features, 1), USUAL), LARGEST)


@dataclass(frozen=True)
class MarginRank(CutLikelihood[CutPoints]):
    """Max-margin rank likelihood.

    Attributes
    ----------
    margin : float or "auto"
        The margin of a feature with 32 cuts; one with J cuts has ``32 / J`` times as much. If
        margins are inferred, their prior mean. "auto" depends on the number of features
        (`margin_for`).
    max_cuts : int
        Maximum number of cuts per feature, up to 254: the resolution of ranks.
    cut_precision : float
        Prior precision of a cut point.
    margin_shape : float or None
        None keeps the margins fixed; a number of at least 1 infers one per feature, under a Gamma
        prior of that shape. Shape 1 is almost uninformative; larger shapes stay closer to
        ``margin``.
    double : bool
        Whether to use double precision throughout, which takes about three times as long and is for
        checking: cut points, sums over samples and the encoding of samples always use double
        precision.
    """

    margin: float | str = USUAL
    max_cuts: int = 16
    cut_precision: float = 1e-3
    margin_shape: float | None = None
    double: bool = False

    name: ClassVar[str] = "margin_rank"
    phrase: ClassVar[str] = (
        "max-margin rank likelihood (only the order of a feature's values counts)"
    )
    parameters: ClassVar[type[RowArrays]] = CutPoints
    has_auto_margin: ClassVar[bool] = True
    has_curvature: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Refuse hyper-parameters out of range."""
        super().__post_init__()
        if self.margin != "auto":
            check_positive("margin", self.margin)
        check_positive("cut_precision", self.cut_precision)
        shape = self.margin_shape
        real = isinstance(shape, numbers.Real) and not isinstance(shape, bool)
        if shape is not None and not (real and 1 <= shape < float("inf")):
            raise InputError(f"margin_shape must be None or a number of at least 1, not {shape!r}.")

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Precision of w and of the sites."""
        return np.float64 if self.double else np.float32

    @property
    def has_fused_step(self) -> bool:
        """Whether there is an `augment`: the law of an inferred margin needs more than w."""
        return self.margin_shape is None

    def for_coding(self, coding: Coding) -> Self:
        """The likelihood with an "auto" margin resolved for the number of features."""
        if self.margin != "auto":
            return self
        return replace(self, margin=margin_for(len(coding.columns)))

    def start(self, coding: Cuts, observed: Observed, loadings: Floats) -> CutPoints:
        """Cut points at the normal quantiles of the starting predictor."""
        codes = observed.tile(slice(None), slice(None))
        width = coding.values.shape[1]
        counts = level_counts(codes, width + 1)
        below = np.cumsum(counts, axis=1)[:, :width] / counts.sum(axis=1, keepdims=True)
        spread = np.sqrt((loadings**2).sum(axis=1, keepdims=True))
        mean = spread * ndtri(np.clip(below, 1e-3, 1 - 1e-3))
        margin = self._usual_margin(coding.n_cuts)
        noise = np.clip(1.0 - spread[:, 0] ** 2, 0.05, 1.0)
        # An inferred margin starts at its prior.
        shape = np.inf if self.margin_shape is None else self.margin_shape
        n_cuts, variance = coding.n_cuts.copy(), np.full_like(mean, 0.01)
        return CutPoints(mean, variance, n_cuts, margin, noise, margin**2 / shape)

    def _usual_margin(self, n_cuts: NDArray[np.int64]) -> Floats:
        """Fixed margins, or prior means, of features with these numbers of cuts."""
        assert not isinstance(self.margin, str)
        return np.asarray(self.margin * REFERENCE_CUTS / n_cuts)

    def noise_variance(self, params: CutPoints) -> Floats:
        """Inverse of the mean of tau, shape (d,)."""
        return params.noise

    def sites(self, tile: Tile) -> Sites:
        """Sites of a tile, each array of shape (rows, samples)."""
        return Sites(*margin_rank_sites(*_given(tile, None, *tile.place))[:2])

    def augment(self, tile: Tile) -> Augmented:
        """All 1/lam of a tile, then the cut points, then the sites at these."""
        params, chance = tile.params, tile.chance
        draws: tuple[Any, ...] = ()
        if chance is not None:
            noise = np.empty(params.mean.shape)  # row i has the index chance.row + i in the stream
            first = chance.row * noise.shape[1]
            fill_normal(chance.stream.child("cuts").word, first, noise.reshape(-1))
            draws = noise, *tile.place[:2]
        found = margin_rank_augment(*_given(tile, self.cut_precision, *draws))
        tau, rho, mean, variance, weight, count, bound = found
        noise = mean_noise(count, weight.sum(axis=1))
        params = replace(params, mean=mean, variance=variance, noise=noise)
        return Augmented(Sites(tau, rho), params, float(bound.sum()))

    def statistics(self, tile: Tile, columns: AnyColumns) -> Statistics:
        """Sums over samples.

        ``cross`` (rows, J, K) holds sum_n E[1/lam_nj] z_n: with it, cut points and rows can be
        updated in turn without another pass over the data. Where the margin is inferred, ``shift``
        and ``signed`` are without its part, which is the margin times ``lean`` (rows, J), the sums
        of s E[1/lam], and ``lean_cross`` (rows, K), those of s E[1/lam] z.
        """
        observed, params = tile.observed, tile.params
        (t, width), n = params.mean.shape, tile.w.shape[1]
        inv_lam = np.zeros((t, width, n), tile.w.dtype)
        sums = margin_rank_sites(*_given(tile, inv_lam, *tile.place))
        tau, rho, weight, signed, bound = sums
        cross = (inv_lam.reshape(t * width, n) @ columns.mean).reshape(t, width, -1)
        pull = np.einsum("ij,ijk->ik", params.mean, cross)  # the part of rho z that the cuts make
        found = {
            "second": tau @ columns.second,
            "shift": rho @ columns.mean - pull,
            "cross": cross,
            "weight": weight,
            "signed": signed,
            "count": (observed != MISSING).sum(axis=1),
            "bound": bound,
        }
        if self.margin_shape is not None:
            lean, by_sample = margin_sums(observed, inv_lam)
            margin, lean_cross = params.margin[:, None], by_sample @ columns.mean
            found["shift"] -= margin * lean_cross
            found["signed"] -= margin * lean
            found |= {"lean": lean, "lean_cross": lean_cross}
        return found

    def update(self, statistics: Statistics, rows: Normal, params: CutPoints) -> CutPoints:
        """Cut points given the rows, then margins given both."""
        updated = self._cut_points(statistics, rows, params)
        if self.margin_shape is None:
            return updated
        law, rate = self._margins(statistics, rows, updated)
        return replace(
            updated, margin=law.mean, margin_variance=law.variance, margin_bound=law.gain_over(rate)
        )

    def draw_params(
        self,
        statistics: Statistics,
        rows: Normal,
        params: CutPoints,
        stream: Stream,
        first: int = 0,
    ) -> CutPoints:
        """Cut points drawn given the rows, then margins given both."""
        drawn = self._cut_points(statistics, rows, params).draw(stream, first)
        if self.margin_shape is None:
            return drawn
        law, _ = self._margins(statistics, rows, drawn)
        return replace(drawn, margin=law.draw(stream.child("margin"), first))

    def _cut_points(self, statistics: Statistics, rows: Normal, params: CutPoints) -> CutPoints:
        """Laws of the cut points; margins as they are."""
        precision = self.cut_precision + statistics["weight"]
        reach = np.einsum("ijk,ik->ij", statistics["cross"], rows.mean)
        signed = statistics["signed"]
        if self.margin_shape is not None:
            signed = signed + params.margin[:, None] * statistics["lean"]
        mean = (reach - signed) / precision * params.used
        noise = mean_noise(statistics["count"], statistics["weight"].sum(axis=1))
        return replace(params, mean=mean, variance=1.0 / precision, noise=noise)

    def _margins(
        self, statistics: Statistics, rows: Normal, params: CutPoints
    ) -> tuple[ModifiedHalfNormal, Floats]:
        """Laws of the margins given rows and cut points, and the rates of their priors, (d,)."""
        assert self.margin_shape is not None
        rate = self.margin_shape / self._usual_margin(params.n_cuts)
        shift = np.einsum("ik,ik->i", statistics["lean_cross"], rows.mean)
        shift -= np.einsum("ij,ij->i", statistics["lean"], params.mean)
        shift -= statistics["count"] * params.n_cuts
        weight = statistics["weight"].sum(axis=1)
        return ModifiedHalfNormal(self.margin_shape, weight, shift - rate), rate

    def system(self, statistics: Statistics, params: CutPoints) -> tuple[Floats, Floats]:
        """Packed precision (rows, P) and shift (rows, K)."""
        shift = statistics["shift"] + np.einsum("ij,ijk->ik", params.mean, statistics["cross"])
        if self.margin_shape is not None:
            shift += params.margin[:, None] * statistics["lean_cross"]
        return statistics["second"], shift

    def location(self, params: CutPoints, n_rows: int) -> Location:
        """Cut points absorb a shift, under their normal prior."""
        return cut_location(self.cut_precision, params.mean, params.n_cuts)

    def shifted(self, params: CutPoints, shift: Floats) -> CutPoints:
        """The cut points in use, shifted."""
        return replace(params, mean=params.mean + shift[:, None] * params.used)

    def has_scale(self, params: CutPoints) -> bool:
        """Rows are multiplied together with their cut points."""
        return True

    def scale_terms(self, tile: Tile, factor: Floats, some: NDArray[np.int64]) -> Floats:
        """Log density of rows and cut points multiplied by a factor, shape (m,)."""
        p = tile.params
        terms = margin_rank_scaled(tile.observed, tile.w, p.mean, p.n_cuts, p.margin, factor, some)
        prior = cut_scale_terms(self.cut_precision, p.mean[some], p.n_cuts[some], factor)
        return np.asarray(terms + prior)

    def scaled(self, params: CutPoints, factor: Floats) -> CutPoints:
        """Cut points times a factor."""
        return replace(params, mean=params.mean * factor[:, None])

    def two_levels(self, params: CutPoints) -> NDArray[np.int64]:
        """Rows with a single cut."""
        return np.flatnonzero(params.n_cuts == 1)

    def as_labels(self, params: CutPoints, rows: NDArray[np.int64]) -> AsLabels:
        """``exp(-2 eps max(0, 1 - s (w - b) / eps))``: the hinge of a label of weight eps."""
        return AsLabels(Hinge(), params.margin[rows], params.mean[rows, 0], self.cut_precision)

    def with_cuts(self, params: CutPoints, rows: NDArray[np.int64], cuts: Floats) -> CutPoints:
        """Their only cut points."""
        mean = params.mean.copy()
        mean[rows, 0] = cuts
        return replace(params, mean=mean)

    def slopes(self, tile: Tile) -> Slopes:
        """Derivatives of a tile's bound in w, each of shape (rows, samples)."""
        return Slopes(*margin_rank_slopes(*_given(tile)))

    def params_bound(self, params: CutPoints) -> float:
        """E[log p] - E[log q] of the cut points in use and of the margins."""
        mean, variance = params.mean[params.used], params.variance[params.used]
        squares = self.cut_precision * (mean**2 + variance)
        cuts = 0.5 * float(np.sum(1.0 + np.log(self.cut_precision * variance) - squares))
        return cuts + float(params.margin_bound.sum())


def _given(tile: Tile, *more: Any) -> tuple[Any, ...]:
    """A tile with its cut points and margins for the kernels, in the precision of w."""
    params, kind = tile.params, tile.w.dtype
    # A margin's variance adds to that of u just as a cut point's does.
    variance = params.variance + params.margin_variance[:, None]
    b, var_b, eps = (x.astype(kind) for x in (params.mean, variance, params.margin))
    return tile.observed, tile.w, tile.var_w, b, var_b, params.n_cuts, eps, *more
