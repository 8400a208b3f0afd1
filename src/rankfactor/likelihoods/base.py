r"""Base classes of the likelihoods.

After augmentation a likelihood is locally Gaussian in the predictor ``w_in = a_i . z_n``:

    exp( -tau_in w_in^2 / 2 + rho_in w_in ),

the *site* (tau, rho); a missing entry is the site (0, 0). Factor scores need only the sites.
Rows need *statistics*, sums over samples that are additive over blocks, from which the likelihood
first updates its own parameters (cut points, noise) and then states each row's natural parameters

    P_i = sum_n tau_in E[z z^T],      h_i = sum_n rho_in E[z_n].

A likelihood is a frozen dataclass of hyper-parameters; learned parameters are in a `RowArrays`. It
must define `terms`, sites and bound terms of a tile; everything else has a default. A likelihood
whose own parameters are updated from sums over samples overrides `statistics`, `update` and
`system`; one that can compute sites without the bound overrides `sites`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns
from rankfactor.likelihoods.observed import Coding, Observed
from rankfactor.likelihoods.row_arrays import FixedNoise, NoParameters, RowArrays
from rankfactor.parts import Part
from rankfactor.typing import Floats, Index, Strings

Statistics = dict[str, Floats]
_SMALL = 1e-4  # step of a finite difference in w: rounding and truncation both leave 8 digits


Params = TypeVar("Params", bound=RowArrays)


class Sites(NamedTuple):
    """Local Gaussian approximation of a tile: ``tau`` and ``rho``, shape (rows, samples)."""

    tau: Floats
    rho: Floats

    def without(self, rows: NDArray[np.bool_]) -> Sites:
        """Sites with zeros in some rows."""
        if not rows.any():
            return self
        kept = ~rows[:, None]
        return Sites(self.tau * kept, self.rho * kept)


class Augmented(NamedTuple):
    """Sites at new parameters of a tile's rows, and the bound at the old ones."""

    sites: Sites
    params: Any
    bound: float


class Location(NamedTuple):
    """How the rows of a view absorb a shift of their predictor, each array of shape (rows,).

    Adding t_i to the predictor w_in of all samples changes nothing if the row's parameters follow
    (`Likelihood.shifted`) or its intercept is moved against it. Their prior has the log density
    ``-precision t^2 / 2 - pull t``, up to a constant; that of an intercept is added elsewhere.
    """

    precision: Floats
    pull: Floats
    by_parameters: NDArray[np.bool_]  # otherwise by the intercept


class AsLabels(NamedTuple):
    """Features of two levels as rows of labels.

    With the decision ``f = (w - cut) / unit`` and labels of the weight ``unit``, +1 for the upper
    level, the label likelihood is the feature's own.
    """

    label: LabelLikelihood
    unit: Floats  # (m,)
    cuts: Floats  # (m,)
    cut_precision: float  # of their normal priors


class Slopes(NamedTuple):
    """Derivatives of a tile's bound in w at fixed variances, each of shape (rows, samples)."""

    tau: Floats  # of the site
    push: Floats  # the first derivative: rho - tau w
    curvature: Floats  # minus the second


class Tile(NamedTuple):
    """Some rows and samples, as passed to a likelihood.

    Auxiliary variables take their expectations or, if ``chance`` is given, are drawn; predictor and
    parameters are then fixed, and ``var_w`` is ignored.
    """

    observed: NDArray[Any]  # (rows, samples), in the form that the likelihood reads
    w: Floats  # (rows, samples): the predictor's mean
    var_w: Floats  # (rows, samples): its variance
    params: Any  # of the rows
    chance: Chance | None = None

    @property
    def place(self) -> tuple[Any, ...]:
        """Key of the draws, row and sample, for the kernels; empty without draws."""
        chance = self.chance
        return () if chance is None else (chance.stream.word, chance.row, chance.sample)


