"""Shards on the workers of a Dask cluster.

Every worker keeps its shards during a fit. A pass sends each worker the arguments of a step once,
and one task per thread; the task processes its shards one after another and returns sums. More than
a few sums are added on the workers in a tree. The data transferred in a pass therefore does not
depend on the number of samples.

Shard n belongs to thread n modulo the number of threads: consecutive shards are on different
workers, so a table that is read in order is coded by all of them, and results that are needed in
order (`DaskShards.stream`) come from all of them while few are in memory.

**If a worker dies**, its shards are lost. Their numbers are assigned to the threads with the fewest
shards, which build them again: codes from the table, scores at the rows of the last pass. Only
these shards repeat their part of the pass. Scores are a fixed point of the rows, so the fit
continues as if they had not been lost, up to the tolerance of that fixed point.
"""

from __future__ import annotations

import logging
import pickle
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.large.link import LOST, POLL, Link, LostError
from rankfactor.engine.large.on_worker import (
    Call,
    Lacking,
    Recipe,
    add_up,
    apply,
    build_shard,
    go_over,
    merged,
    open_store,
    refresh_scores,
)
from rankfactor.engine.large.shard import SHARD, Shared
from rankfactor.engine.large.shards import Shards, Step
from rankfactor.engine.large.sources import Source
from rankfactor.engine.large.totals import Totals
from rankfactor.errors import InputError, counted
from rankfactor.steps.workers import slices
from rankfactor.typing import Floats

logger = logging.getLogger(__name__)

REPLACED = 5.0  # seconds to replace a dead worker before others take its shards
PATIENCE = 60.0  # seconds that a fit waits for a worker if none is left
DEATHS = 3  # workers that may die in one pass
ATTEMPTS = 20  # to do a pass
FAN_IN = 4  # sums added by one task, or at the client if there are no more
AHEAD = 3  # shards per thread in progress when results are needed in order

Slot = tuple[str, int]  # address of a worker, and one of its threads


@dataclass(frozen=True)
class Moved:
    """Transfer and time of one pass.

    Attributes
    ----------
    step : str
    sent : int
        Bytes of the arguments, times workers.
    received : int
        Bytes of the sums, including those between workers; 0 for results that are not sums.
    seconds : float
        Duration.
    """

    step: str
    sent: int
    received: int
    seconds: float


@dataclass
class _Job:
    """Shards of one task."""

    slot: Slot
    numbers: list[int]
    future: Any = None


