"""Excel workbooks (``.xlsx``, ``.xlsm``): one sheet, read as text tables are.

Cells have types of their own: numbers are exact, and a date where a name should stand is told, for
it was a gene (MARCH1, SEPT2) before the spreadsheet changed it.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankfactor.data.grid import Grid
from rankfactor.data.opening import foreign_reader, need
from rankfactor.data.textfile import Records, grid_of_records
from rankfactor.errors import InputError, did_you_mean

__all__ = ["Sheet"]


class Sheet:
    """A sheet of a workbook, every cell as text.

    Parameters
    ----------
    path : Path
        The workbook.
    sheet : str, optional
        The name of the sheet; by default the first.
    """

    def __init__(self, path: Path, sheet: str | None = None) -> None:
        self._path = path
        self._rows, self._note = _read_rows(path, sheet)
        self._width = max(map(len, self._rows))
        header = _padded(self._rows[0], self._width)
        self.names = [_heading(cell, i, path) for i, cell in enumerate(header)]

    def grid(self, id_column: str | int | None, text_columns: Collection[str] | None) -> Grid:
        """Read all cells, as `rankfactor.data.textfile.grid_of_records` does."""
        rows = _texts(self._rows[1:], self._width, self._path)
        records = Records(str(self._path), "", self.names, rows)
        grid, _ = grid_of_records(records, id_column=id_column, text_columns=text_columns)
        return replace(grid, notes=(*self._note, *grid.notes))


def _read_rows(path: Path, sheet: str | None) -> tuple[list[list[Any]], tuple[str, ...]]:
    """Rows of a sheet, and which sheet it is where there are several."""
    openpyxl = need("openpyxl", extra="excel", path=path)
    complaint = "is not an Excel workbook that can be read; save it again as .xlsx or CSV."
    with foreign_reader(path, complaint):
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            names = [one.title for one in book.worksheets]
            if sheet is not None and sheet not in names:
                raise InputError(
                    f"{path} has no sheet '{sheet}'; it has {_quoted(names)}."
                    f"{did_you_mean(sheet, names)}"
                )
            chosen = book[sheet] if sheet is not None else book.worksheets[0]
            rows = [_trimmed(row) for row in chosen.iter_rows(values_only=True)]
        finally:
            book.close()
    note = (f"sheet '{chosen.title}' of {len(names)}",) if len(names) > 1 else ()
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise InputError(
            f"{path}, sheet '{chosen.title}' is empty; it needs a header and one row per sample."
        )
    if not rows[0]:
        raise InputError(f"{path}, row 1 is empty; the column names have to stand there.")
    return rows, note


def _texts(rows: list[list[Any]], width: int, path: Path) -> Iterator[list[str]]:
    for number, row in enumerate(rows, start=2):
        cells = _padded(row, width)
        if isinstance(cells[0], datetime.date):
            raise InputError(_date(path, number, 1, cells[0]))
        yield [_text(cell) for cell in cells]


def _text(cell: Any) -> str:
    if cell is None:
        return ""
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    # The shortest text of a double is read back as the same double.
    return repr(cell) if isinstance(cell, float) else str(cell)


def _heading(cell: Any, position: int, path: Path) -> str:
    if isinstance(cell, datetime.date):
        raise InputError(_date(path, 1, position + 1, cell))
    return _text(cell).strip()


def _date(path: Path, row: int, column: int, cell: datetime.date) -> str:
    return (
        f"{path}, row {row}, column {column}: the name is a date ({cell:%Y-%m-%d}), as Excel makes "
        "of genes such as MARCH1; format the cells as text and write the names again."
    )


def _trimmed(row: tuple[Any, ...]) -> list[Any]:
    width = len(row)
    while width and (row[width - 1] is None or row[width - 1] == ""):
        width -= 1
    return list(row[:width])


def _padded(row: list[Any], width: int) -> list[Any]:
    return [*row, *[None] * (width - len(row))]


def _quoted(names: list[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
