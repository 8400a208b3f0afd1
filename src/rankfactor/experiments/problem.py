"""`Problem`: a table with its tasks, and the conversion of label columns to tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
import pandas as pd

from rankfactor.errors import InputError, did_you_mean

OTHERS = "Others"
MOST_CLASSES = 12  # a column with more describes samples rather than classes


@dataclass(frozen=True, eq=False)
class Problem:
    """A table and its tasks."""

    data: str  # name of the data set
    table: pd.DataFrame  # samples x features, NaN = missing
    labels: pd.DataFrame  # the same index, one column per task, NaN = unknown
    groups: pd.Series[Any] | None = None  # samples of one group stay in one fold
    notes: tuple[str, ...] = ()  # what was done to the table
    paper: Mapping[str, str] = field(default_factory=dict)  # the paper's names of tasks
    form: str = ""  # form of the table, if a set is used in several forms
    n_labels: int | None = None  # labels per task kept in a training part; None for all
    log: bool | None = None  # whether the log scale is used, as for `LogScale`

    @property
    def name(self) -> str:
        """Name for progress and messages, unique within an experiment."""
        return ", ".join(filter(None, (self.data, self.form)))

    @property
    def place(self) -> dict[str, str]:
        """Columns of a table that identify a row."""
        return {"data": self.data} | ({"form": self.form} if self.form else {})

    @classmethod
    def of_columns(
        cls,
        data: str,
        table: pd.DataFrame,
        columns: Iterable[pd.Series[Any]],
        tasks_of: Callable[[pd.Series[Any]], tuple[dict[str, Any], dict[str, str]]],
        groups: pd.Series[Any] | None = None,
        notes: tuple[str, ...] = (),
    ) -> Self:
        """Problem with all tasks of some label columns; ``tasks_of`` gives those of one column."""
        labels: dict[str, Any] = {}
        paper: dict[str, str] = {}
        for tasks, known in map(tasks_of, columns):
            labels |= tasks
            paper |= known
        return cls(data, table, pd.DataFrame(labels), groups, notes, paper)


def against(column: pd.Series[Any], first: Collection[str], second: Collection[str] | None) -> Any:
    """A task with two sides: labels of the first, of the second, and unknown otherwise.

    The label of a side is its classes joined by " or "; a second side of None means all other known
    labels, with the label "Others".
    """
    known = column.notna().to_numpy()
    one = column.isin(list(first)).to_numpy()
    other = known & ~one if second is None else column.isin(list(second)).to_numpy()
    names = OTHERS if second is None else " or ".join(sorted(second))
    sides = np.where(one, " or ".join(sorted(first)), names).astype(object)
    sides[~(one | other)] = np.nan
    return pd.Series(sides, index=column.index, dtype=object)


def one_against_the_rest(column: pd.Series[Any]) -> dict[str, Any]:
    """Tasks of a column by name: itself if it has two classes, else one for every class."""
    classes = sorted(column.dropna().unique())
    if len(classes) < 2:
        raise InputError(
            f"the column '{column.name}' has fewer than two classes: name another with --labels."
        )
    if len(classes) == 2:
        return {str(column.name): column}
    if len(classes) > MOST_CLASSES:
        raise InputError(
            f"the column '{column.name}' has {len(classes)} different values, more than "
            f"{MOST_CLASSES}: name a column of classes with --labels."
        )
    return {f"{one} vs. {OTHERS}": against(column, [one], None) for one in classes}


def found_columns(
    annotations: pd.DataFrame, words: Collection[str], labels: Collection[str], source: str
) -> list[str]:
    """Label columns: those named, otherwise those whose name contains one of the words.

    Words are in lower case; ``source`` is the origin of the columns in messages.
    """
    given = ", ".join(f"'{name}'" for name in annotations.columns)
    for name in labels:
        if name not in annotations:
            raise InputError(
                f"{source} has no column '{name}'; it has {given}."
                f"{did_you_mean(name, annotations.columns)}"
            )
    found = list(labels) or [
        str(name)
        for name in annotations.columns
        if any(word in str(name).lower() for word in words)
        and 2 <= annotations[name].nunique() <= MOST_CLASSES
    ]
    if not found:
        raise InputError(
            f"{source} has no column that looks like labels; name one with --labels: it has "
            f"{given}."
        )
    return found
