"""`Classifiers`: fitted classifiers of all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers import Classifier, Gated, Kernel, Linear, Residual
from rankfactor.latent import Gates
from rankfactor.laws.normal import Normal
from rankfactor.tasks import Task
from rankfactor.typing import Floats


@dataclass(frozen=True)
class Classifiers:
    """The classifiers of all tasks, rows in the order of the tasks.

    Attributes
    ----------
    tasks : tuple of Task
    rows : Normal, shape (rows, K + 1)
        Coefficients and intercept fitted to label-free scores: those that predict or, with experts,
        their average over the training samples.
    joint_rows : Normal, shape (rows, K + 1)
        Those of the joint fit, whose scores depend on the labels; the same as ``rows`` if there was
        none.
    class_index : int array, shape (N, n_tasks)
        Class numbers of the training samples, -1 where missing; N is 0 without these.
    experts : Gated, Kernel or None
        Nonlinear classifiers that predict instead of ``rows``.
    scale : array, shape (n_tasks,)
        Factors that multiply decisions before they become probabilities
        (`rankfactor.engine.calibration`); empty means 1 for all.
    residual : Residual or None
        The second part of decisions, from the residuals of the table.
    """

    tasks: tuple[Task, ...]
    rows: Normal
    joint_rows: Normal
    class_index: NDArray[np.int64]
    experts: Gated | Kernel | None = None
    scale: Floats = field(default_factory=lambda: np.ones(0))
    residual: Residual | None = None

    def __post_init__(self) -> None:
        """Scales of 1 where none are given."""
        if len(self.scale) == 0:
            object.__setattr__(self, "scale", np.ones(len(self.tasks)))

    @property
    def classifier(self) -> Classifier:
        """The classifier of the scores."""
        return Linear(self.rows) if self.experts is None else self.experts

    @property
    def gates(self) -> Gates | None:
        """Gates of local classifiers; None if there are none."""
        return self.experts.gates if isinstance(self.experts, Gated) else None

    def decide(self, z: Normal) -> tuple[Floats, Floats]:
        """Mean and variance of the scores' (N, K) contribution to every decision, (N, rows)."""
        return self.classifier.decide(z)

    def rows_of(self, task: int) -> slice:
        """Which rows belong to a task."""
        counts = np.cumsum([0] + [t.n_rows for t in self.tasks])
        return slice(int(counts[task]), int(counts[task + 1]))

    def by_task(self, values: Floats) -> list[Floats]:
        """Values of all rows (N, rows, ...) task by task; those of a single row lose their axis."""
        parts = [values[:, self.rows_of(number)] for number in range(len(self.tasks))]
        return [part[:, 0] if part.shape[1] == 1 else part for part in parts]

    def flipped(self, turned: Sequence[bool]) -> tuple[Classifiers, Floats]:
        """Classifiers with the two classes of some tasks swapped, and the rows' signs."""
        tasks, class_index = [], self.class_index.copy()
        for number, (task, turn) in enumerate(zip(self.tasks, turned, strict=True)):
            known = class_index[:, number] >= 0
            class_index[known, number] = (1 - class_index if turn else class_index)[known, number]
            tasks.append(replace(task, classes=task.classes[::-1]) if turn else task)
        n_rows = [task.n_rows for task in self.tasks]
        sign = np.repeat(np.where(turned, -1.0, 1.0), n_rows)
        classifiers = replace(
            self,
            tasks=tuple(tasks),
            rows=self.rows.flipped(sign),
            joint_rows=self.joint_rows.flipped(sign),
            class_index=class_index,
            experts=None if self.experts is None else self.experts.flipped(sign),
            residual=None if self.residual is None else self.residual.flipped(sign),
        )
        return classifiers, sign

    def transformed(self, matrix: Floats) -> Classifiers:
        """The classifiers on the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        return replace(
            self,
            rows=Linear(self.rows).transformed(matrix).rows,
            joint_rows=Linear(self.joint_rows).transformed(matrix).rows,
            experts=None if self.experts is None else self.experts.transformed(matrix),
            residual=None if self.residual is None else self.residual.transformed(matrix),
        )

    def row_names(self) -> list[str]:
        """One readable name per row: the task, and the class that a positive decision favours."""
        names = []
        for task in self.tasks:
            positive = task.classes[1:] if task.n_rows == 1 else task.classes
            names += [f"{task.name}: {label}" for label in positive]
        return names
