"""Labels: classes as text, aligned with a table by sample name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd

from rankfactor.data.table import MISSING_MARKERS, read_frame
from rankfactor.errors import InputError

__all__ = ["align_labels", "as_classes", "read_labels", "split_labels"]


def read_labels(path: str | Path, *, id_column: str | int | None = None) -> pd.DataFrame:
    """Read a file of labels, every cell as text.

    Parameters
    ----------
    path : str or Path
        A file as `rankfactor.data.read_table` takes it, one column per task.
    id_column : str or int, optional
        The column of sample names, by name or by position from 0.

    Returns
    -------
    pandas.DataFrame
        Sample names as index; classes as str, NaN where a cell is missing.
    """
    frame = read_frame(path, id_column=id_column, text_columns="all")
    return _classes_of_frame(frame)


def split_labels(
    frame: pd.DataFrame, tasks: Sequence[str], *, source: str | Path
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Part the label columns of a frame from its features.

    Parameters
    ----------
    frame : pandas.DataFrame
        A table in which label columns live, as `rankfactor.data.read_frame` gives it; read them
        with ``text_columns=tasks`` to keep them as written.
    tasks : sequence of str
        The label columns.
    source : str or Path
        What to call the frame in messages.

    Returns
    -------
    features : pandas.DataFrame
        The other columns, as they were.
    labels : pandas.DataFrame
        The label columns; classes as str, NaN where a cell is missing.
    """
    for task in tasks:
        if task not in frame.columns:
            raise InputError(
                f"{source} has no column '{task}' to take as label; "
                f"its columns begin with {_some(frame.columns)}."
            )
    return frame.drop(columns=list(tasks)), _classes_of_frame(frame[list(tasks)])


def align_labels(
    table_index: pd.Index[Any],
    labels: pd.DataFrame,
    *,
    source: str | Path,
    unknown: Literal["error", "ignore"] = "error",
) -> pd.DataFrame:
    """Bring labels into the order of a table.

    Parameters
    ----------
    table_index : pandas.Index
        The sample names of the table.
    labels : pandas.DataFrame
        Sample names as index, one column per task.
    source : str or Path
        What to call the labels in messages: the file they come from.
    unknown : {"error", "ignore"}
        What to do about labels of samples that the table does not have.

    Returns
    -------
    pandas.DataFrame
        The table's index, one column per task; classes as str, NaN for samples without a label.

    Raises
    ------
    InputError
        If names are repeated or have nothing in common, a sample is unknown, or a task has fewer
        than two classes.
    """
    if unknown not in ("error", "ignore"):
        raise InputError(f"unknown='{unknown}' is not a choice; pass 'error' or 'ignore'.")
    # Names that look like numbers may be text on one side and integers on the other.
    wanted = pd.Index([str(name) for name in table_index], dtype=object)
    given = pd.Index([str(name) for name in labels.index], dtype=object)
    if not given.is_unique:
        repeated = given[given.duplicated()].unique()
        raise InputError(
            f"{source} labels a sample more than once: {_some(repeated)}; keep one row for each."
        )
    foreign = given[~given.isin(wanted)]
    if len(foreign) == len(given):
        raise InputError(
            f"{source} has no sample in common with the table: its samples are {_some(given)} and "
            f"the table's are {_some(wanted)}; check the column of sample names in both."
        )
    if len(foreign) and unknown == "error":
        raise InputError(
            f"{source} labels samples that the table does not have: {_some(foreign)}; "
            'remove them or pass unknown="ignore".'
        )
    aligned = _classes_of_frame(labels.set_axis(given, axis=0).reindex(wanted))
    aligned.index = table_index
    for task in aligned.columns:
        classes = aligned[task].dropna().unique()
        if len(classes) < 2:
            found = f"only the class '{classes[0]}'" if len(classes) else "no label at all"
            raise InputError(
                f"{source}, column '{task}' has {found} among the table's samples; "
                "a task needs two classes or more, so leave the column out or add labels."
            )
    return aligned


def as_classes(values: Iterable[Any]) -> list[str | float]:
    """Return class labels as text, NaN where missing.

    Parameters
    ----------
    values : iterable
        Labels of any kind. The missing markers of tables are missing here too; whole numbers lose
        the ".0" that a missing neighbour gives them in pandas.

    Returns
    -------
    list of str or NaN
        One entry per label.
    """
    return [_as_class(value) for value in values]


def _as_class(value: Any) -> str | float:
    if isinstance(value, str):
        text = value.strip()
        return np.nan if text in MISSING_MARKERS else text
    if pd.isna(value):
        return np.nan
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _classes_of_frame(frame: pd.DataFrame) -> pd.DataFrame:
    # Object columns hold str and NaN under every version of pandas.
    classes = {name: as_classes(frame[name]) for name in frame.columns}
    return pd.DataFrame(classes, index=frame.index, columns=frame.columns, dtype=object)


def _some(names: pd.Index[Any]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:3])
    return f"{shown} and {len(names) - 3} more" if len(names) > 3 else shown
