"""Start of the program, and Ctrl-C before, during and after the work of a command.

This module imports next to nothing. Until a command runs, and again when it is done, Ctrl-C ends
the process at once: no exception is raised that could surface in the midst of an import. Within a
command it is a `KeyboardInterrupt`, as usual in Python.
"""

from __future__ import annotations

import atexit
import gc
import os
import signal
import sys

INTERRUPTED = 130  # as a shell reports a program stopped by Ctrl-C

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


def main() -> None:
    """Run the command line."""
    # A signal that is ignored, as in a background job, stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)
        sys.unraisablehook = _raise_again
        # Registered first, so run last: while Python takes itself down, the exit code is settled.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    # Imports leave 170,000 objects that stay: to search them for cycles again and again, and once
    # more at the end, takes half a second.
    gc.set_threshold(100_000, 50, 100)
    atexit.register(gc.freeze)
    from rankfactor.cli.program import app

    try:
        app()
    finally:
        # Python remembers a KeyboardInterrupt that left any exec(), such as those of namedtuple,
        # and ends by a signal instead of the exit code even if it was handled; exec() forgets it.
        exec("")


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process: nothing is begun yet, or all is done."""
    try:
        os.write(2, b"interrupted.\n")
    finally:
        os._exit(INTERRUPTED)


class Interruptible:
    """Makes Ctrl-C a `KeyboardInterrupt` within a block; outside it ends the program."""

    def __init__(self) -> None:
        # Another handler, as where the commands are called from Python, stays.
        self._ours = signal.getsignal(signal.SIGINT) is _leave

    def __enter__(self) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def __exit__(self, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, _leave)


def is_interruption(error: BaseException | None) -> bool:
    """Whether an exception is Ctrl-C, or what compiled code or an import made of it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _raise_again(unraisable: Any) -> None:
    """Raise Ctrl-C once more if it came in code that cannot raise, such as a callback."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    else:
        sys.__unraisablehook__(unraisable)
