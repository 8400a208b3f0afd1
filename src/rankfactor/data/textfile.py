"""Text tables: separator, header and the names of rows, then all cells in one pass.

- The separator is the one of comma, semicolon and tab with which the first rows have equal
  lengths, where the header may be one shorter; spaces are tried last. A first line ``sep=;``, as
  understood by Excel, decides.
- Lines before the header that begin with ``#`` are skipped.
- The header may be one name shorter than the rows, as written by R; the first column then has no
  heading. Columns without heading and content at the end, as left by spreadsheets, are dropped.
- The first column contains the names of the rows if its heading says so (none, ``id``, ``sample``,
  ``gene``, ...) or more than half of its cells are not numbers, unless they are few repeated words,
  which are labels. ``id_column`` overrides this. Rows without names are called "1", "2", ...

Cells are parsed by Python's own CSV reader, row by row. This takes one to three times as long as
pandas (about a second for 28,000 x 115, in either orientation), knows the row of every mistake, and
reads text, numbers of any format and rows that are labels in one pass.
"""

from __future__ import annotations

import csv
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from rankfactor.data.grid import Grid
from rankfactor.data.names import is_heading_of_names, no_id_column
from rankfactor.data.numbers import Evidence, Style, parse_number, parse_row
from rankfactor.data.opening import TextStream, name_suffixes
from rankfactor.errors import InputError
from rankfactor.storage.spreadsheet import unescaped

_SEPARATORS = (",", ";", "\t")
_SAMPLED_ROWS = 20
_SAMPLED_CELLS = 200_000
_ENCODINGS = {
    **dict.fromkeys(("utf-16", "utf-16-le", "utf-16-be"), "UTF-16"),
    "cp1252": "Windows-1252",
    "latin-1": "Latin-1",
}


@dataclass
class Records:
    """The rows of a text table, below its header."""

    source: str  # name of the file in messages
    separator: str  # between cells; "" if they do not come from text
    names: list[str]  # the heading of every column, stripped
    rows: Iterator[list[str]]  # each to be checked against the header
    header_row: int = 1  # the number of the header's row in the file
    # Lines of text below the first row, from which `rows` are parsed.
    lines: Iterator[str] = field(default_factory=lambda: iter(()))

    def checked(self) -> Iterator[tuple[int, list[str]]]:
        """Yield every row with its number, without blank rows at the end."""
        width = len(self.names)
        blank: int | None = None
        for number, row in enumerate(self.rows, start=self.header_row + 1):
            if not any(row) or not any(cell.strip() for cell in row):
                # Editors and spreadsheets leave empty lines at the end, which are not rows.
                blank = number if blank is None else blank
                continue
            if blank is not None:
                raise InputError(f"{self.source}, row {blank} is empty; remove it.")
            if len(row) < width or any(cell.strip() for cell in row[width:]):
                raise InputError(
                    f"{self.source}, row {number} has {len(row)} cells where {width} are expected; "
                    "add or remove cells so that every row is as long as the header."
                )
            yield number, row[:width]


class TextTable:
    """A text table in an open file: its header, then its cells, or those of its first rows."""

    def __init__(self, stream: TextStream, first_rows: int | None = None) -> None:
        self._stream, self._first_rows = stream, first_rows
        self._start = partial(open_records, path=stream.path)

    @property
    def names(self) -> list[str]:
        """Headings of all columns."""
        return self._stream.begin(self._start).names

    def grid(self, id_column: str | int | None, text_columns: Collection[str] | None) -> Grid:
        """Read the cells, like `grid_of_records`."""

        def read(records: Records, style: Style | None = None) -> tuple[Grid, Style]:
            records = replace(records, rows=islice(records.rows, self._first_rows))
            return grid_of_records(
                records, id_column=id_column, text_columns=text_columns, style=style
            )

        grid, style = self._stream.read_on(self._start, read)
        if style != grid.style:
            grid, _ = self._stream.read_on(self._start, partial(read, style=style))
        encoding = _ENCODINGS.get(self._stream.encoding)
        return replace(grid, notes=(*grid.notes, f"encoding {encoding}")) if encoding else grid


def open_records(file: IO[str], path: Path) -> Records:
    """Find separator and header of a text file that is open at its start.

    `path` is for messages, and ``.tsv`` in its name suggests tabs.
    """
    skipped = 0
    line = file.readline()
    forced = ""
    while line.startswith("#") or (not skipped and line.lower().startswith("sep=")):
        if line.lower().startswith("sep="):
            forced = line[4:].strip("\r\n")[:1]
        elif _is_header(line):
            break
        skipped += 1
        line = file.readline()
    if not line.strip():
        if not line and not skipped:
            raise InputError(f"{path} is empty; it needs a header and one row per sample.")
        raise InputError(f"{path}, row {skipped + 1} is empty; it must contain the column names.")
    sample = [line, *islice(file, _SAMPLED_ROWS)]
    separator = forced or _find_separator(sample, name_suffixes(path)[0])
    lines = chain(sample, file)
    rows = csv.reader(lines, delimiter=separator, skipinitialspace=separator == " ")
    names = [unescaped(name.strip()) for name in next(rows)]
    first = next(rows, [])
    if len(first) == len(names) + 1 and (first[-1].strip() or not first[0].strip()):
        names = ["", *names]
    return Records(str(path), separator, names, chain([first], rows), skipped + 1, lines)


