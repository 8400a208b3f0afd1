"""Measures of classification, from class numbers and decisions.

Everything is for one task. Samples without a label must be left out before. The measures are those
of scikit-learn, extended to cases that it refuses or warns of: a test part without samples, or with
samples of one class only, has the measure NaN.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, recall_score, roc_auc_score

from rankfactor.typing import Floats, Integers


def area(positive: NDArray[np.bool_], decision: Floats) -> float:
    """Area under the ROC curve; NaN if all samples are positive, or none."""
    if positive.all() or not positive.any():
        return float("nan")
    return float(roc_auc_score(positive, decision))


def mean_area(numbers: Integers, positives: Integers, decisions: Floats) -> float:
    """AUC averaged over the classes among the samples; NaN if there is only one.

    Takes class numbers (n,) and decisions (n, m), with one column per class in ``positives`` (m,):
    one column for two classes, else one-vs-rest.
    """
    return mean_of_defined([area(numbers == c, decisions[:, j]) for j, c in enumerate(positives)])


def mean_of_defined(values: Sequence[float]) -> float:
    """Mean of the values that are not NaN; NaN without any."""
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


def accuracy(numbers: Integers, predicted: Integers) -> float:
    """Share of correctly classified samples; NaN without samples."""
    return float(accuracy_score(numbers, predicted)) if len(numbers) else float("nan")


def balanced_accuracy(numbers: Integers, predicted: Integers) -> float:
    """Accuracy within each class, averaged over the classes among the samples; NaN without samples.

    Like `sklearn.metrics.balanced_accuracy_score`, without its warning of a class that is predicted
    but not among the samples, which is usual in a small test part.
    """
    if not len(numbers):
        return float("nan")
    return float(recall_score(numbers, predicted, labels=np.unique(numbers), average="macro"))
