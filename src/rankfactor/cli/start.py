"""Start of the program, and Ctrl-C before, during and after the work of a command.

This module imports next to nothing. Until a command runs, and again when it is done, Ctrl-C ends
the process at once: no exception is raised that could surface in the midst of an import. Within a
command it is a `KeyboardInterrupt`, as usual in Python.

SIGTERM, by which schedulers, containers and `kill` ask a program to end, does the same as Ctrl-C.
"""

from __future__ import annotations

import _thread
import atexit
import errno
import gc
import os
import signal
import sys
import time

INTERRUPTED = 130  # as a shell reports a program stopped by Ctrl-C
BAD_INPUT = 2
# Signals that end a command, and what Python does about them at first.
_ENDING = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
# Errors of a disk that is full, fails or cannot be written to.
_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


def main() -> None:
    """Run the command line."""
    for number, usual in _ENDING.items():
        # A signal that is ignored, as Ctrl-C in a background job, stays ignored.
        if signal.getsignal(number) is usual:
            signal.signal(number, _leave)
            sys.unraisablehook = _raise_again
            # Registered first, so run last: the exit code is settled while Python shuts down.
            atexit.register(signal.signal, number, signal.SIG_IGN)
    # Imports leave 170,000 objects that stay: to search them for cycles again and again, and once
    # more at the end, takes half a second.
    gc.set_threshold(100_000, 50, 100)
    atexit.register(gc.freeze)
    from rankfactor.cli.program import app

    try:
        app()
    except OSError as error:
        if error.errno not in _DISK:
            raise
        # Files have messages of their own: this is stdout, unless the error names something else.
        text = (
            f"error: {error.filename or 'the output'} cannot be written ({error.strerror}): free "
            "some space, or choose another place."
        )
        silence(sys.stdout)
        try:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()
        except OSError:
            silence(sys.stderr)
        raise SystemExit(BAD_INPUT) from error
    finally:
        # Python remembers a KeyboardInterrupt that left any exec(), such as those of namedtuple,
        # and ends by a signal instead of the exit code even if it was handled; exec() forgets it.
        exec("")


def silence(stream: Any) -> None:
    """Send what is left of a stream that cannot be written to nowhere: Python writes it at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _leave(number: int, frame: FrameType | None) -> None:
    """End the process: no work has started, or all is done."""
    try:
        os.write(2, b"interrupted.\n")
    finally:
        os._exit(INTERRUPTED)


class Interruptible:
    """Makes Ctrl-C and SIGTERM a `KeyboardInterrupt` in a block; outside they end the program."""

    def __init__(self) -> None:
        # Another handler, as where the commands are called from Python, stays.
        self._ours = [number for number in _ENDING if signal.getsignal(number) is _leave]

    def __enter__(self) -> None:
        for number in self._ours:
            signal.signal(number, signal.default_int_handler)

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        for number in self._ours:
            signal.signal(number, _leave)
        if self._ours and is_interruption(error):
            # Objects that Ctrl-C left half made complain when they are deleted.
            import warnings

            warnings.simplefilter("ignore")
            sys.unraisablehook = lambda _: None


def is_interruption(error: BaseException | None) -> bool:
    """Whether an exception is Ctrl-C, or what compiled code or an import made of it."""
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return True
        error = error.__cause__ or error.__context__
    return False


def _raise_again(unraisable: Any) -> None:
    """Raise Ctrl-C again if it came in code that cannot raise, such as a callback."""
    if isinstance(unraisable.exc_value, KeyboardInterrupt):
        # In a background job Ctrl-C is ignored, and this one was SIGTERM.
        heeded = callable(signal.getsignal(signal.SIGINT))
        number = signal.SIGINT if heeded else signal.SIGTERM
        # From another thread: sent here, it would be handled in this function, which cannot raise.
        _thread.start_new_thread(_send, (number, _thread.get_ident()))
    else:
        sys.__unraisablehook__(unraisable)


def _send(number: int, thread: int) -> None:
    """Send a signal to a thread, a moment later: by then it has left the code that cannot raise."""
    time.sleep(0.001)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)
    else:  # Windows
        signal.raise_signal(number)
