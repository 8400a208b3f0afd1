"""Labels held out from a fit by shards: they calibrate probabilities and end training."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers import Linear
from rankfactor.engine.calibration import best_scale, log_loss
from rankfactor.engine.fit_settings import Labels
from rankfactor.engine.large.shard import decide_withheld
from rankfactor.engine.large.shards import Shards
from rankfactor.likelihoods import LabelLikelihood
from rankfactor.typing import Floats, Integers

WITHHELD = 2048  # samples whose labels are held out
ENOUGH = 500  # held-out labels that a task needs before they decide where training ends


def withhold(
    n_samples: int, sampled: Integers, groups: Integers | None = None
) -> NDArray[np.bool_]:
    """Samples whose labels are held out, shape (N,): the last of the sampled rows.

    With groups (N,), all samples of their groups; at most a tenth of the groups is held out.
    """
    withheld, last = np.zeros(n_samples, bool), sampled[-WITHHELD:]
    if groups is None:
        withheld[last] = True
        return withheld
    some = list(dict.fromkeys(groups[last].tolist()))[: (int(groups.max()) + 1) // 10]
    return np.asarray(np.isin(groups, some))


class Decisions(NamedTuple):
    """Decisions of a task on n samples: mean and variance (n, R), classes and weights (n,)."""

    mean: Floats
    variance: Floats
    class_index: Integers
    weight: Floats


@dataclass(frozen=True)
class HeldOut:
    """The held-out labels of a table in shards.

    Attributes
    ----------
    label : LabelLikelihood
    labels : Labels
        Of all samples.
    withheld : bool array, shape (N,)
    shards : Shards
    """

    label: LabelLikelihood
    labels: Labels
    withheld: NDArray[np.bool_]
    shards: Shards

    def enough(self) -> bool:
        """Whether every task has enough labels, of all its classes."""
        index = self.labels.class_index[self.withheld]
        known = (index >= 0).sum(axis=0)
        return bool((known >= ENOUGH).all()) and all(
            _complete(column, len(task.classes))
            for column, task in zip(index.T, self.labels.tasks, strict=True)
        )

    def scales(self, classifier: Linear) -> Floats:
        """Scale of every task that maximises the likelihood, 1 where a class has no label."""
        scale = np.ones(len(self.labels.tasks))
        for number, found in enumerate(self._decisions(classifier)):
            if _complete(found.class_index, len(self.labels.tasks[number].classes)):
                scale[number] = best_scale(self.label, *found)
        return scale

    def loss(self, classifier: Linear) -> float:
        """Mean log loss of a label, each task at its best scale; tasks count the same."""
        losses = [
            log_loss(self.label, *found, best_scale(self.label, *found)) / found.weight.sum()
            for found in self._decisions(classifier)
        ]
        return float(np.mean(losses))

    def _decisions(self, classifier: Linear) -> Iterator[Decisions]:
        """Decisions on the labelled samples of every task."""
        found = self.shards.stream(decide_withheld, Linear(classifier.rows))
        samples, mean, variance = (np.concatenate(part) for part in zip(*found, strict=True))
        stop = 0
        for number, task in enumerate(self.labels.tasks):
            rows = slice(stop, stop + task.n_rows)
            stop = rows.stop
            index = self.labels.class_index[samples, number]
            some = np.flatnonzero(index >= 0)
            weight = np.abs(self.labels.signed[rows.start, samples[some]])
            yield Decisions(mean[some, rows], variance[some, rows], index[some], weight)


def _complete(class_index: Integers, n_classes: int) -> bool:
    """Whether all classes have labels; -1 is none."""
    return len(np.unique(class_index[class_index >= 0])) == n_classes
