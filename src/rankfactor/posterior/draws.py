"""Result of Gibbs sampling: draws, and classifiers fitted at some of them.

A prediction averages over a few draws, evenly spaced over the chains: a new sample is encoded at
each, and its decision has the mean of the draws' means and, as variance, the mean of their
variances plus the variance of their means.

See `rankfactor.engine.pooling` for the coefficients used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers import Classifier, Gated, Linear
from rankfactor.kernels.packed import packed_size
from rankfactor.latent import DPMixture, InBasis, Mixture, ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal, dual
from rankfactor.likelihoods import Observed, RowArrays
from rankfactor.model import Model, View, ViewState
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.typing import Floats


@dataclass(frozen=True)
class ScaleDraws:
    """Scales at all stored draws.

    Attributes
    ----------
    values : dict of float32 arrays
        By name; the first dimension is the draws.
    dims : dict of tuples of str
        The other dimensions: ``"feature"`` or ``"row"`` (and ``"component"``),
        ``"factor"``.
    powers : dict of int
        Power of a factor's unit of loadings by which a scale changes.
    """

    values: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    dims: dict[str, tuple[str, ...]] = field(default_factory=dict)
    powers: dict[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, model: Model, values: Mapping[str, NDArray[np.float32]]) -> ScaleDraws:
        """The arrays of a model's scales, with their dimensions; may be empty."""
        dims, powers = scale_dims(model), scale_powers(model)
        return cls(
            dict(values),
            {name: dims[name] for name in values},
            {name: powers[name] for name in values},
        )

    def transformed(self, matrix: Floats) -> ScaleDraws:
        """Draws of the scales of the factors ``z @ matrix``, where the matrix is invertible.

        They are dropped unless the matrix has one entry per column: order, sign and unit.
        """
        order = np.abs(matrix).argmax(axis=0)
        unit = np.abs(matrix).max(axis=0)
        if np.count_nonzero(matrix) != len(matrix):
            return ScaleDraws()
        values = {
            # Loadings are divided by the scores' unit.
            name: (value[..., order] * unit ** -self.powers[name]).astype(np.float32)
            if "factor" in self.dims[name]
            else value
            for name, value in self.values.items()
        }
        return ScaleDraws(values, self.dims, self.powers)


def scale_dims(model: Model) -> dict[str, tuple[str, ...]]:
    """Dimensions of all scales that a model's priors keep, by name."""
    rows: tuple[str, ...] = ("feature",)
    priors = [("loading", rows, model.loading_shrinkage)]
    if model.label is not None:
        rows = ("row", "component") if isinstance(model.latent, DPMixture) else ("row",)
        priors.append(("coefficient", rows, model.coefficient_shrinkage))
    return {
        f"{prefix}_{name}": (*(rows if dims[:1] == ("row",) else dims[:1]), *dims[1:])
        for prefix, rows, prior in priors
        for name, dims in prior.kept_dims.items()
    }


def scale_powers(model: Model) -> dict[str, int]:
    """Power of the loadings' unit by which each scale of a model changes, by name."""
    priors = [("loading", model.loading_shrinkage), ("coefficient", model.coefficient_shrinkage)]
    return {
        f"{prefix}_{name}": power
        for prefix, prior in priors
        for name, power in prior.kept_powers.items()
    }


