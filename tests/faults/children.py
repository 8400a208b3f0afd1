"""A warm process whose children run commands until a fault stops them.

Starting Python and loading compiled kernels takes seconds, a fit of 60 samples a tenth of one. The
process therefore imports everything, runs the commands once, and forks: a child begins its command
at once. It reads requests and writes answers, one JSON object a line.

Faults of a child (``Fault``): a signal after some time; a signal or an error at the n-th operation
on a file in its folder; a limit on the size of files. An operation is what Python code does to a
file that it writes: `open`, `write`, `fsync`, `mkdir`, `rename` or `remove`. Libraries that write
in C, such as HDF5 and Arrow, are reached by the limit.
"""

from __future__ import annotations

import fcntl
import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

SOURCE = Path(__file__).parents[2] / "src"
# Fit tables of more than 300 samples by shards of 128.
SHARDS = {"LARGE": 300, "SAMPLE": 400, "CORE": 256, "WITHHELD": 100, "ENOUGH": 50, "SHARD": 128}
LONGEST = 120.0  # seconds
SENT = "signal"  # among the operations: a signal came


class Fault(NamedTuple):
    """What happens to a child.

    ``after`` is a time in seconds, ``at`` the number of an operation from 1. Without ``error`` the
    child gets ``number``, a signal; after some time this is SIGKILL from outside, or one that the
    program handles (`_signal_later`). With ``error``, an ``errno``, the operation fails, and so
    does, with ``lasting``, every later one that needs space. ``size`` is the limit of a file in
    bytes.
    """

    after: float | None = None
    at: int | None = None
    number: int = signal.SIGKILL
    error: int | None = None
    lasting: bool = False
    size: int | None = None


class End(NamedTuple):
    """How a child ended: its exit code, negative for a signal, and what it had done until then."""

    code: int
    seconds: float
    stdout: str
    stderr: str
    operations: list[str]


