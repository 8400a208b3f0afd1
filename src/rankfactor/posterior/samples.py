"""Summary statistics of the training samples, without single samples.

Standardised loadings, shares, coefficients per standard deviation, directions and the network
depend on the scores and labels of the training samples only through these numbers, so that a model
file can leave the samples out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.laws.normal import Normal
from rankfactor.posterior.shares import second_moment
from rankfactor.tasks import Task
from rankfactor.typing import Floats


@dataclass(frozen=True)
class SampleSummary:
    """Summary statistics of all training samples.

    Attributes
    ----------
    n_samples : int
    mean : array, shape (K,)
        Mean of the mean label-free scores.
    moment : array, shape (K, K)
        Second moment of the mean label-free scores.
    spread : array, shape (K (K + 1) / 2,)
        Mean posterior covariance of the label-free scores, packed.
    sd : array, shape (K,)
        Standard deviation of the mean label-free scores.
    counts : tuple of int array, shape (n_classes + 1,) each
        Samples in every class of a task, then those of unknown class.
    higher : int array, shape (rows, K)
        1 where the mean score of a row's class is above that of the task's other classes, -1 where
        it is below, 0 where one of them has no sample.
    n_components : int
        Local classifiers in use; 0 for a linear model.
    mixing : dict
        Mixing of the decisions at the training samples, if there are draws and the scores were left
        out (`rankfactor.posterior.diagnostics.convergence`).
    """

    n_samples: int
    mean: Floats  # of the mean scores, shape (K,)
    moment: Floats  # second moment of the mean scores, shape (K, K)
    spread: Floats  # mean posterior covariance of the scores, packed, shape (K (K + 1) / 2,)
    sd: Floats  # standard deviation of the mean scores, shape (K,)
    # Samples in every class of a task, then those of unknown class, (n_classes + 1,) each.
    counts: tuple[NDArray[np.int64], ...] = ()
    # 1 where the mean score of a row's class is above that of the task's other classes, -1 where it
    # is below, 0 where one of them has no sample; shape (rows, K).
    higher: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    n_components: int = 0  # local classifiers in use; 0 for a linear model
    # Mixing of the decisions at the training samples, if there are draws and the scores were left
    # out (`rankfactor.posterior.diagnostics.convergence`).
    mixing: dict[str, Any] = field(default_factory=dict)


def summarise(
    scores: Normal, tasks: Sequence[Task], class_index: NDArray[np.int64], n_components: int
) -> SampleSummary:
    """Summary of samples with scores (N, K) and class numbers (N, tasks), -1 where unknown."""
    counts, higher = [], []
    for number, task in enumerate(tasks):
        own = class_index[:, number]
        known = np.bincount(own[own >= 0], minlength=len(task.classes))
        counts.append(np.append(known, (own < 0).sum()).astype(np.int64))
        for sign in task.signs(own):
            gap = np.zeros(scores.order)
            if (sign > 0).any() and (sign < 0).any():
                gap = scores.mean[sign > 0].mean(axis=0) - scores.mean[sign < 0].mean(axis=0)
            higher.append(np.sign(gap))
    return SampleSummary(
        len(scores.mean),
        scores.mean.mean(axis=0),
        second_moment(scores.mean),
        scores.cov.mean(axis=0),
        scores.mean.std(axis=0),
        tuple(counts),
        np.array(higher, np.int64).reshape(-1, scores.order),
        n_components,
    )


def evenly_spaced(count: int, most: int) -> NDArray[np.int64]:
    """Indices of at most ``most`` of ``count`` items, evenly spaced, at least one."""
    return np.unique(np.linspace(0, count - 1, min(count, max(most, 1))).round().astype(np.int64))
