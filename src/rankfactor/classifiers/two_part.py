r"""A decision of two parts: the factor scores, and the residuals of the table.

    f_n = beta . z_n + gamma . r_n + c,     r_in = s_in - l_i . (z_n - zbar),

or with features phi(z_n) of the scores instead of z_n (`rankfactor.classifiers.kernel`),

s_in the normal score of an entry (`DataLikelihood.normal_scores`), l_i the regression of feature i
on the scores, and r_in = 0 where the entry is missing. Label-free factors describe the leading
directions of a table; a class that is not among them shows in the residual r.

Coefficients of a label have one normal prior. With standardised scores z~,

    f = b . z~ + gamma . r + c,     b_k ~ N(0, (1 - v) q_k),     gamma ~ N(0, v / R),

q_k is a quarter of 1/K and three quarters of E[b_k^2] over its sum, under the classifier of the
scores alone, whose horseshoe tells the factors that predict from the others. R is the mean of
|r|^2 over the training samples, at least `LEAST_RESIDUAL` per feature: if factors explain all of a
narrow table, the residual is noise. So the two parts' kernels have mean diagonals 1 - v and v; with
features both are multiplied by the mean diagonal of the features' kernel. The residual's weight v
in the prior is estimated from the labels as well (`rankfactor.classifiers.residual_weight`). The
precision is fixed: choosing it by held-out labels was not better. Where all factors are switched
off the prior variance is smaller: such tables are mostly noise (docs/notes/decisions.md).

With A (n, K + d) both parts of the labelled samples in units of the prior, f = A w + c and w ~ N(0,
I). If n < K + d all computations are in the span of the samples: A A^T = U D U^T gives coordinates
U D^1/2 (n, n), and weights x there correspond to w = A^T U D^-1/2 x. The prior outside the span is
unchanged, so the covariance of any linear map T w of the weights is

    T T^T - M ( I - Cov(x) ) M^T,     M = T A^T U D^-1/2.

Sites of the labels, including their variances, and the distribution of x are updated in turn, as in
every classifier here. For new samples one number per feature and row is stored, and its variance;
correlations among gamma are not stored.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers.base import Classifier
from rankfactor.classifiers.in_use import informative
from rankfactor.classifiers.kernel import Kernel
from rankfactor.classifiers.linear import Linear
from rankfactor.classifiers.residual_weight import residual_weight
from rankfactor.classifiers.row_fit import fit_row
from rankfactor.kernels.codes import is_known
from rankfactor.kernels.packed import pack
from rankfactor.laws.normal import Normal, dual
from rankfactor.likelihoods import DataLikelihood, LabelLikelihood, Observed
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats, Integers

LEAST_RESIDUAL = 0.05  # of a feature's variance
ALONE = 0.2  # prior variance of decisions without factors; otherwise it is 1
TOL, STEPS = 5e-3, 200  # change of a decision, whose margin is 1, below which the fit stops
BRIEF_STEPS = 15  # starting from decisions of almost the same labels
MOST_DIRECTIONS = 1500  # of the span; larger spans are cut to their leading directions
EVEN = 0.25  # part of the prior of the scores' coefficients that all factors share evenly
MOST_WEIGHED = 500  # labelled samples that estimate the residual's weight
_TILE_ENTRIES = 2**18
_SUBSPACE_STEPS = 3


@dataclass(frozen=True)
class Residual:
    """The part of decisions that is not in the factors.

    Attributes
    ----------
    levels : array, shape (d, L)
        Levels for normal scores of new samples (`DataLikelihood.score_levels`).
    loadings : array, shape (d, K)
        Regression of the normal scores on the factor scores.
    centre : array, shape (K,)
        Mean factor scores of the training samples.
    weights, variance : array, shape (R, d)
        Mean and variance of gamma.
    share : array, shape (R,)
        Share of a decision's variance over the training samples due to the residual: that of gamma
        . r over the sum of both parts'.
    """

    levels: Floats
    loadings: Floats
    centre: Floats
    weights: Floats
    variance: Floats
    share: Floats

    def decide(
        self,
        likelihood: DataLikelihood[Any],
        observed: Observed,
        z: Normal,
        pool: Workers,
        samples: Integers | slice = slice(None),
    ) -> tuple[Floats, Floats]:
        """Mean and variance of gamma . r of some samples with scores (n, K), each (n, R)."""
        ranked = likelihood.normal_scores(observed, self.levels)

        def add(tile: slice) -> Floats:
            r = residual_tile(ranked, observed, self.loadings, z.mean - self.centre, tile, samples)
            return np.stack([r.T @ self.weights[:, tile].T, (r**2).T @ self.variance[:, tile].T])

        mean, variance = pool.sum(add, feature_tiles(observed))
        return mean, variance

    def transformed(self, matrix: Floats) -> Residual:
        """The same part for the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        loadings = self.loadings @ dual(matrix, len(matrix))
        return replace(self, loadings=loadings, centre=self.centre @ matrix)

    def flipped(self, sign: Floats) -> Residual:
        """The part of decisions that are ``sign`` (R,) times these."""
        return replace(self, weights=self.weights * sign[:, None])


