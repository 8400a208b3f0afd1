"""Frames of pandas as grids and tables: Parquet files, and frames in memory."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.data.grid import Grid, values_of_grid
from rankfactor.data.numbers import Style, parse_number
from rankfactor.data.opening import foreign_reader, need
from rankfactor.data.textfile import holds_names, id_position
from rankfactor.errors import InputError
from rankfactor.storage.bounds import check_memory

PARQUET = (".parquet", ".pq")


def numeric_table(frame: pd.DataFrame, *, source: str | Path) -> pd.DataFrame:
    """Turn a frame into a table of float64, naming the first cell that is not a number.

    Parameters
    ----------
    frame : pandas.DataFrame
        Samples x features. Rows are numbered in messages as in a file, with the header as row 1.
    source : str or Path
        Name of the frame in messages: the file it comes from.

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
    grid = _grid(frame, [str(name) for name in frame.index], "", source, set())
    return values_of_grid(grid).set_axis(frame.index, axis=0).set_axis(frame.columns, axis=1)


class ParquetTable:
    """A Parquet file or a folder of parts; the index that pandas saved is restored."""

    def __init__(self, path: Path, first_rows: int | None = None) -> None:
        parquet = need("pyarrow.parquet", extra="parquet", path=path)
        self._path, self.n_rows = path, 0
        frames: list[pd.DataFrame] = []
        parts = parts_of(path)
        for part in parts:
            with (
                foreign_reader(part, "is not a whole Parquet file; copy or write it again."),
                parquet.ParquetFile(part) as file,
            ):
                self.n_rows += file.metadata.num_rows
                wanted = None if first_rows is None else first_rows - sum(map(len, frames))
                if frames and wanted is not None and wanted <= 0:
                    continue
                if wanted is None:
                    check_memory(part, file.metadata.num_rows, file.metadata.num_columns)
                table = file.read() if wanted is None else _first_batch(file, wanted)
                frames.append(table.to_pandas())
            if not frames[0].columns.sort_values().equals(frames[-1].columns.sort_values()):
                raise InputError(
                    f"{part} has different columns than the parts before it; write all parts alike."
                )
        self.names = [str(name) for name in table.schema.names]
        counted = all(is_plain(frame.index) for frame in frames)
        self._frame = pd.concat(frames, ignore_index=counted) if len(frames) > 1 else frames[0]
        # The last parts may not have been read.
        lengths = zip(parts, map(len, frames), strict=False)
        self._parts = tuple((str(part), length) for part, length in lengths)

    def grid(self, id_column: str | int | None, text_columns: Collection[str] | None) -> Grid:
        """The cells; arguments as for `rankfactor.data.textfile.grid_of_records`.

        An index with a name, or of text, contains the names of the rows; otherwise the first column
        may, by the rules for text tables.
        """
        frame, source = self._frame, str(self._path)
        if len(frame) == 0 or frame.shape[1] == 0:
            raise InputError(f"{source} has no rows or no columns; add one row per sample.")
        position = name_position(frame, source, id_column, text_columns)
        grid = grid_of_frame(frame, position, source, text_columns)
        return replace(grid, parts=self._parts) if len(self._parts) > 1 else grid


def _first_batch(file: Any, rows: int) -> Any:
    """At most so many of the first rows of a Parquet file, as an arrow table."""
    from pyarrow import Table

    batches = list(islice(file.iter_batches(batch_size=rows), 1))
    return Table.from_batches(batches, file.schema_arrow)


def name_position(
    frame: pd.DataFrame,
    source: str,
    id_column: str | int | None,
    text_columns: Collection[str] | None,
) -> int | None:
    """Position of the column with the names of the rows; None if the index may have them."""
    index, names = frame.index, [str(name) for name in frame.columns]
    if id_column is not None:
        inside = id_column in names or id_column != index.name
        return id_position(names, id_column, source) if inside else None
    may_name = is_plain(index) and len(names) > 1
    may_name = may_name and (text_columns is None or names[0] not in text_columns)
    return 0 if may_name and holds_names(names, _texts(frame.iloc[:, 0])) else None


def grid_of_frame(
    frame: pd.DataFrame, position: int | None, source: str, text_columns: Collection[str] | None
) -> Grid:
    """Cells of a frame whose rows are named by a column or, without one, by its index."""
    index, names = frame.index, [str(name) for name in frame.columns]
    kept = set(names if text_columns is None else text_columns)
    if position is not None:
        rows = [cell.strip() for cell in _texts(frame.iloc[:, position])]
        rest = frame.iloc[:, [i for i in range(len(names)) if i != position]]
        return _grid(rest, rows, names[position], source, kept)
    plain = is_plain(index)
    rows = [str(n + 1) for n in range(len(frame))] if plain else [str(name) for name in index]
    return _grid(frame, rows, None if plain else str(index.name or ""), source, kept)


def is_plain(index: pd.Index[Any]) -> bool:
    """Whether an index only counts the rows."""
    return isinstance(index, pd.RangeIndex) and index.name is None


def _grid(
    frame: pd.DataFrame,
    rows: list[str],
    heading: str | None,
    source: str | Path,
    kept: set[str],
) -> Grid:
    columns = [str(name) for name in frame.columns]
    text: dict[tuple[int, int], str] = {}
    numbers: dict[tuple[int, int], str] = {}
    # All numbers at once: column by column takes seconds for 28,000 columns.
    pairs = zip(columns, frame.dtypes, strict=True)
    is_number = pd.api.types.is_numeric_dtype
    numeric = np.array([name not in kept and is_number(kind) for name, kind in pairs], bool)
    values = np.full(frame.shape, np.nan)
    values[:, numeric] = frame.loc[:, numeric].to_numpy(dtype=np.float64, na_value=np.nan)
    for i in np.flatnonzero(~numeric).tolist():
        for n, cell in enumerate(frame.iloc[:, i].to_numpy(dtype=object)):
            if not isinstance(cell, str) and pd.isna(cell):
                continue
            whole = isinstance(cell, float | np.floating) and float(cell).is_integer()
            written = str(int(cell) if whole else cell)
            number = None if columns[i] in kept else parse_number(written, Style())
            if number is None:
                text[n, i] = written
            else:
                values[n, i] = number
                numbers[n, i] = written
    return Grid(str(source), rows, columns, values, text, heading, written=numbers)


def _texts(column: pd.Series[Any]) -> list[str]:
    return ["" if pd.isna(cell) else str(cell) for cell in column]


def parts_of(path: Path) -> list[Path]:
    """Files of a folder of Parquet parts in the order of their names, or the file itself.

    Numbers in names are ordered as numbers: ``part.10.parquet`` comes after ``part.9.parquet``.
    """
    if not path.is_dir():
        return [path]
    parts = [one for one in path.rglob("*") if one.suffix.lower() in PARQUET and one.is_file()]
    # Files that begin with a dot or an underscore are metadata of the writing program.
    parts = [one for one in parts if one.name[0] not in "._"]
    if not parts:
        raise InputError(f"{path} has no .parquet file in it; check the path.")
    return sorted(parts, key=lambda part: _natural(part.relative_to(path).as_posix()))


def _natural(text: str) -> list[tuple[int, str]]:
    """A key that orders numbers within names as numbers."""
    pieces = re.split(r"(\d+)", text)
    return [(int(one), "") if i % 2 else (-1, one) for i, one in enumerate(pieces)]
