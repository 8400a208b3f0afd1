"""Separate shrinkage per block, for tables from several sources.

Rows belong to blocks, such as transcripts and proteins, and every block has the base prior
separately:

    p(A, scales) = prod_b  p_base(A_b, scales_b),      A_b the rows of block b.

So parameters that rows share under the base (a factor's phi, alpha or tau) are shared only within a
block, and a factor can be switched off in one block and used in another, as in multi-omics factor
analysis (Argelaguet et al. 2018). Expectations, draws and bounds are the base's, block by block;
with one block they are the base's to the last bit.

A factor's unit belongs to all blocks (its scores are common), so the blocks' contributions to its
density (`rankfactor.shrinkage.base.Stretch`) are summed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.kernels.rng import Stream
from rankfactor.shrinkage.base import AnyShrinkage, Shrinkage, Stretch
from rankfactor.typing import Floats

BlockScales = tuple[Any, ...]  # the base's scales, one per block


@dataclass(frozen=True)
class ShrinkageByBlock(Shrinkage[BlockScales]):
    """The base prior in each of several blocks.

    Attributes
    ----------
    base : Shrinkage
        Prior of the rows of a block.
    runs : tuple of (int, int)
        Block number and length of every run of rows that belong to one block, in the order of the
        rows. Numbers are 0, 1, ... and each occurs.
    """

    base: AnyShrinkage
    runs: tuple[tuple[int, int], ...]

    name: ClassVar[str] = "by_view"
    is_choice: ClassVar[bool] = False
    scales: ClassVar[type] = tuple

    def __post_init__(self) -> None:
        """Refuse non-consecutive block numbers."""
        numbers = {block for block, _ in self.runs}
        if not numbers or numbers != set(range(len(numbers))):
            raise InputError("blocks are numbered 0, 1, ..., and each has at least one row.")

    @classmethod
    def of(cls, base: AnyShrinkage, blocks: Sequence[int] | NDArray[np.int64]) -> ShrinkageByBlock:
        """Prior of rows whose block numbers are given, shape (rows,)."""
        runs = tuple((int(block), len(list(rows))) for block, rows in groupby(blocks))
        return cls(base, runs)

    def _values(self) -> dict[str, Any]:
        """Base and runs, in one line since alternating blocks have a run for every feature."""
        runs = " ".join(f"{block}*{length}" for block, length in self.runs)
        return {"base": self.base.to_dict(), "runs": runs}

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> ShrinkageByBlock:
        """The prior with the base and the runs of `_values`."""
        runs = [run.split("*") for run in values["runs"].split()]
        counts = tuple((int(block), int(length)) for block, length in runs)
        return cls(Shrinkage.from_dict(values["base"]), counts)

    def in_words(self) -> str:
        """Words of the base for a report, with separate scales per block."""
        return f"{self.base.in_words()}, with separate scales for each block"

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len({block for block, _ in self.runs})

    @cached_property
    def rows(self) -> tuple[slice | NDArray[np.int64], ...]:
        """The rows of every block: a slice if they are consecutive."""
        blocks = np.repeat([block for block, _ in self.runs], [length for _, length in self.runs])
        found: list[slice | NDArray[np.int64]] = []
        for block in range(self.n_blocks):
            chosen = np.flatnonzero(blocks == block)
            whole = chosen[-1] - chosen[0] + 1 == len(chosen)
            found.append(slice(int(chosen[0]), int(chosen[-1]) + 1) if whole else chosen)
        return tuple(found)

    @property
    def n_rows(self) -> int:
        """Number of rows of all blocks."""
        return sum(length for _, length in self.runs)

    @property
    def rotation_invariant(self) -> bool:
        """Whether the base is invariant to rotation."""
        return self.base.rotation_invariant

    @property
    def kept_dims(self) -> dict[str, tuple[str, ...]]:
        """Scales of rows under the base's name, those that a block's rows share by its number."""
        return {name: self.base.kept_dims[own] for name, own in self._kept_names}

    @property
    def kept_powers(self) -> dict[str, int]:
        """The base's powers of a factor's unit, under the same names."""
        return {name: self.base.kept_powers[own] for name, own in self._kept_names}

    @property
    def _kept_names(self) -> Iterator[tuple[str, str]]:
        """Names of the stored scales, and their names in the base."""
        for own, axes in self.base.kept_dims.items():
            if axes[:1] == ("row",):
                yield own, own
            else:
                yield from ((f"{own}_{block}", own) for block in range(self.n_blocks))

    def kept(self, scales: BlockScales) -> dict[str, Floats]:
        """The values of these scales at a draw."""
        parts = [self.base.kept(one) for one in scales]
        values: dict[str, Floats] = {}
        for name, axes in self.base.kept_dims.items():
            if axes[:1] == ("row",):
                values[name] = self._joined([part[name] for part in parts])
            else:
                values |= {f"{name}_{block}": part[name] for block, part in enumerate(parts)}
        return values

    def start(self, n_rows: int, n_factors: int) -> BlockScales:
        """Initial scales."""
        if n_rows != self.n_rows:
            raise InputError(f"the blocks have {self.n_rows} rows in all, but there are {n_rows}.")
        lengths = [0] * self.n_blocks
        for block, length in self.runs:
            lengths[block] += length
        return tuple(self.base.start(length, n_factors) for length in lengths)

    def update(
        self, scales: BlockScales, squares: Floats, stream: Stream | None = None
    ) -> BlockScales:
        """Scales given E[a^2], shape (rows, K); with a stream, draws of them."""
        return tuple(
            self.base.update(one, part, self._stream(stream, block))
            for block, (one, part) in enumerate(self._split(scales, squares))
        )

    def _stream(self, stream: Stream | None, block: int) -> Stream | None:
        """Random stream of a block; a single block has the base's."""
        return stream if stream is None or self.n_blocks == 1 else stream.child("view", block)

    def precision(self, scales: BlockScales) -> Floats:
        """E[1/xi], shape (rows, K)."""
        return self._joined([self.base.precision(one) for one in scales])

    def unit(self, scales: BlockScales) -> Floats:
        """Units of E[a^2], shape (rows, K): those of every row's block."""
        return self._joined([self.base.unit(one) for one in scales])

    def profile(self, ratio: Floats) -> Floats:
        """Largest bound of an entry: the base's."""
        return self.base.profile(ratio)

    def bound(self, scales: BlockScales, squares: Floats) -> float:
        """E[log p(a, scales)] - E[log q(scales)] at the squares of the last `update`."""
        return sum(self.base.bound(one, part) for one, part in self._split(scales, squares))

    def marginal_unit(self, scales: BlockScales) -> Floats:
        """Units of a^2, shape (rows, K): those of every row's block."""
        return self._joined([self.base.marginal_unit(one) for one in scales])

    @property
    def ridge(self) -> float:
        """That of the base."""
        return self.base.ridge

    def marginal(self, ratio: Floats) -> Floats:
        """Log density of an entry: the base's."""
        return self.base.marginal(ratio)

    def stretch(self, scales: BlockScales, squares: Floats, axis: int = 0) -> Stretch:
        """Density of u: columns sum over blocks, rows belong to one block."""
        parts = [self.base.stretch(one, part, axis) for one, part in self._split(scales, squares)]
        if axis == 1:
            rates, inverses = ([getattr(x, name) for x in parts] for name in ("rate", "inverse"))
            return Stretch(parts[0].power, self._joined(rates), self._joined(inverses))
        total = parts[0]
        for part in parts[1:]:
            total = Stretch(
                total.power + part.power, total.rate + part.rate, total.inverse + part.inverse
            )
        return total

    def stretched(self, scales: BlockScales, u: Floats, axis: int = 0) -> BlockScales:
        """Scales of stretched rows."""
        if axis == 0:
            return tuple(self.base.stretched(one, u) for one in scales)
        pairs = zip(scales, self.rows, strict=True)
        return tuple(self.base.stretched(one, u[rows], axis) for one, rows in pairs)

    def _split(self, scales: BlockScales, squares: Floats) -> Iterator[tuple[Any, Floats]]:
        """Scales and squares of every block."""
        for one, rows in zip(scales, self.rows, strict=True):
            yield one, np.ascontiguousarray(squares[rows])

    def _joined(self, parts: Sequence[Floats]) -> Floats:
        """Arrays of the blocks' rows as one, in the order of the rows."""
        if len(parts) == 1:
            return parts[0]
        whole = np.empty((self.n_rows, *parts[0].shape[1:]), parts[0].dtype)
        for part, rows in zip(parts, self.rows, strict=True):
            whole[rows] = part
        return whole
