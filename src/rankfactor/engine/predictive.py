r"""Predictive training: loadings that make label-free scores separate the classes.

A new sample's scores z0(x) are the fixed point of the local step without labels. Its mean solves

    z + sum_i tau_i Cov(a_i) z = sum_i a_i push_i(a_i . z),      push = rho - tau w,

so by the implicit function theorem, with curvature k = -d push / d w and at fixed variances, the
gradient in a_i of any loss whose gradient in z_n is q_n is

    H_n = I + sum_i ( k_in a_i a_i^T + tau_in Cov(a_i) ),     r_n = H_n^-1 q_n,
    G_i = sum_n ( push_in r_n - k_in (a_i . r_n) z_n ).

H_n is computed with k E[a a^T] for its sum, which is one matrix product instead of two and exact if
k = tau (Gaussian); it differs by the loadings' variances, about 1 % of the gradient.

With q_n = sum_rows g_n df/dz, g = rho_f - tau_f f the slope of the labels' bound, this is the
gradient of the labels' bound through the encoder. Training ascends

    J = ELBO of the table, without labels  +  weight x bound of the labels at z0

by natural-gradient steps a_i <- a_i + step ( P_i^-1 (h_i + weight G_i) - a_i ), where P_i and h_i
are the conjugate update's: at weight 0 and step 1 it is variational Bayes without labels. Scores
follow by one Newton step in the same pass over the table (`rankfactor.steps.through_encoder`), the
classifier by a few steps of its own; r_n is computed with the H_n of that Newton step. A step that
lowers J is reverted and shortened, and scores take another Newton step there: J is too high for
scores that lag behind the rows, and all later steps would seem to lower it. A step that raises J
makes the next a little larger. Training ends when J has converged or, at the highest J, after some
steps without a rise. J is not an evidence bound: the labels count ``weight`` times.
"""

from __future__ import annotations

import logging
import numbers
import warnings
from dataclasses import dataclass, replace

import numpy as np

from rankfactor.classifiers import Classifier, begin_classifier, fit_classifier, pull
from rankfactor.classifiers.fitting import FIRST_STEP, STEP
from rankfactor.classifiers.labels import signed_of
from rankfactor.engine.chain import Gibbs
from rankfactor.engine.vb import Fit, Progress, record
from rankfactor.engine.vb_checkpoint import TrainingCheckpoint
from rankfactor.errors import InputError, convergence_warning, counted
from rankfactor.kernels.solve import solve_packed
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import LabelLikelihood, Observed
from rankfactor.model import Model
from rankfactor.posterior.convergence import CONVERGED, INTERRUPTED, Convergence, by_change
from rankfactor.steps.row import view_bound
from rankfactor.steps.through_encoder import newton_scores, settle_scores, step_rows
from rankfactor.steps.workers import Workers

logger = logging.getLogger(__name__)

# Initial iterations without labels: more of them describe the table better, but do not change the
# result of training.
START_ITERATIONS = 25
SCORE_STEPS = 2  # of scores that are near their fixed point
# Factors of the step after a rise of the objective, and after a fall.
GROWTH, SHRINKAGE = 1.2, 0.5
PATIENCE = 8  # steps without a rise of the objective after which training ends


@dataclass(frozen=True)
class Predictive:
    """Settings of predictive training.

    Attributes
    ----------
    label_weight : float
        Weight of the labels' bound per feature of the table: the gradient through the encoder is
        distributed among the features, so their number does not change its balance with the table.
    max_steps : int
    first_step : float
        Size of the first step, as a share of the way to the target.
    tol : float
        Relative change of the objective at which training ends.
    """

    label_weight: float = 3.0
    max_steps: int = 100
    first_step: float = 0.05
    tol: float = 1e-4

    def __post_init__(self) -> None:
        """Refuse settings out of range."""
        weight = self.label_weight
        if not (isinstance(weight, numbers.Real) and 0 <= weight < float("inf")):
            raise InputError(f"label_weight must be a number of at least 0, not {weight!r}.")


def why_not_predictive(model: Model, gibbs: Gibbs | None) -> str | None:
    """Reason why a model has no predictive training, with advice; None if it has."""
    if gibbs is not None:
        return "predictive training has no Gibbs sampler: use engine='vb' or training='bayes'."
    if not model.latent.has_gradient:
        return (
            "predictive training has no gradient for experts='per_component': use "
            "experts='mixed' or training='bayes'."
        )
    if not model.data.has_gradient:
        return (
            f"predictive training has no gradient for the likelihood {model.data!r}: use "
            "max-margin rank, Gaussian or ordinal probit, or training='bayes'."
        )
    return None


def training_classifier(
    model: Model, labels: Observed, z: Normal, seed: int | np.random.Generator
) -> Classifier:
    """Initial classifier of `train`, at label-free scores (N, K)."""
    return begin_classifier(_trained(model), labels, z, seed)


