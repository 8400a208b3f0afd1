r"""Predictive training over shards, and the classifiers of their scores.

`rankfactor.engine.predictive` has the objective J and the gradient. Here a step is one pass over
the table: every shard moves its scores by a Newton step to the current rows, computes the responses
r_n of its samples to the labels' force, and sums statistics and gradient at these; the sums move
the rows by

    a_i <- a_i + step ( P_i^-1 (h_i + weight G_i) - a_i ),

and the coefficients by their own conditional. J is that of the rows before and the scores within
the pass. Rows that lowered J are reset, the next step ends at the top of a parabola through J, and
the scores are settled before it. Training starts from a label-free fit to all samples. It ends
when J rises by less than its tolerance, or after `PATIENCE` steps without a fall of the log loss of
held-out labels or, without enough of them, without a rise of J.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from rankfactor.classifiers import Linear
from rankfactor.classifiers.linear import STEPS, TOL
from rankfactor.engine.large.ascent import shared_of, update_from
from rankfactor.engine.large.checkpoint import PassCheckpoint
from rankfactor.engine.large.shard import (
    GRADIENT,
    Shared,
    label_statistics,
    settle_shard,
    statistics_of,
    tiles_of,
    train_shard,
)
from rankfactor.engine.large.shards import Shards
from rankfactor.engine.predictive import GROWTH, PATIENCE, Predictive
from rankfactor.engine.vb import Fit, Progress, record_moment
from rankfactor.errors import counted
from rankfactor.kernels.packed import times
from rankfactor.likelihoods import NoParameters, ObservedArray
from rankfactor.model import Model, ViewState
from rankfactor.posterior.convergence import CONVERGED, INTERRUPTED, Convergence, by_change
from rankfactor.steps.acceleration import Momentum
from rankfactor.steps.row import conditional_rows, row_prior, update_scales, view_bound
from rankfactor.steps.score import ObservedView
from rankfactor.storage.stages import Tree
from rankfactor.typing import Floats

logger = logging.getLogger(__name__)

SHORTEST = 0.1  # share of a step that lowered J which the next has at least
LEAST_GAIN = 0.01  # relative fall of the held-out log loss that makes a step better than the best


def with_labels(shared: Shared, model: Model, classifier: Linear) -> Shared:
    """State shared by shards, with a classifier's rows as the labels' view."""
    state = ViewState(classifier.rows, NoParameters(), None)
    return replace(shared, label_view=model.label_view, label_state=state)


def _label_item(model: Model, classifier: Linear) -> ObservedView:
    """The labels' view without observations, which shards have."""
    state = ViewState(classifier.rows.copy(), NoParameters(), classifier.scales)
    nothing = ObservedArray(np.zeros((len(classifier.rows.mean), 0)))
    return ObservedView(model.label_view, nothing, state)


def train_shards(
    model: Model,
    fit: Fit,
    shards: Shards,
    classifier: Linear,
    settings: Predictive,
    progress: Progress | None,
    checkpoint: PassCheckpoint | None = None,
    held_out: Callable[[Linear], float] | None = None,
    so_far: Tree | None = None,
) -> Linear:
    """Ascend J, in place, to the best step; return its classifier.

    Parameters
    ----------
    model : Model
    fit : Fit
        Initial rows, parameters and scales, without labels.
    shards : Shards
        Their scores must be near the fixed point of the rows.
    classifier : Linear
        Initial coefficients.
    settings : Predictive
    progress : callable, optional
        Called after every step.
    checkpoint : PassCheckpoint, optional
        Destination; the fit is at its last written state.
    held_out : callable, optional
        Log loss of held-out labels, by a classifier of the scores of the last pass. Without it the
        best step is that with the highest J.
    so_far : dict, optional
        The course of the steps before, from a checkpoint.
    """
    data, k, weight = fit.data, model.n_factors, settings.label_weight * fit.data.observed.shape[0]
    labels = _label_item(model, classifier)
    kept = (data.state.copy(), labels.state.copy())
    top: tuple[Any, ...] = (*kept, np.nan, np.zeros((k, k)))  # states, their ELBO and E[z z^T]
    step, highest, idle, begin = settings.first_step, -np.inf, 0, 0
    if so_far is not None:
        step, highest, idle, begin = (so_far[key] for key in ("step", "highest", "idle", "number"))
        top = tuple(so_far["top"])
    best, change, number, taken, rise = -np.inf, np.nan, begin, step, 0.0
    margin = settings.tol if held_out is None else LEAST_GAIN

    def done(steps: int) -> str:
        return counted(steps, "step") + " of predictive training over all samples"

    try:
        for number in range(begin, settings.max_steps):
            now = Linear(labels.state.rows)
            shared = with_labels(shared_of(fit), model, now)
            found = shards.sum(train_shard, shared, now, weight)
            before = (data.state.copy(), labels.state.copy())
            elbo = float(found["prior"]) + view_bound(data, k)
            bound, slope = _step_rows(data, found, step)
            elbo += bound
            moment = found["moment"] / found["n"]
            objective = elbo + weight * float(found["labels"])
            worth = objective if held_out is None else -held_out(now)
            gain = (objective - best) / max(abs(objective), 1.0)
            update_from(labels, found, 1)
            update_scales(labels, k)
            idle += 1
            if worth > highest + margin * abs(worth):
                highest, top, idle = worth, (*before, elbo, moment), 0
            logger.debug("step %d: J %.8g, worth %.6g, size %.3g", number, objective, worth, step)
            if gain < 0:
                data.state, labels.state = kept[0].copy(), kept[1].copy()
                step, best = _shortened(taken, best - objective, rise), -np.inf
                # J is too high for scores that lag behind the rows.
                shards.sum(settle_shard, shared_of(fit))
            else:
                taken, rise = step, slope
                if np.isfinite(gain):
                    step, change = min(GROWTH * step, 1.0), gain
                kept, best = before, objective
                record_moment(fit, elbo, moment)
                if progress is not None:
                    progress(number + 1, objective, change)
                if gain < settings.tol:
                    break
            if idle == PATIENCE:
                break
            if checkpoint is not None:
                now = Linear(labels.state.rows.copy(), labels.state.scales)
                course = {"step": step, "highest": highest, "idle": idle, "top": list(top)}
                checkpoint.keep(fit, number=number + 1, classifier=now, **course)
        fit.convergence = by_change("objective", change, settings.tol, done(number + 1))
        if idle == PATIENCE:
            flat = f"the log loss of held-out labels has not fallen by {margin:.0%} in {idle} steps"
            if held_out is None:
                flat = f"the objective has not risen by a relative tol={margin:g} in {idle} steps"
            fit.convergence = Convergence(CONVERGED, done(number + 1), flat)
        labels.state = return_to(fit, top)
        if checkpoint is not None:
            checkpoint.finish(fit, number=number + 1, highest=highest)
    except KeyboardInterrupt:
        labels.state = return_to(fit, top)
        fit.convergence = Convergence(INTERRUPTED, done(number))
        if checkpoint is not None:
            checkpoint.write()
    return Linear(labels.state.rows, labels.state.scales)