def _is_header(line: str) -> bool:
    # "#OTU ID<tab>s1<tab>s2" is a header, "# made by a program" is not.
    return any(line.count(separator) >= 2 for separator in _SEPARATORS)


def _find_separator(lines: list[str], suffix: str) -> str:
    def merit(separator: str) -> tuple[int, int]:
        rows = csv.reader(lines, delimiter=separator, skipinitialspace=separator == " ")
        try:
            widths = [len(row) for row in rows if row]
        except csv.Error:
            return 0, 0
        if len(widths) > 2 and len(lines) > _SAMPLED_ROWS:
            widths.pop()  # a quoted cell may extend beyond the sampled lines
        header, *below = widths
        if max(widths) == 1:
            return -1, 0
        fits = (2 - more for more in (0, 1) if all(width == header + more for width in below))
        return next(fits, 0), header

    if suffix in (".tsv", ".tab") and "\t" in lines[0]:
        return "\t"
    merits = {separator: merit(separator) for separator in _SEPARATORS}
    # Spaces occur in names and text, so they separate only if nothing else does.
    if max(merits.values())[0] < 0:
        return " " if merit(" ")[0] > 0 else ","
    return max(merits, key=lambda separator: merits[separator])


@dataclass
class _Cells:
    """Numbers and texts of the columns beside the names, row by row."""

    style: Style
    kept: set[str]
    kept_columns: list[int]
    values: list[npt.NDArray[np.float64]] = field(default_factory=list)
    text: dict[tuple[int, int], str] = field(default_factory=dict)
    written: dict[tuple[int, int], str] = field(default_factory=dict)
    # Columns with text: the excess of text cells over numbers.
    often_text: dict[int, int] = field(default_factory=dict)

    def add(self, name: str, cells: list[str]) -> None:
        n = len(self.values)
        as_written = range(len(cells)) if name in self.kept else self.kept_columns
        self.text |= {(n, i): unescaped(cells[i]) for i in as_written if not _is_missing(cells[i])}
        if as_written:
            cells = list(cells)
            for i in as_written:
                cells[i] = "nan"
        row, odd = parse_row(cells, self.style, self.often_text)
        self.values.append(row)
        self.text |= {(n, i): unescaped(cell) for i, cell in odd.items()}
        if len(odd) < 50:
            for i in odd:
                self.often_text[i] = self.often_text.get(i, 0) + 1
        if odd and len(odd) > np.count_nonzero(~np.isnan(row)):  # a row of words
            numbers = np.flatnonzero(~np.isnan(row)).tolist()
            self.written |= {(n, i): unescaped(cells[i]) for i in numbers}
        for i, more in self.often_text.items():
            if not np.isnan(row[i]):
                self.often_text[i] = more - 1
                if more >= 0:
                    self.written[n, i] = unescaped(cells[i])


