"""Ctrl-C during a fit: the first one ends it early, and no further one loses it."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

FINISHING = "finishing, a moment"


class Interruption:
    """What has become of Ctrl-C within `interruptible_once`.

    Attributes
    ----------
    came : bool
        Whether Ctrl-C came, heeded or held back.
    """

    def __init__(self, previous: Any) -> None:
        self.came = False
        self._held = self._told = False
        self._previous = previous

    def hold(self) -> None:
        """Hold back every Ctrl-C from here on: what follows is short, and the fit hangs on it."""
        self._held = True

    @contextmanager
    def holding(self, held: bool = True) -> Iterator[None]:
        """Hold back Ctrl-C within the block; with False let a first one break the block off."""
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
            self._previous(number, frame)
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

    Blocks can be nested. Outside the main thread, and where Ctrl-C is ignored, nothing changes.
    """
    previous = signal.getsignal(signal.SIGINT)
    interruption = Interruption(previous)
    if threading.current_thread() is not threading.main_thread() or not callable(previous):
        yield interruption
        return
    signal.signal(signal.SIGINT, interruption.handle)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, previous)
