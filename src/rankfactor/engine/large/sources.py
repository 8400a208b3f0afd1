"""Where the workers of a cluster get the values of their shards from.

| source | who reads | what travels to a worker |
|---|---|---|
| `SentRows`: a table that is read in order | the client, which codes it | codes, one byte a value |
| `ReadRows`: files that every worker can read | the worker | nothing |
| `DaskRows`: a Dask array or dataframe | any worker, by Dask | values between workers |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rankfactor.engine.large.placement import Chunks
from rankfactor.engine.large.shard import SHARD
from rankfactor.likelihoods import Coding


class Source(Protocol):
    """Values of shards, by number."""

    @property
    def is_here(self) -> bool:
        """Whether the client has what it gives, so that it should give a little at a time."""
        ...

    @property
    def make(self) -> Callable[[Any], Any] | None:
        """Makes values on a worker of what is given; None if codes are given."""
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
    """A table that workers read: ``read(first, stop)`` gives the values of consecutive rows.

    The function is pickled, so it names files by paths that are the same on all workers.
    """

    read: Callable[[int, int], Any]
    is_here = False

    @property
    def make(self) -> Callable[[Any], Any]:
        """Reads the rows of a shard."""
        return self._values

    def _values(self, number: int) -> Any:
        return self.read(number * SHARD, (number + 1) * SHARD)

    def give(
        self, client: Any, coding: Coding, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Any]]:
        """Numbers of shards, twice: a worker needs no more than that."""
        return ((number, number) for number in numbers)