@dataclass(frozen=True)
class Chance:
    """Source of the random numbers of a tile.

    A number belongs to a row and a sample, so it does not depend on the tiling of the table.
    """

    stream: Stream
    row: int  # number of the tile's first row
    sample: int  # and of its first sample

    def by_row(self, draw: Callable[[int, Stream, int], Floats], n_rows: int) -> Floats:
        """``draw(i, stream of row i, number of the first sample)`` for all rows, stacked."""
        parts = [draw(i, self.stream.child(self.row + i), self.sample) for i in range(n_rows)]
        return np.stack(parts)

    def draw(self, law: Callable[..., Any], *parameters: Floats) -> Floats:
        """Draws of a law whose parameters are arrays of the tile's shape, (rows, samples)."""
        return self.by_row(
            lambda i, stream, first: law(*(one[i] for one in parameters)).draw(stream, first),
            len(parameters[0]),
        )


class Likelihood(Part, ABC, Generic[Params]):
    """Base of all likelihoods."""

    has_intercept: ClassVar[bool] = False  # the rows end in an intercept
    needs_variance: ClassVar[bool] = True  # the sites depend on Var(w)
    has_fixed_sites: ClassVar[bool] = False  # the sites do not depend on w
    has_monotone_bound: ClassVar[bool] = True  # no update lowers the bound
    # Whether `slopes` are cheap and informative: curvatures far below tau.
    has_curvature: ClassVar[bool] = False

    @property
    def has_fused_step(self) -> bool:
        """Whether there is an `augment`."""
        return False

    @property
    def has_fused_draw(self) -> bool:
        """Whether there is an `augment` for the Gibbs sampler, which has a ``chance``."""
        return self.has_fused_step

    @property
    def has_refresh(self) -> bool:
        """Whether some parameters depend on all samples at once."""
        return type(self).refresh is not Likelihood.refresh

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Precision of w and of the sites; sums over samples are handed on in double precision."""
        return np.float64

    def intercept_precision(self, precision: float, params: Params, n_rows: int) -> Floats:
        """Prior precision of every row's intercept, shape (n_rows,), where rows have one."""
        return np.full(n_rows, precision)

    def prepare(self, observed: Observed, rows: Normal, params: Params) -> Params:
        """Parameters with the state that only a fit needs, created if missing."""
        return params

    def refresh(self, observed: Observed, rows: slice, tile: Tile) -> Params:
        """Parameters that depend on all samples at once, before the statistics are taken.

        The tile holds w of some rows of the whole view at all samples, and their parameters.
        """
        params: Params = tile.params
        return params

    def read(self, observed: Observed, rows: slice, samples: Index, params: Params) -> NDArray[Any]:
        """Content of a tile of observations; ``params`` are those of its rows."""
        return observed.tile(rows, samples)

    def terms(self, tile: Tile) -> tuple[Sites, Floats]:
        """Sites and bound terms of a tile, each array of shape (rows, samples).

        Not called if both `sites` and `statistics` are overridden.
        """
        raise InputError(
            f"{type(self).__name__} is incomplete: define `terms`, or `sites` and `statistics` "
            "(CONTRIBUTING.md)."
        )

    def sites(self, tile: Tile) -> Sites:
        """Sites of a tile, each array of shape (rows, samples)."""
        return self.terms(tile)[0]

    def statistics(self, tile: Tile, columns: AnyColumns) -> Statistics:
        """Sums over the samples of a tile, additive over blocks of samples.

        Here second (rows, P), shift (rows, K) and bound (rows,).
        """
        sites, terms = self.terms(tile)
        return {
            "second": columns.sum_second(sites.tau),
            "shift": sites.rho @ columns.mean,
            "bound": terms.sum(axis=1),
        }

    def augment(self, tile: Tile) -> Augmented:
        """Auxiliary variables of a tile of all samples, then parameters, then sites.

        For likelihoods whose parameters can be updated from w alone. With ``chance`` all are drawn.
        ``w`` and ``var_w`` may be overwritten.
        """
        raise InputError(
            f"{type(self).__name__} states has_fused_step or has_fused_draw: define `augment` "
            "(CONTRIBUTING.md)."
        )

    def bound(self, statistics: Statistics, rows: Normal, params: Params) -> float:
        """E[log likelihood] and its auxiliary variables, at the rows of the statistics."""
        return float(statistics["bound"].sum())

    def update(self, statistics: Statistics, rows: Normal, params: Params) -> Params:
        """Likelihood's own parameters given the rows."""
        return params

    def draw_params(
        self, statistics: Statistics, rows: Normal, params: Params, stream: Stream, first: int = 0
    ) -> Params:
        """A draw of the likelihood's own parameters given the rows, instead of `update`.

        Any step that leaves their conditional invariant is valid. Row i has the index ``first + i``
        in the stream.
        """
        return self.update(statistics, rows, params).draw(stream, first)

    def system(self, statistics: Statistics, params: Params) -> tuple[Floats, Floats]:
        """Packed precision (rows, P) and shift (rows, K) that the data add to each row."""
        return statistics["second"], statistics["shift"]

    def params_bound(self, params: Params) -> float:
        """E[log p] - E[log q] of the likelihood's own parameters."""
        return 0.0

    def location(self, params: Params, n_rows: int) -> Location | None:
        """How rows absorb a shift of their predictor; None if they cannot.

        Here by an intercept, if there is one.
        """
        nothing = np.zeros(n_rows)
        return Location(nothing, nothing, nothing > 0) if self.has_intercept else None

    def shifted(self, params: Params, shift: Floats) -> Params:
        """Parameters of rows whose predictors are larger by ``shift`` (rows,)."""
        return params

    def has_scale(self, params: Params) -> bool:
        """Whether there are `scale_terms`: rows and parameters can be multiplied together."""
        return False

    def scale_terms(self, tile: Tile, factor: Floats, some: NDArray[np.int64]) -> Floats:
        """Log density of rows if their predictors and parameters were multiplied by a factor.

        Log likelihood without auxiliary variables, log prior of the parameters and log Jacobian, up
        to a constant, of the rows ``some`` (m,) of a tile that holds all samples, at certain w;
        factors and result are of shape (m,).
        """
        raise InputError(f"{type(self).__name__} has no scale (CONTRIBUTING.md).")

    def scaled(self, params: Params, factor: Floats) -> Params:
        """Parameters of rows multiplied by ``factor`` (rows,)."""
        return params


