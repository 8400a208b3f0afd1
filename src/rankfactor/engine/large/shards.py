"""All shards of a table, wherever they are: in the memory of this process, in files, on a cluster.

A step is a function of a shard. `Shards.sum` adds up what it returns for every shard,
`Shards.stream` yields it. Functions may change a shard's scores; they are module-level ones, so
that a cluster can name them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rankfactor.engine.large.shard import Shard
from rankfactor.engine.large.totals import Totals
from rankfactor.steps.workers import Workers
from rankfactor.typing import Floats

Step = Callable[..., Any]


class Shards(ABC):
    """The shards of a table."""

    @abstractmethod
    def stream(self, step: Step, *arguments: Any) -> Iterator[Any]:
        """``step(shard, *arguments)`` of every shard, in the order of the samples."""

    def run(self, step: Step, *arguments: Any) -> None:
        """The step at every shard, whatever it returns."""
        for _ in self.stream(step, *arguments):
            pass

    @abstractmethod
    def sum(self, step: Step, *arguments: Any) -> dict[str, Floats]:
        """The sums, by name, of what the step returns."""


class LocalShards(Shards):
    """Shards in this process, shared out among its threads.

    Parameters
    ----------
    shards : sequence of Shard
    pool : Workers
    release : callable, optional
        Called after each step of a shard, such as to let go of memory that mirrors files.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        pool: Workers,
        release: Callable[[Shard], None] | None = None,
    ) -> None:
        self.shards, self._pool, self._release = shards, pool, release

    def stream(self, step: Step, *arguments: Any) -> Iterator[Any]:
        """``step(shard, *arguments)`` of every shard, a few of them at a time."""
        return self._pool.stream(self._call(step, arguments), self.shards)

    def sum(self, step: Step, *arguments: Any) -> dict[str, Floats]:
        """The sums of what the step returns."""
        totals = Totals()
        for found in self.stream(step, *arguments):
            totals.add(found)
        return totals.values()

    def _call(self, step: Step, arguments: tuple[Any, ...]) -> Callable[[Shard], Any]:
        def call(shard: Shard) -> Any:
            found = step(shard, *arguments)
            if self._release is not None:
                self._release(shard)
            return found

        return call
