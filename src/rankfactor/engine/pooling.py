"""Draws of all chains combined: moments, and the classifiers used for prediction.

The coefficients of probit labels are the chain's own draws, since the joint posterior of a
normalised model is correct. Those of a pseudo-likelihood (the hinge, or a probit whose labels have
weights other than 1: ``Phi(f)^c`` and ``Phi(-f)^c'`` do not add up to 1) are refitted at each of
the draws used for prediction, to label-free encodings of the training samples, as after variational
Bayes (docs/howto/models.md). So are those of mixed and kernel experts. With a mixture, encodings,
gates and classifiers are those of the draw's own components, so that components need not be matched
between draws.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers import Classifier, Gated, fit_classifier
from rankfactor.classifiers.per_component import gate_major
from rankfactor.engine.chain import Chain, Draw, Moments
from rankfactor.latent import Mixture
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed
from rankfactor.model import Model, ViewState
from rankfactor.posterior.draws import Draws, ScaleDraws, certain
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.storage.archive import stacked


def _unweighted(labels: Observed) -> bool:
    """Whether all given labels have weight 1."""
    rows, samples = labels.shape
    return bool(np.isin(np.abs(labels.tile(slice(0, rows), slice(0, samples))), (0.0, 1.0)).all())


def predicts_by_draws(model: Model, labels: Observed) -> bool:
    """Whether predictions use the chain's own draws of the coefficients."""
    normalised = model.label is not None and model.label.normalised
    return normalised and model.experts is None and _unweighted(labels)


def collect(
    model: Model,
    chains: Sequence[Chain],
    observed: Observed,
    labels: Observed | None,
    n_predict: int,
    pool: Workers,
) -> Draws:
    """Combine the draws of all chains and fit the classifiers used for prediction."""
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
        linear, own = model.linear, predicts_by_draws(model, labels)
        for number in chosen:
            if own and linear:
                classifiers.append(certain(coefficients[number]))
                continue
            state = ViewState(certain(loadings[number]), draws[number].params, None)
            item = ObservedView(model.data_view, observed, state)
            prior = draws[number].prior
            scores = encode_samples(model, item, pool, prior=prior)
            if own and isinstance(prior, Mixture):
                drawn = coefficients[number]  # (R, T, K + 1)
                rows = gate_major(certain(drawn.reshape(-1, drawn.shape[-1])), len(drawn))
                fitted = Gated(prior.gates(scores), rows)
            else:
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
        decisions=_decisions(draws, coefficients.shape[1]),
    )


def _decisions(draws: Sequence[Draw], n_rows: int) -> NDArray[np.float32]:
    """Decisions at the probes, shape (draws, R, probes)."""
    found = [draw.decisions for draw in draws if draw.decisions is not None]
    return np.array(found) if found else np.zeros((len(draws), n_rows, 0), np.float32)


def pooled(moments: Sequence[Moments]) -> Normal:
    """Normal distributions with the mean and covariance over the draws of all chains."""
    return Moments(
        sum(one.count for one in moments),
        np.sum([one.total for one in moments], axis=0),
        np.sum([one.second for one in moments], axis=0),
    ).law()
