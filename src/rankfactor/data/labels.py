"""Labels: classes of any kind as text, NaN where missing, aligned with a table by sample name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from rankfactor.data.numbers import MISSING_MARKERS
from rankfactor.errors import InputError, listed

_MISSING = frozenset(MISSING_MARKERS)


def as_classes(values: Iterable[Any]) -> list[str | float]:
    """Return class labels as text, NaN where missing.

    Parameters
    ----------
    values : iterable
        Labels of any kind. The missing markers of tables are missing here as well; integers lose
        the ".0" that pandas adds next to a missing value.

    Returns
    -------
    list of str or NaN
        One entry per label.
    """
    return [_as_class(value) for value in values]


def classes_of_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same frame with every column as classes."""
    # Object columns hold str and NaN under every version of pandas.
    classes = {str(name): as_classes(frame[name]) for name in frame.columns}
    return pd.DataFrame(classes, index=frame.index, dtype=object)


def _as_class(value: Any) -> str | float:
    if isinstance(value, str):
        text = value.strip()
        return np.nan if text in _MISSING else text
    if pd.isna(value):
        return np.nan
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def align_labels(
    table_index: pd.Index[Any],
    labels: pd.DataFrame,
    *,
    source: str | Path,
    unknown: Literal["error", "ignore"] = "error",
) -> pd.DataFrame:
    """Align labels with a table.

    Parameters
    ----------
    table_index : pandas.Index
        The sample names of the table.
    labels : pandas.DataFrame
        Sample names as index, one column per task.
    source : str or Path
        Name of the labels in messages: the file they come from.
    unknown : {"error", "ignore"}
        How to treat labels of samples that are not in the table.

    Returns
    -------
    pandas.DataFrame
        The table's index, one column per task; classes as str, NaN for samples without a label.
    """
    if unknown not in ("error", "ignore"):
        raise InputError(f"unknown='{unknown}' is not valid; pass 'error' or 'ignore'.")
    # Names that look like numbers may be text on one side and integers on the other.
    wanted = pd.Index([str(name) for name in table_index], dtype=object)
    given = pd.Index([str(name) for name in labels.index], dtype=object)
    if not given.is_unique:
        repeated = given[given.duplicated()].unique()
        raise InputError(
            f"{source} labels a sample more than once: {listed(repeated, 3)}; keep one row for "
            "each."
        )
    foreign = given[~given.isin(wanted)]
    if len(foreign) == len(given):
        raise InputError(
            f"{source} has no sample in common with the table: its samples are "
            f"{listed(given, 3)} and the table's are {listed(wanted, 3)}; check the column of "
            "sample names in both."
        )
    if len(foreign) and unknown == "error":
        raise InputError(
            f"{source} has labels of samples that are not in the table: {listed(foreign, 3)}; "
            'remove them or pass unknown="ignore".'
        )
    aligned = classes_of_frame(labels.set_axis(given, axis=0).reindex(wanted))
    aligned.index = table_index
    for task in aligned.columns:
        refuse_one_class(aligned[task], source)
    return aligned


def refuse_one_class(labels: pd.Series[Any], source: str | Path) -> None:
    """Refuse a column of labels with fewer than two classes."""
    classes = labels.dropna().unique()
    if len(classes) < 2:
        found = f"only the class {classes[0]!r}" if len(classes) else "no label at all"
        raise InputError(
            f"{source}, column {labels.name!r} has {found} among the table's samples; "
            "a task needs two classes or more, so leave the column out or add labels."
        )
