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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers.experts import fit_rows
from rankfactor.classifiers.gated import Experts
from rankfactor.classifiers.linear import (
    decisions,
    encode_samples,
    fit_experts,
    refit_labels,
)
from rankfactor.engine.chain import Chain
from rankfactor.engine.scale_draws import ScaleDraws, stacked
from rankfactor.kernels.packed import Floats, packed_size
from rankfactor.latent import Mixture, ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed, RowArrays
from rankfactor.model import Model, View, ViewState
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers


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
    experts : tuple of Experts
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
    experts: tuple[Experts, ...] = ()
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
            experts=tuple(replace(one, rows=one.rows.flipped(sign)) for one in self.experts),
        )

    def decide(
        self, model: Model, view: View, observed: Observed, pool: Workers
    ) -> tuple[Floats, Floats]:
        """Mean and variance of every classifier's decision over draws, each (N, rows)."""
        means, variances = [], []
        for place, number in enumerate(self.chosen):
            item = ObservedView(view, observed, self.state(int(number)))
            z = encode_samples(model, item, pool, prior=self.prior(int(number)))
            if self.experts:
                mean, variance = self.experts[place].decisions(z)
            else:
                mean, variance = decisions(self.classifiers[place], z)
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
    chain = np.repeat(np.arange(len(chains)), [len(one.loadings) for one in chains])
    loadings = np.concatenate([np.array(one.loadings) for one in chains])
    params = tuple(draw for one in chains for draw in one.params)
    sweeps = max(len(one.log_likelihood) for one in chains)
    log_likelihood = np.full((len(chains), sweeps), np.nan)
    for number, one in enumerate(chains):
        log_likelihood[number, : len(one.log_likelihood)] = one.log_likelihood
    count = min(n_predict, len(chain))
    chosen = np.unique(np.linspace(0, len(chain) - 1, count).round().astype(np.int64))
    coefficients = np.zeros((len(chain), 0, model.n_factors + 1), np.float32)
    classifiers: list[Normal] = []
    experts: list[Experts] = []
    priors = [draw for one in chains for draw in one.priors]
    if labels is not None and model.label is not None:
        coefficients = np.concatenate([np.array(one.coefficients) for one in chains])
        fitted: ViewState | None = None
        linear = model.n_components is None
        own = model.label.normalised and linear and _unweighted(labels)
        for number in chosen:
            if own:
                classifiers.append(certain(coefficients[number]))
                continue
            state = ViewState(certain(loadings[number]), params[number], None)
            item = ObservedView(model.data_view, observed, state)
            prior = priors[number]
            scores = encode_samples(model, item, pool, prior=prior)
            if linear:
                fitted = refit_labels(model, labels, scores, pool, fitted)
                classifiers.append(fitted.rows)
                continue
            if isinstance(prior, Mixture):
                experts.append(fit_rows(model, labels, scores, prior, pool))
            else:
                # Any seed will do: it only places the start of k-means.
                experts.append(fit_experts(model, labels, scores, np.random.default_rng(0)))
            classifiers.append(experts[-1].average(scores))
    return Draws(
        chain,
        loadings,
        coefficients,
        params,
        chosen,
        tuple(classifiers),
        log_likelihood,
        np.concatenate([np.array(one.kept, np.int64) for one in chains]),
        ScaleDraws.of(model, stacked([draw for one in chains for draw in one.scales])),
        tuple(experts),
        tuple(one for one in priors if isinstance(one, Mixture)),
    )