class DaskShards(Shards):
    """Shards on workers.

    Parameters
    ----------
    link : Link
    source : Source
    recipe : Recipe
    signed : array, shape (R, N)
    withheld : bool array, shape (N,)

    Attributes
    ----------
    moved : list of Moved
        Transfer of every pass.
    rebuilt : int
        Shards that were built again because their worker died.
    """

    def __init__(
        self,
        link: Link,
        source: Source,
        recipe: Recipe,
        signed: Floats,
        withheld: NDArray[np.bool_],
    ) -> None:
        self._link, self._source, self._recipe = link, source, recipe
        self._signed, self._withheld = signed, withheld
        self._rows = slices(len(withheld), SHARD)
        self._owners: dict[int, Slot] = {}  # by number of the shard
        self._stores: dict[str, Any] = {}  # futures by address
        self._n_workers = self._begun = self._done = 0
        self._followed: bytes | None = None  # the rows that scores follow since the last pass
        self.moved: list[Moved] = []
        self.rebuilt = 0

    def place(self) -> None:
        """Build all shards."""
        self._deal()
        self._persist(lambda: self._build(range(len(self._rows))))

    def sum(self, step: Step, *arguments: Any) -> dict[str, Floats]:
        """Sums of the step's results."""
        return self._totals(add_up, step, arguments).release()

    def run(self, step: Step, *arguments: Any) -> None:
        """The step at every shard, whatever it returns."""
        self._totals(go_over, step, arguments)

    def _totals(self, task: Step, step: Step, arguments: tuple[Any, ...]) -> Totals:
        """Sums of the results of a task that processes all shards of a thread."""
        call, packed = self._begin(step, arguments)
        arguments_there = self._link.sender(packed)
        by_slot: dict[Slot, list[int]] = {}
        for number, slot in sorted(self._owners.items()):
            by_slot.setdefault(slot, []).append(number)
        jobs = [_Job(slot, numbers) for slot, numbers in by_slot.items()]

        def reduce() -> tuple[Totals, int]:
            self._reassign(jobs)
            self._finish(jobs, jobs, lambda job: (task, call, arguments_there(), job.numbers))
            found, received = self._reduced(jobs)
            return self._mended(found, jobs), received

        try:
            totals: Totals
            totals, received = self._persist(reduce)
        finally:
            self._link.drop([job.future for job in jobs])
        self._end(step, arguments, len(packed), received)
        return totals

    def stream(self, step: Step, *arguments: Any) -> Iterator[Any]:
        """``step(shard, *arguments)`` of every shard, in the order of the samples."""
        call, packed = self._begin(step, arguments)
        arguments_there = self._link.sender(packed)
        ahead: deque[_Job] = deque()
        waiting = deque(range(len(self._rows)))

        def first() -> Any:
            while waiting and len(ahead) < AHEAD * len(set(self._owners.values())):
                number = waiting.popleft()
                ahead.append(_Job(self._owners[number], [number]))
            self._reassign(ahead)
            self._finish(
                *(ahead, [ahead[0]]),
                lambda job: (apply, call, arguments_there(), job.numbers[0]),
            )
            found = self._link.wait(ahead[0].future.result, [ahead[0].slot[0]])
            return self._mended(found, ahead)

        try:
            while waiting or ahead:
                found = self._persist(first)
                self._link.drop([ahead.popleft().future])
                yield found
        finally:
            self._link.drop([job.future for job in ahead])
        self._end(step, arguments, len(packed), 0)

    def close(self) -> None:
        """Release all shards on the workers."""
        self._link.drop(list(self._stores.values()))
        self._stores, self._owners = {}, {}

    # One pass.

    def _begin(self, step: Step, arguments: tuple[Any, ...]) -> tuple[Call, bytes]:
        """The pass that begins, and its arguments in bytes."""
        self._begun += 1
        self._begun_at = time.perf_counter()
        return Call(step, self._begun, self._done), _packed(arguments)

    def _end(self, step: Step, arguments: tuple[Any, ...], size: int, received: int) -> None:
        """Record a finished pass."""
        self._done = self._begun
        for one in arguments:
            if isinstance(one, Shared):
                self._followed = _packed(one)
        n_workers = len({address for address, _ in self._owners.values()})
        moved = Moved(
            step.__name__, size * n_workers, received, time.perf_counter() - self._begun_at
        )
        self.moved.append(moved)
        logger.debug(
            "%s: %.3f MB sent to %s, %.3f MB received, %.2f s",
            *(moved.step, moved.sent / 1e6, counted(n_workers, "worker"), moved.received / 1e6),
            moved.seconds,
        )

    def _finish(
        self,
        jobs: MutableSequence[_Job],
        wanted: Sequence[_Job],
        task_of: Callable[[_Job], tuple[Any, ...]],
    ) -> None:
        """Submit the jobs that are not in progress, and wait for those that are needed."""
        for job in jobs:
            if job.future is None or job.future.status in LOST:
                task, *arguments = task_of(job)
                address = job.slot[0]
                job.future = self._link.submit(address, task, self._store(address), *arguments)
        self._check(wanted)

    def _reduced(self, jobs: Sequence[_Job]) -> tuple[Any, int]:
        """The sums of all jobs, and the bytes transferred."""
        futures, travelled = [job.future for job in jobs], 0
        # Many sums would all pass through the single link of scheduler and client.
        while len(jobs) > FAN_IN and len(futures) > 1:
            travelled += len(futures)
            futures = [
                self._link.client.submit(merged, *futures[some], pure=False)
                for some in slices(len(futures), FAN_IN)
            ]
        travelled += len(futures)
        parts = self._link.wait(
            lambda: self._link.client.gather(futures), {job.slot[0] for job in jobs}
        )
        totals = merged(*parts)
        return totals, 0 if isinstance(totals, Lacking) else travelled * totals.nbytes

    # Where shards are.

    def _mended(self, found: Any, jobs: Sequence[_Job]) -> Any:
        """The result; if workers lack shards, these are rebuilt first."""
        if not isinstance(found, Lacking):
            return found
        lacking = {*found.missing, *found.stale}
        for job in jobs:
            if lacking.intersection(job.numbers):
                job.future = None
        if found.missing:
            logger.info("building %s again", counted(len(found.missing), "shard"))
            self.rebuilt += len(found.missing)
            self._build(found.missing)
        if found.stale:
            self._refresh(found.stale)
        raise LostError

    def _refresh(self, numbers: Sequence[int]) -> None:
        """Compute scores as they were after the last pass."""
        rows = None if self._followed is None else self._link.sender(self._followed)
        by_slot: dict[Slot, list[int]] = {}
        for number in numbers:
            by_slot.setdefault(self._owners[number], []).append(number)
        jobs = []
        for slot, own in by_slot.items():
            arguments = self._store(slot[0]), own, self._done, None if rows is None else rows()
            jobs.append(_Job(slot, own, self._link.submit(slot[0], refresh_scores, *arguments)))
        self._check(jobs)

    def _build(self, numbers: Sequence[int]) -> None:
        """Build shards where they belong."""
        source, link, jobs = self._source, self._link, deque[_Job]()
        most = AHEAD * len(set(self._owners.values()))
        try:
            for number, given in source.give(link.client, self._recipe.coding, numbers):
                slot, rows = self._owners[number], self._rows[number]
                labels = np.ascontiguousarray(self._signed[:, rows]), self._withheld[rows]
                if source.is_here:
                    given = self._sent(given, slot[0])
                arguments = self._store(slot[0]), number, rows.start, given, *labels
                # Code the values before reading more.
                future = link.submit(slot[0], build_shard, *arguments, priority=10)
                jobs.append(_Job(slot, [number], future))
                if source.is_here and len(jobs) > most:
                    self._check([jobs.popleft()])
            self._check(jobs)
        finally:
            link.drop([job.future for job in jobs])

    def _sent(self, values: Any, address: str) -> Any:
        """Future of values on one worker."""
        client = self._link.client
        return self._link.wait(
            lambda: client.scatter(values, workers=[address], hash=False), [address]
        )

    def _check(self, jobs: Sequence[_Job]) -> None:
        """Wait for jobs, and raise what they raised."""
        if jobs:
            self._link.settle([job.future for job in jobs], {job.slot[0] for job in jobs})
        for job in jobs:
            problem = job.future.exception()
            if problem is not None:
                self._link.raise_problem(problem, job.slot[0])

    def _store(self, address: str) -> Any:
        """The store on a worker, opened on first use."""
        store = self._stores.get(address)
        if store is None or store.status in LOST:
            recipe = self._link.sender(_packed(self._recipe))()
            share = len(self._withheld) // max(self._n_workers, 1)
            self._stores[address] = self._link.submit(address, open_store, recipe, share)
        return self._stores[address]

    def _reassign(self, jobs: MutableSequence[_Job]) -> None:
        """Reassign jobs of lost workers to the current owners of their shards, in place."""
        for job in list(jobs):
            owners: dict[Slot, list[int]] = {}
            for number in job.numbers:
                owners.setdefault(self._owners[number], []).append(number)
            if list(owners) == [job.slot]:
                continue
            self._link.drop([job.future])
            (job.slot, job.numbers), *others = owners.items()
            job.future = None
            jobs.extend(_Job(slot, numbers) for slot, numbers in others)

    def _persist(self, attempt: Callable[[], Any]) -> Any:
        """The result of an attempt, repeated after a loss."""
        deaths = 0
        for _ in range(ATTEMPTS):
            try:
                return attempt()
            except LostError:
                gone = sorted(set(self._stores) - set(self._link.threads()))
                deaths += len(gone)
                if gone:
                    logger.warning("lost the worker %s", " and ".join(gone))
                if deaths > DEATHS:
                    break
                self._deal()
            except Exception as problem:  # losing a scheduler raises many kinds of errors
                self._link.check(problem)
                raise
        raise InputError(
            f"{counted(deaths, 'worker')} of the cluster at {self._link.address} died within one "
            "pass over the table: they may need more memory, or more workers."
        )

    def _deal(self) -> None:
        """Assign shards without a living worker to the threads with the fewest shards."""
        threads, begun = self._link.threads(), time.monotonic()
        while len(threads) < max(self._n_workers, 1):
            if time.monotonic() - begun > (REPLACED if threads else PATIENCE):
                break
            time.sleep(POLL)
            threads = self._link.threads()
        if not threads:
            raise InputError(
                f"the cluster at {self._link.address} has had no worker for {PATIENCE:.0f} s: "
                "start workers, and fit again."
            )
        self._n_workers = len(threads)
        for address in set(self._stores) - set(threads):
            del self._stores[address]
        # Threads of different workers alternate.
        slots = sorted(
            ((address, thread) for address, count in threads.items() for thread in range(count)),
            key=lambda slot: (slot[1], slot[0]),
        )
        self._owners = {
            number: slot for number, slot in self._owners.items() if slot[0] in self._stores
        }
        loads = Counter(self._owners.values())
        for number in range(len(self._rows)):
            if number not in self._owners:
                slot = self._owners[number] = min(slots, key=loads.__getitem__)
                loads[slot] += 1


def _packed(value: Any) -> bytes:
    return pickle.dumps(value, protocol=pickle.HIGHEST_PROTOCOL)
