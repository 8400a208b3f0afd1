r"""Predictive training: loadings that make label-free scores separate the classes.

A new sample's scores z0(x) are the fixed point of the local step without labels. Its mean solves

    z + sum_i tau_i Cov(a_i) z = sum_i a_i push_i(a_i . z),      push = rho - tau w,

so by the implicit function theorem, with curvature k = -d push / d w and at fixed variances, the
gradient in a_i of any loss whose gradient in z_n is q_n is

    H_n = I + sum_i ( k_in a_i a_i^T + tau_in Cov(a_i) ),     r_n = H_n^-1 q_n,
    G_i = sum_n ( push_in r_n - k_in (a_i . r_n) z_n ).

With q_n = sum_rows g_n df/dz, g = rho_f - tau_f f the slope of the labels' bound, this is the
gradient of the labels' bound through the encoder. Training ascends

    J = ELBO of the table, without labels  +  weight x bound of the labels at z0

by natural-gradient steps a_i <- a_i + step ( P_i^-1 (h_i + weight G_i) - a_i ), where P_i and h_i
are the conjugate update's: at weight 0 and step 1 it is variational Bayes without labels. Scores
follow by one local step each time, the classifier by a few of its own. A step that lowers J is
taken back and halved. J is no evidence bound: the labels are counted ``weight`` times.
"""

from __future__ import annotations

import logging
import numbers
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rankfactor.errors import InputError
from rankfactor.inference.globals import row_prior, row_statistics, view_bound
from rankfactor.inference.local import TILE, ObservedView, split_intercept, update_scores
from rankfactor.inference.threads import Workers, slices
from rankfactor.inference.vb import Fit, Settings, record
from rankfactor.kernels.packed import Floats, diagonal_positions, packed_size
from rankfactor.kernels.solve import solve_packed
from rankfactor.laws.normal import Index, Normal, product_moments
from rankfactor.likelihoods import DataLikelihood
from rankfactor.model import Model

logger = logging.getLogger(__name__)

Progress = Callable[[int, float, float], None]  # step, objective, relative change


class Decider(Protocol):
    """A classifier on scores, as training sees it (`rankfactor.inference.deciders`)."""

    def update(self, z: Normal) -> None:
        """Fit the coefficients a little more to the scores."""
        ...

    def pull(self, z: Normal) -> tuple[Floats, float]:
        """Gradient of the labels' bound in every sample's scores (N, K), and the bound."""
        ...


@dataclass(frozen=True)
class Predictive:
    """How predictive training goes.

    Attributes
    ----------
    label_weight : float
        Weight of the labels' bound per feature of the table: the gradient through the encoder is
        shared out among the features, so their number does not change its balance with the table.
    max_steps : int
    first_step : float
        Share of the way to the target that the first step goes.
    tol : float
        Relative change of the objective at which training ends.
    """

    label_weight: float = 3.0
    max_steps: int = 60
    first_step: float = 0.05
    tol: float = 1e-4

    def __post_init__(self) -> None:
        """Refuse settings out of range."""
        weight = self.label_weight
        if not (isinstance(weight, numbers.Real) and 0 <= weight < float("inf")):
            raise InputError(f"label_weight must be a number of at least 0, not {weight!r}.")


