"""Ctrl-C and warnings of a computation: noticed, collected, never lost."""

from __future__ import annotations

import os
import signal
import warnings
from contextlib import suppress

import pytest

from rankfactor.evaluation.watch import interrupts, overheard


def test_a_caught_interrupt_is_told_of() -> None:
    # As a fit does, which keeps what it has.
    with interrupts() as came, suppress(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    assert came()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def fail_in_compiled_code(interrupted: bool) -> None:
    with interrupts():
        if interrupted:
            with suppress(KeyboardInterrupt):
                os.kill(os.getpid(), signal.SIGINT)
        raise SystemError("returned a result with an exception set")


def test_an_interrupt_in_compiled_code_is_one() -> None:
    """It arrives as a `SystemError`; without Ctrl-C that is a bug, and is raised."""
    with pytest.raises(KeyboardInterrupt):
        fail_in_compiled_code(True)
    with pytest.raises(SystemError, match="an exception set"):
        fail_in_compiled_code(False)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupts_without_any() -> None:
    with interrupts() as came:
        pass
    assert not came()


def warn_and_stop(error: BaseException | None) -> list[str]:
    with overheard() as collected:
        for count in (1, 2):
            warnings.warn(f"{count} things", UserWarning, stacklevel=1)
        if error is not None:
            raise error
    return [one.text for one in collected]


def test_overheard_warnings_are_given_again() -> None:
    with pytest.warns(UserWarning, match="things") as heard:
        collected = warn_and_stop(None)
    assert collected == ["1 things", "2 things"]
    assert [str(one.message) for one in heard] == ["1 things"]
    assert heard[0].filename == __file__


def test_overheard_warnings_are_given_again_before_an_error() -> None:
    with pytest.warns(UserWarning, match="1 things"), pytest.raises(RuntimeError, match="failed"):
        warn_and_stop(RuntimeError("failed"))
    with pytest.raises(KeyboardInterrupt):  # any warning would be an error here
        warn_and_stop(KeyboardInterrupt())
