"""Full or failing disks: one sentence that names the user's file, nothing lost, exit code 2."""

from __future__ import annotations

import errno
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.faults.children import End, Fault
from tests.faults.commands import hidden
from tests.faults.conftest import FEWER, MOMENTS, Prepared, every_command_here

pytestmark = pytest.mark.slow

# Removing what is no longer needed may fail without a word.
CLEARING = ("remove", "rmdir")


def is_told(one: Prepared, end: End, where: str) -> None:
    """One sentence names a file of the user's, and all files are as before; or all went well."""
    assert "Traceback" not in end.stderr, f"{where}: {end.stderr}"
    assert end.code in (0, 2), f"{where}: {end.stderr}"
    found = one.check(where)
    if end.code == 0:
        assert not found["old"], where
        return
    errors = [line for line in end.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1, f"{where}: {end.stderr}"
    own = (*one.command.outputs, *one.command.kept)
    assert any(name in errors[0] for name in own), f"{where}: {errors[0]}"
    assert "free some space" in errors[0] or "choose another" in errors[0], f"{where}: {errors[0]}"


@every_command_here
def test_an_operation_that_fails(
    one: Prepared, rng: np.random.Generator, figures: Counter[str]
) -> None:
    """The k-th alone, as on a bad disk, or all that need space from the k-th on."""
    every = np.arange(1, len(one.operations) + 1)
    for number, lasting in ((errno.EIO, False), (errno.ENOSPC, True)):
        for at in sorted(rng.permutation(every)[:MOMENTS].tolist()):
            fault = Fault(at=at, error=number, lasting=lasting)
            end = one.run(fault)
            last = end.operations[at - 1] if len(end.operations) >= at else "none"
            where = f"{fault} at {last}"
            is_told(one, end, where)
            if not last.startswith(CLEARING):
                assert hidden(one.work) == [], where
            figures[f"exit code {end.code}"] += 1


@every_command_here
def test_files_that_may_not_grow(
    one: Prepared, rng: np.random.Generator, figures: Counter[str]
) -> None:
    """A limit of the system, which reaches writers in C as well."""
    largest = max(path.stat().st_size for path in one.whole.rglob("*") if path.is_file())
    for size in (0, *np.geomspace(1, largest, FEWER + 1).astype(int).tolist()):
        fault = Fault(size=size)
        end = one.run(fault)
        where = str(fault)
        is_told(one, end, where)
        assert hidden(one.work) == [], where
        figures[f"exit code {end.code}"] += 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mount a file system of the given size in bytes."""
    place = tmp_path / "disk"
    place.mkdir()

    def mount(size: int) -> Path:
        subprocess.run(["umount", place], check=False, capture_output=True)
        given = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place]
        try:
            subprocess.run(given, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError) as problem:
            pytest.skip(f"a file system cannot be mounted here ({problem})")
        return place

    yield mount
    subprocess.run(["umount", place], check=False, capture_output=True)


@every_command_here
def test_a_small_file_system(
    one: Prepared, small_disk: Callable[[int], Path], figures: Counter[str]
) -> None:
    pages = sum(-(-path.stat().st_size // 4096) + 1 for path in one.base.rglob("*"))
    work = one.work
    for free in np.unique(np.geomspace(1, 100, max(MOMENTS // 4, 2)).astype(int)).tolist():
        one.work = small_disk(4096 * (pages + free))
        try:
            shutil.copytree(one.base, one.work, dirs_exist_ok=True)
            end = one.go_on()
            is_told(one, end, f"{free} pages of 4 kB were free")
            assert hidden(one.work) == []
        finally:
            one.work = work
        figures[f"exit code {end.code}"] += 1
