"""All shards of a table, wherever they are: in the memory of this process, in files, on a cluster.

A step is a function of a shard. `Shards.sum` adds up its results over all shards, `Shards.stream`
yields them. Functions may change a shard's scores; they are module-level functions, so that a
cluster can pickle them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import Any

from rankfactor.engine.large.shard import Shard
from rankfactor.engine.large.totals import Totals
from rankfactor.laws.normal import Normal
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats

Step = Callable[..., Any]
Stage = Callable[[str, int, int], None]  # step, samples done, total
# Description of a step for users.
_NAMES = {
    "find_scores": "Finding scores",
    "ascend_shard": "Pass over all samples",
    "train_shard": "Pass over all samples",
    "settle_shard": "Settling scores",
    "label_statistics": "Fitting classifiers",
    "decide_withheld": "Checking held-out labels",
    "final_scores": "Encoding samples",
    "settled_scores": "Encoding samples",
}


def stage_of(progress: Any) -> Stage | None:
    """The method ``stage`` of a progress function, which reports the progress of long steps.

    It is called from several threads, one at a time.
    """
    found: Stage | None = getattr(progress, "stage", None)
    return found


class Shards(ABC):
    """The shards of a table."""

    @abstractmethod
    def stream(self, step: Step, *arguments: Any) -> Iterator[Any]:
        """``step(shard, *arguments)`` of every shard, in the order of the samples."""

    def run(self, step: Step, *arguments: Any) -> None:
        """The step at every shard, whatever it returns."""
        for _ in self.stream(step, *arguments):
            pass

    def scores(self, step: Step, *arguments: Any) -> Normal:
        """The scores of all samples, after a step that returns those of a shard."""
        return Normal.joined(list(self.stream(step, *arguments)))

    @abstractmethod
    def sum(self, step: Step, *arguments: Any) -> dict[str, Floats]:
        """Sums, by name, of the step's results."""


class LocalShards(Shards):
    """Shards in this process, distributed among its threads.

    Parameters
    ----------
    shards : sequence of Shard
    pool : Workers
    whole : Normal, optional
        The scores of all samples, of which those of the shards are parts.
    release : callable, optional
        Called after each step of a shard, for example to release memory that maps files.
    stage : callable, optional
        Called with the number of samples done in every step.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        pool: Workers,
        whole: Normal | None = None,
        release: Callable[[Shard], None] | None = None,
        stage: Stage | None = None,
    ) -> None:
        self.shards, self._pool, self._whole, self._release = shards, pool, whole, release
        self._stage, self._lock = stage, Lock()

    def scores(self, step: Step, *arguments: Any) -> Normal:
        """The scores of all samples, after a step that returns those of a shard."""
        if self._whole is None:
            return super().scores(step, *arguments)
        self.run(step, *arguments)
        return self._whole

    def stream(self, step: Step, *arguments: Any) -> Iterator[Any]:
        """``step(shard, *arguments)`` of every shard, a few of them at a time."""
        return self._pool.stream(self._call(step, arguments), self.shards)

    def sum(self, step: Step, *arguments: Any) -> dict[str, Floats]:
        """Sums of the step's results, in the order of the shards."""
        call, totals = self._call(step, arguments), Totals()
        for some in slices(len(self.shards), self._pool.count):
            totals.add_in_turn(self._pool.map(call, self.shards[some]), self._pool)
        return totals.release()

    def _call(self, step: Step, arguments: tuple[Any, ...]) -> Callable[[Shard], Any]:
        done, total = 0, sum(shard.size for shard in self.shards)
        name = _NAMES.get(step.__name__, step.__name__)

        def call(shard: Shard) -> Any:
            nonlocal done
            found = step(shard, *arguments)
            if self._release is not None:
                self._release(shard)
            if self._stage is not None:
                with self._lock:
                    done += shard.size
                    self._stage(name, done, total)
            return found

        return call
