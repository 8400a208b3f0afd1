"""Tables of cells as streams: the first rows determine the kinds of the columns.

The first 10,000 rows (fewer of wide tables) are read like a whole table by
`rankfactor.data.read_table`: separator and decimal mark, the column of sample names, columns of
text, limits of detection. A table with no more rows is therefore read the same either way. Later
rows must fit: a cell of a numeric column that is not a number is refused with its file, row and
column.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from rankfactor.data.grid import Grid, check_cells, orientation, table_of_grid
from rankfactor.data.labels import as_classes
from rankfactor.data.names import check_unique
from rankfactor.data.numbers import Style, parse_limit
from rankfactor.data.streams.base import TableStream
from rankfactor.errors import InputError, did_you_mean, listed

HEAD_ROWS, _HEAD_CELLS = 10_000, 2_000_000


def head_rows(n_columns: int) -> int:
    """Number of rows that determine the kinds of the columns."""
    return max(100, min(HEAD_ROWS, _HEAD_CELLS // max(n_columns, 1)))


@dataclass(frozen=True)
class Layout:
    """Kinds of the columns of a table."""

    numbers: tuple[str, ...]  # features that are numbers
    text: tuple[str, ...]  # columns of text, behind them in every chunk
    named: bool  # whether rows have names
    style: Style  # how numbers are written
    notes: tuple[str, ...]

    @classmethod
    def of(
        cls,
        grid: Grid,
        *,
        orient: str | None,
        text_columns: Collection[str],
        exclude: Collection[str],
    ) -> Layout:
        """Layout of a table from a grid of its first rows."""
        wanted = set(text_columns)
        turned, reason = orientation(grid, orient, wanted, None)
        if turned:
            raise InputError(
                f"{grid.source} has features in rows ({reason}), so it cannot be read chunk by "
                "chunk; transpose it, or pass orient='samples-in-rows' if rows are samples."
            )
        for what, names in (("use as label", wanted), ("exclude", exclude)):
            for name in names:
                if name not in grid.column_names:
                    raise InputError(
                        f"{grid.source} has no column '{name}' to {what}; its columns begin with "
                        f"{listed(grid.column_names, 3)}.{did_you_mean(name, grid.column_names)}"
                    )
        # Names of samples may be those of excluded columns: only columns are left out here.
        check_unique(grid.row_names, "sample name", grid.source)
        # Cells are checked chunk by chunk, where their part of a folder is known.
        table, _ = table_of_grid(
            grid,
            orient="samples-in-rows",
            text_columns=wanted,
            exclude=exclude,
            checked=False,
        )
        return cls(
            tuple(table.values.columns),
            tuple(table.annotations.columns),
            grid.heading is not None,
            grid.style,
            table.notes,
        )

    def table(self, grid: Grid, first: int) -> pd.DataFrame:
        """Rows of the table, the first of which has the number ``first``, counted from 0."""
        place = {name: i for i, name in enumerate(grid.column_names)}
        numbers = [place[name] for name in self.numbers]
        for (n, i), text in [*grid.text.items()]:
            number = (
                parse_limit(text, grid.style) if grid.column_names[i] not in self.text else None
            )
            if number is not None:
                grid.values[n, i] = number
                del grid.text[n, i]
        n_rows = len(grid.values)
        if grid.text or np.isinf(grid.values).any():
            check_cells(grid, range(n_rows), numbers)
        if self.named and "" in grid.row_names:
            where = grid.place_of_row(grid.row_names.index(""))
            raise InputError(f"{where} has no sample name; add one or remove the row.")
        names = grid.row_names if self.named else [str(first + n + 1) for n in range(n_rows)]
        index = pd.Index(names, name="sample", dtype=object)
        whole = numbers == list(range(grid.values.shape[1]))
        values = grid.values if whole else grid.values[:, numbers]
        frame = pd.DataFrame(values, index, pd.Index(self.numbers, dtype=object))
        if not self.text:
            return frame
        cells = {
            name: as_classes(grid.text.get((n, place[name]), "") for n in range(n_rows))
            for name in self.text
        }
        columns = pd.Index([*self.numbers, *self.text], dtype=object)
        frame = pd.concat([frame, pd.DataFrame(cells, index, dtype=object)], axis=1)
        return frame.set_axis(columns, axis=1)


class GridStream(TableStream):
    """A table of cells: text or Parquet."""

    layout: Layout

    def __init__(
        self,
        name: str,
        *,
        id_column: str | int | None = None,
        orient: str | None = None,
        text_columns: Collection[str] = (),
        exclude: Collection[str] = (),
    ) -> None:
        self.name, self._id_column, self._orient = name, id_column, orient
        self._text_columns, self._exclude = tuple(text_columns), tuple(exclude)
        self.layout = Layout.of(
            self._head(), orient=orient, text_columns=text_columns, exclude=exclude
        )
        self.columns = pd.Index([*self.layout.numbers, *self.layout.text], dtype=object)
        self.n_columns, self.words = len(self.columns), self.layout.text
        self.notes = self.layout.notes

    def as_text(self, names: Sequence[str]) -> TableStream:
        """The same table with these columns as written, even if they look like numbers."""
        self.require(names)
        text_columns = dict.fromkeys([*self._text_columns, *names])
        return self if set(names) <= set(self.words) else self._again(tuple(text_columns))

    @abstractmethod
    def _head(self) -> Grid:
        """The first rows."""

    @abstractmethod
    def _again(self, text_columns: tuple[str, ...]) -> Self:
        """The same file, with these columns as text."""

    @abstractmethod
    def _grids(self, rows: int) -> Iterator[Grid]:
        """All rows, in grids of any size, with the columns of text as written."""

    def _pieces(self, rows: int) -> Iterator[Any]:
        first = 0
        for grid in self._grids(rows):
            yield self.layout.table(grid, first)
            first += len(grid.values)
