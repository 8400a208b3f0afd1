"""Label columns as rows of signs.

A column with two classes is one row: +1 for the second class, -1 for the first. With more classes
there is one row per class, one-vs-rest, on shared factors. A missing label is 0 and carries no
information.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rankfactor.errors import InputError, counted, did_you_mean
from rankfactor.typing import Floats

ClassWeight = str | Mapping[Any, Any] | None


@dataclass(frozen=True)
class Task:
    """One label column.

    Attributes
    ----------
    name : str
    classes : array, shape (n_classes,)
        The labels in increasing order; with two classes the second is the positive one, and the
        order may be reversed (`rankfactor.posterior.Posterior.with_positive`).
    """

    name: str
    # The labels in increasing order; with two classes the second is the positive one, and the order
    # may be reversed (`rankfactor.posterior.Posterior.with_positive`).
    classes: NDArray[Any]

    @property
    def n_rows(self) -> int:
        """Number of classifiers: one for two classes, else one per class."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    def signs(self, class_index: NDArray[np.int64]) -> Floats:
        """Signs of every row, shape (n_rows, N), of class numbers (-1 = missing)."""
        positive = [1] if self.n_rows == 1 else np.arange(self.n_rows)
        sign = np.where(class_index == np.reshape(positive, (-1, 1)), 1.0, -1.0)
        return np.asarray(sign * (class_index >= 0))

    def weights(self, class_index: NDArray[np.int64], class_weight: ClassWeight) -> Floats:
        """Weight of every sample's label, shape (N,)."""
        n_classes = len(self.classes)
        if class_weight is None:
            table = np.ones(n_classes)
        elif isinstance(class_weight, str):
            if class_weight != "balanced":
                raise InputError(
                    f"class_weight must be None, 'balanced' or a dictionary, not {class_weight!r}."
                )
            counts = np.bincount(class_index[class_index >= 0], minlength=n_classes)
            table = counts.sum() / (n_classes * np.maximum(counts, 1))
        else:
            unknown = [label for label in class_weight if label not in set(self.classes.tolist())]
            if unknown:
                raise InputError(
                    f"class_weight names {unknown[0]!r}, which is not a class of {self.name!r} "
                    f"({', '.join(map(str, self.classes))})."
                    f"{did_you_mean(unknown[0], self.classes)}"
                )
            table = np.array([float(class_weight.get(c, 1.0)) for c in self.classes.tolist()])
        if not (np.isfinite(table).all() and (table > 0).all()):
            raise InputError("class_weight must contain positive, finite numbers.")
        return np.asarray(table[class_index])


def encode_labels(y: Any, n_samples: int) -> tuple[tuple[Task, ...], NDArray[np.int64]]:
    """Tasks of a label column or table, and class numbers of shape (n_samples, n_tasks).

    Parameters
    ----------
    y : array-like, Series or DataFrame, shape (n_samples,) or (n_samples, n_tasks)
        NaN, None and pandas.NA mark a missing label; the class number is then -1.
    n_samples : int
        Number of samples of the table that the labels belong to.
    """
    tasks, numbers = [], []
    for name, column in label_columns(y):
        if len(column) != n_samples:
            raise InputError(
                f"the table has {counted(n_samples, 'sample')} but {name!r} has "
                f"{counted(len(column), 'label')}: "
                "give one label per sample, NaN where it is unknown."
            )
        missing = np.asarray(pd.isna(column), bool)
        known = np.array(column[~missing].tolist())
        if known.size == 0:
            raise InputError(
                f"every label of {name!r} is missing: at least two classes are needed."
            )
        if known.dtype.kind == "f" and not np.isfinite(known).all():
            raise InputError(f"Input y contains infinity: {name!r} has an infinite label.")
        # Numbers that may be measurements, or nearly as many labels as samples: scikit-learn, which
        # is slow to import, raises the error.
        if known.dtype.kind not in "biuU" or 2 * len(set(known.tolist())) > len(known):
            from sklearn.utils.multiclass import check_classification_targets

            check_classification_targets(known)
        classes, found = np.unique(known, return_inverse=True)
        if len(classes) < 2:
            raise InputError(
                f"{name!r} has only one class ({classes[0]}): a classifier needs at least two "
                "classes among the known labels."
            )
        class_index = np.full(n_samples, -1, np.int64)
        class_index[~missing] = found
        tasks.append(Task(name, classes))
        numbers.append(class_index)
    return tuple(tasks), np.column_stack(numbers)


def positive_classes(tasks: Sequence[Task], positive: Mapping[str, Any]) -> dict[str, int]:
    """Number of the positive class by task; unknown tasks and classes are refused."""
    known = {task.name: task.classes for task in tasks}
    numbers = {}
    for name, label in positive.items():
        if name not in known:
            raise InputError(
                f"positive names the task {name!r}, but the tasks are "
                f"{', '.join(known) or 'none'}.{did_you_mean(name, known)}"
            )
        classes = [str(one) for one in known[name]]
        if str(label) not in classes:
            raise InputError(
                f"positive names {str(label)!r}, which is not a class of {name!r} "
                f"({', '.join(classes)}).{did_you_mean(label, classes)}"
            )
        if len(classes) != 2:
            raise InputError(
                f"positive names a class of {name!r}, which has {len(classes)}: a positive class "
                "can be set only for two classes; with more, each has its own decision."
            )
        numbers[name] = classes.index(str(label))
    return numbers


def label_columns(y: Any) -> list[tuple[str, NDArray[np.object_]]]:
    """Name and values of every label column."""
    if y is None:
        raise InputError("requires y to be passed, but the target y is None.")
    if isinstance(y, pd.DataFrame):
        return [(str(name), y[name].to_numpy(object)) for name in y.columns]
    if isinstance(y, pd.Series):
        return [(str(y.name if y.name is not None else "label"), y.to_numpy(object))]
    values = np.asarray(y, object)
    if values.ndim == 1:
        return [("label", values)]
    if values.ndim == 2 and values.shape[1] > 0:
        return [(f"label_{i}", values[:, i]) for i in range(values.shape[1])]
    raise InputError(f"labels must have one or two dimensions, not shape {values.shape}.")


def signed_labels(
    tasks: Sequence[Task], class_index: NDArray[np.int64], class_weight: ClassWeight
) -> Floats:
    """Signed weights of all tasks' rows, shape (rows, N).

    ``class_weight`` is None, "balanced", a dictionary from class to weight or, with several tasks,
    a dictionary from task name to any of these.
    """
    parts = []
    names = {task.name for task in tasks}
    for column, task in enumerate(tasks):
        weight = class_weight
        if isinstance(weight, Mapping) and len(tasks) > 1:
            unknown = [name for name in weight if name not in names]
            if unknown:
                raise InputError(
                    f"class_weight names {unknown[0]!r}, which is not a task "
                    f"({', '.join(sorted(names))}).{did_you_mean(unknown[0], names)}"
                )
            weight = weight.get(task.name)
        number = class_index[:, column]
        parts.append(task.signs(number) * task.weights(number, weight))
    return np.ascontiguousarray(np.vstack(parts))


def side_by_side(parts: list[NDArray[Any]]) -> NDArray[Any]:
    """Columns of possibly different types as one array, shape (N, n_tasks)."""
    same = len({part.dtype.kind for part in parts}) == 1
    return np.column_stack(parts if same else [part.astype(object) for part in parts])
