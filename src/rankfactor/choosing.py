"""Settings chosen by cross-validation within the training samples: one rule for every choice.

The measure of a candidate is its mean over folds; ties to 12 digits go to the first. The caller
defines the measure of a fold and the folds: for the weight of labels, the number of factors, other
settings of a model, or the cost of an SVM.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from rankfactor.engine.interruption import interruptible_once

Candidate = TypeVar("Candidate")
AFold = TypeVar("AFold")
DIGITS = 12


@dataclass(frozen=True)
class Choice(Generic[Candidate]):
    """Candidates, and the measure of each: higher is better, NaN for one that was not compared.

    Empty if there was nothing to compare.
    """

    candidates: Sequence[Candidate]
    scores: list[float]

    @property
    def best(self) -> Candidate:
        """The first of the best candidates; the first of all if none was compared."""
        known = [number for number, score in enumerate(self.scores) if not math.isnan(score)]
        # Rounded, so that ties do not depend on the order of summation.
        best = max(known, key=lambda number: round(self.scores[number], DIGITS), default=0)
        return self.candidates[best]


def choose(
    candidates: Sequence[Candidate],
    folds: Iterable[AFold],
    measure: Callable[[AFold], Iterable[float]],
) -> Choice[Candidate]:
    """Compare candidates on the same folds: those with a measure of every candidate.

    ``measure`` returns the measures of all candidates on a fold, so that common work, such as
    preparing a table, is done once per fold. Ctrl-C ends it, also if a fit handles Ctrl-C by
    returning its current state.
    """
    table = []
    with interruptible_once() as ctrl_c:
        for fold in folds:
            row = []
            for value in measure(fold):
                if ctrl_c.came:  # a fit that was ended early does not measure its settings
                    raise KeyboardInterrupt
                row.append(value)
            table.append(row)
    return Choice(candidates, np.mean(table, axis=0).tolist() if table else [])
