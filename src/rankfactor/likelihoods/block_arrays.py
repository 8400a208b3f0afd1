"""Observations, coding and parameters of blocks of features, whose rows are consecutive."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods.observed import Coding, Observed
from rankfactor.likelihoods.row_arrays import RowArrays
from rankfactor.typing import Floats, Index


def within_blocks(ends: Sequence[int], rows: slice) -> Iterator[tuple[int, slice]]:
    """The blocks that some rows belong to, and where these rows are within each."""
    first = 0
    for block, end in enumerate(ends):
        start, stop = max(rows.start or 0, first), end if rows.stop is None else min(rows.stop, end)
        if start < stop:
            yield block, slice(start - first, stop - first)
        first = end


def block_of(ends: Sequence[int], rows: slice) -> tuple[int, slice]:
    """The one block that some rows belong to, and where they are within it."""
    ((block, local),) = within_blocks(ends, rows)
    return block, local


@dataclass(frozen=True)
class BlockObserved(Observed):
    """Observations of all blocks, one after another."""

    parts: tuple[Observed, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of samples."""
        return self.block_ends[-1], self.parts[0].shape[1]

    @cached_property
    def block_ends(self) -> tuple[int, ...]:
        """The row after the last one of each block."""
        return tuple(np.cumsum([part.shape[0] for part in self.parts]).tolist())

    def tile(self, rows: slice, samples: Index) -> NDArray[Any]:
        """Some rows and samples."""
        tiles = [
            self.parts[block].tile(local, samples)
            for block, local in within_blocks(self.block_ends, rows)
        ]
        return tiles[0] if len(tiles) == 1 else np.vstack(tiles)

    def moved(self, keep: Callable[[NDArray[Any]], NDArray[Any]]) -> BlockObserved:
        """The same observations, with ``keep`` applied to their arrays."""
        return BlockObserved(tuple(part.moved(keep) for part in self.parts))

    def content(self, rows: slice) -> bytes:
        """Content that identifies the observations of some rows."""
        found = within_blocks(self.block_ends, rows)
        return b"".join(self.parts[block].content(local) for block, local in found)


@dataclass(frozen=True)
class BlockCoding:
    """The coding of every block."""

    parts: tuple[Coding, ...]

    @property
    def columns(self) -> NDArray[np.int64]:
        """Columns of the table that carry information, block by block."""
        return np.concatenate([part.columns for part in self.parts])

    def observe(self, values: Floats) -> BlockObserved:
        """Observations of a table, shape (samples, all columns)."""
        return BlockObserved(tuple(part.observe(values) for part in self.parts))


@dataclass(frozen=True)
class BlockTile(RowArrays):
    """Parameters of a tile, all of one block."""

    block: int
    part: Any

    @classmethod
    def joined(cls, parts: Sequence[BlockTile]) -> BlockTile:
        """Rows of several tiles of one block, one after another."""
        return cls(parts[0].block, type(parts[0].part).joined([one.part for one in parts]))


@dataclass(frozen=True)
class BlockParams(RowArrays):
    """Parameters of the rows of all blocks."""

    parts: tuple[Any, ...]
    ends: tuple[int, ...]  # the row after the last one of each block

    def take(self, rows: Index) -> Any:
        """Parameters of a tile, or copies of all."""
        if isinstance(rows, slice):
            block, local = block_of(self.ends, rows)
            return BlockTile(block, self.parts[block].take(local))
        lengths = np.diff((0, *self.ends))
        parts = (
            part.take(np.arange(length)) for part, length in zip(self.parts, lengths, strict=True)
        )
        return replace(self, parts=tuple(parts))

    def put(self, rows: Index, part: Any) -> None:
        """Overwrite the parameters of a tile in place."""
        assert isinstance(rows, slice)
        block, local = block_of(self.ends, rows)
        self.parts[block].put(local, part.part)

    def draw(self, stream: Stream, first: int = 0) -> Self:
        """One draw of every row's parameters, as laws without variance."""
        starts = (0, *self.ends[:-1])
        parts = [
            part.draw(stream, first + start) for part, start in zip(self.parts, starts, strict=True)
        ]
        return replace(self, parts=tuple(parts))

    @classmethod
    def pool(cls, draws: Sequence[Self]) -> Self:
        """The laws with the mean and the variance of some draws."""
        blocks = zip(*(one.parts for one in draws), strict=True)
        return replace(draws[-1], parts=tuple(type(one[0]).pool(one) for one in blocks))

    def named(self) -> dict[str, NDArray[Any]]:
        """Reported arrays of a draw, with NaN in the rows of other blocks."""
        whole: dict[str, NDArray[Any]] = {}
        starts = (0, *self.ends[:-1])
        for part, start, end in zip(self.parts, starts, self.ends, strict=True):
            for name, values in part.named().items():
                old = whole.get(name, np.full((self.ends[-1], *values.shape[1:]), np.nan))
                shape = np.maximum(old.shape, (self.ends[-1], *values.shape[1:]))
                new = np.full(shape, np.nan)
                new[tuple(map(slice, old.shape))] = old
                new[(slice(start, end), *map(slice, values.shape[1:]))] = values
                whole[name] = new
        return whole

    def copy(self) -> Self:
        """Parameters with separate arrays, as stored in a posterior."""
        return replace(self, parts=tuple(part.copy() for part in self.parts))
