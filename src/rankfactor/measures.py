"""Measures of classification, from class numbers and decisions.

Everything is for one task. A sample without a label has to be left out before.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

from rankfactor.typing import Floats, Integers


def area(positive: NDArray[np.bool_], decision: Floats) -> float:
    """Area under the ROC curve; NaN if all samples are positive, or none."""
    if positive.all() or not positive.any():
        return float("nan")
    return float(roc_auc_score(positive, decision))


def mean_area(numbers: Integers, positives: Integers, decisions: Floats) -> float:
    """Area under the ROC curve, averaged over one-against-the-rest decisions.

    Parameters
    ----------
    numbers : int array, shape (n,)
        Class numbers of the samples.
    positives : int array, shape (m,)
        The class that each column of decisions is for: one column for two classes.
    decisions : array, shape (n, m)

    Returns
    -------
    float
        The mean over the classes among the samples; NaN if there is only one.
    """
    areas = [area(numbers == c, decisions[:, j]) for j, c in enumerate(positives)]
    defined = [value for value in areas if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def accuracy(numbers: Integers, predicted: Integers) -> float:
    """Share of samples with the right class; NaN without samples."""
    return float(np.mean(numbers == predicted)) if len(numbers) else float("nan")


def balanced_accuracy(numbers: Integers, predicted: Integers) -> float:
    """Accuracy within each class, averaged over the classes among the samples."""
    shares = [accuracy(numbers[numbers == c], predicted[numbers == c]) for c in np.unique(numbers)]
    return float(np.mean(shares)) if shares else float("nan")
