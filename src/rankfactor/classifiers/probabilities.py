"""Class probabilities of decisions."""

from __future__ import annotations

import numpy as np

from rankfactor.likelihoods import LabelLikelihood
from rankfactor.typing import Floats


def class_probabilities(
    label: LabelLikelihood, mean: Floats, variance: Floats, scale: float = 1.0
) -> Floats:
    """Class probabilities of one task, shape (N, n_classes), of its decisions (N, rows).

    With two classes, the averaged pseudo-likelihood. With more, each class's own probability,
    averaged with the sample's mean variance over the classes and normalised: all classes pass the
    same increasing function, so the largest probability is that of the largest decision.
    """
    mean, variance = scale * mean, scale**2 * variance
    if mean.shape[1] == 1:
        positive = label.probability(mean[:, 0], variance[:, 0])
        return np.column_stack([1.0 - positive, positive])
    each = label.probability(mean, variance.mean(axis=1, keepdims=True))
    each = np.maximum(each, np.finfo(float).tiny)
    return np.asarray(each / each.sum(axis=1, keepdims=True))