def grid_of_records(
    records: Records,
    *,
    id_column: str | int | None = None,
    text_columns: Collection[str] | None = (),
    style: Style | None = None,
) -> tuple[Grid, Style]:
    """Read all rows.

    Parameters
    ----------
    records : Records
    id_column : str or int, optional
        The column of the names of the rows, by heading or by position from 0.
    text_columns : collection of str or None
        Columns, or rows, to keep as written; None for all.
    style : Style, optional
        Number format; by default inferred from the first rows.

    Returns
    -------
    grid : Grid
    style : Style
        Number format inferred from all rows: if it differs from that of the grid, read again.
    """
    names, source = records.names, records.source
    lead = id_position(names, id_column, source)
    kept = set(names if text_columns is None else text_columns)
    if lead is None and (text_columns is None or names[0] not in kept):
        lead = 0  # whether it contains names is known after reading
    columns = [name for i, name in enumerate(names) if i != lead]
    rows = records.checked()
    sample = list(islice(rows, max(1, _SAMPLED_CELLS // len(names))))
    if not sample:
        raise InputError(f"{source} has a header but no rows; add one row per sample.")
    evidence = Evidence(chain.from_iterable(row for _, row in sample))
    by_column = [i for i, name in enumerate(columns) if name in kept]
    cells = _Cells(
        evidence.style(records.separator) if style is None else style,
        set() if by_column else kept,
        by_column,
    )
    leading: list[str] = []
    for _, row in chain(sample, rows):
        if lead is None:
            cells.add("", row)
        else:
            leading.append(unescaped(row[lead].strip()))
            cells.add(leading[-1], [*row[:lead], *row[lead + 1 :]])

    # The number format may become clear only after the first rows.
    evidence.look(cell for (n, _), cell in cells.text.items() if n >= len(sample))
    values, text, written = np.array(cells.values), cells.text, cells.written
    for i, more in cells.often_text.items():
        # The first cells of a column that is mostly text may have been read as numbers.
        for n, (_, row) in enumerate(sample if more > 0 else ()):
            if not np.isnan(values[n, i]):
                written[n, i] = unescaped(row[i if lead is None or i < lead else i + 1])
    if lead == 0 and id_column is None and not holds_names(names, leading):
        column = _Cells(cells.style, set(), [0] if names[0] in kept else [])
        for cell in leading:
            column.add("", [cell])
        values = np.hstack([np.array(column.values), values])
        text = column.text | {(n, i + 1): cell for (n, i), cell in text.items()}
        written = column.written | {(n, i + 1): cell for (n, i), cell in written.items()}
        columns, lead = names, None
    elif not columns:
        raise InputError(f"{source} has sample names but no other column; add one per feature.")
    width = _filled_width(columns, values, text)
    grid = Grid(
        source,
        [str(n + 1) for n in range(len(values))] if lead is None else leading,
        columns[:width],
        values[:, :width],
        text,
        None if lead is None else names[lead],
        sample[0][0],
        _notes(records.separator, cells.style, len(columns) - width),
        cells.style,
        written,
    )
    return grid, evidence.style(records.separator)


def grid_of_rows(
    records: Records,
    rows: list[tuple[int, list[str]]],
    lead: int | None,
    text_columns: Collection[str],
    style: Style,
) -> Grid:
    """Read some rows of a table whose format is known.

    Parameters
    ----------
    records : Records
        Table of the rows.
    rows : list of (number, cells)
        Some of its rows, one after the other.
    lead : int or None
        Position of the names of the rows; rows without names are called "1", "2", ...
    text_columns : collection of str
        Columns to keep as written.
    style : Style
    """
    columns = [name for i, name in enumerate(records.names) if i != lead]
    cells = _Cells(style, set(), [i for i, name in enumerate(columns) if name in text_columns])
    for _, row in rows:
        cells.add("", row if lead is None else [*row[:lead], *row[lead + 1 :]])
    return Grid(
        records.source,
        [str(n + 1) for n in range(len(rows))]
        if lead is None
        else [unescaped(row[lead].strip()) for _, row in rows],
        columns,
        np.array(cells.values),
        cells.text,
        None if lead is None else records.names[lead],
        rows[0][0],
        style=style,
        written=cells.written,
    )


def _filled_width(
    columns: list[str], values: npt.NDArray[np.float64], text: dict[tuple[int, int], str]
) -> int:
    """Number of columns without those at the end that have neither name nor content."""
    width = len(columns)
    if columns[-1]:
        return width
    with_text = {i for _, i in text}
    while width > 1 and not columns[width - 1] and width - 1 not in with_text:
        if not np.isnan(values[:, width - 1]).all():
            break
        width -= 1
    return width


def holds_names(names: list[str], cells: list[str]) -> bool:
    """Whether the first column contains the names of the rows."""
    # A single column is data, and one wrong cell does not turn a feature into names.
    if is_heading_of_names(names[0], cells):
        return True
    if len(names) == 1:
        return False
    filled = [cell for cell in cells if not _is_missing(cell)]
    n_words = sum(
        parse_number(cell, Style(",", ".")) is None and parse_number(cell, Style()) is None
        for cell in filled
    )
    few_words = len(filled) > 4 and len(set(filled)) * 2 <= len(filled)
    return n_words * 2 > len(filled) and not few_words


def _is_missing(cell: str) -> bool:
    number = parse_number(cell, Style())
    return number is not None and number != number


def id_position(names: list[str], id_column: str | int | None, source: str) -> int | None:
    """Return the position of the names of the rows, or None if the cells decide."""
    if isinstance(id_column, int):
        if not 0 <= id_column < len(names):
            raise InputError(
                f"{source} has {len(names)} columns, so id_column={id_column} does not exist; "
                f"give a position from 0 to {len(names) - 1}."
            )
        return id_column
    if id_column is None:
        return None
    if id_column not in names:
        raise no_id_column(source, id_column, names)
    return names.index(id_column)


def _notes(separator: str, style: Style, dropped: int) -> tuple[str, ...]:
    shown = {"\t": "tab", " ": "space"}.get(separator, f"'{separator}'")
    parts = [f"separator {shown}"] if separator not in (",", "") else []
    parts += [style.describe()] if style.describe() else []
    notes = [", ".join(parts)] if parts else []
    if dropped:
        notes.append(f"{dropped} empty columns at the end are dropped")
    return tuple(notes)