def train(
    model: Model,
    fit: Fit,
    decider: Decider,
    settings: Predictive,
    pool: Workers,
    block: int = Settings.block,
    progress: Progress | None = None,
) -> None:
    """Ascend J from a fit without labels, in place.

    Parameters
    ----------
    model : Model
    fit : Fit
        Its scores must be label-free.
    decider : Decider
    settings : Predictive
    pool : Workers
    block : int
    progress : callable, optional
        Called after every step.
    """
    data = fit.data
    weight = settings.label_weight * data.observed.shape[0]
    blocks = slices(len(fit.z.mean), block)
    step, best = settings.first_step, -np.inf
    kept = (data.state.copy(), fit.z.copy())

    def local_step(samples: slice) -> None:
        fit.z.put(samples, update_scores([data], model.latent, fit.z.take(samples), samples))

    for number in range(settings.max_steps):
        pool.map(local_step, blocks)
        decider.update(fit.z)
        pull, label_bound = decider.pull(fit.z)
        response = _responses(data, fit.z, weight * pull, pool, block)
        elbo = model.latent.bound(fit.z) + view_bound(data, model.n_factors)
        before = (data.state.copy(), fit.z.copy())
        elbo += _update_rows(data, fit.z, response, step, pool, block)
        objective = elbo + weight * label_bound
        change = (objective - best) / max(abs(objective), 1.0)
        logger.debug("step %d: objective %.6g, size %.3g", number, objective, step)
        if change < 0:
            data.state, fit.z = kept[0].copy(), kept[1].copy()
            step *= 0.5
            if step < 0.01 * settings.first_step:
                break
            continue
        kept, best = before, objective
        record(fit, elbo)
        if progress is not None:
            progress(number + 1, objective, change)
        if change < settings.tol:
            break


def _responses(data: ObservedView, z: Normal, pull: Floats, pool: Workers, block: int) -> Floats:
    """r_n = H_n^-1 q_n of every sample, shape (N, K)."""
    result = np.empty_like(pull)

    def respond(samples: slice) -> None:
        precision = _curvature(data, z.take(samples), samples)
        result[samples] = solve_packed(precision, pull[samples])[0]

    pool.map(respond, slices(len(pull), block))
    return result


def _curvature(data: ObservedView, z: Normal, samples: Index) -> Floats:
    """H_n of some samples, packed, shape (n, P)."""
    n, order = z.mean.shape
    total = np.zeros((n, packed_size(order)))
    total[:, diagonal_positions(order)] = 1.0
    likelihood, design = data.view.likelihood, data.design(z)
    assert isinstance(likelihood, DataLikelihood)
    for tile in slices(data.observed.shape[0], TILE):
        rows, params = data.state.rows.take(tile), data.state.params.take(tile)
        w, var_w = product_moments(rows, design, likelihood.needs_variance)
        observed = likelihood.read(data.observed, tile, samples, params)
        slopes = likelihood.slopes(observed, w, var_w, params)
        part = slopes.curvature.T @ rows.second
        total += part[:, split_intercept(part.shape[1])[0]] if data.view.has_intercept else part
    return total


def _update_rows(
    data: ObservedView, z: Normal, response: Floats, step: float, pool: Workers, block: int
) -> float:
    """Move the rows towards their target, then parameters and scales; E[log likelihood] before."""
    view, state = data.view, data.state
    likelihood, order = view.likelihood, z.order
    assert isinstance(likelihood, DataLikelihood)
    prior = row_prior(data)

    def gradient(tile: slice, rows: Normal, params: object) -> Floats:
        total = np.zeros(rows.mean.shape)
        loadings = rows.mean[:, :order]
        for samples in slices(len(z.mean), block):
            part = z.take(samples)
            w, var_w = product_moments(rows, data.design(part), likelihood.needs_variance)
            observed = likelihood.read(data.observed, tile, samples, params)
            slopes = likelihood.slopes(observed, w, var_w, params)
            r = response[samples]
            total[:, :order] += slopes.push @ r - (slopes.curvature * (loadings @ r.T)) @ part.mean
        return total

    def update_tile(tile: slice) -> float:
        statistics = row_statistics(data, z, tile, block)
        rows, params = state.rows.take(tile), state.params.take(tile)
        bound = likelihood.bound(statistics, rows, params)
        extra = gradient(tile, rows, params)
        params = likelihood.update(statistics, rows, params)
        precision, shift = likelihood.system(statistics, params)
        precision = precision.copy()
        precision[:, diagonal_positions(rows.order)] += prior[tile]
        target = Normal.from_natural(precision, shift + extra)
        rows = replace(target, mean=rows.mean + step * (target.mean - rows.mean))
        state.rows.put(tile, rows)
        state.params.put(tile, likelihood.update(statistics, rows, params))
        return bound

    bound = float(sum(pool.map(update_tile, slices(data.observed.shape[0], TILE))))
    state.scales = view.shrinkage.update(state.scales, state.rows.squares[:, :order])
    return bound
