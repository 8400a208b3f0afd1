"""Excel workbooks (``.xlsx``, ``.xlsm``): one sheet, read like text tables.

Cells have types: numbers are exact, and a date in place of a name is reported, since it was a gene
(MARCH1, SEPT2) before the spreadsheet changed it.
"""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Collection
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

from rankfactor.data.grid import Grid
from rankfactor.data.opening import foreign_reader, need
from rankfactor.data.textfile import Records, grid_of_records
from rankfactor.errors import InputError, did_you_mean
from rankfactor.storage.bounds import check_memory, check_zip

_MOST_ROWS = 2**20  # of a sheet
_CELL = 64  # bytes of a cell as text


class Sheet:
    """A sheet of a workbook, the first if none is named, every cell as text."""

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        self._path = path
        rows, self._note = _read_rows(path, sheet)
        self.names = [_name(cell, path, 1, i).strip() for i, cell in enumerate(rows[0], start=1)]
        self._rows = rows[1:]

    def grid(self, id_column: str | int | None, text_columns: Collection[str] | None) -> Grid:
        """Read all cells, like `rankfactor.data.textfile.grid_of_records`."""
        rows = (
            [_name(row[0], self._path, number, 1), *map(_text, row[1:])]
            for number, row in enumerate(self._rows, start=2)
        )
        records = Records(str(self._path), "", self.names, rows)
        grid, _ = grid_of_records(records, id_column=id_column, text_columns=text_columns)
        return replace(grid, notes=(*self._note, *grid.notes))


def _read_rows(path: Path, sheet: str | None) -> tuple[list[list[Any]], tuple[str, ...]]:
    """Rows of a sheet without blank ends, and a note on the sheet if there are several."""
    openpyxl = need("openpyxl", extra="excel", path=path)
    complaint = "is not an Excel workbook that can be read; save it again as .xlsx or CSV."
    with foreign_reader(path, complaint):
        with zipfile.ZipFile(path) as archive:
            check_zip(path, archive)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            names = [one.title for one in book.worksheets]
            if sheet is not None and sheet not in names:
                shown = ", ".join(f"'{name}'" for name in names)
                raise InputError(
                    f"{path} has no sheet '{sheet}'; it has {shown}.{did_you_mean(sheet, names)}"
                )
            chosen = book[sheet] if sheet is not None else book.worksheets[0]
            # Rows are as long as their cells say; a sheet may state other dimensions.
            chosen.reset_dimensions()
            cells = chosen.iter_rows(values_only=True)
            rows = [_trimmed(row) for row in islice(cells, _MOST_ROWS + 1)]
        finally:
            book.close()
    if len(rows) > _MOST_ROWS:
        raise InputError(
            f"{path}, sheet '{chosen.title}' has more than {_MOST_ROWS:,} rows, which no sheet can "
            "have; save it again as .xlsx or CSV."
        )
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise InputError(
            f"{path}, sheet '{chosen.title}' is empty; it needs a header and one row per sample."
        )
    if not rows[0]:
        raise InputError(f"{path}, row 1 is empty; it must contain the column names.")
    width = max(map(len, rows))
    check_memory(path, len(rows), width, _CELL)
    note = (f"sheet '{chosen.title}' of {len(names)}",) if len(names) > 1 else ()
    return [[*row, *[None] * (width - len(row))] for row in rows], note


def _trimmed(row: tuple[Any, ...]) -> list[Any]:
    width = max((i for i, cell in enumerate(row, start=1) if cell not in (None, "")), default=0)
    return list(row[:width])


def _name(cell: Any, path: Path, row: int, column: int) -> str:
    """A cell that holds a name, as text."""
    if isinstance(cell, datetime.date):
        raise InputError(
            f"{path}, row {row}, column {column}: the name is a date ({cell:%Y-%m-%d}), which "
            "Excel makes from genes such as MARCH1; format the cells as text and correct the names."
        )
    return _text(cell)


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    # The shortest text of a double is read back as the same double.
    return repr(cell) if isinstance(cell, float) else str(cell)
