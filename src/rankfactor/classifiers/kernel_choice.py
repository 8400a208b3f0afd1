"""Choice of width, precision and metric of a kernel classifier by held-out labels.

Samples are split into five folds, by class and with groups kept together. The labels of a fold are
held out from a least-squares classifier with every width and precision of a grid, at the cost of
one linear system per setting. The setting with the smallest logistic loss of the held-out labels is
kept, at the best of a few scales of the decisions. (The squared error would favour kernels: it
penalises large decisions on the correct side, which a linear classifier cannot avoid.) A round of
the metric (`rankfactor.classifiers.kernel.next_metric`) then follows at this setting, within every
fold from the other labels, and the grid is tried again; rounds end when they stop reducing the
loss. More than `MOST_SAMPLES` labelled samples are subsampled to this number, drawn by class.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from rankfactor.classifiers.kernel import (
    Kernel,
    RadialFeatures,
    fit_kernel,
    least_squares,
    next_metric,
    table_basis,
)
from rankfactor.classifiers.labels import signed_of
from rankfactor.errors import convergence_warning
from rankfactor.folds import divided, drawn_by_class, possible_folds, strata
from rankfactor.latent import KernelExperts
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed
from rankfactor.model import Model
from rankfactor.typing import Floats, Integers

WIDTHS = (np.inf, 3.0, 1.0, 0.3)  # the first is a linear classifier
PRECISIONS = 10.0 ** np.arange(-1.5, 1.1, 0.5)
USUAL = np.array([[1.0, 0.1]])  # if there are too few labels to hold out any
SCALES = (1.0, 2.0, 4.0, 8.0)  # of least-squares decisions, for the logistic loss
CLEAR_GAIN = 2.0  # standard errors
N_FOLDS = 5
MOST_SAMPLES = 2000


def choose_kernel(
    model: Model,
    labels: Observed,
    z: Normal,
    start: Kernel | None = None,
    *,
    seed: int | np.random.Generator = 0,
    groups: Integers | None = None,
    tol: float,
    max_steps: int,
) -> Kernel:
    """The kernel classifier of a model at fixed scores.

    Parameters
    ----------
    model : Model
        With kernel experts.
    labels : Observed, shape (R, N)
        Signed weights.
    z : Normal, shape (N, K)
        Label-free scores.
    start : Kernel, optional
        A classifier whose landmarks, widths and precisions are kept; its metric is not.
    seed : int or numpy.random.Generator
        Seed of landmarks and folds; not used if `start` is given.
    groups : int array, shape (N,), optional
        Group numbers from 0; a group is never split.
    tol, max_steps
        As for `fit_kernel`.
    """
    experts, view = model.experts, model.label_view
    assert isinstance(experts, KernelExperts)
    assert model.label is not None
    if start is None:
        rng, basis = np.random.default_rng(seed), table_basis(z)
        u, signed = z.mean @ basis, signed_of(labels)
        landmarks = place_landmarks(u, experts.n_landmarks, rng)
        path = choose_path(
            u, signed, landmarks, experts, view.intercept_precision, groups, rng
        ).path
    else:
        basis, landmarks, path = (
            getattr(start.features, name) for name in ("basis", "landmarks", "path")
        )
    return fit_kernel(
        model.label,
        labels,
        z,
        basis,
        landmarks,
        experts.linear,
        path,
        view.intercept_precision,
        tol=tol,
        max_steps=max_steps,
    )


def place_landmarks(u: Floats, most: int, rng: np.random.Generator) -> Floats:
    """Centres of k-means of points (N, K), at most half as many as points; shape (L, K)."""
    from sklearn.cluster import KMeans  # takes a third of a second to import

    if len(u) > MOST_SAMPLES:
        u = u[np.sort(rng.permutation(len(u))[:MOST_SAMPLES])]
    number = min(most, max(len(u) // 2, 1))
    # One thread: the order of the sums in k-means depends on their number.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", convergence_warning())  # samples that coincide
        seed = int(rng.integers(2**31 - 1))
        kmeans = KMeans(number, n_init=1, max_iter=10, random_state=seed).fit(u)
    return np.asarray(kmeans.cluster_centers_, np.float64)


class Choice(NamedTuple):
    """Result of the comparison on held-out labels.

    Attributes
    ----------
    path : array, shape (rounds + 1, 2)
        Width and precision of every round of the metric.
    gain : float
        Mean reduction of the loss below that of the best linear classifier, in standard errors
        over samples.
    """

    path: Floats
    gain: float


def gains(model: Model, labels: Observed, z: Normal, seed: int, groups: Integers | None) -> bool:
    """Whether a kernel predicts held-out labels clearly better than a linear classifier.

    Arguments as for `choose_kernel`.
    """
    experts, rng = model.experts, np.random.default_rng(seed)
    assert isinstance(experts, KernelExperts)
    u = z.mean @ table_basis(z)
    landmarks = place_landmarks(u, experts.n_landmarks, rng)
    precision = model.label_view.intercept_precision
    choice = choose_path(u, signed_of(labels), landmarks, experts, precision, groups, rng)
    return choice.gain > CLEAR_GAIN


def choose_path(
    u: Floats,
    signed: Floats,
    landmarks: Floats,
    experts: KernelExperts,
    intercept_precision: float,
    groups: Integers | None,
    rng: np.random.Generator,
) -> Choice:
    """Width and precision of every round of the metric.

    Parameters
    ----------
    u : array, shape (N, K)
    signed : array, shape (R, N)
    landmarks : array, shape (L, K)
    experts : KernelExperts
    intercept_precision : float
    groups : int array, shape (N,), or None
    rng : numpy.random.Generator
    """
    some, folds = hidden_folds(signed, groups, int(rng.integers(2**31 - 1)))
    if not folds:
        return Choice(USUAL, 0.0)
    u, signed = u[some], signed[:, some]
    metrics = [np.eye(u.shape[1])] * len(folds)
    path, best, linear = np.empty((0, 2)), np.empty(0), np.empty(0)
    for stop in range(experts.rounds + 1):
        losses = np.array(
            [
                _hidden_losses(
                    u, signed, landmarks, folds, metrics, width, experts, intercept_precision
                )
                for width in WIDTHS
            ]
        )  # (widths, precisions, N)
        loss = losses.sum(axis=2)
        if stop and loss.min() >= best.sum():
            break
        width, precision = np.unravel_index(loss.argmin(), loss.shape)
        best = losses[width, precision]
        if not stop:
            linear = losses[0, loss[0].argmin()]
        path = np.vstack([path, [WIDTHS[width], PRECISIONS[precision]]])
        if stop < experts.rounds:
            metrics = [
                next_metric(
                    RadialFeatures.at(u, landmarks, metric, experts.linear, path),
                    u[train],
                    signed[:, train],
                    intercept_precision,
                )
                for metric, (train, _) in zip(metrics, folds, strict=True)
            ]
    gain = linear - best
    error = max(float(gain.std()) * np.sqrt(len(gain)), np.finfo(float).tiny)
    return Choice(path, float(gain.sum()) / error)


def hidden_folds(
    signed: Floats, groups: Integers | None, seed: int
) -> tuple[Integers, list[tuple[Integers, Integers]]]:
    """Labelled samples to choose by, and folds of their positions; no folds if labels are few."""
    some = np.flatnonzero((signed != 0).any(axis=0))
    sides = np.where(signed > 0, 1, np.where(signed < 0, 0, -1)).T  # (N, R)
    if len(some) > MOST_SAMPLES:
        some = np.sort(some[drawn_by_class(strata(sides[some], N_FOLDS), MOST_SAMPLES, seed)])
    sides = sides[some]
    if groups is not None:
        groups = np.unique(groups[some], return_inverse=True)[1]
    n_folds = possible_folds(sides, groups, N_FOLDS)
    if n_folds < 2 or (np.array([len(np.unique(one[one >= 0])) for one in sides.T]) < 2).any():
        return some, []
    with warnings.catch_warnings():
        # Combinations of labels with fewer samples than folds are only in some folds.
        warnings.simplefilter("ignore", UserWarning)
        return some, divided(strata(sides, n_folds), groups, n_folds, seed)


def _hidden_losses(
    u: Floats,
    signed: Floats,
    landmarks: Floats,
    folds: list[tuple[Integers, Integers]],
    metrics: list[Floats],
    width: float,
    experts: KernelExperts,
    intercept_precision: float,
) -> Floats:
    """Logistic loss of every sample's held-out labels by precision, shape (precisions, N)."""
    told, path = np.zeros((len(PRECISIONS), *signed.shape)), np.array([[width, 1.0]])
    design, previous = np.empty((0, 0)), None
    for metric, (train, test) in zip(metrics, folds, strict=True):
        if metric is not previous:  # the first metric is common to all folds
            design = RadialFeatures.at(u, landmarks, metric, experts.linear, path).of(u)
            previous = metric
        rows = least_squares(design[train], signed[:, train], PRECISIONS, intercept_precision)
        told[:, :, test] = rows @ design[test].T
    weight = np.abs(signed) / np.abs(signed).sum(axis=1, keepdims=True)
    scaled = np.array(
        [weight * np.logaddexp(0.0, -scale * np.sign(signed) * told) for scale in SCALES]
    )  # (scales, precisions, R, N)
    best = scaled.sum(axis=3).argmin(axis=0)[None, :, :, None]
    return np.asarray(np.take_along_axis(scaled, best, axis=0)[0].sum(axis=1))
