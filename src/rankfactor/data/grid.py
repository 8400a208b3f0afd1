"""A table as stored in a file, before its orientation is known.

Every format becomes a `Grid`: numbers, and separately the cells that are not numbers. A `Table` is
made from it: transposed if features are in rows, columns of text kept as annotations of the
samples, everything else required to be a finite number.

**Orientation.** An explicit choice is followed. Otherwise the first of these rules that applies
decides: known sample names (of the labels) are found in the rows or in the columns; columns
requested as labels are found there; the heading of the first column names features ("gene",
"ID_REF", ...); the names of one side are identifiers of genes or of samples (Ensembl, probe sets,
GSM, TCGA, ...); a row contains words while the columns are numbers. The shape is not evidence. If
no rule applies, samples are in rows.

**Columns of text.** If more than half of the non-empty cells of a column are not numbers, it is an
annotation; the caller decides whether it becomes features (`rankfactor.features.words`). With fewer
such cells it is a feature with a mistake, and refused with its place.

**Limits of detection.** In a feature whose other cells are numbers, cells such as ``<0.05`` and
``>100`` are read as below and above every other value (`rankfactor.data.numbers.parse_limit`), with
a note. This suffices for rank models; others refuse them
(`rankfactor.features.matching.refuse_limits`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pandas as pd

from rankfactor.data.labels import as_classes
from rankfactor.data.names import (
    FEATURE_HEADINGS,
    check_unique,
    dates_among,
    looks_like_features,
    looks_like_samples,
    plain,
)
from rankfactor.data.numbers import Style, parse_limit
from rankfactor.errors import InputError, counted, did_you_mean, listed

_LIKE_A_NUMBER = re.compile(r"[+-]?\d{1,3}(?:[.,]\d{3})+|[+-]?\d*,\d+|[+-]?\d*\.\d+")


@dataclass(frozen=True, eq=False)
class Table:
    """A table of numbers and the annotations of its samples.

    Attributes
    ----------
    values : pandas.DataFrame
        Samples x features, float64, NaN where a value is missing; the index holds the names of
        the samples.
    annotations : pandas.DataFrame
        The same index; columns that describe samples and are not features, as str with NaN where
        missing. It may have no columns.
    source : str
        The name of the file as given.
    notes : tuple of str
        Detected properties, one sentence each.
    blocks : pandas.Series or None
        The modality of each feature if the file has several.
    words : tuple of str
        Annotations that are columns of the table itself and were not requested: text among the
        features.
    """

    values: pd.DataFrame
    annotations: pd.DataFrame
    source: str
    notes: tuple[str, ...] = ()
    blocks: pd.Series[str] | None = None
    words: tuple[str, ...] = ()

    def with_words(self, names: Collection[str]) -> pd.DataFrame:
        """Features of a fit: the numbers, and the given columns of text."""
        return self.values.join(self.annotations[list(names)])


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of a file."""

    source: str  # name of the file in messages
    row_names: list[str]
    column_names: list[str]
    values: npt.NDArray[np.float64]  # (rows, columns); NaN where a cell is missing or not a number
    # Cells that are not numbers, or are kept as written, by row and column.
    text: dict[tuple[int, int], str] = field(default_factory=dict)
    heading: str | None = ""  # of the names of the rows, None if the file has no such names
    first_row: int = 2  # its number in the file
    notes: tuple[str, ...] = ()  # what was detected
    style: Style = field(default_factory=Style)
    # Numbers as written in the file, in rows and columns that also have text: the name "01" is not
    # "1".
    written: dict[tuple[int, int], str] = field(default_factory=dict)
    # Files that the rows come from and the number of rows of each, if there are several.
    parts: tuple[tuple[str, int], ...] = ()

    def place_of_row(self, row: int) -> str:
        """Name a row by its place in the file."""
        source = self.source
        for part, n_rows in self.parts:
            if row < n_rows:
                source = part
                break
            row -= n_rows
        return f"{source}, row {row + self.first_row}"

    def place(self, row: int, column: int) -> str:
        """Name a cell by its place in the file."""
        return f"{self.place_of_row(row)}, column '{self.column_names[column]}'"