def label_free_scores(fit: Fit, pool: Workers) -> None:
    """Update the scores of a fit without labels to its rows, in place.

    They are close, so a few Newton steps in working precision suffice; `rankfactor.steps.encode`
    starts at the prior, as for new samples.
    """
    for _ in range(SCORE_STEPS):
        settle_scores(fit.data, fit.prior, fit.z, pool)


def _trained(model: Model) -> Model:
    """The model with the classifier of the gradient: a linear one if the experts require it."""
    linear = model.experts is not None and model.experts.gradient == "linear"
    return replace(model, experts=None) if linear else model


def train(
    model: Model,
    fit: Fit,
    labels: Observed,
    classifier: Classifier,
    settings: Predictive,
    pool: Workers,
    progress: Progress | None = None,
    checkpoint: TrainingCheckpoint | None = None,
) -> None:
    """Ascend J from a fit without labels, in place.

    Parameters
    ----------
    model : Model
    fit : Fit
        Its scores must be label-free.
    labels : Observed, shape (R, N)
        Signed weights.
    classifier : Classifier
        Initial classifier (`training_classifier`).
    settings : Predictive
    pool : Workers
    progress : callable, optional
        Called after every step.
    checkpoint : TrainingCheckpoint, optional
        Checkpoint to write to and resume from.
    """
    if settings.label_weight == 0 or fit.convergence.interrupted:
        return
    data = fit.data
    change = np.nan  # relative change of the objective in the last comparable step
    weight = settings.label_weight * data.observed.shape[0]
    step, best, number, begin = settings.first_step, -np.inf, 0, 0
    highest, idle = -np.inf, 0
    found = None if checkpoint is None else checkpoint.resume(fit, classifier, pool)
    if found is not None and found["ended"]:
        _tell(fit)
        return
    kept = top = (data.state.copy(), fit.z.copy())
    if found is not None:
        number = begin = found["number"]
        step, change, highest, idle = (found[key] for key in ("step", "change", "highest", "idle"))
        classifier, top = found["classifier"], found["top"]
    trained, label, signed = _trained(model), model.label_view.likelihood, signed_of(labels)
    assert isinstance(label, LabelLikelihood)

    def done(steps: int) -> str:
        return counted(steps, "step") + " of predictive training"

    try:
        curvature = settle_scores(data, fit.prior, fit.z, pool)
        for number in range(begin, settings.max_steps):
            effort = STEP if number else FIRST_STEP
            classifier = fit_classifier(
                trained, labels, fit.z, pool, start=classifier, effort=effort
            )
            q, label_bound = pull(classifier, label, signed, fit.z)
            response = solve_packed(curvature, weight * q)[0]
            elbo = fit.prior.bound(fit.z) + view_bound(data, model.n_factors)
            before = (data.state.copy(), fit.z.copy())
            bound, added = step_rows(data, fit.z, response, step, pool)
            curvature = newton_scores(fit.prior, fit.z, added, pool)
            elbo += bound
            objective = elbo + weight * label_bound
            gain = (objective - best) / max(abs(objective), 1.0)
            idle += 1
            if objective > highest + settings.tol * abs(objective):
                highest, top, idle = objective, before, 0
            logger.debug("step %d: objective %.6g, size %.3g", number, objective, step)
            if gain < 0:
                # Back to the start of the step; the classifier has moved on, so the objective there
                # has changed.
                data.state, fit.z = kept[0].copy(), kept[1].copy()
                _, added = step_rows(data, fit.z, response, 0.0, pool)
                curvature = newton_scores(fit.prior, fit.z, added, pool)
                step, best = SHRINKAGE * step, -np.inf
            else:
                if np.isfinite(gain):
                    step, change = min(GROWTH * step, 1.0), gain
                kept, best = before, objective
                record(fit, elbo)
                if progress is not None:
                    progress(number + 1, objective, change)
                if gain < settings.tol:
                    break
            if idle == PATIENCE:
                data.state, fit.z = top
                break
            if checkpoint is not None:
                checkpoint.keep(
                    fit,
                    number=number + 1,
                    step=step,
                    change=change,
                    highest=highest,
                    idle=idle,
                    classifier=classifier,
                    top=top[0],
                )
        fit.convergence = by_change("objective", change, settings.tol, done(number + 1))
        if idle == PATIENCE:
            said = f"the objective has not risen by a relative tol={settings.tol:g} in {idle} steps"
            fit.convergence = Convergence(CONVERGED, done(number + 1), said)
        if checkpoint is not None:
            checkpoint.finish(fit)
    except KeyboardInterrupt:
        data.state, fit.z = kept
        fit.convergence = Convergence(INTERRUPTED, done(number))
        if checkpoint is not None:
            checkpoint.write()
    _tell(fit)


def _tell(fit: Fit) -> None:
    """Warn of training that has not converged."""
    if not fit.convergence.converged:
        warnings.warn(fit.convergence.warning, convergence_warning(), stacklevel=3)
