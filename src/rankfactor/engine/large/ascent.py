"""Variational Bayes over shards: coordinate ascent on the evidence lower bound.

One iteration is one pass over the table. Every shard updates the scores of its samples given rows
and parameters, and sums the statistics of all rows at the new scores; the sums update rows,
parameters, coefficients and scales. The ELBO is that of the rows before and the scores after the
pass, as in `rankfactor.engine.vb` for likelihoods without a fused step. Rotations and momentum are
those of `rankfactor.engine.vb`, momentum for the rows alone: scores follow within a pass.
"""

from __future__ import annotations

import logging

import numpy as np

from rankfactor.engine.large.checkpoint import PassCheckpoint
from rankfactor.engine.large.shard import Shared, ascend_shard, statistics_of, tiles_of
from rankfactor.engine.large.shards import Shards
from rankfactor.engine.vb import FIRST_TURN, TURN_EVERY, Fit, Progress, Settings, record_moment
from rankfactor.errors import counted
from rankfactor.posterior.convergence import INTERRUPTED, Convergence, by_change
from rankfactor.steps.acceleration import Momentum
from rankfactor.steps.row import row_prior, update_rows_given, update_scales, view_bound
from rankfactor.steps.score import ObservedView
from rankfactor.typing import Floats

logger = logging.getLogger(__name__)


def shared_of(fit: Fit) -> Shared:
    """The part of a fit that shards need, in its current state."""
    labels = fit.labels
    shared = Shared(
        fit.data.view,
        fit.data.state,
        None if labels is None else labels.view,
        None if labels is None else labels.state,
    )
    return shared.light()


def ascend_shards(
    fit: Fit,
    shards: Shards,
    settings: Settings,
    progress: Progress | None,
    checkpoint: PassCheckpoint | None = None,
) -> None:
    """Iterate to convergence, in place.

    Parameters
    ----------
    fit : Fit
        Initial rows, parameters and scales: a fit to some of the samples. Its own scores are not
        used; those of the shards must be near the fixed point of its rows.
    shards : Shards
    settings : Settings
    progress : callable, optional
        Called after every iteration.
    checkpoint : PassCheckpoint, optional
        Destination; the fit is at its last written state.
    """
    k, momentum, previous, change = fit.z.order, Momentum(), -np.inf, np.nan
    next_turn, wait, turn = FIRST_TURN, TURN_EVERY, None
    begun = fit.n_iter
    kept = [item.state.copy() for item in fit.views]
    try:
        for iteration in range(settings.max_iter + 1):
            found = shards.sum(ascend_shard, shared_of(fit), turn)
            turn = None
            elbo = float(found["prior"]) + sum(view_bound(item, k) for item in fit.views)
            for number, item in enumerate(fit.views):
                elbo += update_from(item, found, number)
                update_scales(item, k)
            momentum.carry((fit.data.state.rows.mean,), elbo)
            change = (elbo - previous) / max(abs(elbo), 1.0)
            record_moment(fit, elbo, found["moment"] / found["n"])
            logger.debug("pass %d: ELBO %.6g, change %.2g", iteration, elbo, change)
            kept = [item.state.copy() for item in fit.views]
            if checkpoint is not None:
                checkpoint.keep(fit, number=iteration + 1)
            if progress is not None:
                progress(iteration, elbo, change)
            if iteration > 0 and abs(change) < settings.tol:
                break
            previous = elbo
            if iteration == next_turn:
                turn, gain = fit.turn()
                momentum.turn(turn)
                wait *= 1 if gain > settings.tol * abs(elbo) else 2
                next_turn += wait
        fit.convergence = by_change(
            "ELBO",
            change,
            settings.tol,
            counted(fit.n_iter - begun, "pass", "passes"),
            "raise max_iter, or raise tol if that change is acceptable",
        )
        if checkpoint is not None:
            checkpoint.finish(fit, number=fit.n_iter - begun)
    except KeyboardInterrupt:
        for item, state in zip(fit.views, kept, strict=True):
            item.state = state
        done = counted(fit.n_iter - begun, "pass", "passes") + " over all samples"
        fit.convergence = Convergence(INTERRUPTED, done)
        if checkpoint is not None:
            checkpoint.write()


def update_from(item: ObservedView, found: dict[str, Floats], view: int) -> float:
    """Update parameters and rows of a view from sums, in place; E[log likelihood] before."""
    prior, bound = row_prior(item), 0.0
    for place, tile in enumerate(tiles_of(item)):
        statistics = statistics_of(found, view, place)
        bound += update_rows_given(item, tile, statistics, prior[tile])
    return bound