def table_of_grid(
    grid: Grid,
    *,
    orient: str | None = None,
    text_columns: Collection[str] = (),
    exclude: Collection[str] = (),
    sample_names: Collection[str] | None = None,
    checked: bool = True,
) -> tuple[Table, list[str]]:
    """Make a table from a grid.

    Parameters
    ----------
    grid : Grid
    orient, exclude, sample_names
        As for `rankfactor.data.read_table`.
    text_columns : collection of str
        Annotations to keep, whatever they look like. Their cells must be in ``grid.text``.
    checked : bool
        Whether text and infinite values among the features are refused.

    Returns
    -------
    table : Table
    lost : list of str
        Annotations with cells that were read as numbers and are not in ``grid.written``.
    """
    turned, reason = orientation(grid, orient, set(text_columns), sample_names)
    notes = [*grid.notes]
    if turned:
        notes.append(f"features in rows ({reason}): turned")
    elif reason:
        notes.append(f"samples in rows ({reason})")
    notes += _read_limits(grid, axis=0 if turned else 1)
    row_kind, column_kind = ("feature", "sample") if turned else ("sample", "feature")
    check_names(grid, row_kind, column_kind)

    rows, columns = _kept(grid, set(exclude))
    if turned:
        described = set(columns).intersection(_mostly_text(grid, axis=1))
        if described:
            dropped = [grid.column_names[i] for i in sorted(described)]
            notes.append(f"columns that describe features are left out: {listed(dropped, 3)}")
            columns = [i for i in columns if i not in described]
    samples, features = (columns, rows) if turned else (rows, columns)
    names = (grid.column_names, grid.row_names) if turned else (grid.row_names, grid.column_names)
    textual, wanted = set(_mostly_text(grid, axis=0 if turned else 1)), set(text_columns)
    textual |= {i for i in features if names[1][i] in wanted}
    measured = [i for i in features if i not in textual]
    if not samples or not measured:
        raise InputError(
            f"{grid.source} has no {'feature' if samples else 'sample'} that is a number; check "
            "that it is the right file, and its separator."
        )
    if checked:
        check_cells(grid, *((measured, samples) if turned else (samples, measured)))

    values = grid.values.T if turned else grid.values
    index = pd.Index([names[0][n] for n in samples], name="sample", dtype=object)
    measured_names = pd.Index([names[1][i] for i in measured], dtype=object)
    kept = np.ascontiguousarray(values[np.ix_(samples, measured)])
    annotations: dict[str, list[str | float]] = {}
    lost = []
    for i in (i for i in features if i in textual):
        places = [(i, n) if turned else (n, i) for n in samples]
        cells = [grid.text.get(one, grid.written.get(one, grid.values[one])) for one in places]
        annotations[names[1][i]] = as_classes(cells)
        if not all(isinstance(cell, str) or np.isnan(cell) for cell in cells):
            lost.append(names[1][i])
    dates = dates_among(measured_names)
    if dates:
        notes.append(
            f"{counted(len(dates), 'feature is', 'features are')} called like dates, as "
            f"spreadsheets rename genes: {listed(dates, 3)}"
        )
    table = Table(
        pd.DataFrame(kept, index, measured_names),
        pd.DataFrame(annotations, index=index, dtype=object),
        grid.source,
        tuple(notes),
        words=tuple(name for name in annotations if name not in wanted),
    )
    return table, lost


def orientation(
    grid: Grid, orient: str | None, wanted: set[str], known: Collection[str] | None
) -> tuple[bool, str]:
    """Whether features are in rows, and the reason."""
    if orient is not None:
        return orient == "features-in-rows", "as asked" if orient == "features-in-rows" else ""
    if known is not None:
        samples = {str(name) for name in known}
        in_rows = len(samples.intersection(grid.row_names))
        in_columns = len(samples.intersection(grid.column_names))
        if in_rows != in_columns:
            turned = in_columns > in_rows
            return turned, "the samples of the labels are its columns" if turned else ""
    if wanted & {*grid.row_names} and not wanted & {*grid.column_names}:
        return True, "the labels are a row"
    if wanted & {*grid.column_names} or grid.heading is None:
        return False, ""
    if plain(grid.heading) in FEATURE_HEADINGS:
        return True, f"the first column is headed '{grid.heading}'"
    if plain(grid.heading) in ("sample", "sampleid", "samples"):
        return False, ""
    for_columns = looks_like_features(grid.row_names) or looks_like_samples(grid.column_names)
    for_rows = looks_like_features(grid.column_names) or looks_like_samples(grid.row_names)
    if for_columns != for_rows:
        return for_columns, "by the names" if for_columns else ""
    if not _mostly_text(grid, axis=1) and any(_are_words(grid, n) for n in _mostly_text(grid, 0)):
        return True, "a row is text"
    return False, ""


def _are_words(grid: Grid, row: int) -> bool:
    """Whether a row of text describes samples, rather than being a row of mistakes."""
    words = [text for (n, _), text in grid.text.items() if n == row and text[:1].isalpha()]
    return len(words) >= 4 and len(set(words)) >= 2


