"""Text tables as streams, plain or compressed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Self

from rankfactor.data.geo import is_series_matrix
from rankfactor.data.grid import Grid
from rankfactor.data.opening import TextStream
from rankfactor.data.streams.grids import GridStream, head_rows
from rankfactor.data.textblocks import Blocks
from rankfactor.data.textfile import TextTable, id_position, open_records
from rankfactor.errors import InputError


class TextRows(GridStream):
    """A text table, read row by row."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._path, self._options = path, options
        super().__init__(str(path), **options)

    @property
    def about_n_rows(self) -> int:
        """Number of rows, estimated if unknown."""
        return self._about if self.n_rows is None else self.n_rows

    def _head(self) -> Grid:
        with closing(TextStream(self._path)) as stream:
            if is_series_matrix(stream.head):
                raise InputError(
                    f"{self._path} is a GEO series matrix, which has features in rows, so it "
                    "cannot be read chunk by chunk; read it whole."
                )
            names = TextTable(stream).names
            n_rows = head_rows(len(names))
            grid = TextTable(stream, n_rows).grid(self._id_column, self._text_columns)
            whole = len(grid.values) < n_rows
            self._about = len(grid.values) if whole else round(n_rows / stream.share_read)
            self._lead = None
            if grid.heading is not None:
                self._lead = id_position(names, self._id_column, self.name) or 0
        return grid

    def _again(self, text_columns: tuple[str, ...]) -> Self:
        return type(self)(self._path, **{**self._options, "text_columns": text_columns})

    def _grids(self, rows: int) -> Iterator[Grid]:
        layout = self.layout
        blocks = Blocks(self._lead, layout.numbers, layout.text, layout.style)
        with closing(TextStream(self._path)) as stream:
            yield from stream.walk(lambda file: blocks.grids(open_records(file, self._path), rows))
