"""The classifiers that a fit leaves: fitted to label-free scores, with calibrated probabilities."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers.experts import fit_rows, gate_major
from rankfactor.classifiers.gated import Experts
from rankfactor.classifiers.linear import fit_experts, refit_labels
from rankfactor.engine.calibration import Refit, calibrate
from rankfactor.engine.chain import Moments
from rankfactor.engine.draws import Draws, certain
from rankfactor.engine.vb import Fit
from rankfactor.kernels.packed import Floats
from rankfactor.latent import Mixture
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import ObservedArray
from rankfactor.model import Model, ViewState
from rankfactor.posterior import Classifiers
from rankfactor.steps.workers import Workers
from rankfactor.tasks import Task


class Labels(NamedTuple):
    """Checked labels: tasks, class numbers (N, n_tasks), signed weights (rows, N), groups (N,)."""

    tasks: tuple[Task, ...]
    class_index: NDArray[np.int64]
    signed: Floats
    groups: NDArray[np.int64] | None = None


def classify(
    model: Model,
    labels: Labels,
    result: Fit,
    draws: Draws | None,
    scores: Normal,
    rng: np.random.Generator,
    pool: Workers,
) -> tuple[Classifiers, ViewState | Experts]:
    """Classifiers on label-free scores (N, K), and what was fitted for them."""
    rows = ObservedArray(labels.signed)
    fitted: ViewState | Experts
    if isinstance(result.prior, Mixture):
        fitted = fit_rows(model, rows, scores, result.prior, pool)
    elif model.experts is not None:
        fitted = fit_experts(model, rows, scores, rng)
    else:
        fitted = refit_labels(model, rows, scores, pool)
    experts = fitted if isinstance(fitted, Experts) else None
    coefficients = fitted.average(scores) if isinstance(fitted, Experts) else fitted.rows
    joint = _joint_rows(result, draws, scores)
    classifiers = Classifiers(
        labels.tasks,
        coefficients,
        coefficients if joint is None else joint,
        labels.class_index,
        experts,
    )
    return classifiers, fitted


def _joint_rows(result: Fit, draws: Draws | None, scores: Normal) -> Normal | None:
    """Coefficients (R, K + 1) of the joint fit, a mixture's averaged over its components."""
    if result.labels is None:
        return None
    rows = result.labels.state.rows
    if draws is None:
        if not isinstance(result.prior, Mixture):
            return rows
        n_labels = len(rows.mean) // result.prior.n_components
        return Experts(result.prior.gates(scores), gate_major(rows, n_labels)).average(scores)
    moments = Moments.empty(draws.coefficients.shape[1], rows.order)
    for number, drawn in enumerate(draws.coefficients):
        prior = draws.prior(number)
        if isinstance(prior, Mixture):
            drawn = np.einsum("t,rtk->rk", np.exp(prior.log_share), drawn)
        moments.add(certain(drawn))
    return moments.law()


def calibrated(
    model: Model,
    labels: Labels,
    classifiers: Classifiers,
    scores: Normal,
    refit: Refit,
    enough: int | None,
) -> Classifiers:
    """The classifiers with scales at which hidden training labels are most probable."""
    assert model.label is not None
    first = classifiers.decisions(scores)[0][:, 0]
    tasks, class_index, signed, groups = labels
    scale = calibrate(model.label, tasks, class_index, signed, refit, first, enough, groups)
    return replace(classifiers, scale=scale)
