"""kill -9 and SIGTERM at random moments: outputs are whole, and runs are resumed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.faults.children import SENT, SOURCE, End, Fault
from tests.faults.commands import hidden, prepare
from tests.faults.conftest import FEWER, MOMENTS, Prepared, every_command, every_command_here

from rankfactor import load_model

pytestmark = pytest.mark.slow


def stage(end: End) -> str:
    """When a child was killed, by the files that it had touched."""
    if end.code != -signal.SIGKILL:
        return "after the end"
    last = end.operations[-1] if end.operations else ""
    if not last:
        return "before the first file"
    return "while writing" if last.startswith(("open", "write", "fsync")) else "between files"


def resume(one: Prepared, where: str) -> None:
    """The resumed run gives the result of an uninterrupted one."""
    command = one.command
    if command.again is None:
        return
    # Chains start from a variational fit, which is resumed to its tolerance.
    begun = all((one.work / name).exists() for name in command.begun)
    end = one.go_on(*command.again)
    assert end.code == 0, f"{where}: {end.stderr}"
    if command.exact and begun:
        assert one.outputs(one.work) == one.new, where
    else:
        ours, theirs = (load_model(folder / "model.rankfactor") for folder in (one.work, one.whole))
        np.testing.assert_allclose(ours.elbo[-1], theirs.elbo[-1], rtol=1e-2, err_msg=where)
    for name in command.kept:
        assert hidden(one.work / name) == [], where


def survives(one: Prepared, fault: Fault, figures: Counter[str]) -> None:
    """Run a command with a fault, look at what it left, and resume it."""
    end = one.run(fault)
    where = f"{fault} after {end.operations[-1:]}"
    assert end.code in (0, -signal.SIGKILL), f"{where}: {end.stderr}"
    found = one.check(where)
    figures[f"killed {stage(end)}" if end.code else stage(end)] += 1
    mixed = "outputs of both" if found["new"] else "outputs old"
    figures[mixed if found["old"] else "outputs new"] += 1
    resume(one, where)


def interrupted(one: Prepared, after: float) -> tuple[End, Fault]:
    """Run a command and send it SIGTERM; one that ends before is run again, with half the time."""
    while True:
        fault = Fault(after=after, number=signal.SIGTERM)
        end = one.run(fault)
        if SENT in end.operations:
            return end, fault
        assert end.code == 0, f"{fault}: {end.stderr}"
        after /= 2


@every_command
def test_kill_at_random_moments(
    one: Prepared, rng: np.random.Generator, figures: Counter[str]
) -> None:
    for share in rng.random(MOMENTS):
        survives(one, Fault(after=1.02 * share * one.seconds), figures)


@every_command_here
def test_kill_at_operations(one: Prepared, rng: np.random.Generator, figures: Counter[str]) -> None:
    """Before a file is opened, flushed, renamed or removed, or a part of it is written."""
    number = len(one.operations)
    chosen = rng.choice(number, min(FEWER, number), replace=False) + 1
    for at in sorted(chosen.tolist()):
        survives(one, Fault(at=at), figures)


@every_command_here
def test_sigterm_is_ctrl_c(one: Prepared, rng: np.random.Generator, figures: Counter[str]) -> None:
    for share in rng.random(FEWER):
        end, fault = interrupted(one, share * one.seconds)
        assert end.code == 130, f"{fault}: {end.stderr}"
        assert "Traceback" not in end.stderr, f"{fault}: {end.stderr}"
        assert hidden(one.work) == [], fault
        if one.arguments[0] == "fit":  # what it has is kept
            kept = "interrupted" not in end.stderr or "is kept" in end.stderr
            figures["the fit is kept" if kept else "nothing was written"] += 1
            load_model(Path(one.work, "model.rankfactor"))
        resume(one, str(fault))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_is_left(number: int, tmp_path: Path) -> None:
    """Parallel folds are fitted in child processes, which end with their parent."""
    psutil = pytest.importorskip("psutil")
    prepare(tmp_path)
    given = ["cv", "table.csv", "--labels", "status", "--models", "L-SVM", "--repeats", "400"]
    run = subprocess.Popen(
        [sys.executable, "-m", "rankfactor", *given, "--n-jobs", "2", "--out", "cv"],
        env={**os.environ, "PYTHONPATH": str(SOURCE), "OPENBLAS_NUM_THREADS": "1"},
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    while not (tmp_path / "cv/folds/fit-0005.zip").exists() and time.monotonic() < until:
        time.sleep(0.05)
    children = psutil.Process(run.pid).children(recursive=True)
    assert len(children) >= 2
    run.send_signal(number)
    assert run.wait(60) == (130 if number == signal.SIGTERM else -number)
    _, alive = psutil.wait_procs(children, timeout=30)
    for one in alive:
        one.kill()
    assert not alive
