"""The link from a fit to the workers of a Dask cluster, any of which may die.

`distributed` moves a task whose worker died to another one. Our tasks are bound to the worker that
has their shards, so they would wait for ever: `Link.wait` asks the scheduler twice a second which
workers live, and raises `LostError` if a needed one does not.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any

from rankfactor.errors import InputError

logger = logging.getLogger(__name__)

POLL = 0.5  # seconds between checks of which workers are alive
PAUSED = 60  # checks between reports of workers that wait for memory
SMALL = 2**16  # bytes of arguments sent with a task
LOST = ("cancelled", "lost")  # final states of a future without a result
CANCELLED = (concurrent.futures.CancelledError, asyncio.CancelledError)
UNREACHABLE = (OSError, TimeoutError, *CANCELLED)


class LostError(Exception):
    """Data on a worker were lost; dependent work must be repeated."""


class Link:
    """Operations of a fit on a client.

    Parameters
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.address = str(client.scheduler.address)

    def threads(self) -> dict[str, int]:
        """Number of threads of all living workers, by address."""
        try:
            return dict(self.client.nthreads())
        except UNREACHABLE as problem:
            raise self._away() from problem
        except Exception as problem:
            self.check(problem)
            raise

    def check(self, problem: Exception) -> None:
        """Raise an error if the client has lost the scheduler, the cause of other errors."""
        if self.client.status != "running":
            raise self._away() from problem

    def _away(self) -> InputError:
        return InputError(
            f"the scheduler at {self.address} does not answer any more: check that it runs, and "
            "fit again."
        )

    def submit(self, address: str, task: Any, *arguments: Any, **options: Any) -> Any:
        """Future of a task on one worker."""
        options |= {"workers": [address], "allow_other_workers": False, "pure": False}
        return self.client.submit(task, *arguments, **options)

    def sender(self, packed: bytes) -> Callable[[], Any]:
        """Bytes as an argument of tasks; large ones are sent once to every worker."""
        if len(packed) <= SMALL:
            return lambda: packed
        there: Any = None

        def send() -> Any:
            nonlocal there
            if there is None or there.status in LOST:
                there = self.wait(
                    lambda: self.client.scatter(packed, broadcast=True, hash=False), ()
                )
            return there

        return send

    def wait(self, call: Callable[[], Any], addresses: Collection[str]) -> Any:
        """Result of a call that may block.

        Raises
        ------
        LostError
            If a worker at one of the addresses dies before, or the call finds something lost.
        """
        waiting: concurrent.futures.Future[Any] = concurrent.futures.Future()

        def work() -> None:
            try:
                waiting.set_result(call())
            except BaseException as problem:
                waiting.set_exception(problem)

        threading.Thread(target=work, daemon=True).start()
        looks = 0
        while not concurrent.futures.wait([waiting], POLL).done:
            if not set(addresses) <= set(self.threads()):
                raise LostError
            looks += 1
            if looks % PAUSED == 0:
                self._report_paused(addresses)
        problem = waiting.exception()
        if isinstance(problem, (KeyError, *UNREACHABLE)):
            time.sleep(POLL)  # for the scheduler to notice a dead worker
            raise LostError from problem
        return waiting.result()

    def _report_paused(self, addresses: Collection[str]) -> None:
        """Report workers that accept no tasks, since the fit would seem to hang."""
        known = self.client.scheduler_info()["workers"]
        paused = [one for one in addresses if known.get(one, {}).get("status") == "paused"]
        if paused:
            logger.warning(
                "the worker at %s waits because its memory is nearly full", " and at ".join(paused)
            )

    def settle(self, futures: Sequence[Any], addresses: Collection[str]) -> None:
        """Wait for futures to end, with a result or an error."""
        import distributed

        def ended() -> None:
            with self.client.as_current():
                distributed.wait(futures)  # type: ignore[no-untyped-call]

        self.wait(ended, addresses)
        if any(future.status in LOST for future in futures):
            raise LostError

    def raise_problem(self, problem: BaseException, address: str) -> None:
        """Raise the error of a task on a worker with a helpful message."""
        from distributed import KilledWorker

        if isinstance(problem, (KilledWorker, *CANCELLED)):
            raise LostError from problem
        if isinstance(problem, MemoryError):
            raise InputError(
                f"the worker at {address} has no memory left: use more workers, or workers with "
                "more memory."
            ) from problem
        if isinstance(problem, InputError):
            raise InputError(f"{problem} (found by the worker at {address})") from problem
        raise problem

    def drop(self, futures: Collection[Any]) -> None:
        """Cancel futures in progress, and release the results of others."""
        some = [future for future in futures if future is not None]
        under_way = [future for future in some if future.status == "pending"]
        with suppress(Exception):  # the cluster may be gone
            if under_way:
                self.client.cancel(under_way, force=True)
            for future in some:
                future.release()
