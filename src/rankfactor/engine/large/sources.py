"""Sources of the values of shards on the workers of a cluster.

| source | who reads | what is sent to a worker |
|---|---|---|
| `SentRows`: a table that is read in order | the client, which codes it | codes, one byte per value
| | `ReadRows`: a file that every worker can read | the worker | nothing | | `DaskRows`: a Dask
array or dataframe | any worker, by Dask | values between workers |
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rankfactor.data.streams import TableStream, open_stream
from rankfactor.data.streams.arrays import ArrayStream
from rankfactor.data.streams.collections import DaskStream
from rankfactor.engine.large.placement import Chunks
from rankfactor.engine.large.shard import SHARD
from rankfactor.likelihoods import Coding


class Source(Protocol):
    """Values of shards, by number."""

    @property
    def is_here(self) -> bool:
        """Whether the client holds the values, so that it should send a few at a time."""
        ...

    @property
    def make(self) -> Callable[[Any], Any] | None:
        """Transform on a worker from what is sent to values; None if codes are sent."""
        ...

    def give(
        self, client: Any, coding: Coding, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Any]]:
        """Numbers of shards, in increasing order, and what a worker needs to build them."""
        ...


@dataclass(frozen=True)
class SentRows:
    """A table that the client reads in order, codes and sends."""

    chunks: Chunks
    is_here = True
    make = None

    def give(
        self, client: Any, coding: Coding, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Any]]:
        """Numbers of shards and their codes."""
        wanted = set(numbers)
        for first, values in self.chunks(SHARD):
            if not wanted:
                return
            if first // SHARD in wanted:
                wanted.remove(first // SHARD)
                yield first // SHARD, coding.observe(values)


@dataclass(frozen=True)
class ReadRows:
    """A table that workers read.

    Attributes
    ----------
    read : callable
        ``read(first, stop)`` returns consecutive rows. It is pickled, so it names files by paths
        that are valid on all workers.
    prepare : callable
        From rows as given to values in the features of the model.
    """

    read: Callable[[int, int], Any]
    prepare: Callable[[Any], Any]
    is_here = False

    @property
    def make(self) -> Callable[[Any], Any]:
        """Reads the rows of a shard."""
        return self._values

    def _values(self, rows: tuple[int, int]) -> Any:
        return self.prepare(self.read(*rows))

    def give(
        self, client: Any, coding: Coding, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Any]]:
        """Numbers of shards, and the numbers of their rows."""
        return ((one, (one * SHARD, (one + 1) * SHARD)) for one in numbers)


class DaskRows:
    """A Dask array or dataframe, computed on the workers.

    Parameters
    ----------
    stream : DaskStream
    prepare : callable
        From rows as given to values in the features of the model.
    """

    is_here = False

    def __init__(self, stream: DaskStream, prepare: Callable[[Any], Any]) -> None:
        self._stream, self.make = stream, prepare

    def give(
        self, client: Any, coding: Coding, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Any]]:
        """Numbers of shards and futures of their rows."""
        numbers = list(numbers)
        lazy = [self._stream.lazy_rows(one * SHARD, (one + 1) * SHARD) for one in numbers]
        futures = client.compute(lazy)[::-1]
        for number in numbers:
            yield number, futures.pop()  # released once handed over


@dataclass(frozen=True)
class ArrayRows:
    """Reads consecutive rows of a ``.npy`` file or a Zarr array, for `ReadRows`."""

    path: str

    def __call__(self, first: int, stop: int) -> Any:
        """Rows as a separate array."""
        stream = open_stream(self.path)
        assert isinstance(stream, ArrayStream)
        return stream.rows(first, stop)


def source_of(
    stream: TableStream, prepare: Callable[[Any], Any], chunks: Chunks, client: Any
) -> Source:
    """Cheapest source of a table's values for the workers.

    Parameters
    ----------
    stream : TableStream
    prepare : callable
        From rows as given to values in the features of the model; it is pickled.
    chunks : callable
        ``chunks(rows)`` yields first rows and values of consecutive chunks at the client.
    client : distributed.Client
    """
    if isinstance(stream, DaskStream):
        return DaskRows(stream, prepare)
    path = Path(stream.name)
    if isinstance(stream, ArrayStream) and path.exists():
        path = path.resolve()
        if all(client.run(os.path.exists, str(path)).values()):
            return ReadRows(ArrayRows(str(path)), prepare)
    return SentRows(chunks)
