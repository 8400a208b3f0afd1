"""Labels of a table that is read chunk by chunk, from its own columns or another file.

Labels are kept in memory, one value per sample and task.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from rankfactor.data.labels import align_labels, classes_of_frame, refuse_one_class
from rankfactor.data.streams.base import TableStream, columns_dropped
from rankfactor.errors import InputError, counted, did_you_mean, listed


class LabelledStream(TableStream):
    """A stream and the labels of its samples, which are not columns of its chunks.

    Labels that are columns of the table, and the names of its samples, are collected in the first
    pass through the chunks. `labels` makes one if there was none.

    Attributes
    ----------
    groups : Series or None
        Groups of the samples, if the stream has them.
    """

    groups: pd.Series[Any] | None = None

    def __init__(
        self,
        stream: TableStream,
        own: Sequence[str],
        given: pd.DataFrame | None = None,
        source: str = "",
    ) -> None:
        self._stream, self._own, self._given, self._source = stream, list(own), given, source
        self.name, self.notes, self.n_rows = stream.name, stream.notes, stream.n_rows
        self.sample_names, self.annotations = stream.sample_names, stream.annotations
        self.columns, self.n_columns = stream.columns, stream.n_columns - len(own)
        if stream.columns is not None:
            self.columns = stream.columns[~stream.columns.isin(self._own)]
        self.words = tuple(name for name in stream.words if name not in self._own)
        self._labels: pd.DataFrame | None = None

    @property
    def about_n_rows(self) -> int:
        """Number of rows, estimated if unknown."""
        return self._stream.about_n_rows

    @property
    def labels(self) -> pd.DataFrame:
        """Labels of all samples, one column per task: classes as str, NaN where missing."""
        if self._labels is None:
            if self._given is not None and self.sample_names is not None:
                self._labels = self._aligned(self.sample_names)
            else:
                for _ in self.chunks(self.rows_within(2**26)):
                    pass
        assert self._labels is not None
        return self._labels

    def _pieces(self, rows: int) -> Iterator[Any]:
        frames, n_rows = [], 0
        for chunk in self._stream.chunks(rows):
            table, n_rows = chunk.table, n_rows + len(chunk)
            if self._own:
                frames.append(classes_of_frame(table[self._own]))
                table = columns_dropped(table, self._own)
            elif hasattr(table, "index"):
                frames.append(pd.DataFrame(index=table.index))
            yield table
        if self._labels is None:
            found = pd.concat(frames) if frames else pd.DataFrame(index=range(n_rows))
            if self._given is None:
                for name in self._own:
                    refuse_one_class(found[name], self.name)
            self._labels = found if self._given is None else self._aligned(found.index)

    def _aligned(self, index: pd.Index[Any]) -> pd.DataFrame:
        """Labels of another file in the order of the table."""
        assert self._given is not None
        if self._stream.columns is not None:
            return align_labels(index, self._given, source=self._source, unknown="ignore")
        if len(self._given) != len(index):
            raise InputError(
                f"{self._source} has {counted(len(self._given), 'row')}, but {self.name} has "
                f"{len(index)}: its samples have no names, so give a label for each, in order."
            )
        return align_labels(index, self._given.set_axis(index, axis=0), source=self._source)


def with_labels(
    stream: TableStream,
    names: Sequence[str],
    file: str | Path | None = None,
    *,
    id_column: str | int | None = None,
) -> LabelledStream:
    """A stream with labels, from its own columns or from another file.

    Parameters
    ----------
    stream : TableStream
    names : sequence of str
        Columns of the table, of its annotations (obs of AnnData) or of the file, one per task.
    file : str or Path, optional
        A file of any format that describes samples. Its rows are matched by sample name or, if the
        table has no names, by their order.
    id_column : str or int, optional
        The column of sample names in the file.

    Returns
    -------
    LabelledStream
        Its chunks have the features only; `LabelledStream.labels` has the labels.
    """
    from rankfactor.data.table import read_annotations  # which itself reads arrays by a stream

    given = stream.annotations if file is None else read_annotations(file, id_column)
    source = stream.name if file is None else str(file)
    if given is not None and (file is not None or all(name in given for name in names)):
        absent = [name for name in names if name not in given.columns]
        if absent:
            raise InputError(
                f"{source} has no column {absent[0]!r} to use as label; it has "
                f"{listed(given.columns, 3) or 'none'}.{did_you_mean(absent[0], given.columns)}"
            )
        return LabelledStream(stream, (), given[list(names)], source)
    return LabelledStream(stream.as_text(names), names)
