"""Ctrl-C during a fit: the first one ends it early, and no further one loses it.

SIGTERM counts as Ctrl-C where it raises `KeyboardInterrupt`, as on the command line
(`rankfactor.cli.start`). Any other handler of SIGTERM stays in place.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

FINISHING = "finishing, a moment"

Handler = Callable[[int, FrameType | None], Any]
_SIGNALS: tuple[int, ...] = (signal.SIGINT, signal.SIGTERM)


class Interruption:
    """State of Ctrl-C within `interruptible_once`.

    Attributes
    ----------
    came : bool
        Whether Ctrl-C came, raised or held back.
    """

    def __init__(self, previous: Mapping[int, Handler]) -> None:
        self.came = False
        self._held = self._told = False
        self._previous = previous

    def hold(self) -> None:
        """Hold back every Ctrl-C from here on: the rest is short and necessary for the fit."""
        self._held = True

    @contextmanager
    def holding(self, held: bool = True) -> Iterator[None]:
        """Hold back Ctrl-C within the block; with False let the first one interrupt the block."""
        held, self._held = self._held, held
        try:
            yield
        finally:
            self._held = held

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Pass a signal on, and let it raise only if it is the first and is not held back."""
        heeds = not (self.came or self._held)
        self.came = True
        try:
            # Handlers further out take note of it, whether it is held back here or not.
            self._previous[number](number, frame)
        except KeyboardInterrupt:
            if heeds:
                raise
            if not self._told:
                self._told = True
                with suppress(Exception):
                    sys.stderr.write(f"{FINISHING}\n")
                    sys.stderr.flush()


@contextmanager
def interruptible_once() -> Iterator[Interruption]:
    """Let the first Ctrl-C of a block raise, and hold back those after it.

    Blocks can be nested. Outside the main thread, and if Ctrl-C is ignored, nothing changes.
    """
    previous: dict[int, Handler] = {}
    if threading.current_thread() is threading.main_thread():
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) and (number == signal.SIGINT or _raises(handler)):
                previous[number] = handler
    interruption = Interruption(previous)
    for number in previous:
        signal.signal(number, interruption.handle)
    try:
        yield interruption
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _raises(handler: Handler) -> bool:
    """Whether a handler is Python's own of Ctrl-C, or one of a block further out."""
    ours = isinstance(getattr(handler, "__self__", None), Interruption)
    return ours or handler is signal.default_int_handler
