"""Reading tables of numbers, samples by features, from CSV and TSV files.

How a file is read:

- The separator of ``.tsv`` and ``.txt`` is the tab; that of ``.csv`` is the one of comma,
  semicolon and tab that its header has most of. Each may be compressed as ``.gz`` or ``.xz``.
- Row 1 is the header. It may be one name shorter than the rows, as R writes it; the first column
  then has no name.
- The first column holds the sample names if it has no name, if it is called ``id``, ``sample`` or
  ``sample_id`` (in any case), or if more than half of its cells are not numbers; ``id_column``
  overrules this. A file without sample names has its samples named "1", "2", ...
- An empty cell, ``NA``, ``NaN``, ``null`` and ``.`` are missing values.
- Numbers are read exactly, so that equal texts and equal numbers stay tied: ranks depend on it.

A file is parsed at full speed first, and searched for the row at fault only when that has failed.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from rankfactor.data.textfile import (
    find_ragged_row,
    read_layout,
    translate_read_errors,
)
from rankfactor.errors import InputError

__all__ = ["MISSING_MARKERS", "numeric_table", "read_frame", "read_table"]

MISSING_MARKERS = ("", "NA", "NaN", "nan", "null", "NULL", ".")

_ID_NAMES = frozenset({"", "id", "sample", "sample_id"})
_HEADER_ROWS = 1
# Before pandas 3.1 exact parsing has to be asked for; from then on it is the default and asking
# is deprecated.
_PANDAS_VERSION = tuple(int(part) for part in pd.__version__.split(".")[:2])
_EXACT: dict[str, Any] = {"float_precision": "round_trip"} if _PANDAS_VERSION < (3, 1) else {}


def read_table(path: str | Path, *, id_column: str | int | None = None) -> pd.DataFrame:
    """Read a table of numbers, samples x features.

    Parameters
    ----------
    path : str or Path
        A ``.csv``, ``.tsv`` or ``.txt`` file, alone or compressed (``.gz``, ``.xz``).
    id_column : str or int, optional
        The column of sample names, by name or by position from 0; by default the rule in the
        module's description decides.

    Returns
    -------
    pandas.DataFrame
        Samples x features, float64, NaN where a value is missing; the index holds the sample names.

    Raises
    ------
    InputError
        If the file cannot be read as such a table.
    """
    return numeric_table(read_frame(path, id_column=id_column), source=path)


def read_frame(
    path: str | Path,
    *,
    id_column: str | int | None = None,
    text_columns: Collection[str] | Literal["all"] = (),
) -> pd.DataFrame:
    """Read a table that may have columns of text beside the numbers.

    Parameters
    ----------
    path : str or Path
        As for `read_table`.
    id_column : str or int, optional
        As for `read_table`.
    text_columns : collection of str or "all"
        Columns to keep exactly as written, so that a class named "01" does not become a 1.

    Returns
    -------
    pandas.DataFrame
        Sample names as index; every column with its own type, NaN where a cell is missing.

    Raises
    ------
    InputError
        If the file cannot be read, or its names are not unique.
    """
    path = Path(path)
    layout = read_layout(path)
    names = layout.names
    _check_header(names, path)
    id_position = _id_position(names, id_column, path)

    as_text = set(names) if text_columns == "all" else set(text_columns)
    # Sample names must stay as written ("007"), and whether the first column holds them is only
    # known once it is read.
    maybe_names = names[0 if id_position is None else id_position]
    frame = _parse(path, layout.separator, names, as_text | {maybe_names})
    frame = _drop_trailing_blank_rows(frame)
    if len(names) > 1 and bool(frame[names[-1]].isna().any()):
        # The parser fills a row that is too short with missing values and says nothing.
        _raise_if_ragged(path, layout.separator, len(names))
    if frame.empty:
        raise InputError(f"{path} has a header but no rows; add one row per sample.")

    if id_position is None and _holds_names(names, frame[maybe_names]):
        id_position = 0
    if id_position is None:
        _check_no_blank_row(frame, path)
        frame.index = pd.Index([str(n + 1) for n in range(len(frame))], name="row", dtype=object)
        if maybe_names not in as_text:
            values, bad = _floats(frame[maybe_names])
            if not bad.any():
                frame[maybe_names] = values
    else:
        frame.index = _sample_names(frame.pop(maybe_names), path)
    if frame.shape[1] == 0:
        raise InputError(f"{path} has sample names but no other column; add one per feature.")
    return frame


def numeric_table(frame: pd.DataFrame, *, source: str | Path) -> pd.DataFrame:
    """Turn a frame into a table of float64, naming the first cell that is not a number.

    Parameters
    ----------
    frame : pandas.DataFrame
        Samples x features, as `read_frame` gives it. Rows are numbered in messages as in the file,
        the header being row 1, so take columns away before the call but not rows.
    source : str or Path
        What to call the frame in messages: the file it comes from.

    Returns
    -------
    pandas.DataFrame
        The same samples and features, float64; booleans are 0 and 1.

    Raises
    ------
    InputError
        If there is no row or column, a name is repeated, or a cell is not a finite number.
    """
    if frame.shape[0] == 0:
        raise InputError(f"{source} has no rows; a table needs one row per sample.")
    if frame.shape[1] == 0:
        raise InputError(f"{source} has no feature columns; a table needs at least one.")
    _check_unique([str(name) for name in frame.columns], "feature name", source)
    _check_unique([str(name) for name in frame.index], "sample name", source)

    if all(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes):
        values = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        values = np.empty(frame.shape, dtype=np.float64)
        for i in range(frame.shape[1]):
            column = frame.iloc[:, i]
            values[:, i], bad = _floats(column)
            if bad.any():
                n = int(np.argmax(bad))
                raise InputError(_not_a_number(frame, n, i, str(column.iloc[n]), source))
    infinite = np.isinf(values)
    if infinite.any():
        n, i = (int(position[0]) for position in np.nonzero(infinite))
        raise InputError(
            f"{_cell(frame, n, i, source)}: the value is infinite; "
            "correct it, or leave the cell empty if the value is missing."
        )
    return pd.DataFrame(values, index=frame.index, columns=frame.columns)


def _parse(path: Path, separator: str, names: list[str], as_text: set[str]) -> pd.DataFrame:
    """Parse the whole file with the C engine, blank lines kept so that rows can be counted."""
    with translate_read_errors(path), warnings.catch_warnings():
        # A row that is too long is told as a warning in some versions and as an error in others.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame: pd.DataFrame = pd.read_csv(
                path,
                sep=separator,
                names=names,
                header=0,
                index_col=False,
                dtype={name: str for name in names if name in as_text},
                keep_default_na=False,
                na_values=list(MISSING_MARKERS),
                skip_blank_lines=False,
                encoding="utf-8-sig",
                engine="c",
                low_memory=False,
                **_EXACT,
            )
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            _raise_if_ragged(path, separator, len(names))
            reason = str(error).strip().removeprefix("Error tokenizing data. C error: ")
            raise InputError(
                f"{path} cannot be parsed ({reason}); check its separators and quotes."
            ) from error
    return frame


def _raise_if_ragged(path: Path, separator: str, width: int) -> None:
    ragged = find_ragged_row(path, separator, width)
    if ragged is not None:
        row, found = ragged
        raise InputError(
            f"{path}, row {row} has {found} cells where {width} are expected; "
            "add or remove cells so that every row is as long as the header."
        )


def _drop_trailing_blank_rows(frame: pd.DataFrame) -> pd.DataFrame:
    # Editors and spreadsheets leave empty lines at the end; they are no samples.
    filled = len(frame)
    while filled > 0 and bool(frame.iloc[filled - 1].isna().all()):
        filled -= 1
    return frame.iloc[:filled].copy() if filled < len(frame) else frame


def _check_no_blank_row(frame: pd.DataFrame, path: Path) -> None:
    blank = frame.isna().to_numpy().all(axis=1)
    if blank.any():
        row = int(np.argmax(blank)) + 1 + _HEADER_ROWS
        raise InputError(f"{path}, row {row} is empty; remove it.")


def _check_header(names: list[str], path: Path) -> None:
    unnamed = [position for position, name in enumerate(names) if position > 0 and not name]
    if unnamed:
        raise InputError(f"{path}, row 1: column {unnamed[0] + 1} has no name; give it one.")
    _check_unique(names, "feature name", path)


def _check_unique(names: list[str], what: str, source: str | Path) -> None:
    index = pd.Index(names, dtype=object)
    if index.is_unique:
        return
    repeated = list(index[index.duplicated()].unique())
    more = f" and {len(repeated) - 3} more" if len(repeated) > 3 else ""
    shown = ", ".join(f"'{name}'" for name in repeated[:3])
    raise InputError(f"{source} has a repeated {what}: {shown}{more}; make every name unique.")


def _id_position(names: list[str], id_column: str | int | None, path: Path) -> int | None:
    """Return the position of the sample names, or None if the cells have to decide."""
    if isinstance(id_column, int):
        if not 0 <= id_column < len(names):
            raise InputError(
                f"{path} has {len(names)} columns, so id_column={id_column} is none of them; "
                f"give a position from 0 to {len(names) - 1}."
            )
        return id_column
    if id_column is not None:
        if id_column not in names:
            shown = ", ".join(f"'{name}'" for name in names[:3])
            raise InputError(
                f"{path} has no column '{id_column}' to take as id_column; "
                f"its columns begin with {shown}."
            )
        return names.index(id_column)
    return 0 if names[0].lower() in _ID_NAMES else None


def _holds_names(names: list[str], column: pd.Series[Any]) -> bool:
    # The only column of a file can but be data; and one wrong cell does not make a feature a name.
    _, bad = _floats(column)
    return len(names) > 1 and int(bad.sum()) * 2 > int(column.notna().sum())


def _sample_names(column: pd.Series[Any], path: Path) -> pd.Index[Any]:
    missing = column.isna().to_numpy()
    if missing.any():
        row = int(np.argmax(missing)) + 1 + _HEADER_ROWS
        raise InputError(f"{path}, row {row} has no sample name; add one or remove the row.")
    names = [str(name).strip() for name in column]
    _check_unique(names, "sample name", path)
    return pd.Index(names, name="sample", dtype=object)


def _floats(column: pd.Series[Any]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the numbers of a column and where its cells are neither numbers nor missing."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan), np.zeros(len(column), dtype=bool)
    values = np.full(len(column), np.nan)
    bad = np.zeros(len(column), dtype=bool)
    for n, cell in enumerate(column.to_numpy(dtype=object)):
        if isinstance(cell, str):
            text = cell.strip()
            if text in MISSING_MARKERS:
                continue
            # Python reads "1_000" as a number; a table that says so is more likely mistaken.
            if "_" in text:
                bad[n] = True
                continue
            cell = text
        elif pd.isna(cell):
            continue
        try:
            values[n] = float(cell)
        except (TypeError, ValueError):
            bad[n] = True
    return values, bad


def _cell(frame: pd.DataFrame, n: int, i: int, source: str | Path) -> str:
    return f"{source}, row {n + 1 + _HEADER_ROWS}, column '{frame.columns[i]}'"


def _not_a_number(frame: pd.DataFrame, n: int, i: int, text: str, source: str | Path) -> str:
    shown = text if len(text) <= 40 else text[:37] + "..."
    if text.replace(",", "", 1).strip().lstrip("+-").isdigit():
        advice = "write it with a decimal point"
    else:
        advice = "correct it, or leave the cell empty if the value is missing"
        if i == 0 and frame.index.name == "row":
            advice += ", or name the column as id_column if it holds the sample names"
    return f"{_cell(frame, n, i, source)}: '{shown}' is not a number; {advice}."
