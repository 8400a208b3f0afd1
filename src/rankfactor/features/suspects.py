"""Suspect labels: columns that separate them perfectly, and classes that differ only in case.

A column is a suspect if a threshold on it separates a class from all others among the samples that
have both value and label or, for a column of words, if every word occurs in only one class. Small
tables have such columns by chance: of n samples with n_c in the class, a random column separates
them with probability 2 / C(n, n_c), and a column of L words with at most k^L over the number of
ways to split n samples into the k classes. A column is named only if fewer than 0.01 are expected
among all columns of the table.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.sparse import csc_array, issparse
from scipy.special import gammaln

from rankfactor.errors import counted, listed
from rankfactor.features.matching import NamedSparse
from rankfactor.features.words import is_of_words
from rankfactor.tasks import Task
from rankfactor.typing import Floats, Integers

EXPECTED = 0.01  # maximum expected number of columns that separate by chance
_COLUMNS_AT_A_TIME = 256


class LabelWarning(UserWarning):
    """Columns that separate classes on their own, or classes that look the same."""


class Suspect(NamedTuple):
    """Columns that separate a class from the others; all classes if it is None."""

    task: Task
    positive: int | None
    columns: list[str]

    def __str__(self) -> str:
        """One sentence: what was found, and what to do."""
        one = len(self.columns) == 1
        verb, it = ("separates", "it was") if one else ("separate", "they were")
        classes = [repr(str(label)) for label in self.task.classes]
        if self.positive is None:
            what = f"the classes of {self.task.name!r}"
        elif len(classes) == 2:
            what = f"{classes[1]} from {classes[0]} ({self.task.name!r})"
        else:
            what = f"{classes[self.positive]} from the other classes of {self.task.name!r}"
        names = listed(self.columns) if one else f"{len(self.columns)} columns"
        which = "by itself" if one else f"each by itself ({listed(self.columns)})"
        return (
            f"{'the column ' if one else ''}{names} {verb} {what} perfectly, {which}: if {it} "
            f"recorded after the outcome, or derived from it, exclude {'it' if one else 'them'} "
            "from X."
        )


def check_labels(X: Any, tasks: Sequence[Task], class_index: Integers) -> None:
    """Warn of columns that separate the classes on their own, and of classes that look the same.

    Parameters
    ----------
    X : DataFrame, NamedSparse, array or sparse matrix, shape (N, D)
    tasks : sequence of Task
    class_index : int array, shape (N, n_tasks)
        Class numbers, -1 = missing.
    """
    pairs = zip(tasks, class_index.T, strict=True)
    alike = (text for task, column in pairs for text in look_alikes(task, column))
    for text in chain(alike, map(str, suspects(X, tasks, class_index))):
        warnings.warn(text, LabelWarning, stacklevel=4)


def look_alikes(task: Task, class_index: Integers) -> Iterator[str]:
    """Sentences about classes that differ only in case or in blanks around them."""
    alike: dict[str, list[int]] = {}
    for number, label in enumerate(task.classes.tolist()):
        if isinstance(label, str):
            alike.setdefault(label.strip().casefold(), []).append(number)
    for numbers in alike.values():
        if len(numbers) > 1:
            told = ", ".join(
                f"{str(task.classes[one])!r} ({counted(int((class_index == one).sum()), 'sample')})"
                for one in numbers
            )
            yield (
                f"classes of {task.name!r} differ only in case or blanks, and are treated as "
                f"{len(numbers)} classes: {told}; if they are the same class, use one spelling."
            )


def suspects(X: Any, tasks: Sequence[Task], class_index: Integers) -> list[Suspect]:
    """Columns of a table that separate classes on their own; arguments as in `check_labels`."""
    names, values, words = _parts(X)
    n_columns = len(names) + words.shape[1]
    found: list[Suspect] = []
    for task, column in zip(tasks, class_index.T, strict=True):
        told = [str(name) for name in words if _tells(words[name], column, n_columns)]
        if told:
            found.append(Suspect(task, None, told))
        counts = np.bincount(column[column >= 0], minlength=len(task.classes))
        positives = [1] if task.n_rows == 1 else list(range(len(task.classes)))
        # Missing values only make chance more likely: most small tables end here.
        positives = [c for c in positives if _rare(counts.sum(), counts[c], n_columns)]
        if not positives or not len(names):
            continue
        low, high = _ranges(values, column, len(task.classes))
        for c in positives:
            others = np.arange(len(task.classes)) != c
            above = low[c] > np.fmax.reduce(high[others])
            below = high[c] < np.fmin.reduce(low[others])
            places = [
                place
                for place in np.flatnonzero(above | below)
                if _rare(*_known(values, int(place), column, c), n_columns)
            ]
            if places:
                found.append(Suspect(task, c, [names[place] for place in places]))
    return found


def _parts(X: Any) -> tuple[list[str], Any, pd.DataFrame]:
    """Names and values of the columns of numbers, and the columns of words."""
    if isinstance(X, NamedSparse):
        return [str(name) for name in X.columns], csc_array(X.matrix), pd.DataFrame()
    if isinstance(X, pd.DataFrame):
        numeric = [pd.api.types.is_numeric_dtype(kind) for kind in X.dtypes]
        words = X.loc[:, [not one for one in numeric]]
        words = words[[name for name in words if is_of_words(words[name])]]
        numbers = X if all(numeric) else X.loc[:, numeric]
        floats = all(isinstance(kind, np.dtype) and kind.kind == "f" for kind in numbers.dtypes)
        values = numbers.to_numpy(None if floats else np.float64, na_value=np.nan)
        return [str(name) for name in numbers.columns], values, words
    values = csc_array(X) if issparse(X) else np.asarray(X)
    return [f"x{place}" for place in range(values.shape[1])], values, pd.DataFrame()


def _ranges(values: Any, class_index: Integers, n_classes: int) -> tuple[Floats, Floats]:
    """Smallest and largest value of every class and column, (n_classes, D); NaN without values."""
    low = np.full((n_classes, values.shape[1]), np.nan)
    high = low.copy()
    if issparse(values):
        rows = values.tocsr()
        for c in np.unique(class_index[class_index >= 0]):
            part = rows[np.flatnonzero(class_index == c)]
            low[c], high[c] = (part.nanmin(axis=0).toarray(), part.nanmax(axis=0).toarray())
        return low, high
    members = [np.flatnonzero(class_index == c) for c in range(n_classes)]
    for start in range(0, values.shape[1], _COLUMNS_AT_A_TIME):
        block = slice(start, start + _COLUMNS_AT_A_TIME)
        for c, rows in enumerate(members):
            if len(rows):
                part = values[rows, block]
                low[c, block], high[c, block] = np.fmin.reduce(part), np.fmax.reduce(part)
    return low, high


def _known(values: Any, place: int, class_index: Integers, c: int) -> tuple[int, int]:
    """Number of labelled samples with a value in a column, and how many are of a class."""
    column = values[:, [place]].toarray()[:, 0] if issparse(values) else values[:, place]
    known = ~np.isnan(column) & (class_index >= 0)
    return int(known.sum()), int((class_index[known] == c).sum())


def _rare(n: int, n_class: int, n_columns: int) -> bool:
    """Whether few of that many random columns would separate a class of n_class from the rest."""
    ways = gammaln(n + 1) - gammaln(n_class + 1) - gammaln(n - n_class + 1)
    return bool(np.log(2 * n_columns) - ways < np.log(EXPECTED))


def _tells(words: pd.Series[Any], class_index: Integers, n_columns: int) -> bool:
    """Whether every word occurs in only one class, beyond chance."""
    known = words.notna().to_numpy() & (class_index >= 0)
    levels = pd.factorize(words[known])[0]
    counts = np.bincount(class_index[known])
    pairs = np.unique(np.column_stack([levels, class_index[known]]), axis=0)
    n_levels, n_classes = len(np.unique(levels)), int((counts > 0).sum())
    if n_classes < 2 or len(pairs) > n_levels:
        return False
    ways = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
    chance = np.log(n_columns) + n_levels * np.log(n_classes) - ways
    return bool(chance < np.log(EXPECTED))
