"""The classifier of a model, fitted to given scores."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rankfactor.classifiers import gated, kernel, linear
from rankfactor.classifiers.base import Classifier
from rankfactor.classifiers.gated import Gated, begin_gated, fit_gated
from rankfactor.classifiers.kernel import Kernel
from rankfactor.classifiers.kernel_choice import choose_kernel
from rankfactor.classifiers.linear import Linear, begin_linear, fit_linear
from rankfactor.classifiers.per_component import fit_per_component
from rankfactor.latent import KernelExperts, Mixture, ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed
from rankfactor.model import Model
from rankfactor.steps.workers import Workers
from rankfactor.typing import Integers


class Effort(NamedTuple):
    """Tolerance and maximum number of steps of a classifier fit, by kind."""

    linear: tuple[float, int]
    gated: tuple[float, int]
    kernel: tuple[float, int] = (kernel.TOL, 10)


FULL = Effort((linear.TOL, linear.STEPS), (gated.TOL, gated.STEPS), (kernel.TOL, kernel.STEPS))
# Starting from a classifier fitted to almost the same labels; gated ones cost more.
BRIEF = Effort((0.0, 20), (1e-2, 10))
# Starting from the classifier of the previous step, while training changes the scores.
STEP = Effort((0.0, 3), (0.0, 3))
# The first of these steps: gated classifiers start further away.
FIRST_STEP = Effort((0.0, 3), (0.0, 30))


def begin_classifier(
    model: Model, labels: Observed, z: Normal, seed: int | np.random.Generator = 0
) -> Classifier:
    """The classifier of a model at scores (N, K), before any step; a mixture has none."""
    if model.experts is not None:
        return begin_gated(model, labels, z, seed)
    return begin_linear(model, labels.shape[0])


def fit_classifier(
    model: Model,
    labels: Observed,
    z: Normal,
    pool: Workers,
    *,
    prior: ScorePrior | None = None,
    start: Classifier | None = None,
    seed: int | np.random.Generator = 0,
    effort: Effort = FULL,
    groups: Integers | None = None,
) -> Classifier:
    """The classifier of a model at fixed scores.

    Parameters
    ----------
    model : Model
        Must have a likelihood of labels.
    labels : Observed, shape (R, N)
        Signed weights.
    z : Normal, shape (N, K)
        Label-free scores.
    pool : Workers
    prior : ScorePrior, optional
        Prior of the scores. A mixture has one classifier per component, always fitted from scratch.
    start : Classifier, optional
        A fitted classifier to start from; a gated one keeps its gates, a kernel its settings.
    seed : int or numpy.random.Generator
        Seed for placing gates or landmarks; not used if `start` is given.
    effort : Effort
    groups : int array, shape (N,), optional
        Group numbers from 0, which are kept together when labels are held out.
    """
    if isinstance(prior, Mixture):
        return fit_per_component(model, labels, z, prior, pool)
    if isinstance(model.experts, KernelExperts):
        assert start is None or isinstance(start, Kernel)
        tol, steps = effort.kernel
        return choose_kernel(
            model, labels, z, start, seed=seed, groups=groups, tol=tol, max_steps=steps
        )
    if model.experts is not None:
        assert start is None or isinstance(start, Gated)
        tol, steps = effort.gated
        return fit_gated(model, labels, z, start, seed=seed, tol=tol, max_steps=steps)
    assert start is None or isinstance(start, Linear)
    tol, steps = effort.linear
    return fit_linear(model, labels, z, pool, start, tol=tol, max_steps=steps)