class WarmProcess:
    """The process that forks."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore::DeprecationWarning", __file__],
            env={**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def warm(self, folder: Path, *arguments: str) -> None:
        """Run a command in the process itself, to compile its kernels."""
        self._ask({"warm": arguments, "folder": str(folder)})

    def run(self, folder: Path, *arguments: str, fault: Fault | None = None) -> End:
        """Run a command in a child."""
        fault = Fault() if fault is None else fault
        told = self._ask({"run": arguments, "folder": str(folder), "fault": fault._asdict()})
        return End(**told)

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=60)

    def _ask(self, request: dict[str, Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def small_shards() -> None:
    """Fit small tables like large ones."""
    from rankfactor.engine.large import cluster, fit, held_out, placement, shard, sources
    from rankfactor.estimators import large

    for module in (large, fit, held_out, placement, cluster, shard, sources):
        for name, size in SHARDS.items():
            if hasattr(module, name):
                setattr(module, name, size)


class Operations:
    """Counts what Python code does to files in the working folder, and stops it at one of them."""

    def __init__(self, log: int, fault: dict[str, Any]) -> None:
        self._folder, self._log = os.path.realpath(".") + os.sep, log
        self._count, self._fault = 0, fault
        self._write: Callable[..., int] = os.write

    def watch(self) -> None:
        """Start to watch."""
        import _pyio
        import builtins
        import io

        flush, usual = os.fsync, io.open

        def write(number: int, content: Any) -> int:
            if number > 2:
                self._happens("write", f"/dev/fd/{number}")
            return self._write(number, content)

        def fsync(number: int) -> None:
            self._happens("fsync", f"/dev/fd/{number}")
            flush(number)

        def opened(file: Any, mode: str = "r", *rest: Any, **settings: Any) -> Any:
            # Files of this module write by `os.write`.
            plain = not set(mode) & set("wax+") or self._place(file) is None
            return (usual if plain else _pyio.open)(file, mode, *rest, **settings)

        os.write, os.fsync = write, fsync
        io.open = builtins.open = opened  # type: ignore[assignment]
        sys.addaudithook(self._hear)

    def _hear(self, event: str, given: tuple[Any, ...]) -> None:
        if event == "open":
            flags = given[2] or 0
            if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
                self._happens("open", given[0])
        elif event in ("os.mkdir", "os.rename", "os.remove", "os.rmdir"):
            self._happens(event.removeprefix("os."), given[0])

    def _place(self, path: Any) -> str | None:
        """Path in the folder; None for files elsewhere."""
        if not isinstance(path, str | bytes | os.PathLike):
            return None
        text = os.fsdecode(path)
        place = os.path.realpath(text) if text.startswith("/dev/fd/") else os.path.abspath(text)
        inside = (place + os.sep).startswith(self._folder)
        return (place + os.sep)[len(self._folder) : -1] if inside else None

    def _happens(self, what: str, path: Any) -> None:
        place = self._place(path)
        if place is None:
            return
        self._count += 1
        self._write(self._log, f"{what} {place}\n".encode())
        at, error, lasting = (self._fault[name] for name in ("at", "error", "lasting"))
        if at is None or self._count < at:
            return
        if error is None:
            os.kill(os.getpid(), self._fault["number"])
        elif self._count == at or (lasting and what in ("open", "write", "mkdir")):
            raise OSError(error, os.strerror(error))


def _signal_later(after: float, number: int, log: int) -> None:
    """Let this process send itself a signal after some time, once the program handles it.

    Python runs the handler of a timer in the main thread. So either the signal came while the
    program could heed it, which the log then says, or the program had ended before.
    """

    def send(*_: object) -> None:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            return
        os.write(log, f"{SENT}\n".encode())
        os.kill(os.getpid(), number)

    signal.signal(signal.SIGALRM, send)
    signal.setitimer(signal.ITIMER_REAL, after)


def _child(
    arguments: list[str], folder: Path, fault: dict[str, Any], streams: dict[str, int]
) -> None:
    """Run a command as the program does, and end."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM):
        usual = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, usual)
    os.chdir(folder)
    os.dup2(streams["stdout"], 1)
    os.dup2(streams["stderr"], 2)
    if fault["size"] is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (fault["size"], fault["size"]))
    Operations(streams["operations"], fault).watch()
    if fault["after"] is not None and fault["number"] != signal.SIGKILL:
        _signal_later(fault["after"], fault["number"], streams["operations"])
    sys.argv = ["rankfactor", *arguments]
    code = 70
    try:
        from rankfactor.cli.start import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _forked(arguments: list[str], folder: Path, fault: dict[str, Any]) -> dict[str, Any]:
    """Fork, wait, and say how the child ended."""
    # Pipes, which no limit of files reaches, with room for all that is said.
    pipes = {name: os.pipe() for name in ("stdout", "stderr", "operations")}
    for _, end in pipes.values():
        fcntl.fcntl(end, fcntl.F_SETPIPE_SZ, 2**20)
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(arguments, folder, fault, {name: end for name, (_, end) in pipes.items()})
    killed = fault["after"] is not None and fault["number"] == signal.SIGKILL
    strikes = begun + (fault["after"] if killed else LONGEST)
    status = None
    while status is None:
        found, value = os.waitpid(pid, os.WNOHANG)
        if found:
            status = value
        elif time.monotonic() >= strikes:
            os.kill(pid, signal.SIGKILL)
            strikes = float("inf")
        else:
            time.sleep(0.0005)
    seconds, told = time.monotonic() - begun, {}
    for name, (start, end) in pipes.items():
        os.close(end)
        with os.fdopen(start, "rb") as file:
            told[name] = file.read().decode("utf-8", "replace")
    code = os.waitstatus_to_exitcode(status)
    return {**told, "operations": told["operations"].splitlines(), "code": code, "seconds": seconds}


def _serve() -> None:
    """Answer requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import distributed  # noqa: F401 (so that children have it)
    import zarr  # noqa: F401

    from rankfactor.cli.program import app

    small_shards()
    for line in sys.stdin:
        request = json.loads(line)
        folder = Path(request["folder"])
        told: Any = None
        if "warm" in request:
            os.chdir(folder)
            with open(os.devnull, "w") as nowhere:
                before, sys.stderr = sys.stderr, nowhere
                sys.stdout = nowhere
                told = app(list(request["warm"]), standalone_mode=False)
                sys.stdout, sys.stderr = sys.__stdout__, before
        else:
            told = _forked(request["run"], folder, request["fault"])
        answers.write(json.dumps(told) + "\n")
        answers.flush()


if __name__ == "__main__":
    _serve()
