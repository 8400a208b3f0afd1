"""A stream as a table in memory, all of it or its first rows."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pandas as pd

from rankfactor.data.grid import Table
from rankfactor.data.sparse import NamedSparse
from rankfactor.data.streams.base import TableStream, joined, named
from rankfactor.storage.bounds import check_memory


class StreamedTable:
    """A stream of numbers as a table, with numbered samples and features if they have no names."""

    def __init__(self, stream: TableStream, first_rows: int | None = None) -> None:
        self._stream, self._first_rows = named(stream), first_rows
        self.n_rows = stream.count()

    @property
    def names(self) -> list[str]:
        """Names of the annotations and features."""
        stream = self._stream
        described = [] if stream.annotations is None else stream.annotations.columns.tolist()
        return [*described, *([] if stream.columns is None else stream.columns)]

    @cached_property
    def table(self) -> Table:
        """The table."""
        stream = self._stream
        if self._first_rows is None:
            check_memory(stream.name, self.n_rows, stream.n_columns)
            values = joined([chunk.table for chunk in stream.chunks(stream.rows_within(2**26))])
        else:
            values = next(stream.chunks(self._first_rows)).table
        if isinstance(values, NamedSparse):
            values = pd.DataFrame(values.matrix.toarray(), values.index, values.columns)
        described = pd.DataFrame(index=values.index, dtype=object)
        if stream.annotations is not None:
            described = stream.annotations.iloc[: len(values)]
        return Table(values.astype(np.float64), described, stream.name, stream.notes)

    @property
    def annotations(self) -> pd.DataFrame:
        """Annotations of the samples."""
        return self.table.annotations
