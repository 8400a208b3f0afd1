"""Dask arrays and dataframes: tables in parts that a cluster computes.

Parts have any number of rows. Those of a dataframe are unknown until computed, which
`rankfactor.features.survey_parts` does once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.data.streams.base import TableStream, joined, rows_of
from rankfactor.errors import InputError, counted


def is_collection(source: Any) -> bool:
    """Whether an object is a Dask array, dataframe or series; Dask is not imported."""
    package = type(source).__module__.partition(".")[0]
    return package in ("dask", "dask_expr") and hasattr(source, "to_delayed")


class DaskStream(TableStream):
    """A Dask array or dataframe.

    Parameters
    ----------
    collection : dask.array.Array or dask.dataframe.DataFrame

    Attributes
    ----------
    parts : list of Delayed
        Consecutive rows of the table.
    lengths : tuple of int or None
        Numbers of rows of the parts, None until they are known.
    """

    def __init__(self, collection: Any) -> None:
        if len(getattr(collection, "shape", ())) != 2:
            raise InputError(
                f"the Dask {type(collection).__name__} has to be two-dimensional: samples x "
                "features."
            )
        self.lengths: tuple[int, ...] | None = None
        self.name = f"the Dask {type(collection).__name__.lower()}"
        self.n_columns = int(collection.shape[1])
        if hasattr(collection, "columns"):
            self.columns = pd.Index(collection.columns)
            kinds = zip(collection.columns, collection.dtypes, strict=True)
            self.words = tuple(
                str(name) for name, kind in kinds if not pd.api.types.is_numeric_dtype(kind)
            )
            self.parts = list(collection.to_delayed())
        else:
            if collection.dtype.kind not in "fiub":
                raise InputError(
                    f"{self.name} has type {collection.dtype}; it must contain numbers."
                )
            lengths = collection.chunks[0]
            if not any(np.isnan(one) for one in lengths):
                self.found_lengths([int(one) for one in lengths])
            self.parts = list(collection.rechunk({1: -1}).to_delayed()[:, 0])

    def found_lengths(self, lengths: Sequence[int]) -> None:
        """Store the numbers of rows of the parts."""
        lengths = tuple(int(one) for one in lengths)
        if self.lengths not in (None, lengths):
            raise InputError(
                f"{self.name} had {counted(self.n_rows or 0, 'row')} and has {sum(lengths)} now; "
                "do not change what it is computed from."
            )
        self.lengths, self.n_rows = lengths, sum(lengths)

    def lazy_rows(self, first: int, stop: int) -> Any:
        """Consecutive rows, as a Dask computation."""
        from dask.delayed import delayed

        assert self.lengths is not None
        ends = np.cumsum(self.lengths)
        cuts = []
        place = int(np.searchsorted(ends, first, "right"))
        while place < len(ends) and (start := int(ends[place]) - self.lengths[place]) < stop:
            cuts.append((self.parts[place], max(first - start, 0), stop - start))
            place += 1
        return delayed(_cut, pure=False)(*zip(*cuts, strict=True))

    def _pieces(self, rows: int) -> Iterator[Any]:
        for part in self.parts:
            yield part.compute()


def _cut(parts: Sequence[Any], starts: Sequence[int], stops: Sequence[int]) -> Any:
    """Rows of consecutive parts, from a start of the first to a stop of the last."""
    cuts = zip(parts, starts, stops, strict=True)
    return joined([rows_of(part, slice(start, stop)) for part, start, stop in cuts])
