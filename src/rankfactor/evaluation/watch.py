"""What happens beside a computation: Ctrl-C and warnings, neither of which may be lost."""

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
    """A warning as it was given: its category and its text."""

    category: type[Warning]
    text: str


@contextmanager
def interrupts() -> Iterator[Callable[[], bool]]:
    """Give a function that tells whether Ctrl-C came since, even if it was caught.

    A fit answers Ctrl-C by keeping what it has so far. Inside a longer computation that would
    pass a half-finished fit on as a finished one, so the computation asks afterwards. In the
    midst of compiled code Ctrl-C gives a `SystemError`, which is a `KeyboardInterrupt` here.
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
    """Let processes that are started within ignore Ctrl-C: the one that started them heeds it.

    A terminal tells all of them, and each would write a traceback of its own.
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
    """Fit a factor model, telling of the iterations done and the most there can be.

    ``sampling`` is told of the sweeps of a Gibbs sampler, of all in all, and how it has mixed;
    ``stage`` of the steps of a fit to many samples, and of the passes done.

    Returns whether Ctrl-C ended the fit early; what it had is then kept, and it has warned of it.
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
    # The display is no part of the model, and would not outlive this call.
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
    """Collect the warnings of a block and give each kind once more at its end.

    The second giving obeys the filters of the caller. It is left out if the block is interrupted:
    its warnings are then about results that nobody will see.
    """
    try:
        with recorded() as heard:
            yield heard
    except KeyboardInterrupt:
        heard = []
        raise
    finally:
        # Under the filter "error" the first one is raised, as it would have been without us.
        for one in kinds(heard):
            # Out of `overheard`, contextlib, and to the `with` statement.
            warnings.warn(one.text, one.category, stacklevel=3)


def kinds(heard: list[Heard]) -> list[Heard]:
    """Return the warnings without repetitions; those that differ in numbers only count as one."""
    seen: dict[tuple[type[Warning], str], Heard] = {}
    for one in heard:
        seen.setdefault(kind(one), one)
    return list(seen.values())


def kind(one: Heard) -> tuple[type[Warning], str]:
    """Return what a warning has in common with those that differ from it in numbers only."""
    return one.category, re.sub(r"\d+(\.\d+)?(e[+-]?\d+)?", "#", one.text)