class DataLikelihood(Likelihood[Params], family="data likelihood"):
    """A likelihood for the features of a table.

    Attributes
    ----------
    coding, parameters : type
        Classes of the coding of new samples and of the learned parameters.
    """

    coding: ClassVar[type[Coding]]
    parameters: ClassVar[type[RowArrays]] = FixedNoise
    has_gradient: ClassVar[bool] = True  # `slopes` are those of its bound: predictive training
    takes_sparse: ClassVar[bool] = False  # a sparse table is coded without densifying
    uses_values: ClassVar[bool] = False  # uses values, not only their order
    has_auto_margin: ClassVar[bool] = False  # the margin may be "auto" (`for_coding`)

    def two_levels(self, params: Params) -> NDArray[np.int64]:
        """Indices of the rows equivalent to labels (`as_labels`): none by default."""
        return np.zeros(0, np.int64)

    def as_labels(self, params: Params, rows: NDArray[np.int64]) -> AsLabels:
        """Rows of two levels as labels."""
        raise InputError(
            f"{type(self).__name__} has rows of two levels: define `as_labels` (CONTRIBUTING.md)."
        )

    def with_cuts(self, params: Params, rows: NDArray[np.int64], cuts: Floats) -> Params:
        """Parameters with other cut points (m,) of rows of two levels."""
        raise InputError(
            f"{type(self).__name__} has rows of two levels: define `with_cuts` (CONTRIBUTING.md)."
        )

    def for_coding(self, coding: Any) -> Self:
        """The likelihood with defaults that depend on the number of features that vary."""
        return self

    def for_blocks(self, blocks: Strings | None) -> Self:
        """The likelihood of a table whose columns belong to these blocks; here the same for all."""
        return self

    def coding_of(self, arrays: dict[str, Any]) -> Any:
        """The coding whose fields these are, as a model file has them."""
        return self.coding(**arrays)

    def params_of(self, arrays: dict[str, Any]) -> Any:
        """The parameters whose fields these are, as a model file has them."""
        return self.parameters(**arrays)

    @abstractmethod
    def learn(self, values: Floats, few: Mapping[int, Floats] | None = None) -> Any:
        """Coding of a training table, shape (samples, features), NaN where missing.

        If the values are those of some samples only, ``few`` has all values, in increasing order,
        of the columns with few values; a coding of unordered values ignores it.
        """

    @abstractmethod
    def normal_scores(self, observed: Observed, levels: Floats | None = None) -> Observed:
        """Centred values of roughly unit variance, zero where missing.

        ``levels`` are those of the training table (`score_levels`), for new samples; by default
        they are learned from the observations themselves.
        """

    def score_levels(self, observed: Observed) -> Floats:
        """What `normal_scores` learns from a table, shape (d, L); here nothing."""
        return np.zeros((observed.shape[0], 0))

    def start(self, coding: Any, observed: Observed, loadings: Floats) -> Params:
        """Parameters at the starting loadings, shape (features, K)."""
        return cast("Params", FixedNoise(np.ones(len(loadings))))

    def noise_variance(self, params: Params) -> Floats:
        """Variance not explained by w, on the scale of w, shape (d,).

        The inverse of a row's mean site precision; it puts the loadings of features of different
        kinds on a common scale.
        """
        return cast("FixedNoise", params).variance

    def slopes(self, tile: Tile) -> Slopes:
        """Derivatives of a tile's bound; here by differences of the sites."""

        def push(at: Floats) -> tuple[Floats, Floats]:
            sites = self.sites(tile._replace(w=at))
            return sites.tau, np.asarray(sites.rho - sites.tau * at)

        less, more = push(tile.w - _SMALL)[1], push(tile.w + _SMALL)[1]
        return Slopes(*push(tile.w), (less - more) / (2 * _SMALL))