def residual_tile(
    ranked: Observed,
    observed: Observed,
    loadings: Floats,
    centred: Floats,
    tile: slice,
    samples: Integers | slice = slice(None),
) -> Floats:
    """The residual of some features and samples, shape (rows, samples), 0 where missing.

    ``ranked`` are normal scores (d, N), ``centred`` the factor scores (samples, K).
    """
    known = is_known(observed.tile(tile, samples))
    return np.asarray(known * (ranked.tile(tile, samples) - loadings[tile] @ centred.T))


def feature_tiles(observed: Observed) -> list[slice]:
    """Features processed together: few if samples are many."""
    length = max(_TILE_ENTRIES // max(observed.shape[1], 1), 1)
    starts = (0, *observed.block_ends[:-1])
    return [
        slice(start + tile.start, start + tile.stop)
        for start, end in zip(starts, observed.block_ends, strict=True)
        for tile in slices(end - start, length)
    ]


class FirstPart(NamedTuple):
    """The part of a decision that is in the scores, as columns of a linear system.

    Attributes
    ----------
    columns : array, shape (N, P)
    unit : array, shape (P,)
        Factors of the coefficients of these columns.
    spread : array, shape (R, P)
        Prior standard deviations of the coefficients of every row.
    build : callable
        The classifier of coefficients and an intercept (R, P + 1).
    """

    columns: Floats
    unit: Floats
    spread: Floats
    build: Callable[[Normal], Classifier]


def linear_part(z: Normal, alone: Normal) -> FirstPart:
    """Standardised scores (N, K), without those of factors that are switched off.

    ``alone`` are coefficients (R, K + 1) of classifiers of the scores alone.
    """
    used, centre = informative(z), z.mean.mean(axis=0)
    sd = np.where(used, z.mean.std(axis=0), 1.0)
    unit = np.where(used, 1.0, 0.0) / sd
    size = np.where(used, alone.squares[:, :-1] * sd**2, 0.0)
    own = size / np.maximum(size.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    share = EVEN * used / max(int(used.sum()), 1) + (1.0 - EVEN) * own
    shift = np.eye(z.order + 1)
    shift[:-1, -1] = -centre  # the intercept of scores that are not centred

    def build(rows: Normal) -> Classifier:
        return Linear(rows.transformed(shift))

    return FirstPart((z.mean - centre) * unit, unit, np.sqrt(share), build)


def kernel_part(z: Normal, fitted: Kernel) -> FirstPart:
    """Features of the scores (N, K) of a fitted kernel classifier, at its precision."""
    columns = fitted.features.of(z.mean)[:, :-1]
    unit = np.full(columns.shape[1], 1.0 / np.sqrt(fitted.features.path[-1, 1]))
    same = np.ones((len(fitted.rows.mean), len(unit)))
    return FirstPart(columns * unit, unit, same, lambda rows: Kernel(fitted.features, rows))


class TwoPart(NamedTuple):
    """A fitted decision of two parts."""

    classifier: Classifier  # of the scores
    residual: Residual


class _Span(NamedTuple):
    """Samples with labels of a row, in coordinates with a standard prior."""

    samples: Integers  # (n,)
    spread: Floats  # (P,): prior standard deviations of the coefficients of the scores' columns
    unit: float  # that of gamma
    coordinates: Floats  # (n, q)
    back: Floats | None  # U D^-1/2, (n, q); None if the coordinates are A itself


class TwoPartFit:
    """Shared state of fits of one table to several sets of labels.

    Parameters
    ----------
    likelihood : DataLikelihood
    label : LabelLikelihood
    observed : Observed, shape (d, N)
    z : Normal, shape (N, K)
        Label-free scores.
    signed : array, shape (R, N)
        Signed weights of all labels, zero where one is missing.
    intercept_precision : float
    pool : Workers
    """

    def __init__(
        self,
        likelihood: DataLikelihood[Any],
        label: LabelLikelihood,
        observed: Observed,
        z: Normal,
        signed: Floats,
        intercept_precision: float,
        pool: Workers,
    ) -> None:
        self.likelihood, self.label, self.observed, self.z = likelihood, label, observed, z
        self.intercept_precision, self.pool = intercept_precision, pool
        self.levels = likelihood.score_levels(observed)
        self.ranked = likelihood.normal_scores(observed, self.levels)
        self.tiles = feature_tiles(observed)
        self.signed = signed
        self.centre = z.mean.mean(axis=0)
        self.loadings = self._regress(informative(z))
        squares = self.pool.map(lambda tile: (self._residual(tile) ** 2).sum(), self.tiles)
        least = LEAST_RESIDUAL * observed.shape[0]
        self.size = max(float(np.sum(squares)) / observed.shape[1], least)  # R
        self._kernels: dict[bytes, Floats] = {}

    def _regress(self, used: NDArray[np.bool_]) -> Floats:
        """L, shape (d, K), under a prior of one sample's weight: few entries may be known."""
        unit = np.where(used, self.z.mean.std(axis=0), np.inf)
        scaled = ((self.z.mean - self.centre) / unit)[:, used]
        ridge = np.eye(scaled.shape[1])

        def regression(z: Floats, s: Floats) -> Floats:
            return np.asarray(np.linalg.solve(z.T @ z + ridge, z.T @ s).T)

        def some(tile: slice) -> Floats:
            known = is_known(self.observed.tile(tile, slice(None)))
            s = self.ranked.tile(tile, slice(None))
            loadings = np.zeros((len(s), len(used)))
            full = known.all(axis=1)
            if scaled.shape[1]:
                loadings[np.ix_(full, used)] = regression(scaled, s[full].T)
                for row in np.flatnonzero(~full):
                    seen = known[row]
                    loadings[row, used] = regression(scaled[seen], s[row, seen])
            return loadings

        return np.asarray(np.concatenate(self.pool.map(some, self.tiles)) / unit)

    def _residual(self, tile: slice, samples: Integers | slice = slice(None)) -> Floats:
        """Residuals of some features and samples, (rows, n)."""
        z = self.z.mean[samples]
        return residual_tile(
            self.ranked, self.observed, self.loadings, z - self.centre, tile, samples
        )

    def _kernel(self, samples: Integers) -> Floats:
        """Inner products of the residuals of some samples over R, (n, n); kept."""
        key = samples.tobytes()
        if key not in self._kernels:

            def some(tile: slice) -> Floats:
                part = self._residual(tile, samples)
                return np.asarray(part.T @ part)

            self._kernels[key] = self.pool.sum(some, self.tiles) / self.size
        return self._kernels[key]

    def _span(self, row: int, signed: Floats, first: FirstPart) -> _Span:
        """Coordinates of the samples whose weights (N,) in a label row are not zero."""
        labelled = np.flatnonzero(self.signed[row])
        given = signed[labelled] != 0
        samples, n = labelled[given], int(given.sum())
        columns = first.columns[samples] * first.spread[row]
        scale = float((columns**2).sum()) / max(n, 1) or ALONE
        some = (
            np.arange(n) if n <= MOST_WEIGHED else np.linspace(0, n - 1, MOST_WEIGHED).astype(int)
        )
        if n <= MOST_DIRECTIONS:
            # A part of that of all labels, which is computed once.
            kernel = scale * self._kernel(labelled)[np.ix_(given, given)]
            part = kernel[np.ix_(some, some)]
        else:
            part = scale * self._kernel(samples[some])
        v = residual_weight(columns[some], part, np.sign(signed[samples[some]]))
        spread, unit = np.sqrt(1.0 - v) * first.spread[row], float(np.sqrt(v * scale / self.size))
        scores = np.sqrt(1.0 - v) * columns
        if scores.shape[1] + self.observed.shape[0] <= min(n, MOST_DIRECTIONS):
            parts = self.pool.map(lambda tile: unit * self._residual(tile, samples).T, self.tiles)
            return _Span(samples, spread, unit, np.hstack([scores, *parts]), None)
        if n <= MOST_DIRECTIONS:
            values, vectors = np.linalg.eigh(scores @ scores.T + v * kernel)
        else:
            values, vectors = self._leading(samples, scores, unit)
        keep = values > 1e-10 * values.max(initial=0.0)
        root = np.sqrt(values[keep])
        return _Span(samples, spread, unit, vectors[:, keep] * root, vectors[:, keep] / root)

    def _leading(self, samples: Integers, scores: Floats, unit: float) -> tuple[Floats, Floats]:
        """Leading eigenvalues and eigenvectors of A A^T, by subspace iteration."""

        def product(Q: Floats) -> Floats:
            def some(tile: slice) -> Floats:
                part = unit * self._residual(tile, samples)
                return np.asarray(part.T @ (part @ Q))

            return np.asarray(scores @ (scores.T @ Q) + self.pool.sum(some, self.tiles))

        Q = np.random.default_rng(0).normal(size=(len(samples), MOST_DIRECTIONS))
        for _ in range(_SUBSPACE_STEPS):
            Q = np.linalg.qr(product(Q))[0]
        values, vectors = np.linalg.eigh(Q.T @ product(Q))
        return values, Q @ vectors

    def fit(self, first: FirstPart, signed: Floats, start: Floats | None = None) -> TwoPart:
        """The decision of some of the labels.

        Parameters
        ----------
        first : FirstPart
            First part of the decision, from the scores and these labels.
        signed : array, shape (R, N)
            Signed weights, zero where a label is missing or held out.
        start : array, shape (N, R), optional
            Decisions of a fit to almost the same labels.
        """
        spans = [self._span(row, weights, first) for row, weights in enumerate(signed)]
        laws = []
        for row, (weights, span) in enumerate(zip(signed, spans, strict=True)):
            begin = None if start is None else start[span.samples, row]
            laws.append(
                solve(self.label, weights[span.samples], span, self.intercept_precision, begin)
            )
        return self._decision(first, spans, laws)

    def _decision(
        self, first: FirstPart, spans: list[_Span], laws: list[tuple[Floats, Floats]]
    ) -> TwoPart:
        """Both parts of laws in the coordinates of their spans."""
        k = len(first.unit)
        gamma, variance = self._gamma(k, spans, laws)
        means, covs = [], []
        for span, (mean, cov) in zip(spans, laws, strict=True):
            T = np.diag(span.spread * first.unit)
            if span.back is None:
                M = np.hstack([T, np.zeros((k, len(gamma[0])))])
            else:
                M = T @ (first.columns[span.samples] * span.spread).T @ span.back  # (P, q)
            law = np.empty((k + 1, k + 1))
            law[:k, :k] = T**2 - M @ (np.eye(M.shape[1]) - cov[:-1, :-1]) @ M.T
            law[:k, k] = law[k, :k] = M @ cov[:-1, -1]
            law[k, k] = cov[-1, -1]
            means.append(np.append(M @ mean[:-1], mean[-1]))
            covs.append(law)
        packed = np.array(covs)
        log_det = np.linalg.slogdet(packed + np.finfo(float).tiny * np.eye(k + 1))[1]
        residual = Residual(
            self.levels, self.loadings, self.centre, gamma, variance, np.zeros(len(laws))
        )
        return TwoPart(first.build(Normal(np.array(means), pack(packed), log_det)), residual)

    def _gamma(
        self, k: int, spans: list[_Span], laws: list[tuple[Floats, Floats]]
    ) -> tuple[Floats, Floats]:
        """Mean and variance of gamma, each (R, d); the scores have k columns."""

        def some(tile: slice) -> Floats:
            found = []
            for span, (mean, cov) in zip(spans, laws, strict=True):
                if span.back is None:
                    place = slice(k + tile.start, k + tile.stop)
                    found.append((span.unit * mean[place], span.unit**2 * np.diag(cov)[place]))
                    continue
                M = span.unit**2 * (self._residual(tile, span.samples) @ span.back)  # (rows, q)
                inside = np.eye(M.shape[1]) - cov[:-1, :-1]
                left = span.unit**2 - np.einsum("iq,iq->i", M @ inside, M)
                found.append((M @ mean[:-1], np.maximum(left, 0.0)))
            return np.array(found)  # (R, 2, rows)

        both = np.concatenate(self.pool.map(some, self.tiles), axis=2)
        return both[:, 0], both[:, 1]

    def decide(self, fitted: TwoPart) -> tuple[Floats, Floats]:
        """Mean and variance of every row's decision at the training samples, each (N, R)."""
        mean, variance = fitted.classifier.decide(self.z)
        more, spread = fitted.residual.decide(self.likelihood, self.observed, self.z, self.pool)
        return mean + more, variance + spread

    def with_share(self, fitted: TwoPart) -> Residual:
        """The second part, with its share of each row's variance."""
        inside = fitted.classifier.decide(self.z)[0].var(axis=0)
        more, _ = fitted.residual.decide(self.likelihood, self.observed, self.z, self.pool)
        outside = more.var(axis=0)
        share = outside / np.maximum(inside + outside, np.finfo(float).tiny)
        return replace(fitted.residual, share=share)


def solve(
    label: LabelLikelihood,
    signed: Floats,
    span: _Span,
    intercept_precision: float,
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Mean (q + 1,) and covariance of the weights and the intercept of one label row.

    ``signed`` (n,) are weights of the span's samples; ``start`` (n,) decisions near theirs.
    """
    X = np.column_stack([span.coordinates, np.ones(len(signed))])
    prior = np.append(np.ones(X.shape[1] - 1), intercept_precision)
    if start is None:
        f, var_f, steps = np.zeros(len(X)), (X**2 / prior).sum(axis=1), STEPS
    else:
        f, var_f, steps = start, np.full(len(X), 0.1), BRIEF_STEPS
    mean, cov, _ = fit_row(label, signed, X, prior, f, var_f, TOL, steps)
    return mean, cov