def _read_limits(grid: Grid, axis: int) -> list[str]:
    """Read cells beyond a limit as numbers, in place, in rows (0) or columns (1) of numbers."""
    lines: dict[int, dict[tuple[int, int], float | None]] = {}
    for place, text in grid.text.items():
        lines.setdefault(place[axis], {})[place] = parse_limit(text, grid.style)
    told = []
    for i, cells in sorted(lines.items()):
        line = grid.values[i] if axis == 0 else grid.values[:, i]
        if None in cells.values() or np.isnan(line).all():
            continue
        first = grid.text[next(iter(cells))].strip()
        told.append(f"{len(cells)} in '{(grid.row_names, grid.column_names)[axis][i]}' ('{first}')")
        for place, number in cells.items():
            grid.values[place] = number
            del grid.text[place]
    if not told:
        return []
    more = f" and {counted(len(told) - 3, 'more feature')}" if len(told) > 3 else ""
    return [
        "cells beyond a limit of detection are read as below (<) or above (>) every other value: "
        f"{', '.join(told[:3])}{more}"
    ]


def _mostly_text(grid: Grid, axis: int) -> list[int]:
    """Rows (0) or columns (1) with more than half of the non-empty cells not numbers."""
    counts = Counter(place[axis] for place in grid.text)
    lines = grid.values if axis == 0 else grid.values.T
    return sorted(i for i, n in counts.items() if n > np.count_nonzero(~np.isnan(lines[i])))


def check_names(grid: Grid, row_kind: str, column_kind: str) -> None:
    """Refuse names that are missing or repeated."""
    if "" in grid.column_names:
        number = grid.column_names.index("") + (1 if grid.heading is None else 2)
        row = grid.first_row - 1
        raise InputError(f"{grid.source}, row {row}: column {number} has no name; give it one.")
    if "" in grid.row_names:
        raise InputError(
            f"{grid.place_of_row(grid.row_names.index(''))} has no {row_kind} name; add one or "
            "remove the row."
        )
    check_unique(grid.column_names, f"{column_kind} name", grid.source)
    check_unique(grid.row_names, f"{row_kind} name", grid.source)


def _kept(grid: Grid, exclude: set[str]) -> tuple[list[int], list[int]]:
    """Positions of the rows and columns that are not excluded."""
    unknown = exclude - {*grid.row_names} - {*grid.column_names}
    if unknown:
        raise InputError(
            f"{grid.source} has nothing called {listed(sorted(unknown), 3)} to exclude; "
            f"its columns begin with {listed(grid.column_names, 3)}."
            f"{did_you_mean(min(unknown), [*grid.column_names, *grid.row_names])}"
        )
    rows = [n for n, name in enumerate(grid.row_names) if name not in exclude]
    columns = [i for i, name in enumerate(grid.column_names) if name not in exclude]
    return rows, columns


def values_of_grid(grid: Grid) -> pd.DataFrame:
    """Samples x features of a grid that is already a table of numbers."""
    check_names(grid, "sample", "feature")
    check_cells(grid, *map(range, grid.values.shape))
    index = pd.Index(grid.row_names, name="sample", dtype=object)
    return pd.DataFrame(grid.values, index, pd.Index(grid.column_names, dtype=object))


def check_cells(grid: Grid, rows: Collection[int], columns: Collection[int]) -> None:
    """Refuse text and infinite values in the given rows and columns."""
    in_rows, in_columns = set(rows), set(columns)
    for (row, column), text in sorted(grid.text.items()):
        if row in in_rows and column in in_columns:
            raise InputError(_not_a_number(grid, row, column, text))
    for row, column in np.argwhere(np.isinf(grid.values)).tolist():
        if row in in_rows and column in in_columns:
            raise InputError(
                f"{grid.place(row, column)}: the value is infinite; "
                "correct it, or leave the cell empty if the value is missing."
            )


def _not_a_number(grid: Grid, row: int, column: int, text: str) -> str:
    text = " ".join(text.split())
    shown = text if len(text) <= 40 else text[:37] + "..."
    if _LIKE_A_NUMBER.fullmatch(text.strip()):
        advice = "write all numbers with a decimal point and without thousands separators"
    else:
        advice = "correct it, or leave the cell empty if the value is missing"
        if column == 0 and grid.heading is None:
            advice += ", or name the column as id_column if it contains the sample names"
    return f"{grid.place(row, column)}: '{shown}' is not a number; {advice}."
