"""What Gibbs sampling keeps: draws, and classifiers fitted at some of them.

A prediction averages over a few draws, spread evenly over the chains: a new sample is encoded at
each, and its decision has the mean of the draws' means, and as variance the mean of their variances
plus the variance of their means.

The coefficients of probit labels are the chain's own draws: the joint posterior of a normalised
model is right as it stands. Those of a pseudo-likelihood (the hinge, or a probit whose labels have
weights other than 1: ``Phi(f)^c`` and ``Phi(-f)^c'`` do not add up to 1) are fitted anew at each of
these draws, to label-free encodings of the training samples, as after variational Bayes
(docs/models.md). So are those of nonlinear classifiers; with a mixture, encodings and classifiers
are those of the draw's own components, so that components need not be matched between draws.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers import Classifier, Gated, Linear, fit_classifier
from rankfactor.engine.chain import Chain
from rankfactor.engine.scale_draws import ScaleDraws
from rankfactor.kernels.packed import Floats, packed_size
from rankfactor.latent import Mixture, ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed, RowArrays
from rankfactor.model import Model, View, ViewState
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.storage.archive import stacked


def named_parameters(params: RowArrays) -> dict[str, NDArray[Any]]:
    """Parameters at a draw by name, shape (d,) or (d, cuts); NaN where a cut is not used.

    If the class does not name any (`RowArrays.named`), all arrays of floats.
    """
    names, result = params.named, {}
    for one in fields(params):
        values = getattr(params, one.name)
        drawn = values.dtype.kind == "f" and values.size if names is None else one.name in names
        if drawn:
            used = getattr(params, "used", True) if values.ndim == 2 else True
            result[(names or {}).get(one.name, one.name)] = np.where(used, values, np.nan)
    return result


@dataclass(frozen=True)
class Draws:
    """Draws of all chains, factors matched, one chain after another.

    Attributes
    ----------
    chain : int array, shape (S,)
        The chain that each draw belongs to.
    loadings : float32 array, shape (S, d, K) or (S, d, K + 1)
    coefficients : float32 array, shape (S, R, K + 1) or, with a mixture, (S, R, T, K + 1)
        At scores that have seen the labels; R is 0 without labels. The components of different
        draws have nothing to do with one another.
    params : tuple of RowArrays
        Parameters of the data likelihood, S of them.
    chosen : int array, shape (S',)
        The draws that predictions average over.
    classifiers : tuple of Normal
        Coefficients fitted to label-free scores at the chosen draws; empty without labels.
    log_likelihood : array, shape (chains, sweeps)
        By sweep, burn-in included; NaN past a chain's end.
    sweep : int array, shape (S,)
        How many sweeps its chain had done at each draw.
    experts : tuple of Gated
        Local classifiers at the chosen draws, which predict in place of ``classifiers``, then their
        averages; empty where classifiers are linear.
    scales : ScaleDraws
        Shrinkage scales of the loadings and the coefficients; none if the draws were rotated.
    priors : tuple of Mixture
        Prior of the scores at every draw; empty where it is standard normal.
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

    def prior(self, number: int) -> ScorePrior:
        """Prior of the scores at a draw."""
        return self.priors[number] if self.priors else StandardNormal()

    def state(self, number: int) -> ViewState:
        """The table's view at a draw: certain rows and parameters."""
        return ViewState(certain(self.loadings[number]), self.params[number], None)

    def reordered(self, order: NDArray[np.int64], sign: Floats) -> Draws:
        """Draws of the factors ``sign * factor[order]``."""

        def turned(values: NDArray[np.float32]) -> NDArray[np.float32]:
            result = values.copy()
            result[..., : len(order)] = values[..., order] * sign.astype(np.float32)
            return result

        return replace(
            self,
            loadings=turned(self.loadings),
            coefficients=turned(self.coefficients),
            classifiers=tuple(
                rows.reordered(np.append(order, len(order)), np.append(sign, 1.0))
                for rows in self.classifiers
            ),
            scales=self.scales.reordered(order),
            experts=tuple(one.reordered(order, sign) for one in self.experts),
            priors=tuple(one.reordered(order, sign) for one in self.priors),
        )

    def flipped(self, sign: Floats) -> Draws:
        """Draws whose classifiers are ``sign`` (R,) times these."""
        small = sign.astype(np.float32).reshape(-1, *[1] * (self.coefficients.ndim - 2))
        return replace(
            self,
            coefficients=self.coefficients * small,
            classifiers=tuple(rows.flipped(sign) for rows in self.classifiers),
            experts=tuple(one.flipped(sign) for one in self.experts),
        )

    def deciders(self) -> Iterator[tuple[ViewState, ScorePrior, Classifier]]:
        """What predicts at each of the chosen draws: table, prior of the scores, classifier."""
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
    """Rows that are known, as a law without variance."""
    mean = np.ascontiguousarray(values, np.float64)
    n, order = mean.shape
    return Normal(mean, np.zeros((n, packed_size(order))), np.zeros(n))


def _unweighted(labels: Observed) -> bool:
    """Whether all labels that there are weigh 1."""
    rows, samples = labels.shape
    return bool(np.isin(np.abs(labels.tile(slice(0, rows), slice(0, samples))), (0.0, 1.0)).all())


def collect(
    model: Model,
    chains: Sequence[Chain],
    observed: Observed,
    labels: Observed | None,
    n_predict: int,
    pool: Workers,
) -> Draws:
    """Put the draws of all chains together and fit the classifiers that predict."""
    draws = [draw for one in chains for draw in one.draws]
    chain = np.repeat(np.arange(len(chains)), [len(one.draws) for one in chains])
    loadings = np.array([draw.loadings for draw in draws])
    sweeps = max(len(one.log_likelihood) for one in chains)
    log_likelihood = np.full((len(chains), sweeps), np.nan)
    for row, one in zip(log_likelihood, chains, strict=True):
        row[: len(one.log_likelihood)] = one.log_likelihood
    count = min(n_predict, len(chain))
    chosen = np.unique(np.linspace(0, len(chain) - 1, count).round().astype(np.int64))
    coefficients = np.zeros((len(chain), 0, model.n_factors + 1), np.float32)
    classifiers: list[Normal] = []
    experts: list[Gated] = []
    if labels is not None and model.label is not None:
        coefficients = np.array([draw.coefficients for draw in draws])
        fitted: Classifier | None = None
        linear = model.n_components is None
        own = model.label.normalised and linear and _unweighted(labels)
        for number in chosen:
            if own:
                classifiers.append(certain(coefficients[number]))
                continue
            state = ViewState(certain(loadings[number]), draws[number].params, None)
            item = ObservedView(model.data_view, observed, state)
            prior = draws[number].prior
            scores = encode_samples(model, item, pool, prior=prior)
            start = fitted if linear else None  # gates belong to the draw's own scores
            fitted = fit_classifier(model, labels, scores, pool, prior=prior, start=start)
            classifiers.append(fitted.average(scores))
            if isinstance(fitted, Gated):
                experts.append(fitted)
    return Draws(
        chain,
        loadings,
        coefficients,
        tuple(draw.params for draw in draws),
        chosen,
        tuple(classifiers),
        log_likelihood,
        np.concatenate([np.array(one.kept, np.int64) for one in chains]),
        ScaleDraws.of(model, stacked([draw.scales for draw in draws])),
        tuple(experts),
        tuple(draw.prior for draw in draws if isinstance(draw.prior, Mixture)),
    )
