"""Output to a full disk: one sentence for stdout, and a full log does not stop a fit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.cli.running import LABELS, QUICK, command, environment

from rankfactor import load_model
from rankfactor.cli import console

FULL = Path("/dev/full")
SENTENCE = (
    "error: the output cannot be written (No space left on device): free some space, or choose "
    "another place.\n"
)


def run(*arguments: str, **streams: Any) -> Any:
    if not FULL.exists():
        pytest.skip("needs /dev/full")
    with FULL.open("w") as full:
        given = {name: full if one == "full" else one for name, one in streams.items()}
        return subprocess.run(
            command(*arguments), env=environment(), check=False, text=True, timeout=120, **given
        )


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("inspect", "table.csv"), ("--help",), ("datasets", "list")])
def test_stdout_that_is_full_is_one_sentence(arguments: tuple[str, ...]) -> None:
    result = run(*arguments, stdout="full", stderr=subprocess.PIPE)
    assert (result.returncode, result.stderr) == (2, SENTENCE)


@pytest.mark.slow
def test_a_log_that_is_full_costs_no_fit() -> None:
    given = ("fit", "table.csv", *LABELS, *QUICK)
    result = run(*given, stdout=subprocess.PIPE, stderr="full")
    assert result.returncode == 0
    assert result.stdout.endswith("Model: model.rankfactor\n")
    load_model("model.rankfactor")
    assert run("fit", "nothing.csv", stdout=subprocess.PIPE, stderr="full").returncode == 2


def test_a_line_on_stderr_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    silenced: list[Any] = []

    def fail(*arguments: Any, **settings: Any) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(console.Console, "print", fail)
    monkeypatch.setattr(console, "silence", silenced.append)
    console.say("a note", err=True)
    assert len(silenced) == 1
    with pytest.raises(OSError, match="No space left on device"):
        console.say("the result")
