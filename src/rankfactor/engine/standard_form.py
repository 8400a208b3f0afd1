r"""Standard form of the factors: one form after any training and engine.

Every ``w = a . z`` and every decision is invariant to ``z -> z F``, ``a -> a F^-T`` with invertible
F, if the prior of z is transformed as well (`rankfactor.latent.base.InBasis`). This freedom is used
to make factors interpretable:

1. *Scores of unit variance*: label-free posterior means have standard deviation 1 on the training
   samples. A factor whose scores vary less than a tenth of the largest is switched off; it
   keeps its unit.
2. *Axes.* After joint training they are those of the fit, where rotations made the loadings sparse
   under the priors; the scores' small correlations are part of the result. Predictive training
   makes factors oblique. There scores are made uncorrelated by the nearest such coordinates,
   ``F = D^-1 C^-1/2`` with D their standard deviations and C their correlations, and then rotated
   by varimax of the correlations of features and scores.
3. *Order* by the variance that a factor explains, largest first; *sign* such that the feature
   with the largest correlation has a positive one.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers.in_use import in_use
from rankfactor.kernels.codes import is_known
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed
from rankfactor.model import ViewState
from rankfactor.posterior import Posterior
from rankfactor.posterior.shares import loading_units, second_moment
from rankfactor.posterior.variance_explained import VarianceExplained
from rankfactor.steps.rotation import varimax
from rankfactor.steps.score import BLOCK, ObservedView, tile_length
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats

LEAST_EIGENVALUE = 1e-6  # smallest eigenvalue of correlations to be removed


def in_standard_form(posterior: Posterior, observed: Observed, pool: Workers) -> Posterior:
    """The posterior in standard form, with the variance that its factors explain of the table."""
    oblique = posterior.training == "predictive"
    moved = posterior.transformed(_coordinates(posterior.scores, oblique))
    if oblique:
        structure = variance_explained(moved, observed, pool).structure
        used = in_use(moved.scores.mean)
        turn = np.eye(len(used))
        turn[np.ix_(used, used)] = varimax(structure[:, used])
        moved = moved.transformed(turn)
    found = variance_explained(moved, observed, pool)
    order, sign = readable_order(found)
    arrange = np.eye(len(order))[:, order] * sign
    return replace(moved.transformed(arrange), variance=found.reordered(order, sign))


def readable_order(found: VarianceExplained) -> tuple[NDArray[np.int64], Floats]:
    """Order (K,) by decreasing variance explained; signs (K,) that make leading features positive.

    Neither depends on the labels or on the order of samples and features.
    """
    order = np.argsort(-found.r2.mean(axis=0), kind="stable")
    structure = found.structure[:, order]
    leading = structure[np.abs(structure).argmax(axis=0), np.arange(len(order))]
    return order, np.where(leading < 0, -1.0, 1.0)


def _coordinates(scores: Normal, uncorrelated: bool) -> Floats:
    """F, shape (K, K), of scores (N, K)."""
    used = in_use(scores.mean)
    sd = np.where(used, scores.mean.std(axis=0), 1.0)
    if not uncorrelated or used.sum() < 2:
        return np.diag(1.0 / sd)
    values, vectors = np.linalg.eigh(np.corrcoef(scores.mean[:, used].T))
    root = (vectors / np.sqrt(np.maximum(values, LEAST_EIGENVALUE))) @ vectors.T
    matrix = np.diag(1.0 / sd)
    matrix[np.ix_(used, used)] @= root
    return matrix


def variance_explained(
    posterior: Posterior, observed: Observed, pool: Workers
) -> VarianceExplained:
    """Correlations with the factors, and variance explained in the coded training table."""
    model, k = posterior.model, posterior.n_factors
    mean = posterior.scores.mean
    sd = np.where(in_use(mean), mean.std(axis=0), np.inf)
    z = (mean - mean.mean(axis=0)) / sd  # (N, K); zero for a factor that is switched off
    loadings = posterior.rows.mean[:, :k]
    pattern = loadings * loading_units(loadings, second_moment(mean), posterior.noise_variance)
    normal = model.data.normal_scores(observed)
    item = ObservedView(
        model.data_view, observed, ViewState(posterior.rows, posterior.params, None)
    )

    def sums(tile: slice) -> tuple[Floats, Floats]:
        p, n_rows = pattern[tile], tile.stop - tile.start
        total, count = np.zeros((2, n_rows))
        cross, fitted, first, second = np.zeros((4, n_rows, k))
        for samples in slices(len(z), BLOCK):
            x, near = normal.tile(tile, samples), z[samples]  # x is zero where missing
            known = is_known(observed.tile(tile, samples)).astype(float)
            total += (x**2).sum(axis=1)
            count += known.sum(axis=1)
            cross += x @ near
            fitted += ((p @ near.T) * known) @ near
            first += known @ near
            second += known @ near**2
        tiny = np.finfo(float).tiny
        spread = np.maximum(second - first**2 / np.maximum(count, 1.0)[:, None], 0.0)
        structure = cross / np.sqrt(np.maximum(total[:, None] * spread, tiny))
        # The best multiple, from 0 to 1, of the reconstruction p . z.
        scale = (p * cross).sum(axis=1) / np.maximum((p * fitted).sum(axis=1), tiny)
        c = np.clip(scale, 0.0, 1.0)[:, None]
        return structure, c * p * (2.0 * cross - c * fitted) / np.maximum(total, tiny)[:, None]

    parts = pool.map(sums, item.tiles(tile_length(min(BLOCK, len(z)))))
    structure, r2 = (np.concatenate(part) for part in zip(*parts, strict=True))
    return VarianceExplained(np.clip(structure, -1.0, 1.0), r2)
