"""Placement of the shards of a fit on the workers of a Dask cluster."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.large.cluster import DaskShards
from rankfactor.engine.large.link import Link
from rankfactor.engine.large.on_worker import Recipe
from rankfactor.engine.large.sources import Source
from rankfactor.likelihoods import Coding
from rankfactor.steps.workers import Workers
from rankfactor.typing import Floats


class DaskPlacement:
    """Shards on the workers of a cluster; a context manager that releases them at its end.

    Parameters
    ----------
    source : Source
        Where the values come from.
    client : distributed.Client
    memory : int, optional
        Bytes of codes and scores that a worker keeps in memory; above it they are kept in scratch
        files. By default half of the worker's limit.
    scratch : str, optional
        Folder of these files on the workers; by default the temporary folder.

    Attributes
    ----------
    shards : list of DaskShards
        Placed shards.
    """

    def __init__(
        self, source: Source, client: Any, memory: int | None = None, scratch: str | None = None
    ) -> None:
        self._source, self._client = source, client
        self._memory, self._scratch = memory, scratch
        self.shards: list[DaskShards] = []

    def __call__(
        self,
        coding: Coding,
        n_factors: int,
        signed: Floats,
        withheld: NDArray[np.bool_],
        pool: Workers,
    ) -> DaskShards:
        """Code all samples; ``signed`` (R, N) and ``withheld`` (N,) are theirs."""
        memory = self._memory
        if memory is None:
            workers = self._client.scheduler_info()["workers"].values()
            limits = [one["memory_limit"] // 2 for one in workers if one["memory_limit"]]
            memory = min(limits, default=None)
        recipe = Recipe(coding, n_factors, self._source.make, memory, self._scratch)
        shards = DaskShards(Link(self._client), self._source, recipe, signed, withheld)
        self.shards.append(shards)
        shards.place()
        return shards

    def __enter__(self) -> DaskPlacement:
        return self

    def __exit__(self, *problem: object) -> None:
        while self.shards:
            self.shards.pop().close()
