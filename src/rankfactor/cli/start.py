"""Start of the program, and Ctrl-C before, between and after the work of a command.

This module imports nothing that takes time. Until a command runs, and again when it is done,
Ctrl-C ends the process at once: no exception is raised that could end in the midst of an import.
Within a command it is a `KeyboardInterrupt`, as usual in Python.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

INTERRUPTED = 130  # as a shell reports a program stopped by Ctrl-C


def main() -> None:
    """Run the command line."""
    # A signal that is ignored, as in a background job, stays ignored.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler and _is_main_thread():
        signal.signal(signal.SIGINT, _leave)
        sys.unraisablehook = _raise_again
    from rankfactor.cli.program import app

    app()


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process: nothing is begun yet, or all is done."""
    with suppress(Exception):
        os.write(2, b"interrupted.\n")
    os._exit(INTERRUPTED)


@contextmanager
def interruptible() -> Iterator[None]:
    """Make Ctrl-C a `KeyboardInterrupt` within the block; outside it ends the program."""
    if not (_is_main_thread() and signal.getsignal(signal.SIGINT) is _leave):
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, _leave)


def is_interruption(error: BaseException | None) -> bool:
    """Whether an exception is Ctrl-C, or what compiled code or an import made of it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _raise_again(unraisable: Any) -> None:
    """Raise Ctrl-C once more where it came in code that cannot raise, such as a callback."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    else:
        sys.__unraisablehook__(unraisable)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
