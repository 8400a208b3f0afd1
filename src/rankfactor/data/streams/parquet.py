"""Parquet as a stream: a file, or a folder of parts (`rankfactor.data.frames.parts_of`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pandas as pd

from rankfactor.data.frames import grid_of_frame, is_plain, name_position, parts_of
from rankfactor.data.grid import Grid
from rankfactor.data.opening import foreign_reader, need
from rankfactor.data.streams.grids import GridStream, head_rows
from rankfactor.errors import InputError, listed

_DAMAGED = "is not a whole Parquet file; copy or write it again."


class ParquetRows(GridStream):
    """A Parquet file or a folder of them, read in batches of rows."""

    def __init__(self, path: Path, **options: Any) -> None:
        self._path, self._options = path, options
        self._parquet = need("pyarrow.parquet", extra="parquet", path=path)
        self._parts = parts_of(path)
        heads = {part: self._metadata(part) for part in self._parts}
        # An empty part may lack types: the other parts determine them.
        filled = [part for part, (_, n_rows) in heads.items() if n_rows]
        if not filled:
            raise InputError(f"{path} has no rows; add one row per sample.")
        self._parts, self._names = filled, heads[filled[0]][0]
        for part in filled[1:]:
            self._check_columns(part, heads[part][0])
        self._shape: tuple[bool, set[str]] | None = None
        super().__init__(str(path), **options)
        self.n_rows = sum(heads[part][1] for part in filled)

    def _metadata(self, part: Path) -> tuple[list[str], int]:
        """Names of the columns of a part, and its number of rows."""
        with foreign_reader(part, _DAMAGED), self._parquet.ParquetFile(part) as file:
            return list(file.schema_arrow.names), int(file.metadata.num_rows)

    def _check_columns(self, part: Path, names: list[str]) -> None:
        first = self._parts[0]
        absent = [name for name in self._names if name not in names]
        more = [name for name in names if name not in self._names]
        if absent or more:
            raise InputError(
                f"{part} {'lacks the columns' if absent else 'has more columns'} "
                f"{listed(absent or more, 3)} {'that' if absent else 'than'} {first}"
                f"{' has' if absent else ''}; write all parts with the same columns."
            )

    def _check_index(self, part: Path, frame: pd.DataFrame) -> None:
        """Refuse a part whose samples are named by an index if those of others are not."""
        shape = is_plain(frame.index), {str(name) for name in frame.columns}
        self._shape = self._shape or shape
        if shape != self._shape:
            raise InputError(
                f"{part} has another index than {self._parts[0]}; write all parts in the same way, "
                "with the sample names as index or as a column."
            )

    def _head(self) -> Grid:
        n_rows = head_rows(len(self._names))
        frames: list[pd.DataFrame] = []
        for _, _, frame in self._frames(n_rows):
            frames.append(frame)
            if sum(map(len, frames)) >= n_rows:
                break
        counted_only = all(is_plain(frame.index) for frame in frames)
        frame = pd.concat(frames, ignore_index=counted_only).iloc[:n_rows]
        if frame.shape[1] == 0:
            raise InputError(f"{self.name} has no columns; add one per feature.")
        self._columns = [str(name) for name in frame.columns]
        self._position = name_position(frame, self.name, self._id_column, self._text_columns)
        return grid_of_frame(frame, self._position, self.name, self._text_columns)

    def _again(self, text_columns: tuple[str, ...]) -> Self:
        return type(self)(self._path, **{**self._options, "text_columns": text_columns})

    def _grids(self, rows: int) -> Iterator[Grid]:
        for part, first, frame in self._frames(rows):
            frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
            grid = grid_of_frame(frame[self._columns], self._position, str(part), self.words)
            # The header counts as a row, as in all tables.
            yield replace(grid, first_row=grid.first_row + first)

    def _frames(self, rows: int) -> Iterator[tuple[Path, int, pd.DataFrame]]:
        """Part, number of the first row within it, and rows."""
        arrow = need("pyarrow", extra="parquet", path=self._path)
        for part in self._parts:
            first = 0
            with (
                foreign_reader(part, _DAMAGED),
                # Otherwise whole row groups are kept in memory, compressed.
                self._parquet.ParquetFile(part, pre_buffer=False, buffer_size=2**16) as file,
            ):
                self._check_columns(part, list(file.schema_arrow.names))
                for batch in file.iter_batches(batch_size=rows):
                    table = arrow.Table.from_batches([batch], file.schema_arrow)
                    frame = table.to_pandas()
                    if len(frame):
                        self._check_index(part, frame)
                        yield part, first, frame
                    first += len(frame)
