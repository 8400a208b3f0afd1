"""What the commands say, and where: results on stdout, everything else on stderr."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from rich.console import Console

from rankfactor.cli.spoken import in_options

BAD_INPUT = 2

Progress = Callable[[str, int, int], None]  # step, how much of it is done, out of how much
_warned: ContextVar[dict[str, None]] = ContextVar("warned")


def say(text: str, *, err: bool = False) -> None:
    """Write one line as it is: not wrapped, not coloured, no markup."""
    Console(stderr=err).print(text, markup=False, highlight=False, soft_wrap=True)


def note(text: str) -> None:
    """Say on stderr what was found or decided on the way."""
    say(f"note: {in_options(one_line(text))}", err=True)


def one_line(message: object) -> str:
    """Text without line breaks."""
    return " ".join(str(message).split())


def result(as_json: bool, content: Mapping[str, Any], lines: Iterable[str]) -> None:
    """Give the result of a command: as one JSON object with its warnings, or as lines."""
    if not as_json:
        for line in lines:
            say(line)
        return
    from rankfactor.storage.archive import plain

    whole = {**content, "warnings": list(_warned.get({}))}
    say(json.dumps(plain(whole), indent=1, ensure_ascii=False, allow_nan=False))


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show every warning once, as one line on stderr, and remember it for the JSON result."""
    said: dict[str, None] = {}
    token = _warned.set(said)

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        text = in_options(one_line(message))
        if text not in said:
            said[text] = None
            say(f"warning: {text}", err=True)

    try:
        with warnings.catch_warnings():
            # Ours are for the user, whatever the filters; those for developers stay as they are.
            warnings.simplefilter("always", UserWarning)
            warnings.showwarning = show
            yield
    finally:
        _warned.reset(token)


@contextmanager
def progress() -> Iterator[Progress]:
    """Show steps on stderr: moving bars on a terminal, else one line per finished step."""
    console = Console(stderr=True)
    if not console.is_terminal:
        finished: set[str] = set()

        def tell(step: str, done: int, total: int) -> None:
            if done == total and step not in finished:
                finished.add(step)
                say(f"{step}: done" + (f" ({total})" if total > 1 else ""), err=True)

        yield tell
        return
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    bars: dict[str, Any] = {}
    with Display(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    ) as display:

        def show(step: str, done: int, total: int) -> None:
            if step not in bars:
                bars[step] = display.add_task(step, total=total)
            display.update(bars[step], completed=done, total=total)

        yield show
