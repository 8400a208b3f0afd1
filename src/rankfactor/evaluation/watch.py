"""Ctrl-C and warnings during a computation, neither of which may be lost."""

from __future__ import annotations

import re
import signal
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from rankfactor.engine.interruption import interruptible_once


class Heard(NamedTuple):
    """A recorded warning: its category and its text."""

    category: type[Warning]
    text: str


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C came since, even if it was caught.

    On Ctrl-C a fit keeps its current state. Inside a longer computation that would pass an
    unfinished fit on as finished, so the computation checks afterwards. During compiled code Ctrl-C
    raises a `SystemError`, which becomes a `KeyboardInterrupt` here.
    """
    with interruptible_once() as ctrl_c:
        try:
            yield lambda: ctrl_c.came
        except SystemError as error:
            if ctrl_c.came:
                raise KeyboardInterrupt from error
            raise


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Raise `KeyboardInterrupt` after a block in which Ctrl-C came, even if it was caught there."""
    with interrupts() as came:
        yield
    if came():
        raise KeyboardInterrupt


@contextmanager
def deaf() -> Iterator[None]:
    """Make processes started in the block ignore Ctrl-C: the parent process handles it.

    A terminal signals all of them, and each would print its own traceback.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def watched_fit(
    classifier: Any,
    table: Any,
    labels: Any,
    tell: Callable[..., None],
    groups: Any = None,
    sampling: Callable[[int, int, str], None] | None = None,
    stage: Callable[[str, int, int, str], None] | None = None,
) -> bool:
    """Fit a factor model, reporting the iterations done and their maximum.

    ``sampling`` reports the sweeps of a Gibbs sampler, their total, and its mixing; ``stage`` the
    steps of a fit to many samples, and the passes done.

    Returns whether Ctrl-C ended the fit early; its state is then kept, and a warning was given.
    """
    tell(0, classifier.max_iter)

    note, now = "", ""

    def iterated(iteration: int, elbo: float, change: float) -> None:
        nonlocal note
        note = f"{iteration} done, change {change:.1e}"
        tell(iteration, classifier.max_iter)

    def staged(name: str, done: int, total: int) -> None:
        nonlocal note, now
        if name != now:
            note, now = "", name
        assert stage is not None
        stage(name, done, total, note)

    if sampling is not None:
        iterated.sampling = sampling  # type: ignore[attr-defined]
    if stage is not None:
        iterated.stage = staged  # type: ignore[attr-defined]
    classifier.set_params(progress=iterated)
    together = {} if groups is None else {"groups": groups}
    with interrupts() as came:
        classifier.fit(table, labels, **together)
    # The display is not part of the model and must not outlive this call.
    classifier.set_params(progress=None)
    tell(classifier.n_iter_, classifier.n_iter_)
    return came()


@contextmanager
def recorded() -> Iterator[list[Heard]]:
    """Collect the warnings of a block instead of showing them; the caller passes them on."""
    heard: list[Heard] = []
    with warnings.catch_warnings(record=True, action="always") as caught:
        try:
            yield heard
        finally:
            heard += [Heard(one.category, str(one.message)) for one in caught]


@contextmanager
def overheard() -> Iterator[list[Heard]]:
    """Collect the warnings of a block and reissue each kind once at its end.

    Reissued warnings obey the filters of the caller. They are dropped if the block is interrupted,
    since its results are then discarded.
    """
    try:
        with recorded() as heard:
            yield heard
    except KeyboardInterrupt:
        heard = []
        raise
    finally:
        # With the filter "error" the first one is raised, as usual.
        for one in kinds(heard):
            # Skip `overheard` and contextlib, to point at the `with` statement.
            warnings.warn(one.text, one.category, stacklevel=3)


def kinds(heard: list[Heard]) -> list[Heard]:
    """Return the warnings without duplicates; those that differ only in numbers count as one."""
    seen: dict[tuple[type[Warning], str], Heard] = {}
    for one in heard:
        seen.setdefault(kind(one), one)
    return list(seen.values())


def kind(one: Heard) -> tuple[type[Warning], str]:
    """Return a key shared by warnings that differ only in numbers."""
    return one.category, re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "#", one.text)
