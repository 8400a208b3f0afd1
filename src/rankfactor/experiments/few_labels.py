"""`FewLabels`: a classifier that is given only some labels of its training samples."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd

from rankfactor.evaluation.wrapper import Wrapper
from rankfactor.tasks import encode_labels
from rankfactor.typing import Integers


class FewLabels(Wrapper):
    """A classifier fitted to all training samples, of which only some keep their label.

    Parameters
    ----------
    estimator : classifier
    n_labels : int
        Labels kept per label column, drawn in proportion to its classes, at least one of each
        class. If there are fewer, all are kept.
    random_state : int or None
        Seed. If it is None, `rankfactor.evaluation.cross_validate` sets it by fold, so that all
        models of a fold are given the same labels.
    """

    def __init__(self, estimator: Any, n_labels: int, random_state: int | None = None) -> None:
        self.estimator = estimator
        self.n_labels = n_labels
        self.random_state = random_state

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Remove the other labels, then fit the classifier inside."""
        labels = pd.DataFrame(y).astype(object)
        _, class_index = encode_labels(labels, len(labels))
        rng = np.random.default_rng(self.random_state)
        for number, column in enumerate(class_index.T):
            hidden = np.setdiff1d(np.arange(len(column)), kept_labels(column, self.n_labels, rng))
            labels.iloc[hidden, number] = np.nan
        return super().fit(X, labels.iloc[:, 0] if np.ndim(y) == 1 else labels, groups)


def kept_labels(class_index: Integers, n_labels: int, rng: np.random.Generator) -> Integers:
    """Positions of the labels to keep, of class numbers (n,) with -1 for a missing label.

    Labels of a class are put in random order, the i-th of m at (i - 1/2) / m and the first at 0;
    those closest to 0 are kept.
    """
    places = np.full(len(class_index), np.inf)
    classes = np.unique(class_index[class_index >= 0])
    for one in classes:
        members = rng.permutation(np.flatnonzero(class_index == one))
        places[members] = (np.arange(len(members)) + 0.5) / len(members)
        places[members[0]] = 0.0
    n_kept = min(max(n_labels, len(classes)), int((class_index >= 0).sum()))
    return np.argsort(places, kind="stable")[:n_kept]
