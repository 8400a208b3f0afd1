"""`TableStream`: a table that is read in consecutive chunks of rows, as often as needed.

A format yields pieces of any size, as stored on disk; `TableStream.chunks` cuts them to the
requested size, so that results do not depend on the layout of a file. Only a few chunks are in
memory at a time, never the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse, vstack

from rankfactor.data.sparse import NamedSparse
from rankfactor.errors import InputError, check_count, counted, did_you_mean, listed

MOST_COLUMNS = 2**24  # that get names


@dataclass(frozen=True)
class Chunk:
    """Consecutive rows of a table."""

    first: int  # number of the first row, counted from 0
    # Rows as `FeaturePlan.apply` accepts them: a DataFrame or `NamedSparse` with sample names, or
    # an array or CSR array without names.
    table: Any

    def __len__(self) -> int:
        return n_rows_of(self.table)


class TableStream(ABC):
    """A table that is read in consecutive chunks of rows.

    Attributes
    ----------
    name : str
        Name of the table in messages: its path or its type.
    columns : pandas.Index or None
        Names of the columns; None if there are none.
    n_columns : int
        Number of columns.
    n_rows : int or None
        Number of rows; None until it is known (see `count`).
    words : tuple of str
        Columns of text.
    sample_names : pandas.Index or None
        Names of all samples, if the file stores them apart from its rows.
    annotations : pandas.DataFrame or None
        Annotations that the file stores apart from its rows: the obs of AnnData.
    notes : tuple of str
        Detected properties, one sentence each.
    """

    name: str
    columns: pd.Index[Any] | None = None
    n_columns: int
    n_rows: int | None = None
    words: tuple[str, ...] = ()
    sample_names: pd.Index[Any] | None = None
    annotations: pd.DataFrame | None = None
    notes: tuple[str, ...] = ()

    def chunks(self, rows: int) -> Iterator[Chunk]:
        """Yield the table in chunks of exactly ``rows`` rows, the last one possibly shorter."""
        first = 0
        for table in _recut(self._pieces(check_count("rows", rows)), rows):
            yield Chunk(first, table)
            first += n_rows_of(table)
        if not first:
            raise InputError(f"{self.name} has no rows; a table needs one row per sample.")
        if self.n_rows not in (None, first):
            raise InputError(
                f"{self.name} had {counted(self.n_rows or 0, 'row')} and has {first} now; do not "
                "change it while it is read."
            )
        self.n_rows = first

    def count(self) -> int:
        """Return the number of rows, reading through the table if unknown."""
        if self.n_rows is None:
            for _ in self.chunks(self.rows_within(2**26)):
                pass
        assert self.n_rows is not None
        return self.n_rows

    def rows_within(self, n_bytes: int) -> int:
        """Number of rows in double precision that fit into a number of bytes, at least one."""
        return max(1, n_bytes // (8 * max(self.n_columns, 1)))

    @property
    def about_n_rows(self) -> int:
        """Number of rows, estimated if unknown."""
        return self.count()

    def as_text(self, names: Sequence[str]) -> TableStream:
        """The same table with these columns as written, even if they look like numbers."""
        self.require(names)
        return self

    def with_covariates(self, names: Sequence[str]) -> TableStream:
        """The same table, with columns of these names from its annotations if it has them there."""
        self.require(names)
        return self

    def without(self, names: Sequence[str]) -> TableStream:
        """The same table without some of its columns."""
        self.require(names)
        return _Without(self, names) if len(names) else self

    def require(self, names: Sequence[str]) -> None:
        """Refuse names that are not those of columns."""
        known = [] if self.columns is None else self.columns.tolist()
        for name in names:
            if name not in known:
                raise InputError(
                    f"{self.name} has no column {name!r}; its columns begin with "
                    f"{listed(known, 3) or 'none: they have no names'}.{did_you_mean(name, known)}"
                )

    @abstractmethod
    def _pieces(self, rows: int) -> Iterator[Any]:
        """Yield the table in pieces of any size; ``rows`` is the size of later chunks."""


class _Without(TableStream):
    """A stream without some of its columns."""

    def __init__(self, stream: TableStream, names: Sequence[str]) -> None:
        assert stream.columns is not None
        self._stream, self._names = stream, list(names)
        self.name, self.n_rows, self.notes = stream.name, stream.n_rows, stream.notes
        self.columns = stream.columns[~stream.columns.isin(self._names)]
        self.n_columns = len(self.columns)
        self.words = tuple(name for name in stream.words if name not in names)
        self.sample_names, self.annotations = stream.sample_names, stream.annotations

    @property
    def about_n_rows(self) -> int:
        """Number of rows, estimated if unknown."""
        return self._stream.about_n_rows

    def as_text(self, names: Sequence[str]) -> TableStream:
        return self._stream.as_text(names).without(self._names)

    def with_covariates(self, names: Sequence[str]) -> TableStream:
        return self._stream.with_covariates(names).without(self._names)

    def _pieces(self, rows: int) -> Iterator[Any]:
        for chunk in self._stream.chunks(rows):
            yield columns_dropped(chunk.table, self._names)


class _Named(TableStream):
    """A stream of arrays with names for its samples and features, dense and in double precision."""

    def __init__(self, stream: TableStream) -> None:
        self._stream, self.name, self.notes = stream, stream.name, stream.notes
        self.n_rows, self.n_columns = stream.n_rows, stream.n_columns
        if stream.n_columns > MOST_COLUMNS:
            raise InputError(
                f"{stream.name} has {stream.n_columns:,} columns by its header, and no more than "
                f"{MOST_COLUMNS:,} can be read; check the file."
            )
        names = [f"feature_{i + 1}" for i in range(stream.n_columns)]
        self.columns = pd.Index(names, dtype=object)

    def _pieces(self, rows: int) -> Iterator[pd.DataFrame]:
        for chunk in self._stream.chunks(rows):
            values = chunk.table.toarray() if issparse(chunk.table) else chunk.table
            names = [str(chunk.first + n + 1) for n in range(len(values))]
            index = pd.Index(names, name="sample", dtype=object)
            yield pd.DataFrame(values.astype(np.float64), index, self.columns)


def named(stream: TableStream) -> TableStream:
    """A stream with names: those it has, or "1", ... for samples and "feature_1", ..."""
    return _Named(stream) if stream.columns is None else stream


def columns_dropped(table: Any, names: Sequence[str]) -> Any:
    """A table with names without some of its columns."""
    if isinstance(table, NamedSparse):
        return table.select(table.columns[~table.columns.isin(names)])
    return table.drop(columns=list(names))


def n_rows_of(table: Any) -> int:
    """Number of rows of a table of any kind."""
    return len(table.index) if isinstance(table, NamedSparse) else int(table.shape[0])


def rows_of(table: Any, rows: Any) -> Any:
    """Some rows of a table of any kind, by a slice or by positions."""
    if isinstance(table, pd.DataFrame):
        return table.iloc[rows]
    if isinstance(table, NamedSparse):
        return NamedSparse(
            table.matrix[rows], table.index[rows], table.columns, table.extra.iloc[rows]
        )
    return table[rows]


def joined(tables: Sequence[Any]) -> Any:
    """Tables of one kind, one below the other."""
    if len(tables) == 1:
        return tables[0]
    first = tables[0]
    if isinstance(first, pd.DataFrame | NamedSparse):  # pandas 3 would change the type of the names
        index = first.index.append([one.index for one in tables[1:]]).astype(first.index.dtype)
    if isinstance(first, pd.DataFrame):
        return pd.concat(list(tables)).set_axis(index)
    if isinstance(first, NamedSparse):
        return NamedSparse(
            vstack([one.matrix for one in tables], format="csr"),
            index,
            first.columns,
            pd.concat([one.extra for one in tables]),
        )
    return vstack(tables, format="csr") if issparse(first) else np.concatenate(tables)


def refuse_infinite(
    values: Any, source: str, first: int, columns: Sequence[Any] | pd.Index[Any] | None
) -> None:
    """Refuse infinite values in an array or CSR array whose first row has the number ``first``."""
    bad = np.isinf(values.data if issparse(values) else values)
    if not bad.any():
        return
    if issparse(values):
        place = int(np.flatnonzero(bad)[0])
        row, column = int(np.searchsorted(values.indptr, place, "right")) - 1, values.indices[place]
    else:
        row, column = np.argwhere(bad)[0].tolist()
    named = f"column {column}" if columns is None else f"column '{columns[column]}'"
    raise InputError(
        f"{source}, row {first + row}, {named}: the value is infinite; correct it, or mark it as "
        "missing (NaN)."
    )


def _recut(pieces: Iterable[Any], rows: int) -> Iterator[Any]:
    """Yield tables of exactly ``rows`` rows, the last one possibly shorter."""
    held: list[Any] = []
    n_held = 0
    for piece in pieces:
        start, n_piece = 0, n_rows_of(piece)
        while n_held + n_piece - start >= rows:
            stop = start + rows - n_held
            held.append(
                piece if (start, stop) == (0, n_piece) else rows_of(piece, slice(start, stop))
            )
            yield joined(held)
            held, n_held, start = [], 0, stop
        if start < n_piece:
            held.append(rows_of(piece, slice(start, n_piece)) if start else piece)
            n_held += n_piece - start
    if n_held:
        yield joined(held)
