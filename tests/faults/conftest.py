"""A warm process, a cluster, and prepared folders for the tests of faults.

``RANKFACTOR_MOMENTS`` is the number of random moments of every command, ``RANKFACTOR_SEED`` the
seed that they follow from; a test that fails shows both. With ``RANKFACTOR_FIGURES`` what was found
is added to that file.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.clusters import two_workers
from tests.faults.children import End, Fault, WarmProcess, small_shards
from tests.faults.commands import COMMANDS, Command, content, copy, prepare

MOMENTS = int(os.environ.get("RANKFACTOR_MOMENTS", "2"))
FEWER = -(-MOMENTS // 4)  # of faults other than kill -9 at random moments
SEED = int(os.environ.get("RANKFACTOR_SEED", "0"))


@pytest.fixture(scope="session")
def warm() -> Iterator[WarmProcess]:
    """The process whose children run commands."""
    process = WarmProcess()
    yield process
    process.close()


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Address of a scheduler with two worker processes."""
    with two_workers(processes=True) as client:
        client.run(small_shards)
        yield client.cluster.scheduler_address


class Prepared:
    """A command with its folder, before and after: ``old`` and ``new`` are what its outputs say."""

    def __init__(
        self, command: Command, arguments: tuple[str, ...], warm: WarmProcess, folder: Path
    ) -> None:
        self.command, self.arguments, self._warm = command, arguments, warm
        self.base, self.work, self.whole = (folder / name for name in ("base", "work", "whole"))
        self.base.mkdir()
        prepare(self.base)
        warm.warm(self.base, *COMMANDS["fit"].arguments[:-2], "--out", "fitted.rankfactor")
        if "--cluster" not in arguments:  # its threads could not be forked
            warm.warm(copy(self.base, self.work), *arguments)
        end = warm.run(copy(self.base, self.whole), *arguments)
        assert end.code == 0, end.stderr
        self.seconds, self.operations = end.seconds, end.operations
        self.new = self.outputs(self.whole)
        assert None not in self.new.values()
        older = command.older
        end = warm.run(self.base, *(() if older[0] == arguments[0] else arguments), *older)
        assert end.code == 0, end.stderr
        self.old = self.outputs(self.base)
        assert self.old != self.new
        for name in command.kept:
            shutil.rmtree(self.base / name)

    def run(self, fault: Fault) -> End:
        """Run the command with a fault, in place of what became of it before."""
        return self._warm.run(copy(self.base, self.work), *self.arguments, fault=fault)

    def go_on(self, *more: str) -> End:
        """Run the command in the folder as it is."""
        return self._warm.run(self.work, *self.arguments, *more)

    def outputs(self, folder: Path) -> dict[str, Any]:
        """Contents of the outputs in a folder."""
        return {name: content(folder / name) for name in self.command.outputs}

    def check(self, where: str) -> Counter[str]:
        """Every output is the old one or the new one, whole: how many of each."""
        found: Counter[str] = Counter()
        for name, one in self.outputs(self.work).items():
            assert one in (self.old[name], self.new[name]), f"{name} is neither, {where}"
            found["new" if one == self.new[name] else "old"] += 1
        return found


@pytest.fixture(scope="session")
def prepared(
    warm: WarmProcess, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Callable[[str], Prepared]:
    """Prepare a command by its name, once."""

    @cache
    def begin(name: str) -> Prepared:
        given = COMMANDS[name].arguments
        if "ADDRESS" in given:
            place = request.getfixturevalue("address")
            given = tuple(place if word == "ADDRESS" else word for word in given)
        return Prepared(COMMANDS[name], given, warm, tmp_path_factory.mktemp("faults"))

    return begin


@pytest.fixture
def one(prepared: Callable[[str], Prepared], request: pytest.FixtureRequest) -> Prepared:
    """The command of a test of `every_command` or `every_command_here`."""
    return prepared(request.param)


every_command = pytest.mark.parametrize("one", COMMANDS, indirect=True)
every_command_here = pytest.mark.parametrize(
    "one", [name for name in COMMANDS if "cluster" not in name], indirect=True
)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers determined by the seed and the name of the test."""
    sys.stdout.write(f"RANKFACTOR_SEED={SEED} RANKFACTOR_MOMENTS={MOMENTS}\n")
    return np.random.default_rng([SEED, *request.node.name.encode()])


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Iterator[Counter[str]]:
    """Counts of what was found, added to the file of figures."""
    counts: Counter[str] = Counter()
    yield counts
    place = os.environ.get("RANKFACTOR_FIGURES")
    if place and counts:
        said = ", ".join(f"{name} {number}" for name, number in sorted(counts.items()))
        with Path(place).open("a") as file:
            file.write(f"{request.node.name}: {said}\n")
