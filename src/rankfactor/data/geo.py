"""GEO series-matrix files: expression values and sample annotations.

Lines ``!Sample_...`` describe samples, one cell each. The cells of ``!Sample_characteristics_ch1``
are written "key: value", and a key may be in different lines for different samples; every key
becomes a column of annotations. The table, with features in rows, is between
``!series_matrix_table_begin`` and ``..._end``; for sequencing data it often has only a header, and
counts are in separate files.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import IO

import pandas as pd

from rankfactor.data.grid import Table, table_of_grid
from rankfactor.data.labels import as_classes
from rankfactor.data.names import check_unique
from rankfactor.data.opening import TextStream
from rankfactor.data.textfile import Records, grid_of_records
from rankfactor.errors import InputError

_BEGIN, _END = "!series_matrix_table_begin", "!series_matrix_table_end"
_PLAIN = ("title", "source_name", "organism", "description", "platform_id", "type")


def is_series_matrix(head: bytes) -> bool:
    """Whether a file is a series matrix, by its first bytes."""
    return head.lstrip(b'\xef\xbb\xbf"').startswith((b"!Series_", b"!Sample_"))


@dataclass
class _Series:
    accessions: list[str] = field(default_factory=list)
    columns: dict[str, dict[int, str]] = field(default_factory=dict)

    def add(self, key: str, cells: list[str]) -> None:
        key = key.removeprefix("!Sample_")
        if key == "geo_accession":
            self.accessions = [cell.strip() for cell in cells]
        elif key.startswith("characteristics"):
            suffix = "" if key.endswith("_ch1") else key.removeprefix("characteristics")
            for n, cell in enumerate(cells):
                name, colon, value = cell.partition(":")
                if cell.strip():
                    column = name.strip() if colon else "characteristics"
                    self._put(column + suffix, n, value if colon else cell)
        elif key.removesuffix("_ch1") in _PLAIN:
            for n, cell in enumerate(cells):
                self._put(key.removesuffix("_ch1"), n, cell)

    def _put(self, column: str, n: int, value: str) -> None:
        cells = self.columns.setdefault(column, {})
        # A characteristic given twice is a list.
        cells[n] = f"{cells[n]}; {value.strip()}" if n in cells else value.strip()

    def annotations(self, path: Path) -> pd.DataFrame:
        n_samples = len(self.accessions)
        if not n_samples:
            raise InputError(
                f"{path} has no line !Sample_geo_accession; download the series matrix again."
            )
        for column, cells in self.columns.items():
            if max(cells) >= n_samples:
                raise InputError(
                    f"{path} describes more samples by '{column}' than it has in "
                    "!Sample_geo_accession; download the series matrix again."
                )
        check_unique(self.accessions, "sample name", path)
        index = pd.Index(self.accessions, name="sample", dtype=object)
        data = {
            column: as_classes(cells.get(n, "") for n in range(n_samples))
            for column, cells in self.columns.items()
        }
        return pd.DataFrame(data, index=index, dtype=object)


class SeriesMatrix:
    """A series matrix in an open file: annotations of its samples, then its table."""

    def __init__(self, stream: TextStream) -> None:
        self._stream = stream
        self._start = partial(_read_head, path=stream.path)

    @property
    def annotations(self) -> pd.DataFrame:
        """Annotations of the samples; the table may be empty."""
        return self._stream.begin(self._start)[0].annotations(self._stream.path)

    @property
    def names(self) -> list[str]:
        """Names of the annotations."""
        return [str(name) for name in self.annotations.columns]

    @cached_property
    def table(self) -> Table:
        """Expression and annotations; samples are named by their accession (GSM...)."""
        path = self._stream.path

        def read(begun: tuple[_Series, Iterator[list[str]], int]) -> tuple[_Series, Table]:
            series, rows, number = begun
            header = next(rows, [])
            below = _until_end(rows, path)
            first = next(below, None)
            if first is None:
                raise InputError(
                    f"{path} contains no expression values, as usual for sequencing data; read the "
                    "counts from the series' supplementary file, and this one as labels."
                )
            names = [name.strip() for name in header]
            records = Records(str(path), "\t", names, chain([first], below), number + 1)
            grid, _ = grid_of_records(records, id_column=0)
            return series, table_of_grid(grid, orient="features-in-rows")[0]

        series, table = self._stream.read_on(self._start, read)
        annotations = series.annotations(path)
        absent = set(table.values.index) - set(annotations.index)
        if absent:
            raise InputError(
                f"{path} does not describe the sample '{min(absent)}' of its table; "
                "download the series matrix again."
            )
        notes = (
            "GEO series matrix: features in rows, turned",
            f"{annotations.shape[1]} annotations of the samples",
        )
        return Table(table.values, annotations.loc[table.values.index], str(path), notes)


def _without_series(file: IO[str]) -> Iterator[str]:
    """Lines with those about the series blanked, whose text may exceed csv's field limit."""
    for line in file:
        yield "\n" if line.startswith(("!Series_", '"!Series_')) else line


def _read_head(file: IO[str], path: Path) -> tuple[_Series, Iterator[list[str]], int]:
    """Content before the table, the rows below, and the number of the last row read."""
    rows = csv.reader(_without_series(file), delimiter="\t")
    series = _Series()
    number = 0
    for number, row in enumerate(rows, start=1):
        if row and row[0].strip().lower() == _BEGIN:
            return series, rows, number
        if row and row[0].startswith("!Sample_"):
            series.add(row[0], row[1:])
    raise InputError(
        f"{path} ends at row {number} before its table begins; download the series matrix again."
    )


def _until_end(rows: Iterator[list[str]], path: Path) -> Iterator[list[str]]:
    for row in rows:
        if row and row[0].strip().lower() == _END:
            return
        yield row
    raise InputError(
        f"{path} is truncated: the line {_END} is missing; download the series matrix again."
    )
