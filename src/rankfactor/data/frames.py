"""Frames of pandas as grids and tables: Parquet files, and frames in memory."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.data.grid import Grid, values_of_grid
from rankfactor.data.names import no_id_column
from rankfactor.data.numbers import Style, parse_number
from rankfactor.data.opening import foreign_reader, need
from rankfactor.data.textfile import holds_names
from rankfactor.errors import InputError

__all__ = ["ParquetTable", "grid_of_frame", "numeric_table"]


def numeric_table(frame: pd.DataFrame, *, source: str | Path) -> pd.DataFrame:
    """Turn a frame into a table of float64, naming the first cell that is not a number.

    Parameters
    ----------
    frame : pandas.DataFrame
        Samples x features. Rows are numbered in messages as in a file, the header being row 1.
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
    columns = [str(name) for name in frame.columns]
    grid = _grid(frame, [str(name) for name in frame.index], columns, "", source, set())
    return values_of_grid(grid).set_axis(frame.index, axis=0).set_axis(frame.columns, axis=1)


class ParquetTable:
    """A Parquet file; the index that pandas saved with it is restored."""

    def __init__(self, path: Path) -> None:
        parquet = need("pyarrow.parquet", extra="parquet", path=path)
        self._path = path
        with foreign_reader(path, "is not a whole Parquet file; copy or write it again."):
            table = parquet.read_table(path)
            self.names = [str(name) for name in table.schema.names]
            self._frame: pd.DataFrame = table.to_pandas()

    def grid(self, id_column: str | int | None, text_columns: Collection[str] | None) -> Grid:
        """The cells, as `grid_of_frame` gives them."""
        return grid_of_frame(
            self._frame, source=self._path, id_column=id_column, text_columns=text_columns
        )


def grid_of_frame(
    frame: pd.DataFrame,
    *,
    source: str | Path,
    id_column: str | int | None = None,
    text_columns: Collection[str] | None = (),
) -> Grid:
    """Make a grid of a frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        Any frame. An index with a name, or of text, holds the names of the rows; else the first
        column may, by the rules for text tables.
    source : str or Path
        What to call it in messages.
    id_column, text_columns
        As for `rankfactor.data.textfile.grid_of_records`.

    Returns
    -------
    Grid
        The cells.
    """
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    if len(frame) == 0 or frame.shape[1] == 0:
        raise InputError(f"{source} has no rows or no columns; add one row per sample.")
    names = list(frame.columns)
    kept = set(names if text_columns is None else text_columns)
    position: int | None = None
    if isinstance(id_column, int) and 0 <= id_column < len(names):
        position = id_column
    elif id_column is not None:
        if id_column not in names and id_column != frame.index.name:
            raise no_id_column(source, id_column, names)
        position = names.index(str(id_column)) if id_column in names else None
    elif _is_plain_index(frame.index) and (text_columns is None or names[0] not in kept):
        first = frame.iloc[:, 0]
        cells = ["" if pd.isna(cell) else str(cell) for cell in first]
        position = 0 if len(names) > 1 and holds_names(names, cells) else None
    if position is None:
        plain = _is_plain_index(frame.index)
        heading = None if plain else str(frame.index.name or "")
        rows = [str(n + 1) for n in range(len(frame))] if plain else list(map(str, frame.index))
        return _grid(frame, rows, names, heading, source, kept)
    column = frame.iloc[:, position]
    rows = ["" if pd.isna(cell) else str(cell).strip() for cell in column]
    rest = frame.iloc[:, [i for i in range(len(names)) if i != position]]
    columns = [name for i, name in enumerate(names) if i != position]
    return _grid(rest, rows, columns, names[position], source, kept)


def _is_plain_index(index: pd.Index[Any]) -> bool:
    return isinstance(index, pd.RangeIndex) and index.name is None


def _grid(
    frame: pd.DataFrame,
    rows: list[str],
    columns: list[str],
    heading: str | None,
    source: str | Path,
    kept: set[str],
) -> Grid:
    text: dict[tuple[int, int], str] = {}
    numbers: dict[tuple[int, int], str] = {}
    # All numbers at once: one column at a time takes seconds for 28,000 of them.
    numeric = np.array(
        [
            name not in kept and pd.api.types.is_numeric_dtype(dtype)
            for name, dtype in zip(columns, frame.dtypes, strict=True)
        ]
    )
    values = np.full(frame.shape, np.nan)
    values[:, numeric] = frame.loc[:, numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    for i in np.flatnonzero(~numeric).tolist():
        name, column = columns[i], frame.iloc[:, i]
        for n, cell in enumerate(column.to_numpy(dtype=object)):
            if not isinstance(cell, str) and pd.isna(cell):
                continue
            written = _written(cell)
            number = None if name in kept else parse_number(written, Style())
            if number is None:
                text[n, i] = written
            else:
                values[n, i] = number
                numbers[n, i] = written
    return Grid(str(source), rows, columns, values, text, heading, written=numbers)


def _written(cell: Any) -> str:
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return str(cell)
