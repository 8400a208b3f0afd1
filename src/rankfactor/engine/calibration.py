r"""Calibration of probabilities by a scale of the decisions.

A decision f ~ N(m, v) becomes probabilities by the labels' likelihood. That likelihood fits the
coefficients, but does not make its probabilities calibrated for new samples: the hinge is a
pseudo-likelihood, coefficients are fitted to the same samples, and so may be the loadings. So every
task has a scale s > 0, and its probabilities are those of s f, that is of N(s m, s^2 v). The order
and the signs of decisions stay, and with them the predicted classes.

s maximises

    sum_n c_n log p_n(y_n; s)  -  (log s)^2 / 2,

with c_n the weight of a label, over decisions on samples whose own labels were held out. The second
term is a prior, log s ~ N(0, 1): without it, s would go to infinity if held-out labels are
predicted without error, and to zero if they cannot be predicted at all.

Samples are split into five folds, each with its share of every class. A held-out label is treated
as missing: the sample stays in the table, and only the labels' part of the fit is repeated. This
part is:

- `refit_coefficients`: coefficients at fixed label-free scores, by a few steps from their current
  values. Cheap, but loadings that depend on all labels in the joint fit are kept.
- `retrain`: predictive training from its label-free start, and the coefficients. The start does
  not depend on labels, so nothing of the held-out ones is left. Continuing training from its end
  with labels held out is faster but remembers them: 20 steps later, scales were still twice as
  large as these, and worse than none (docs/results/performance.md). Since each repeat costs a
  training, its steps are larger, its tolerance is looser, and folds are held out only until they
  have 100 samples.
- `fit_again`: the whole joint fit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from rankfactor.classifiers import Classifier, fit_classifier
from rankfactor.classifiers.fitting import BRIEF
from rankfactor.classifiers.probabilities import class_probabilities
from rankfactor.engine.course import History
from rankfactor.engine.predictive import (
    Predictive,
    label_free_scores,
    train,
    training_classifier,
)
from rankfactor.engine.vb import Fit, Settings, ascend
from rankfactor.errors import convergence_warning
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Coding, LabelLikelihood, Observed, ObservedArray
from rankfactor.model import Model
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.tasks import Task
from rankfactor.typing import Floats, Integers

# Decisions (N, rows), mean and variance, of all training samples, by labels some of which are
# hidden.
Refit = Callable[[ObservedArray], tuple[Floats, Floats]]

N_FOLDS = 5
ENOUGH = 100  # held-out samples if each fold costs a training
# Factors of the first step and the tolerance when predictive training is repeated.
LARGER, LOOSER = 2.0, 10.0
LOG_SCALES = np.linspace(-5.0, 5.0, 21)


def best_scale(
    label: LabelLikelihood, mean: Floats, variance: Floats, class_index: Integers, weight: Floats
) -> float:
    """Scale s of one task.

    Parameters
    ----------
    label : LabelLikelihood
    mean, variance : array, shape (n, rows)
        Decisions on samples whose labels were held out.
    class_index : int array, shape (n,)
        Class numbers of these samples, none missing.
    weight : array, shape (n,)
        Weights of their labels.
    """

    def loss(log_scale: float) -> float:
        scale = float(np.exp(log_scale))
        return 0.5 * log_scale**2 + log_loss(label, mean, variance, class_index, weight, scale)

    # The objective may have several maxima, so a grid search brackets the best.
    place = int(np.argmin([loss(value) for value in LOG_SCALES]))
    ends = LOG_SCALES[[max(place - 1, 0), min(place + 1, len(LOG_SCALES) - 1)]]
    return float(np.exp(_minimum(loss, *ends)))


def log_loss(
    label: LabelLikelihood,
    mean: Floats,
    variance: Floats,
    class_index: Integers,
    weight: Floats,
    scale: float,
) -> float:
    """Sum of ``-c log p(y)`` over labels of weight c, at a scale; arguments as in `best_scale`."""
    found = class_probabilities(label, mean, variance, scale)
    chance = np.maximum(found[np.arange(len(class_index)), class_index], np.finfo(float).tiny)
    return -float(weight @ np.log(chance))


def _minimum(loss: Callable[[float], float], low: float, high: float) -> float:
    """Minimiser of a function within an interval, to 1e-3, by golden section search."""
    share = (np.sqrt(5.0) - 1.0) / 2.0
    left, right = high - share * (high - low), low + share * (high - low)
    at_left, at_right = loss(left), loss(right)
    while high - low > 1e-3:
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - share * (high - low)
            at_left = loss(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + share * (high - low)
            at_right = loss(right)
    return 0.5 * (low + high)


def deal(class_index: Integers, first: Floats, groups: Integers | None = None) -> list[Integers]:
    """Folds of samples, each with its share of every combination of labels.

    Samples are sorted by their labels, ties by ``first``, and dealt out in turn: without random
    numbers, and independent of the order of the samples.

    Parameters
    ----------
    class_index : int array, shape (N, n_tasks)
        Class numbers, -1 where missing.
    first : array, shape (N,)
        Any decision on the samples.
    groups : int array, shape (N,), optional
        Group numbers from 0: whole groups are dealt out, in the order of their first samples.
    """
    order = np.lexsort((first, *class_index.T[::-1]))
    if groups is None:
        return [np.sort(order[start::N_FOLDS]) for start in range(N_FOLDS)]
    place = np.empty(groups.max() + 1, np.int64)
    place[list(dict.fromkeys(groups[order].tolist()))] = np.arange(len(place))
    return [np.flatnonzero(place[groups] % N_FOLDS == start) for start in range(N_FOLDS)]


def _large_enough(column: Integers, n_classes: int, folds: Sequence[Integers]) -> bool:
    """Whether every class has labels in every fold and outside of it."""
    counts = np.bincount(column[column >= 0], minlength=n_classes)
    if counts.min() < N_FOLDS:
        return False
    inside = [np.bincount(column[fold][column[fold] >= 0], minlength=n_classes) for fold in folds]
    return bool((counts > np.array(inside)).all())


def calibrate(
    label: LabelLikelihood,
    tasks: Sequence[Task],
    class_index: Integers,
    signed: Floats,
    refit: Refit,
    first: Floats,
    enough: int | None = None,
    groups: Integers | None = None,
) -> Floats:
    """Scales of all tasks, shape (n_tasks,).

    The scale of a task with fewer labels of a class than folds is 1.

    Parameters
    ----------
    label : LabelLikelihood
    tasks : sequence of Task
    class_index : int array, shape (N, n_tasks)
        Class numbers, -1 where missing.
    signed : array, shape (rows, N)
        Signed weights of the labels.
    refit : callable
        Refits the classifier to given labels and returns decisions.
    first : array, shape (N,)
        Any decision on the samples, used to balance the folds.
    enough : int, optional
        Number of held-out samples after which no further fold is held out.
    groups : int array, shape (N,), optional
        Group numbers from 0; a group is never split.
    """
    scale = np.ones(len(tasks))
    folds = deal(class_index, first, groups)
    able = [
        _large_enough(column, len(task.classes), folds)
        for task, column in zip(tasks, class_index.T, strict=True)
    ]
    if not any(able):
        return scale
    mean, variance = np.empty(signed.T.shape), np.empty(signed.T.shape)
    told = np.zeros(len(class_index), bool)
    for fold in folds:
        if enough is not None and told.sum() >= enough:
            break
        hidden = signed.copy()
        hidden[:, fold] = 0.0
        f, var_f = refit(ObservedArray(hidden))
        mean[fold], variance[fold] = f[fold], var_f[fold]
        told[fold] = True
    stop = 0
    for number, task in enumerate(tasks):
        rows = slice(stop, stop + task.n_rows)
        stop = rows.stop
        known = told & (class_index[:, number] >= 0)
        if able[number]:
            scale[number] = best_scale(
                label,
                mean[known, rows],
                variance[known, rows],
                class_index[known, number],
                np.abs(signed[rows.start, known]),
            )
    return scale


def refit_coefficients(
    model: Model,
    z: Normal,
    fitted: Classifier,
    pool: Workers,
    prior: ScorePrior | None = None,
) -> Refit:
    """Only the coefficients, at label-free scores (N, K), from those ``fitted`` to all labels.

    Those of a mixture, the ``prior`` of the scores, are fitted from the start.
    """

    def refit(labels: ObservedArray) -> tuple[Floats, Floats]:
        again = fit_classifier(model, labels, z, pool, prior=prior, start=fitted, effort=BRIEF)
        return again.decide(z)

    return refit


def retrain(
    model: Model, start: ObservedView, z: Normal, settings: Predictive, seed: int, pool: Workers
) -> Refit:
    """Predictive training from a label-free fit to the table and its scores (N, K)."""
    settings = replace(settings, first_step=LARGER * settings.first_step, tol=LOOSER * settings.tol)

    def refit(labels: ObservedArray) -> tuple[Floats, Floats]:
        data = ObservedView(start.view, start.observed, start.state.copy())
        again = Fit(data, None, z.copy(), History())
        classifier = training_classifier(model, labels, again.z, seed)
        with warnings.catch_warnings():
            # Its warning says that the fit is kept, which is not true here.
            warnings.filterwarnings("ignore", "interrupted after", UserWarning)
            train(model, again, labels, classifier, settings, pool)
        if again.convergence.interrupted:
            raise KeyboardInterrupt
        label_free_scores(again, pool)
        return fit_classifier(model, labels, again.z, pool, seed=seed).decide(again.z)

    return refit


def fit_again(
    model: Model, coding: Coding, observed: Observed, settings: Settings, seed: int, pool: Workers
) -> Refit:
    """The whole joint fit to the table and the labels."""

    def refit(labels: ObservedArray) -> tuple[Floats, Floats]:
        rng = np.random.default_rng(seed)
        with warnings.catch_warnings():
            # Already reported for the fit itself.
            warnings.simplefilter("ignore", convergence_warning())
            again = ascend(model, coding, observed, labels, settings, rng, pool)
        if again.convergence.interrupted:
            raise KeyboardInterrupt
        z = encode_samples(model, again.data, pool, prior=again.prior)
        return fit_classifier(model, labels, z, pool, prior=again.prior, seed=seed).decide(z)

    return refit
