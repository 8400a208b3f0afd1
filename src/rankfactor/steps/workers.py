"""One pool of threads for everything.

Work is split into independent blocks of samples or tiles of features; BLAS uses one thread inside
them. Results are therefore identical to the last bit for any number of threads, and no more cores
are used than requested. Small tables use no threads: waking one takes as long as their work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

from threadpoolctl import threadpool_limits

from rankfactor.typing import Floats

Item = TypeVar("Item")
Result = TypeVar("Result")

# Tables with fewer entries run in the calling thread. Two threads take 0.1 ms to respond, an
# iteration of variational Bayes 0.2 ms for every 1,000 entries.
SMALL = 2**14


class Workers:
    """Applies a function to items, in order of the items, on a number of threads.

    Attributes
    ----------
    count : int
        Number of threads.
    """

    def __init__(self, pool: ThreadPoolExecutor | None = None, count: int = 1) -> None:
        self._pool, self.count = pool, count

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> list[Result]:
        """``[function(item) for item in items]``."""
        items = list(items)
        # A single item is not worth waking another thread.
        if self._pool is None or len(items) < 2:
            return [function(item) for item in items]
        return list(self._pool.map(function, items))

    def stream(self, function: Callable[[Item], Result], items: Sequence[Item]) -> Iterator[Result]:
        """``function(item)`` in the order of the items, a few of them in memory at a time."""
        for some in slices(len(items), self.count):
            results = self.map(function, items[some])
            while results:
                yield results.pop(0)  # released once handed over

    def sum(self, function: Callable[[Item], Floats], items: Sequence[Item]) -> Floats:
        """Sum of ``function(item)``, added in the order of the items."""
        total: Floats | None = None
        for part in self.stream(function, items):
            total = part if total is None else total + part
        if total is None:
            raise ValueError("nothing to sum.")
        return total


@contextmanager
def workers(n_threads: int | None, entries: float = math.inf) -> Iterator[Workers]:
    """Threads for the duration of a fit or a prediction; None uses every core.

    A table of fewer than `SMALL` entries uses only the calling thread.
    """
    count = 1 if entries < SMALL else thread_count(n_threads)
    with threadpool_limits(limits=1, user_api="blas"):
        if count == 1:
            yield Workers()
        else:
            with ThreadPoolExecutor(count, thread_name_prefix="rankfactor") as pool:
                yield Workers(pool, count)


def thread_count(n_threads: int | None) -> int:
    """The requested number; None means every core."""
    if n_threads is not None:
        return n_threads
    from joblib import cpu_count  # takes a sixth of a second to import

    return int(cpu_count())


def slices(size: int, length: int) -> list[slice]:
    """Consecutive slices of at most ``length`` that cover ``range(size)``."""
    return [slice(first, min(first + length, size)) for first in range(0, size, length)]
