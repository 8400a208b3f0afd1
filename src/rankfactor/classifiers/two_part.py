r"""A decision of two parts: the factor scores, and the residuals of the table.

    f_n = beta . z_n + gamma . r_n + c,     r_in = s_in - l_i . (z_n - zbar),

or with features phi(z_n) of the scores instead of z_n (`rankfactor.classifiers.kernel`),

s_in the normal score of an entry (`DataLikelihood.normal_scores`), l_i the regression of feature i
on the scores, and r_in = 0 where the entry is missing. Label-free factors describe the leading
directions of a table; a class that is not among them shows in the residual r.

Coefficients have one normal prior. With standardised scores z~,

    f = b . z~ + gamma . r + c,     b ~ N(0, (1 - v) / K),     gamma ~ N(0, v / R),

with R the mean of |r|^2 over the training samples, at least `LEAST_RESIDUAL` per feature: if
factors explain all of a narrow table, the residual is noise. So the two parts' kernels have mean
diagonals 1 - v and v; with features both are multiplied by the mean diagonal of the features'
kernel. The residual's share v = n / (2 n + 40) of the prior grows with the number of labels n,
since few labels cannot determine many weights. All this is fixed: choosing it, or a precision, by
held-out labels was not better (docs/notes/decisions.md).

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
from rankfactor.classifiers.kernel import Kernel
from rankfactor.classifiers.linear import Linear
from rankfactor.classifiers.row_fit import fit_row
from rankfactor.kernels.codes import is_known
from rankfactor.kernels.packed import pack
from rankfactor.laws.normal import Normal, dual
from rankfactor.likelihoods import DataLikelihood, LabelLikelihood, Observed
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats, Integers

FEW_LABELS = 20  # v is half of n / (n + FEW_LABELS)
LEAST_RESIDUAL = 0.05  # of a feature's variance
LEAST_SPREAD = 0.1  # of the largest: scores that vary less belong to switched-off factors
TOL, STEPS = 5e-3, 200  # change of a decision, whose margin is 1, below which the fit stops
BRIEF_STEPS = 15  # starting from weights fitted to almost the same labels
MOST_DIRECTIONS = 1500  # of the span; larger spans are cut to their leading directions
_TILE_ENTRIES = 2**18
_SUBSPACE_STEPS = 3


def in_use(scores: Floats) -> NDArray[np.bool_]:
    """Which factors, by the spread of their mean scores (N, K), are not switched off."""
    spread = scores.std(axis=0)
    return np.asarray((spread >= LEAST_SPREAD * spread.max()) & (spread > 0))


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
        In units of the prior of their coefficients.
    unit : array, shape (P,)
        Factors of the coefficients of these columns.
    build : callable
        The classifier of coefficients and an intercept (R, P + 1).
    """

    columns: Floats
    unit: Floats
    build: Callable[[Normal], Classifier]


def linear_part(z: Normal) -> FirstPart:
    """Standardised scores (N, K), without those of factors that are switched off."""
    used, centre = in_use(z.mean), z.mean.mean(axis=0)
    unit = np.where(used, 1.0, 0.0) / np.where(used, z.mean.std(axis=0), 1.0)
    unit /= np.sqrt(max(int(used.sum()), 1))
    shift = np.eye(z.order + 1)
    shift[:-1, -1] = -centre  # the intercept of scores that are not centred

    def build(rows: Normal) -> Classifier:
        return Linear(rows.transformed(shift))

    return FirstPart((z.mean - centre) * unit, unit, build)


def kernel_part(z: Normal, fitted: Kernel) -> FirstPart:
    """Features of the scores (N, K) of a fitted kernel classifier, at its precision."""
    columns = fitted.features.of(z.mean)[:, :-1]
    unit = np.full(columns.shape[1], 1.0 / np.sqrt(fitted.features.path[-1, 1]))
    return FirstPart(columns * unit, unit, lambda rows: Kernel(fitted.features, rows))


class TwoPart(NamedTuple):
    """A fitted decision of two parts."""

    classifier: Classifier  # of the scores
    residual: Residual
    weights: list[Floats]  # of every row in the coordinates of its span: where a refit starts


