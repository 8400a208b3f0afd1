"""Helpers that run the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from rankfactor.cli import app

SOURCE = Path(__file__).parents[2] / "src"
N = 24  # samples of the table
LABELS = ("--labels", "labels.csv:status")
QUICK = ("--n-factors", "2", "--tol", "1e-2", "--threads", "1")


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def works(*arguments: str) -> Any:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result


def fit(*arguments: str) -> Any:
    return works("fit", *arguments, *QUICK)


def answer(*arguments: str) -> Any:
    """The parsed output of a command with --json, the only output on stdout."""
    return json.loads(works(*arguments, "--json").stdout)


def fails(sentence: str, *arguments: str) -> None:
    """Exit code 2, one line on stderr, and no file written or changed."""
    before = _content()
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert sentence in lines[0]
    assert _content() == before


def _content() -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "rankfactor", *arguments]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(SOURCE)}


def in_process_of_its_own(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*arguments),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