@dataclass(frozen=True)
class Draws:
    """Draws of all chains, factors matched, one chain after another.

    Attributes
    ----------
    chain : int array, shape (S,)
        The chain that each draw belongs to.
    loadings : float32 array, shape (S, d, K) or (S, d, K + 1)
    coefficients : float32 array, shape (S, R, K + 1) or, with a mixture, (S, R, T, K + 1)
        At scores that depend on the labels; R is 0 without labels. Components of different draws
        are unrelated.
    params : tuple of RowArrays
        Parameters of the data likelihood, S of them.
    chosen : int array, shape (S',)
        The draws that predictions average over.
    classifiers : tuple of Normal
        Coefficients fitted to label-free scores at the chosen draws; empty without labels.
    log_likelihood : array, shape (chains, sweeps)
        By sweep, including burn-in; NaN after a chain's end.
    sweep : int array, shape (S,)
        Number of sweeps of the chain at each draw.
    experts : tuple of Gated
        Local classifiers at the chosen draws, which predict instead of ``classifiers``, then their
        averages; empty if classifiers are linear.
    scales : ScaleDraws
        Shrinkage scales of the loadings and the coefficients; none if the draws were rotated.
    priors : tuple of Mixture
        Prior of the scores ``z @ basis`` at every draw; empty if it is standard normal.
    basis : array, shape (K, K), or None
        None if the priors are those of the scores themselves.
    decisions : float32 array, shape (S, R, probes)
        Label-free decisions at some training samples, evenly spaced; no probes in files of earlier
        versions.
    """

    chain: NDArray[np.int64]
    loadings: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    params: tuple[RowArrays, ...]
    chosen: NDArray[np.int64]
    classifiers: tuple[Normal, ...]
    log_likelihood: Floats
    sweep: NDArray[np.int64]
    scales: ScaleDraws = field(default_factory=ScaleDraws)
    experts: tuple[Gated, ...] = ()
    priors: tuple[Mixture, ...] = ()
    basis: Floats | None = None
    decisions: NDArray[np.float32] = field(default_factory=lambda: np.zeros((0, 0, 0), np.float32))

    def prior(self, number: int) -> ScorePrior:
        """Prior of the scores at a draw."""
        inner = self.priors[number] if self.priors else StandardNormal()
        return inner if self.basis is None else InBasis(inner, self.basis)

    def state(self, number: int) -> ViewState:
        """The table's view at a draw: fixed rows and parameters."""
        return ViewState(certain(self.loadings[number]), self.params[number], None)

    def transformed(self, matrix: Floats) -> Draws:
        """Draws of the factors ``z @ matrix``, where the matrix (K, K) is invertible."""
        k = len(matrix)
        inverse = dual(matrix, k)

        def moved(values: NDArray[np.float32]) -> NDArray[np.float32]:
            result = values.copy()
            result[..., :k] = values[..., :k] @ inverse
            return result

        return replace(
            self,
            loadings=moved(self.loadings),
            coefficients=moved(self.coefficients),
            classifiers=tuple(Linear(rows).transformed(matrix).rows for rows in self.classifiers),
            scales=self.scales.transformed(matrix),
            experts=tuple(one.transformed(matrix) for one in self.experts),
            basis=inverse.T if self.basis is None else inverse.T @ self.basis,
        )

    def flipped(self, sign: Floats) -> Draws:
        """Draws whose classifiers are ``sign`` (R,) times these."""
        small = sign.astype(np.float32).reshape(-1, *[1] * (self.coefficients.ndim - 2))
        return replace(
            self,
            coefficients=self.coefficients * small,
            decisions=self.decisions * sign.astype(np.float32)[:, None],
            classifiers=tuple(rows.flipped(sign) for rows in self.classifiers),
            experts=tuple(one.flipped(sign) for one in self.experts),
        )

    def deciders(self) -> Iterator[tuple[ViewState, ScorePrior, Classifier]]:
        """Table view, prior of the scores and classifier of each of the chosen draws."""
        for place, number in enumerate(self.chosen.tolist()):
            gated = self.experts[place] if self.experts else None
            yield self.state(number), self.prior(number), gated or Linear(self.classifiers[place])

    def decide(
        self, model: Model, view: View, observed: Observed, pool: Workers
    ) -> tuple[Floats, Floats]:
        """Mean and variance of every classifier's decision over draws, each (N, rows)."""
        means, variances = [], []
        for state, prior, classifier in self.deciders():
            z = encode_samples(model, ObservedView(view, observed, state), pool, prior=prior)
            mean, variance = classifier.decide(z)
            means.append(mean)
            variances.append(variance)
        spread = np.var(means, axis=0)
        return np.mean(means, axis=0), np.mean(variances, axis=0) + spread


def certain(values: NDArray[np.float32] | Floats) -> Normal:
    """Known rows, as a distribution without variance."""
    mean = np.ascontiguousarray(values, np.float64)
    n, order = mean.shape
    return Normal(mean, np.zeros((n, packed_size(order))), np.zeros(n))
