"""Separate likelihoods per block of features, such as a questionnaire and proteins.

    p(X | A, Z) = prod_b  p_b(X_b | A_b, Z),      X_b the features of block b,

so sites, statistics, parameters and bounds are those of the block's likelihood. The rows of a block
are consecutive in the model, and tiles end where blocks do, so every tile has one likelihood.

Blocks with an intercept (Gaussian) and blocks without one can be combined: rows without one have it
fixed at zero by a prior of precision `NO_INTERCEPT`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns
from rankfactor.likelihoods.base import (
    Augmented,
    DataLikelihood,
    Location,
    Sites,
    Slopes,
    Statistics,
    Tile,
)
from rankfactor.likelihoods.block_arrays import (
    BlockCoding,
    BlockObserved,
    BlockParams,
    BlockTile,
    block_of,
)
from rankfactor.likelihoods.observed import Coding, Observed
from rankfactor.likelihoods.row_arrays import RowArrays
from rankfactor.typing import Floats, Index, Strings

NO_INTERCEPT = 1e12


@dataclass(frozen=True)
class LikelihoodByBlock(DataLikelihood[BlockParams]):
    """A likelihood for each of several blocks of features.

    Attributes
    ----------
    names : tuple of str
        Names of the blocks.
    parts : tuple of DataLikelihood
        Their likelihoods.
    runs : tuple of (int, int)
        Block number and length of every run of the table's columns that belong to one block.
    """

    names: tuple[str, ...]
    parts: tuple[DataLikelihood[Any], ...]
    runs: tuple[tuple[int, int], ...] = ()

    name: ClassVar[str] = "by_block"
    is_choice: ClassVar[bool] = False
    coding: ClassVar[type[Coding]] = BlockCoding
    parameters: ClassVar[type[RowArrays]] = BlockParams

    def _values(self) -> dict[str, Any]:
        """Names, likelihoods and runs, in one line since blocks of a table may alternate."""
        return {
            "names": list(self.names),
            "parts": [part.to_dict() for part in self.parts],
            "runs": " ".join(f"{block}*{length}" for block, length in self.runs),
        }

    @classmethod
    def _from_values(cls, values: dict[str, Any]) -> LikelihoodByBlock:
        """The likelihood with the values of `_values`."""
        runs = [run.split("*") for run in values["runs"].split()]
        return cls(
            tuple(values["names"]),
            tuple(DataLikelihood.from_dict(part) for part in values["parts"]),
            tuple((int(block), int(length)) for block, length in runs),
        )

    def in_words(self) -> str:
        """The likelihoods of the blocks, for a report."""
        named = zip(self.names, self.parts, strict=True)
        return "; ".join(f"{part.in_words()} for the block {name}" for name, part in named)

    def coding_of(self, arrays: dict[str, Any]) -> BlockCoding:
        """The codings of all blocks, by number."""
        found = enumerate(self.parts)
        return BlockCoding(
            tuple(part.coding_of(arrays["parts"][str(block)]) for block, part in found)
        )

    def params_of(self, arrays: dict[str, Any]) -> BlockParams:
        """The parameters of all blocks, by number."""
        parts, ends = arrays["parts"], arrays["ends"]
        numbers = [str(block) for block in range(len(self.parts))]
        found = zip(self.parts, numbers, strict=True)
        return BlockParams(
            tuple(part.params_of(parts.get(number, {})) for part, number in found),
            tuple(int(ends[number]) for number in numbers),
        )

    def for_blocks(self, blocks: Strings | None) -> LikelihoodByBlock:
        """The likelihood of a table whose columns belong to these blocks.

        Raises
        ------
        InputError
            If a block has no likelihood, or a likelihood no block.
        """
        if blocks is None:
            raise InputError(
                "likelihood is given by block, but there are no blocks: set blocks, or give one "
                "likelihood for all features."
            )
        given = list(dict.fromkeys(blocks.tolist()))
        for name in given:
            if name not in self.names:
                raise InputError(
                    f"likelihood has no entry for the block {name!r}: add one, beside those for "
                    f"{', '.join(map(repr, self.names))}."
                )
        for name in self.names:
            if name not in given:
                raise InputError(
                    f"likelihood has an entry for {name!r}, but the blocks are "
                    f"{', '.join(map(repr, given))}: correct its name or leave it out."
                )
        numbers = [self.names.index(name) for name in blocks.tolist()]
        runs = tuple((block, len(list(columns))) for block, columns in groupby(numbers))
        return replace(self, runs=runs)

    def for_coding(self, coding: Any) -> LikelihoodByBlock:
        """The likelihoods of the features that vary."""
        parts = zip(self.parts, coding.parts, strict=True)
        return replace(self, parts=tuple(part.for_coding(one) for part, one in parts))

    @property
    def has_intercept(self) -> bool:  # type: ignore[override]
        """Whether rows of any block end in an intercept."""
        return any(part.has_intercept for part in self.parts)

    @property
    def needs_variance(self) -> bool:  # type: ignore[override]
        """Whether sites of any block depend on Var(w)."""
        return any(part.needs_variance for part in self.parts)

    @property
    def has_refresh(self) -> bool:
        """Whether any block's parameters depend on all samples at once."""
        return any(part.has_refresh for part in self.parts)

    @property
    def has_monotone_bound(self) -> bool:  # type: ignore[override]
        """Whether no update of any block lowers the bound."""
        return all(part.has_monotone_bound for part in self.parts)

    @property
    def has_gradient(self) -> bool:  # type: ignore[override]
        """Whether all blocks allow predictive training."""
        return all(part.has_gradient for part in self.parts)

    @property
    def takes_sparse(self) -> bool:  # type: ignore[override]
        """Whether all blocks code sparse tables without densifying."""
        return all(part.takes_sparse for part in self.parts)

    @property
    def uses_values(self) -> bool:  # type: ignore[override]
        """Whether any block uses values, not only their order."""
        return any(part.uses_values for part in self.parts)

    @property
    def has_curvature(self) -> bool:  # type: ignore[override]
        """Whether curvatures are far below tau in any block."""
        return any(part.has_curvature for part in self.parts)

    @property
    def has_fused_step(self) -> bool:
        """Whether all blocks have a fused step."""
        return all(part.has_fused_step for part in self.parts)

    @property
    def has_fused_draw(self) -> bool:
        """Whether all blocks have a fused step of the sampler."""
        return all(part.has_fused_draw for part in self.parts)

    @property
    def dtype(self) -> type[np.floating[Any]]:
        """Double precision if any block needs it."""
        kinds = {part.dtype for part in self.parts}
        return np.float64 if np.float64 in kinds else np.float32

    def _columns(self, block: int) -> NDArray[np.int64]:
        """The table's columns of a block."""
        blocks = np.repeat([number for number, _ in self.runs], [length for _, length in self.runs])
        return np.flatnonzero(blocks == block)

    def learn(self, values: Floats, few: Mapping[int, Floats] | None = None) -> BlockCoding:
        """Coding of every block, of the columns that vary."""
        codings = []
        for block, part in enumerate(self.parts):
            columns = self._columns(block)
            places = {column: place for place, column in enumerate(columns.tolist())}
            own = {places[i]: known for i, known in (few or {}).items() if i in places}
            coding: Any = part.learn(values[:, columns], own)
            if not len(coding.columns):
                raise InputError(
                    f"no feature of the block {self.names[block]!r} varies: leave the block out."
                )
            codings.append(replace(coding, columns=columns[coding.columns]))
        return BlockCoding(tuple(codings))

    def score_levels(self, observed: Observed) -> Floats:
        """What `normal_scores` learns, shape (d, L); rows of blocks with fewer levels end in 0."""
        assert isinstance(observed, BlockObserved)
        each = [
            part.score_levels(one) for part, one in zip(self.parts, observed.parts, strict=True)
        ]
        width = max(one.shape[1] for one in each)
        return np.vstack([np.pad(one, ((0, 0), (0, width - one.shape[1]))) for one in each])

    def normal_scores(self, observed: Observed, levels: Floats | None = None) -> BlockObserved:
        """Centred values of roughly unit variance, zero where missing."""
        assert isinstance(observed, BlockObserved)
        each: list[Any] = [None] * len(self.parts)
        if levels is not None:
            each = np.split(levels, observed.block_ends[:-1])
        scores = zip(self.parts, observed.parts, each, strict=True)
        return BlockObserved(tuple(part.normal_scores(one, own) for part, one, own in scores))

    def start(self, coding: Any, observed: Observed, loadings: Floats) -> BlockParams:
        """Parameters at the starting loadings, shape (features, K)."""
        assert isinstance(observed, BlockObserved)
        ends = observed.block_ends
        rows = np.split(loadings, ends[:-1])
        found = zip(self.parts, coding.parts, observed.parts, rows, strict=True)
        return BlockParams(tuple(part.start(*given) for part, *given in found), ends)

    def noise_variance(self, params: BlockParams) -> Floats:
        """Variance not explained by w, shape (d,)."""
        parts = zip(self.parts, params.parts, strict=True)
        return np.concatenate([part.noise_variance(one) for part, one in parts])

    def intercept_precision(self, precision: float, params: BlockParams, n_rows: int) -> Floats:
        """Prior precision of every row's intercept, shape (d,)."""
        each = [precision if part.has_intercept else NO_INTERCEPT for part in self.parts]
        return np.repeat(each, np.diff((0, *params.ends)))

    def prepare(self, observed: Observed, rows: Normal, params: BlockParams) -> BlockParams:
        """Parameters with the state that only a fit needs."""
        assert isinstance(observed, BlockObserved)
        starts = (0, *params.ends[:-1])
        parts = [
            part.prepare(seen, rows.take(slice(start, end)), one)
            for part, seen, start, end, one in zip(
                self.parts, observed.parts, starts, params.ends, params.parts, strict=True
            )
        ]
        return replace(params, parts=tuple(parts))

    def refresh(self, observed: Observed, rows: slice, tile: Tile) -> Any:
        """Parameters of a tile that depend on all samples at once."""
        assert isinstance(observed, BlockObserved)
        block, local = block_of(observed.block_ends, rows)
        found = self.parts[block].refresh(observed.parts[block], local, self._own(tile))
        return replace(tile.params, part=found)

    def read(self, observed: Observed, rows: slice, samples: Index, params: Any) -> NDArray[Any]:
        """Content of a tile of observations."""
        assert isinstance(observed, BlockObserved)
        block, local = block_of(observed.block_ends, rows)
        found = self.parts[block].read(observed.parts[block], local, samples, params.part)
        return np.asarray(found)

    def _own(self, tile: Tile) -> Tile:
        """A tile for the likelihood of its block."""
        return tile._replace(params=tile.params.part)

    def terms(self, tile: Tile) -> tuple[Sites, Floats]:
        """Sites and bound terms of a tile, each array of shape (rows, samples)."""
        return self._of(tile.params).terms(self._own(tile))

    def sites(self, tile: Tile) -> Sites:
        """Sites of a tile, each array of shape (rows, samples)."""
        return self._of(tile.params).sites(self._own(tile))

    def slopes(self, tile: Tile) -> Slopes:
        """Derivatives of a tile's bound in w."""
        return self._of(tile.params).slopes(self._own(tile))

    def statistics(self, tile: Tile, columns: AnyColumns) -> Statistics:
        """Sums over the samples of a tile."""
        return self._of(tile.params).statistics(self._own(tile), columns)

    def augment(self, tile: Tile) -> Augmented:
        """Auxiliary variables of a tile of all samples, then parameters, then sites."""
        sites, found, bound = self._of(tile.params).augment(self._own(tile))
        return Augmented(sites, replace(tile.params, part=found), bound)

    def _of(self, params: BlockTile) -> DataLikelihood[Any]:
        """The likelihood of a tile's block."""
        return self.parts[params.block]

    def bound(self, statistics: Statistics, rows: Normal, params: Any) -> float:
        """E[log likelihood] of a tile."""
        return self._of(params).bound(statistics, rows, params.part)

    def update(self, statistics: Statistics, rows: Normal, params: Any) -> Any:
        """Parameters of a tile given its rows."""
        part = self._of(params)
        return replace(params, part=part.update(statistics, rows, params.part))

    def draw_params(
        self, statistics: Statistics, rows: Normal, params: Any, stream: Stream, first: int = 0
    ) -> Any:
        """A draw of the parameters of a tile given its rows."""
        part = self._of(params)
        return replace(params, part=part.draw_params(statistics, rows, params.part, stream, first))

    def system(self, statistics: Statistics, params: Any) -> tuple[Floats, Floats]:
        """Packed precision (rows, P) and shift (rows, K) that the data add to a tile's rows."""
        return self._of(params).system(statistics, params.part)

    def params_bound(self, params: BlockParams) -> float:
        """E[log p] - E[log q] of the parameters of all blocks."""
        parts = zip(self.parts, params.parts, strict=True)
        return float(sum(part.params_bound(one) for part, one in parts))

    def location(self, params: BlockParams, n_rows: int) -> Location | None:
        """How the rows of all blocks absorb a shift; None if those of any block cannot."""
        parts = zip(self.parts, params.parts, np.diff((0, *params.ends)), strict=True)
        found = [part.location(one, int(n)) for part, one, n in parts]
        known = [one for one in found if one is not None]
        if len(known) < len(found):
            return None
        return Location(*(np.concatenate(arrays) for arrays in zip(*known, strict=True)))

    def shifted(self, params: BlockParams, shift: Floats) -> BlockParams:
        """Parameters of all blocks, moved."""
        parts = zip(self.parts, params.parts, np.split(shift, params.ends[:-1]), strict=True)
        return replace(params, parts=tuple(part.shifted(one, by) for part, one, by in parts))

    def has_scale(self, params: Any) -> bool:
        """Whether the rows of a tile can be multiplied together with their parameters."""
        return self._of(params).has_scale(params.part)

    def scale_terms(self, tile: Tile, factor: Floats, some: NDArray[np.int64]) -> Floats:
        """Log density of rows of a tile multiplied by a factor, shape (m,)."""
        return self._of(tile.params).scale_terms(self._own(tile), factor, some)

    def scaled(self, params: Any, factor: Floats) -> Any:
        """Parameters of a tile multiplied by a factor."""
        return replace(params, part=self._of(params).scaled(params.part, factor))
