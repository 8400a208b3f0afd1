"""Placement of the shards of a table: in memory, or in scratch files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.large.shard import SHARD, Shard
from rankfactor.engine.large.shards import LocalShards, Stage
from rankfactor.kernels.packed import packed_size
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Coding, Observed, ObservedArray
from rankfactor.likelihoods.block_arrays import BlockObserved
from rankfactor.likelihoods.gaussian import Standardised
from rankfactor.steps.workers import Workers
from rankfactor.storage.scratch import Scratch, let_go
from rankfactor.typing import Floats

Chunks = Callable[[int], Iterator[tuple[int, Any]]]


@dataclass(frozen=True)
class LocalPlacement:
    """Shards in this process.

    Attributes
    ----------
    chunks : callable
        ``chunks(rows)`` yields the number of the first row and the values of consecutive chunks.
    memory : int or None
        Bytes that codes and scores may take in memory; above it, they are kept in scratch files.
    scratch : str or None
        Folder of these files.
    stage : callable or None
        Called with the number of samples done, for coding and every later step.
    """

    chunks: Chunks
    memory: int | None = None
    scratch: str | None = None
    stage: Stage | None = None

    def __call__(
        self,
        coding: Coding,
        n_factors: int,
        signed: Floats,
        withheld: NDArray[np.bool_],
        pool: Workers,
    ) -> LocalShards:
        """Code all samples; ``signed`` (R, N) and ``withheld`` (N,) are theirs."""
        need = bytes_per_sample(coding, n_factors) * len(withheld)
        inside = self.memory is None or need <= self.memory // 2
        scratch = None if inside else Scratch(self.scratch)
        whole = empty_scores(len(withheld), n_factors) if inside else None
        shards = []
        for first, values in self.chunks(SHARD):
            rows = slice(first, first + values.shape[0])
            observed = coding.observe(values)
            if scratch is not None:
                observed = observed.moved(scratch.keep)
            z = whole.take(rows) if whole else empty_scores(values.shape[0], n_factors, scratch)
            shard = Shard(first, observed, signed[:, rows], withheld[rows], z)
            if scratch is not None:
                release(shard)
            shards.append(shard)
            if self.stage is not None:
                self.stage("Coding samples", rows.stop, len(withheld))
        free = None if scratch is None else release
        return LocalShards(shards, pool, whole, free, self.stage)


def bytes_per_sample(coding: Coding, n_factors: int) -> int:
    """Bytes of codes and scores per sample."""
    return len(coding.columns) + 8 * (n_factors + 1) + 4 * packed_size(n_factors)


def empty_scores(n: int, n_factors: int, scratch: Scratch | None = None) -> Normal:
    """Room for the scores of samples, (n, K): means in double, covariances in single precision."""
    empty: Any = np.zeros if scratch is None else scratch.empty
    cov = empty((packed_size(n_factors), n), np.float32).T
    return Normal(empty((n, n_factors), np.float64), cov, empty((n,), np.float64))


def release(shard: Shard) -> None:
    """Release the memory that maps a shard's files."""
    for array in (shard.z.mean, shard.z.cov, shard.z.log_det, *_arrays(shard.observed)):
        let_go(array)


def _arrays(observed: Observed) -> list[NDArray[Any]]:
    if isinstance(observed, BlockObserved):
        return [array for part in observed.parts for array in _arrays(part)]
    if isinstance(observed, Standardised):
        return [observed.values]
    return [observed.array] if isinstance(observed, ObservedArray) else []
