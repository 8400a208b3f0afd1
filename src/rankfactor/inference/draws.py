"""What Gibbs sampling keeps: draws, and classifiers fitted at some of them.

A prediction averages over draws. At each of a few draws, spread evenly over the chains, the
training samples are encoded without their labels and the classifiers fitted to these scores, as
after variational Bayes; a new sample is encoded at the same draws. The decision then has the mean
of the draws' means, and as variance the mean of their variances plus the variance of their means.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfactor.inference.gibbs import Chain
from rankfactor.inference.local import ObservedView
from rankfactor.inference.predict import decisions, encode_samples, refit_labels
from rankfactor.inference.threads import Workers
from rankfactor.kernels.packed import Floats, packed_size
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed, RowArrays
from rankfactor.model import Model, View, ViewState


@dataclass(frozen=True)
class Draws:
    """Draws of all chains, factors matched, one chain after another.

    Attributes
    ----------
    chain : int array, shape (S,)
        The chain that each draw belongs to.
    loadings : float32 array, shape (S, d, K) or (S, d, K + 1)
    coefficients : float32 array, shape (S, R, K + 1)
        At scores that have seen the labels; R is 0 without labels.
    params : tuple of RowArrays
        Parameters of the data likelihood, S of them.
    chosen : int array, shape (S',)
        The draws that predictions average over.
    classifiers : tuple of Normal
        Coefficients fitted to label-free scores at the chosen draws; empty without labels.
    log_likelihood : array, shape (chains, sweeps)
        By sweep, burn-in included; NaN past a chain's end.
    """

    chain: NDArray[np.int64]
    loadings: NDArray[np.float32]
    coefficients: NDArray[np.float32]
    params: tuple[RowArrays, ...]
    chosen: NDArray[np.int64]
    classifiers: tuple[Normal, ...]
    log_likelihood: Floats

    def state(self, number: int) -> ViewState:
        """The table's view at a draw: certain rows and parameters."""
        return ViewState(certain(self.loadings[number]), self.params[number], None)

    def decide(
        self, model: Model, view: View, observed: Observed, pool: Workers
    ) -> tuple[Floats, Floats]:
        """Mean and variance of every classifier's decision over draws, each (N, rows)."""
        means, variances = [], []
        for number, rows in zip(self.chosen, self.classifiers, strict=True):
            item = ObservedView(view, observed, self.state(int(number)))
            mean, variance = decisions(rows, encode_samples(model, item, pool))
            means.append(mean)
            variances.append(variance)
        spread = np.var(means, axis=0)
        return np.mean(means, axis=0), np.mean(variances, axis=0) + spread


def certain(values: NDArray[np.float32] | Floats) -> Normal:
    """Rows that are known, as a law without variance."""
    mean = np.ascontiguousarray(values, np.float64)
    n, order = mean.shape
    return Normal(mean, np.zeros((n, packed_size(order))), np.zeros(n))


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
    classifiers: list[ViewState] = []
    if labels is not None:
        coefficients = np.concatenate([np.array(one.coefficients) for one in chains])
        for number in chosen:
            state = ViewState(certain(loadings[number]), params[number], None)
            item = ObservedView(model.data_view, observed, state)
            scores = encode_samples(model, item, pool)
            start = classifiers[-1] if classifiers else None
            classifiers.append(refit_labels(model, labels, scores, pool, start))
    return Draws(
        chain,
        loadings,
        coefficients,
        params,
        chosen,
        tuple(state.rows for state in classifiers),
        log_likelihood,
    )
