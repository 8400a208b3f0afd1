"""Shards of a fit on a cluster worker, and steps on them.

Every worker has one `Store` per fit. It is the result of a task, so the worker releases it when the
client does, also if the client dies. The client names shards by number and states which pass their
scores must come from. A worker that lacks a shard, because it has just joined or was restarted, or
that has scores from another pass, returns `Lacking` before doing anything. The client then has the
shards rebuilt or their scores recomputed: see
`rankfactor.engine.large.cluster`.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from threadpoolctl import threadpool_limits

from rankfactor.engine.large.placement import bytes_per_sample, empty_scores, release
from rankfactor.engine.large.shard import Shard, Shared, find_scores, settle_shard
from rankfactor.engine.large.shards import Step
from rankfactor.engine.large.totals import Totals
from rankfactor.errors import InputError
from rankfactor.likelihoods import Coding
from rankfactor.storage.scratch import Scratch

NEVER = -1  # pass number of scores that were not computed


@dataclass(frozen=True)
class Lacking:
    """Shards that a worker does not have, and those that have the scores of another pass."""

    missing: tuple[int, ...] = ()
    stale: tuple[int, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.stale)


class AbandonedError(Exception):
    """Raised in a pass that the client no longer waits for."""


@dataclass(frozen=True)
class Recipe:
    """Settings for making shards from values.

    Attributes
    ----------
    coding : Coding
    n_factors : int
    make : callable or None
        Transform of a source's output to values; None if it yields codes.
    memory : int or None
        Bytes that the shards of a worker may take in memory; above it, they are kept in scratch
        files.
    scratch : str or None
        Folder of these files on the worker.
    """

    coding: Coding
    n_factors: int
    make: Callable[[Any], Any] | None = None
    memory: int | None = None
    scratch: str | None = None


@dataclass
class _Held:
    shard: Shard
    version: int = NEVER
    lock: threading.Lock = field(default_factory=threading.Lock)


class Store:
    """The shards of one fit on one worker."""

    def __init__(self, recipe: Recipe, n_samples: int) -> None:
        self.recipe, self.newest = recipe, 0
        self.held: dict[int, _Held] = {}
        # Threads of a worker share the process, and so the number of threads of BLAS.
        self._limits = threadpool_limits(limits=1, user_api="blas")
        need = bytes_per_sample(recipe.coding, recipe.n_factors) * n_samples
        inside = recipe.memory is None or need <= recipe.memory
        self.scratch = None if inside else Scratch(recipe.scratch)

    def __reduce__(self) -> NoReturn:
        # Dask would move a store to disk when memory is short, with the shards in use.
        raise TypeError("shards stay where they are.")

    def __del__(self) -> None:
        self._limits.restore_original_limits()


def open_store(recipe: bytes, n_samples: int) -> Store:
    """A store without shards, for about this many samples."""
    return Store(pickle.loads(recipe), n_samples)


def build_shard(
    store: Store, number: int, first: int, given: Any, signed: Any, withheld: Any
) -> None:
    """Code the values of a shard unless already coded, and store the shard without scores."""
    recipe, scratch = store.recipe, store.scratch
    observed = given
    if recipe.make is not None:
        values = recipe.make(given)
        if values.shape[0] != len(withheld):
            raise InputError(
                f"rows {first} to {first + len(withheld) - 1} of the table were read as "
                f"{values.shape[0]} rows; do not change it while it is read."
            )
        observed = recipe.coding.observe(values)
    if scratch is not None:
        observed = observed.moved(scratch.keep)
    z = empty_scores(len(withheld), recipe.n_factors, scratch)
    shard = Shard(first, observed, signed, withheld, z)
    if scratch is not None:
        release(shard)
    store.held[number] = _Held(shard)


def refresh_scores(store: Store, numbers: Sequence[int], version: int, rows: bytes | None) -> None:
    """Recompute the scores of shards, at the rows of the pass ``version``.

    Scores of a pass follow those of the pass before. The difference to those found here is smaller
    than the change of a fit in its last passes.
    """
    shared: Shared | None = None if rows is None else pickle.loads(rows)
    for number in numbers:
        held = store.held.get(number)
        if held is None:
            return  # the pass itself reports it
        with held.lock:
            size = held.shard.size
            held.shard.z = empty_scores(size, store.recipe.n_factors, store.scratch)
            if shared is not None:
                find_scores(held.shard, shared)
                settle_shard(held.shard, shared)
            _let_go(store, held)
            held.version = version


@dataclass(frozen=True)
class Call:
    """One pass: a step with its arguments, its number, and the pass that scores must come from."""

    step: Step
    number: int
    version: int

    def begin(self, store: Store, numbers: Sequence[int]) -> Lacking:
        """Shards that are missing or not ready; if none, end earlier passes."""
        missing = [one for one in numbers if one not in store.held]
        stale = [
            one
            for one in numbers
            # Scores computed from the prior need no earlier ones.
            if self.step is not find_scores
            and one in store.held
            and store.held[one].version != self.version
        ]
        lacking = Lacking(tuple(missing), tuple(stale))
        if not lacking:
            store.newest = max(store.newest, self.number)
        return lacking

    def at(self, store: Store, number: int, arguments: Any) -> Any:
        """The step at one shard."""
        held = store.held[number]
        with held.lock:
            if store.newest > self.number:
                raise AbandonedError
            held.version = NEVER  # until the step is done
            found = self.step(held.shard, *arguments)
            _let_go(store, held)
            held.version = self.number
        return found


def add_up(store: Store, call: Call, arguments: bytes, numbers: Sequence[int]) -> Totals | Lacking:
    """Sums of a step's results over shards."""
    if lacking := call.begin(store, numbers):
        return lacking
    given, totals = pickle.loads(arguments), Totals()
    for number in numbers:
        totals.add(call.at(store, number, given))
    return totals


def go_over(store: Store, call: Call, arguments: bytes, numbers: Sequence[int]) -> Totals | Lacking:
    """A step at shards; no sums."""
    if lacking := call.begin(store, numbers):
        return lacking
    given = pickle.loads(arguments)
    for number in numbers:
        call.at(store, number, given)
    return Totals()


def apply(store: Store, call: Call, arguments: bytes, number: int) -> Any:
    """Result of a step at one shard."""
    if lacking := call.begin(store, [number]):
        return lacking
    return call.at(store, number, pickle.loads(arguments))


def merged(*parts: Totals | Lacking) -> Totals | Lacking:
    """The sum of sums, or all that is lacking."""
    totals, lacking = Totals(), Lacking()
    for part in parts:
        if isinstance(part, Lacking):
            lacking = Lacking(lacking.missing + part.missing, lacking.stale + part.stale)
        else:
            totals.merge(part)
    return lacking or totals


def _let_go(store: Store, held: _Held) -> None:
    if store.scratch is not None:
        release(held.shard)