class _Span(NamedTuple):
    """Labelled samples in coordinates with a standard prior."""

    samples: Integers  # (n,)
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
    first : FirstPart
        First part of the decision, from these scores.
    intercept_precision : float
    pool : Workers
    """

    def __init__(
        self,
        likelihood: DataLikelihood[Any],
        label: LabelLikelihood,
        observed: Observed,
        z: Normal,
        first: FirstPart,
        intercept_precision: float,
        pool: Workers,
    ) -> None:
        self.likelihood, self.label, self.observed, self.z = likelihood, label, observed, z
        self.intercept_precision, self.pool = intercept_precision, pool
        self.levels = likelihood.score_levels(observed)
        self.ranked = likelihood.normal_scores(observed, self.levels)
        self.tiles = feature_tiles(observed)
        self.first = first
        self.centre = z.mean.mean(axis=0)
        self.loadings = self._regress(in_use(z.mean))
        squares = self.pool.map(lambda tile: (self._residual(tile) ** 2).sum(), self.tiles)
        least = LEAST_RESIDUAL * observed.shape[0]
        size = max(float(np.sum(squares)) / observed.shape[1], least)  # R
        self.ratio = (first.columns**2).sum() / observed.shape[1] / size
        self._spans: dict[bytes, _Span] = {}

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

    def _features(self, samples: Integers, tile: slice) -> Floats:
        """Columns of A that belong to some features, shape (n, rows)."""
        return np.asarray(self._weights(len(samples))[1] * self._residual(tile, samples).T)

    def _scores(self, samples: Integers) -> Floats:
        """Columns of A that belong to the scores, shape (n, P)."""
        return np.asarray(self._weights(len(samples))[0] * self.first.columns[samples])

    def _weights(self, n_labels: int) -> tuple[float, float]:
        """Prior standard deviations of coefficients of the scores' columns, and of gamma."""
        v = 0.5 * n_labels / (n_labels + FEW_LABELS)
        return float(np.sqrt(1.0 - v)), float(np.sqrt(v * self.ratio))

    def span(self, known: NDArray[np.bool_]) -> _Span:
        """Coordinates of the samples whose labels are known, (N,)."""
        key = known.tobytes()
        if key not in self._spans:
            self._spans[key] = self._make_span(np.flatnonzero(known))
        return self._spans[key]

    def _make_span(self, samples: Integers) -> _Span:
        scores = self._scores(samples)
        n, size = len(samples), scores.shape[1] + self.observed.shape[0]
        if size <= min(n, MOST_DIRECTIONS):
            parts = self.pool.map(lambda tile: self._features(samples, tile), self.tiles)
            return _Span(samples, np.hstack([scores, *parts]), None)

        def product(Q: Floats | None) -> Floats:
            """A A^T, or that times Q."""

            def some(tile: slice) -> Floats:
                part = self._features(samples, tile)
                return np.asarray(part @ (part.T if Q is None else part.T @ Q))

            own = scores @ (scores.T if Q is None else scores.T @ Q)
            return np.asarray(own + self.pool.sum(some, self.tiles))

        if n <= MOST_DIRECTIONS:
            values, vectors = np.linalg.eigh(product(None))
        else:  # leading directions, by subspace iteration
            Q = np.random.default_rng(0).normal(size=(n, MOST_DIRECTIONS))
            for _ in range(_SUBSPACE_STEPS):
                Q = np.linalg.qr(product(Q))[0]
            values, vectors = np.linalg.eigh(Q.T @ product(Q))
            vectors = Q @ vectors
        keep = values > 1e-10 * values.max(initial=0.0)
        root = np.sqrt(values[keep])
        return _Span(samples, vectors[:, keep] * root, vectors[:, keep] / root)

    def fit(self, signed: Floats, whole: Floats, start: list[Floats] | None = None) -> TwoPart:
        """The decision of signed label weights (R, N).

        Parameters
        ----------
        signed : array, shape (R, N)
            Zero where a label is missing or held out.
        whole : array, shape (R, N)
            The same before any label was held out: its spans are shared by all fits.
        start : list of array, optional
            Weights of a fit to almost the same labels.
        """
        laws = []
        for row, weights in enumerate(signed):
            span = self.span(whole[row] != 0)
            begin, steps = (None, STEPS) if start is None else (start[row], BRIEF_STEPS)
            given = weights[span.samples]
            laws.append(solve(self.label, given, span, self.intercept_precision, begin, steps))
        spans = [self.span(one != 0) for one in whole]
        return self._decision(spans, laws)

    def _decision(self, spans: list[_Span], laws: list[tuple[Floats, Floats]]) -> TwoPart:
        """Both parts of laws in the coordinates of their spans."""
        gamma, variance = self._gamma(spans, laws)
        k = len(self.first.unit)
        means, covs = [], []
        for span, (mean, cov) in zip(spans, laws, strict=True):
            T = np.diag(self._weights(len(span.samples))[0] * self.first.unit)
            if span.back is None:
                M = np.hstack([T, np.zeros((k, len(gamma[0])))])
            else:
                M = T @ self._scores(span.samples).T @ span.back  # (P, q)
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
        classifier = self.first.build(Normal(np.array(means), pack(packed), log_det))
        return TwoPart(classifier, residual, [mean for mean, _ in laws])

    def _gamma(
        self, spans: list[_Span], laws: list[tuple[Floats, Floats]]
    ) -> tuple[Floats, Floats]:
        """Mean and variance of gamma, each (R, d)."""
        k = len(self.first.unit)

        def some(tile: slice) -> Floats:
            found = []
            for span, (mean, cov) in zip(spans, laws, strict=True):
                unit = self._weights(len(span.samples))[1]
                if span.back is None:
                    place = slice(k + tile.start, k + tile.stop)
                    found.append((unit * mean[place], unit**2 * np.diag(cov)[place]))
                    continue
                M = unit * (self._features(span.samples, tile).T @ span.back)  # (rows, q)
                inside = np.eye(M.shape[1]) - cov[:-1, :-1]
                left = unit**2 - np.einsum("iq,iq->i", M @ inside, M)
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
    max_steps: int = STEPS,
) -> tuple[Floats, Floats]:
    """Mean (q + 1,) and covariance of the weights and the intercept of one label row.

    ``signed`` (n,) are weights of the span's samples, zero where a label is held out.
    """
    X = np.column_stack([span.coordinates, np.ones(len(signed))])
    prior = np.append(np.ones(X.shape[1] - 1), intercept_precision)
    if start is None:
        f, var_f = np.zeros(len(X)), (X**2 / prior).sum(axis=1)
    else:
        f, var_f = X @ start, np.full(len(X), 0.1)
    mean, cov, _ = fit_row(label, signed, X, prior, f, var_f, TOL, max_steps)
    return mean, cov
