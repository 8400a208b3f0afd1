"""Variational Bayes: coordinate ascent on the evidence lower bound.

One iteration is, for likelihoods that augment, one pass over the table
(`rankfactor.steps.fused`) and then the labels' view; its ELBO is that of the state before. For
others it is the local step over all blocks of samples, then the global step over all tiles of
features and the labels; the sites of the latter are taken at (rows before it, scores after the
local step), and complete the ELBO of exactly that state. With a mixture the samples'
responsibilities come with their scores, and the mixture's parameters last. Every update maximises
the ELBO in its own block of the posterior, so the sequence never decreases (except for rounding,
and for extrapolated steps that are then rejected: `rankfactor.steps.acceleration`).
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankfactor.classifiers.centres import class_aware_centres, label_groups
from rankfactor.classifiers.labels import shared_out, signed_of
from rankfactor.classifiers.per_component import assign_block, joined
from rankfactor.engine.course import Course, History
from rankfactor.engine.start import principal_components
from rankfactor.engine.vb_checkpoint import AscentCheckpoint, find_scores
from rankfactor.errors import convergence_warning, counted
from rankfactor.latent import ScorePrior, StandardNormal
from rankfactor.laws.normal import Normal, with_intercept
from rankfactor.likelihoods import Coding, DataLikelihood, NoParameters, Observed, ObservedArray
from rankfactor.model import Model, ViewState
from rankfactor.posterior.convergence import INTERRUPTED, UNDECIDED, Convergence, by_change
from rankfactor.posterior.shares import ACTIVE_SHARE, second_moment, shares_of, variance_of
from rankfactor.steps.acceleration import Momentum
from rankfactor.steps.fused import update_fused
from rankfactor.steps.rotation import find_rotation, turned_scales, varimax
from rankfactor.steps.row import update_view, view_bound
from rankfactor.steps.score import BLOCK, ObservedView, update_scores
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats

logger = logging.getLogger(__name__)

# With this many samples a fit starts with a subset, then computes all scores in some steps.
LARGE, SMALL, SCORE_STEPS = 8192, 2048, 5
# Iterations before the first rotation of the factors, and until the next.
FIRST_TURN, TURN_EVERY = 2, 5


@dataclass(frozen=True)
class Settings:
    """Settings of the ascent.

    Attributes
    ----------
    max_iter : int
    tol : float
        Relative change of the ELBO at which the fit has converged.
    n_restarts : int
        Starting points tried; the first is the varimax rotation of the principal components, the
        others are rotated at random. The fit with the highest ELBO is kept.
    block : int
        Samples processed together; changes the result only by rounding.
    warns : bool
        Whether to warn of a fit that has not converged; not needed for an intermediate fit.
    """

    max_iter: int = 500
    tol: float = 2e-4
    n_restarts: int = 1
    block: int = BLOCK
    warns: bool = True


@dataclass
class Fit:
    """A fitted model: final views, scores that depend on the labels, history.

    With a mixture (`prior`) the labels are those of its components
    (`rankfactor.classifiers.per_component`).
    """

    data: ObservedView
    labels: ObservedView | None
    z: Normal
    history: History
    prior: ScorePrior = StandardNormal()
    convergence: Convergence = UNDECIDED

    @property
    def n_iter(self) -> int:
        """Number of iterations."""
        return len(self.history.iterations) - 1

    @property
    def views(self) -> list[ObservedView]:
        """The table and, if any, the labels."""
        return [self.data] if self.labels is None else [self.data, self.labels]

    def turn(self) -> tuple[Floats, float]:
        """Rotate the factors to the axes that the shrinkage priors prefer, in place.

        Returns the rotation (K, K) and the gain in ELBO, which is never negative.
        """
        order = self.z.order
        still = np.eye(order)
        turn = find_rotation(self.views, order)
        if np.array_equal(turn, still):
            return still, 0.0
        gain, found = 0.0, []
        for item in self.views:
            old = item.state
            rows = old.rows.transformed(with_intercept(turn, old.rows.order))
            before = item.view.shrinkage.bound(old.scales, old.rows.squares[:, :order])
            scales, bound = turned_scales(item, rows.squares[:, :order])
            gain += bound - before
            found.append((rows, scales))
        if gain <= 0:
            return still, 0.0
        for item, (rows, scales) in zip(self.views, found, strict=True):
            item.state.rows, item.state.scales = rows, scales
        self.z, self.prior = self.z.transformed(turn), self.prior.turned(turn)
        return turn, gain

    def assign(self, parts: Sequence[ScorePrior]) -> None:
        """Combine the priors of consecutive blocks of samples, in place."""
        self.prior = joined(self.prior, parts)
        if self.labels is not None:
            self.labels.observed = shared_out(self.labels.observed, self.prior)


Progress = Callable[[int, float, float], None]  # iteration, ELBO, relative change


def ascend(
    model: Model,
    coding: Coding,
    observed: Observed,
    labels: Observed | None,
    settings: Settings,
    rng: np.random.Generator,
    pool: Workers,
    progress: Progress | None = None,
    checkpoint: AscentCheckpoint | None = None,
) -> Fit:
    """Fit a model to a coded table and its labels.

    Parameters
    ----------
    model : Model
    coding : Coding
        The coding of the table.
    observed : Observed
        The coded table, features by samples.
    labels : Observed or None
        Signed labels, rows by samples; None fits without labels.
    settings : Settings
    rng : numpy.random.Generator
    pool : Workers
    progress : callable, optional
        Called after every iteration.
    checkpoint : AscentCheckpoint, optional
        Checkpoint to write to and resume from.
    """

    def blank() -> Fit:
        """A fit without loadings and scores, in the form that a checkpoint has to have."""
        (d, n), k = observed.shape, model.n_factors
        nothing = np.zeros((d, k)), np.zeros((n, k))
        fit = _start(model, coding, observed, labels, *nothing, np.random.default_rng(0))
        fit.z = Normal.isotropic(np.zeros((0, k)), 1.0)
        return fit

    if checkpoint is not None:
        ended = checkpoint.ended(settings, blank)
        if ended is not None:
            find_scores(ended, pool, settings.block)
            return _told(ended, settings)
    scores = model.data.normal_scores(observed)
    loadings, factors = principal_components(scores, model.n_factors, rng, pool)
    turn = varimax(loadings)
    loadings, factors = loadings @ turn, factors @ turn
    best: Fit | None = None
    begin, basis, course = 0, np.eye(model.n_factors), Course(FIRST_TURN, TURN_EVERY)
    if checkpoint is not None:
        begin, best, before = checkpoint.first_restart(blank)
        if begin:
            basis = before
            loadings, factors = loadings @ basis, factors @ basis
    for restart in range(begin, settings.n_restarts):
        if checkpoint is not None:
            checkpoint.begin(restart, best, basis)
        if restart:
            # Any rotation of the components fits the table equally well at the start, but leads to
            # a different optimum of the sparse loadings.
            turn = np.linalg.qr(rng.standard_normal((model.n_factors,) * 2))[0]
            loadings, factors, basis = loadings @ turn, factors @ turn, basis @ turn
        candidate = _start(model, coding, observed, labels, loadings, factors, rng)
        small, past = None, checkpoint is not None and checkpoint.resumes(small=False)
        if len(factors) >= LARGE and _can_begin_small(candidate) and not past:
            given = (model, candidate, coding, loadings, factors, settings, rng, pool, checkpoint)
            small = _begin_small(*given)
        if small is not None and small.interrupted:
            # One pass over all samples turns the current state into a fit.
            _ascend(model, candidate, replace(settings, max_iter=0), pool, None)
            candidate.convergence = small
        else:
            course = _ascend(model, candidate, settings, pool, progress, checkpoint)
        if best is None or candidate.history.elbo[-1] > best.history.elbo[-1]:
            best = candidate
        if candidate.convergence.interrupted:
            if best is not candidate:
                best.convergence = replace(
                    candidate.convergence,
                    after=f"{restart} of {settings.n_restarts} starts",
                    criterion=f"the best of them is {best.convergence}",
                )
            break
    assert best is not None
    if len(best.z.mean) == 0:  # from a start before the checkpoint
        find_scores(best, pool, settings.block)
    if checkpoint is not None and not candidate.convergence.interrupted:
        checkpoint.finish(best, candidate, course)
    return _told(best, settings)


def _told(fit: Fit, settings: Settings) -> Fit:
    """The resulting fit, after a warning if it has not converged."""
    # Training samples are encoded like new ones, without state that only the fit needs.
    fit.data.state.params = fit.data.state.params.copy()
    ended = fit.convergence
    if ended.interrupted or (settings.warns and not ended.converged):
        warnings.warn(ended.warning, convergence_warning(), stacklevel=3)
    return fit


def _start(
    model: Model,
    coding: Coding,
    observed: Observed,
    labels: Observed | None,
    loadings: Floats,
    factors: Floats,
    rng: np.random.Generator,
) -> Fit:
    """State at the starting loadings (d, K) and factor scores (N, K)."""
    n_factors = model.n_factors

    def view_state(view: Any, loadings: Floats, params: Any) -> ViewState:
        mean = np.column_stack([loadings, np.zeros((len(loadings), int(view.has_intercept)))])
        scales = view.shrinkage.start(len(loadings), n_factors)
        rows = Normal.isotropic(mean, 0.01, view.likelihood.dtype)
        scales = view.shrinkage.update(scales, rows.squares[:, :n_factors])
        return ViewState(rows, params, scales)

    params = model.data.start(coding, observed, loadings)
    data = ObservedView(model.data_view, observed, view_state(model.data_view, loadings, params))
    z = Normal.isotropic(factors.copy(), 0.05)
    groups = np.full(len(factors), -1) if labels is None else label_groups(signed_of(labels))
    prior = model.latent.start(z, lambda count: class_aware_centres(z.mean, groups, count, rng))
    label_view = None
    if labels is not None:
        labels = shared_out(labels, prior)
        nothing = np.zeros((labels.shape[0], n_factors))
        state = view_state(model.label_view, nothing, NoParameters())
        label_view = ObservedView(model.label_view, labels, state)
    return Fit(data, label_view, z, History(), prior)


def _can_begin_small(fit: Fit) -> bool:
    """Whether samples can be selected from all observations."""
    return isinstance(fit.prior, StandardNormal) and all(
        isinstance(item.observed, ObservedArray) for item in fit.views
    )


def _begin_small(
    model: Model,
    fit: Fit,
    coding: Coding,
    loadings: Floats,
    factors: Floats,
    settings: Settings,
    rng: np.random.Generator,
    pool: Workers,
    checkpoint: AscentCheckpoint | None = None,
) -> Convergence:
    """Initialise rows, parameters and scales by a fit to some samples, in place; its convergence.

    The cost of an iteration is proportional to its samples, and a subset covers most of the way.
    """
    few = np.sort(rng.choice(len(factors), SMALL, replace=False))

    def some(item: ObservedView | None) -> Observed | None:
        if item is None:
            return None
        # In the usual memory order, for which the kernels are already compiled.
        return ObservedArray(np.ascontiguousarray(item.observed.tile(slice(None), few)))

    table = some(fit.data)
    assert table is not None
    small = _start(model, coding, table, some(fit.labels), loadings, factors[few], rng)
    if checkpoint is not None:
        checkpoint.small = True
    _ascend(model, small, settings, pool, None, checkpoint)
    if checkpoint is not None:
        checkpoint.small = False
    logger.debug("%d samples of %d: %d iterations", SMALL, len(factors), small.n_iter)
    for item, done in zip(fit.views, small.views, strict=True):
        item.state = done.state
    rows = [item.rows() for item in fit.views]

    def find(samples: slice) -> None:
        z = Normal.isotropic(np.zeros_like(fit.z.mean[samples]), 1.0)
        for _ in range(SCORE_STEPS):
            z = update_scores(fit.views, fit.prior, z, samples, rows=rows)
        fit.z.put(samples, z)

    pool.map(find, slices(len(factors), settings.block))
    return replace(small.convergence, criterion=f"only {SMALL} of {len(factors)} samples were used")


def _ascend(
    model: Model,
    fit: Fit,
    settings: Settings,
    pool: Workers,
    progress: Progress | None,
    checkpoint: AscentCheckpoint | None = None,
) -> Course:
    """Iterate to convergence, in place; return the state of the iterations."""
    likelihood = fit.data.view.likelihood
    resumed = None if checkpoint is None else checkpoint.resume(fit, pool, settings.block)
    course = Course(FIRST_TURN, TURN_EVERY) if resumed is None else resumed
    momentum = course.momentum
    try:
        for iteration in range(course.first, settings.max_iter + 1):
            if likelihood.has_fused_step:
                elbo = _iterate_fused(fit, settings.block, pool, momentum)
            else:
                # Scores are updated first, so the first pass only fits the rows to the initial
                # ones.
                elbo = (_iterate if iteration else _fit_rows)(fit, settings.block, pool)
                # Without a bound there is no check of extrapolated means.
                if likelihood.has_monotone_bound:
                    momentum.carry((fit.data.state.rows.mean, fit.z.mean), elbo)
            fit.prior = fit.prior.update(fit.z)
            change = (elbo - course.previous) / max(abs(elbo), 1.0)
            record(fit, elbo)
            course.iteration, course.previous, course.change = iteration + 1, elbo, change
            logger.debug("iteration %d: ELBO %.6g, change %.2g", iteration, elbo, change)
            # Recomputed scores change the ELBO by themselves.
            converged = iteration > course.first + 1 and abs(change) < settings.tol
            if not converged and iteration == course.next_turn:
                turn, gain = fit.turn()
                momentum.turn(turn)
                # The interval grows as rotations change less.
                course.wait *= 1 if gain > settings.tol * abs(elbo) else 2
                course.next_turn += course.wait
            if checkpoint is not None:
                checkpoint.keep(fit, course)
            if progress is not None and iteration:
                progress(iteration, elbo, change)
            if converged:
                break
        fit.convergence = by_change(
            "ELBO",
            course.change,
            settings.tol,
            counted(fit.n_iter, "iteration"),
            "raise max_iter, or raise tol if that change is acceptable",
        )
    except KeyboardInterrupt:
        if not fit.history.iterations:
            raise
        if checkpoint is not None:
            checkpoint.write()
        done = counted(fit.n_iter, "iteration")
        fit.convergence = Convergence(INTERRUPTED, done)
    return course


def _fit_rows(fit: Fit, block: int, pool: Workers) -> float:
    """Update everything except the scores; return the ELBO before."""
    elbo = fit.prior.bound(fit.z) + sum(view_bound(item, fit.z.order) for item in fit.views)
    return elbo + sum(update_view(item, fit.z, pool, block) for item in fit.views)


def _iterate(fit: Fit, block: int, pool: Workers) -> float:
    """Update scores, then everything else; return the ELBO in between."""
    rows = [item.rows() for item in fit.views]

    def local_step(samples: slice) -> ScorePrior:
        prior = fit.prior.take(samples)
        z = update_scores(fit.views, prior, fit.z.take(samples), samples, rows=rows)
        fit.z.put(samples, z)
        return assign_block(prior, fit.labels, z, samples)

    fit.assign(pool.map(local_step, slices(len(fit.z.mean), block)))
    return _fit_rows(fit, block, pool)


def _iterate_fused(fit: Fit, block: int, pool: Workers, momentum: Momentum) -> float:
    """The same in one pass over the table (`rankfactor.steps.fused`); return the ELBO before it.

    Loadings and scores are extrapolated by ``momentum``.
    """
    elbo = fit.prior.bound(fit.z) + sum(view_bound(item, fit.z.order) for item in fit.views)

    def assign(prior: ScorePrior, z: Normal, samples: slice) -> ScorePrior:
        return assign_block(prior, fit.labels, z, samples)

    bound, priors = update_fused(fit.views, fit.prior, fit.z, pool, block, assign)
    fit.assign(priors)
    elbo += bound
    momentum.carry((fit.data.state.rows.mean, fit.z.mean), elbo)
    if fit.labels is not None:
        update_view(fit.labels, fit.z, pool, block)
    return elbo


def record(fit: Fit, elbo: float) -> None:
    """Add an iteration to the history."""
    record_moment(fit, elbo, second_moment(fit.z.mean))


def record_moment(fit: Fit, elbo: float, moment: Floats) -> None:
    """Add an iteration to the history, given the second moment (K, K) of the scores."""
    loadings = fit.data.state.rows.mean[:, : fit.z.order]
    variance = variance_of(loadings, moment)
    likelihood = fit.data.view.likelihood
    assert isinstance(likelihood, DataLikelihood)
    noise = likelihood.noise_variance(fit.data.state.params)
    shares = shares_of(loadings, moment, variance + noise)
    sd_w, n_active = float(np.sqrt(variance.mean())), int((shares >= ACTIVE_SHARE).sum())
    fit.history.iterations.append((elbo, sd_w, n_active))