class LabelLikelihood(Likelihood[NoParameters], family="label likelihood"):
    """A likelihood for labels: rows of signed weights, +c and -c for the two sides, 0 = missing.

    The Gibbs sampler mixes far better if decisions can be integrated out
    (`rankfactor.engine.label_rows`), for which a likelihood needs a kernel of its evidence.
    """

    has_intercept: ClassVar[bool] = True
    # Whether it is a probability of the labels. The joint posterior of a normalised model is
    # correct, so its own draws predict; coefficients drawn under a pseudo-likelihood grow with
    # scores that depend on their labels.
    normalised: ClassVar[bool] = False

    @abstractmethod
    def label_sites(
        self, signed: Floats, f: Floats, var_f: Floats, chance: Chance | None = None
    ) -> tuple[Sites, Floats]:
        """Sites and bound terms, each of shape (rows, samples)."""

    @abstractmethod
    def probability(self, f: Floats, var_f: Floats) -> Floats:
        """Probability of the positive side, averaged over f ~ N(f, var_f); 1/2 where f = 0."""

    def terms(self, tile: Tile) -> tuple[Sites, Floats]:
        """Sites and bound terms of a tile, each array of shape (rows, samples)."""
        return self.label_sites(tile.observed, tile.w, tile.var_w, tile.chance)

    def evidence_kind(self, signed: Floats) -> int | None:
        """The number of `rankfactor.kernels.evidence` for these labels; None without evidence."""
        return None

    def draw_decision(
        self, signed: Floats, mean: Floats, variance: Floats, stream: Stream
    ) -> Floats:
        """Draws of f from ``N(mean, variance)`` times the likelihood, shape (samples,).

        Called only if there is an `evidence_kind`; no label is missing.
        """
        raise InputError(f"{type(self).__name__} has no evidence (CONTRIBUTING.md).")

    def draw_sites(self, signed: Floats, mean: Floats, variance: Floats, stream: Stream) -> Sites:
        """Draws of the sites where f ~ N(mean, variance) times the likelihood, each (samples,).

        Here f is drawn first (`draw_decision`), then the auxiliary variables at f.
        """
        drawn = self.draw_decision(signed, mean, variance, stream)[None]
        again = Chance(stream.child("sites"), 0, 0)
        sites, _ = self.label_sites(signed[None], drawn, np.zeros_like(drawn), again)
        return Sites(sites.tau[0], sites.rho[0])
