"""Ctrl-C at any moment of a command: no traceback, and no fit is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.running import LABELS, call, environment
from tests.estimators.test_interruption import at

import rankfactor.cli.settings
from rankfactor.cli import start
from rankfactor.engine import fitting, vb
from rankfactor.engine.interruption import FINISHING
from rankfactor.evaluation import watch
from rankfactor.storage import model_file
from rankfactor.storage.model_file import load_model

QUICK = ("--n-factors", "2", "--threads", "1")


@pytest.mark.parametrize(
    ("module", "name"),
    [(fitting, "fit_classifier"), (model_file, "save_model"), (model_file, "write_archive")],
)
@pytest.mark.parametrize("early", [True, False])
def test_neither_the_final_step_nor_the_saving_can_be_interrupted(
    monkeypatch: pytest.MonkeyPatch, module: Any, name: str, early: bool
) -> None:
    if early:  # the first of two
        at(monkeypatch, vb, "record", 3)
    at(monkeypatch, module, name)
    result = call("fit", "table.csv", *LABELS, *QUICK)
    assert result.exit_code == 130, result.output
    assert FINISHING in result.stderr.splitlines()
    assert ("the fit so far is kept" in result.stderr) == early
    assert "Traceback" not in result.stderr
    assert load_model("model.rankfactor").classifiers is not None
    assert result.stdout.splitlines()[-1] == "Model: model.rankfactor"


def test_neither_can_the_moment_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, vb, "record", 3)
    at(monkeypatch, rankfactor.cli.settings, "plain_settings")
    at(monkeypatch, watch, "kinds")
    assert call("fit", "table.csv", *LABELS, *QUICK).exit_code == 130
    load_model("model.rankfactor")


@pytest.mark.parametrize("error", [RuntimeError, SystemError, ImportError])
def test_what_an_import_makes_of_it(monkeypatch: pytest.MonkeyPatch, error: Any) -> None:
    def fail(*arguments: Any, **settings: Any) -> Any:
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as cause:
            raise error("Error calling __set_name__") from cause

    monkeypatch.setattr(watch, "watched_fit", fail)
    result = call("fit", "table.csv", *LABELS, *QUICK)
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "interrupted: nothing was written."


def then_wait(act: Callable[[], object]) -> None:
    """A signal raised by a thread comes a moment later."""
    act()
    for _ in range(6000):
        time.sleep(0.01)


def test_in_code_that_cannot_raise_it_is_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Deleted:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(sys, "unraisablehook", start._raise_again)
    with pytest.raises(KeyboardInterrupt):
        then_wait(Deleted)
    told: list[Any] = []
    monkeypatch.setattr(sys, "__unraisablehook__", told.append)
    other = SimpleNamespace(exc_value=ValueError("x"))
    start._raise_again(other)
    assert told == [other]


# The program, with Ctrl-C at the moment when a module is looked for.
PRESSING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
moment = sys.argv.pop(1)
class Press:
    def find_spec(self, name, *rest):
        if name == moment:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Press())
from rankfactor.cli import main
main()
"""
SLOW = (
    "numba.core.types",
    "rich.console",
    "rankfactor.cli.fit",
    "pandas",
    "scipy.special",
    "numpy.linalg",
)


@pytest.mark.parametrize(
    "module",
    ["typer", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)],
)
def test_no_traceback_while_the_program_starts(module: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", PRESSING, module, "fit", "table.csv", *LABELS, *QUICK],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 130, run.stderr
    assert run.stdout == ""
    # Before a command has begun there is nothing to be said of files.
    early = module in ("typer", "rich.console", "rankfactor.cli.fit")
    said = "interrupted." if early else "interrupted: nothing was written."
    assert run.stderr == f"{said}\n"
    assert not Path("model.rankfactor").exists()


def test_one_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with start.Interruptible():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_sigterm_does_what_ctrl_c_does(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr(sys, "unraisablehook", start._raise_again)
    try:
        for ignored in (False, True):  # a job in the background ignores Ctrl-C
            signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else start._leave)
            signal.signal(signal.SIGTERM, start._leave)
            with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt), start.Interruptible():
                os.kill(os.getpid(), signal.SIGTERM)
            assert signal.getsignal(signal.SIGTERM) is start._leave
            # What it left half made is deleted without a word.
            sys.unraisablehook(SimpleNamespace(exc_value=AttributeError()))
            caught = SimpleNamespace(exc_value=KeyboardInterrupt())
            with warnings.catch_warnings(), pytest.raises(KeyboardInterrupt), start.Interruptible():
                then_wait(partial(start._raise_again, caught))
    finally:
        for number, handler in zip((signal.SIGINT, signal.SIGTERM), before, strict=True):
            signal.signal(number, handler)
