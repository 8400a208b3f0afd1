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
from rankfactor.data.opening import foreign_reader
from rankfactor.data.packages import need
from rankfactor.data.textfile import Records, grid_of_records
from rankfactor.errors import InputError, did_you_mean

__all__ = ["open_sheet", "read_sheet_grid"]


def read_sheet_grid(
    path: Path,
    *,
    sheet: str | None = None,
    id_column: str | int | None = None,
    text_columns: Collection[str] = (),
) -> Grid:
    """Read all cells of a sheet.

    Parameters
    ----------
    path : Path
        The workbook.
    sheet : str, optional
        The name of the sheet; by default the first.
    id_column, text_columns
        As for `rankfactor.data.textfile.read_text_grid`.

    Returns
    -------
    Grid
        The cells.
    """
    records, note = open_sheet(path, sheet)
    grid, _ = grid_of_records(records, id_column=id_column, text_columns=text_columns)
    return replace(grid, notes=(*note, *grid.notes))


def open_sheet(path: Path, sheet: str | None = None) -> tuple[Records, tuple[str, ...]]:
    """Read header and rows of a sheet, every cell as text, and say which sheet it is."""
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
    width = max(len(rows[0]), *(len(row) for row in rows))
    header = [_heading(cell, i, path) for i, cell in enumerate(_padded(rows[0], width))]
    return Records(str(path), "", header, _texts(rows[1:], width, path)), note


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