def return_to(fit: Fit, top: Sequence[Any]) -> ViewState:
    """Set rows, parameters and scales to those of a step, the last of the history; its labels."""
    labels: ViewState
    fit.data.state, labels, elbo, moment = top
    if np.isfinite(elbo) and fit.history.elbo[-1] != elbo:
        record_moment(fit, elbo, moment)
    return labels


def return_to_best(fit: Fit, found: Tree) -> None:
    """Set a fit that was resumed within training to its best step so far."""
    if "top" in found:
        return_to(fit, found["top"])


def _shortened(step: float, fall: float, slope: float) -> float:
    """Step at the top of the parabola through J before a step and, lower by ``fall``, after it.

    ``slope`` is its derivative before. The step is at least a tenth of the one before.
    """
    return step * max(0.5 * slope * step / (slope * step + fall), SHORTEST)


def _step_rows(item: ObservedView, found: dict[str, Floats], step: float) -> tuple[float, float]:
    """Move rows, parameters and scales of the table's view.

    Returns
    -------
    bound : float
        E[log likelihood] before.
    slope : float
        Derivative of J in the step at zero, with the scores' variances held: sum_i d_i^T P_i d_i,
        d_i the way to the target.
    """
    likelihood, state, prior = item.view.likelihood, item.state, row_prior(item)
    bound, slope = 0.0, 0.0
    for place, tile in enumerate(tiles_of(item)):
        statistics: Any = statistics_of(found, 0, place)
        gradient = statistics.pop(GRADIENT)
        law, params = state.rows.take(tile), state.params.take(tile)
        bound += likelihood.bound(statistics, law, params)
        params = likelihood.update(statistics, law, params)
        precision, shift = likelihood.system(statistics, params)
        rows = conditional_rows(precision.copy(), shift + gradient, prior[tile], None, tile.start)
        way = rows.mean - law.mean
        slope += float((way * (times(precision, way) + prior[tile] * way)).sum())
        rows = replace(rows, mean=law.mean + step * way)
        state.rows.put(tile, rows)
        state.params.put(tile, likelihood.update(statistics, rows, params))
    update_scales(item, state.rows.order - int(item.view.has_intercept))
    return bound, slope


def fit_linear_shards(model: Model, shards: Shards, start: Linear, withhold: bool) -> Linear:
    """Linear classifiers of the shards' scores, as `rankfactor.classifiers.linear.fit_linear`.

    ``withhold`` leaves out held-out labels.
    """
    item, k = _label_item(model, start), model.n_factors
    previous, momentum = -np.inf, Momentum()
    for step in range(STEPS):
        bound = view_bound(item, k)
        found = shards.sum(label_statistics, item.view, item.state, withhold)
        bound += update_from(item, found, 1)
        update_scales(item, k)
        if step > 1 and abs(bound - previous) < TOL * max(abs(bound), 1.0):
            break
        momentum.carry((item.state.rows.mean,), bound)
        previous = bound
    return Linear(item.state.rows, item.state.scales)
