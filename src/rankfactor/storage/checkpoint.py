"""Checkpoints: a folder of archives from which chains are resumed.

A folder contains ``problem.zip`` (the problem, and the reference that draws are matched to) and for
every chain its state, ``chain-0.zip``, and its draws in pieces, ``chain-0-draws-0.zip`` and so on
(`rankfactor.storage.archive`). Draws are written before the state that counts them, so a run that
dies in between leaves an uncounted piece, which the next run overwrites.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.storage.archive import Format, Kinds, read_tree, write_tree
from rankfactor.storage.files import folder, remove_parts
from rankfactor.storage.problem import check_same

Tree = dict[str, Any]


class Checkpoint:
    """A folder with the chains of one problem, created if needed.

    ``problem`` has plain values; a folder of another problem is refused, and so is a damaged file.
    """

    def __init__(self, path: str | os.PathLike[str], problem: dict[str, Any]) -> None:
        self.path, self.problem = Path(path), problem
        self._format = Format(
            "rankfactor checkpoint 3", "checkpoint", f"remove the folder {path}, or choose another"
        )
        self._counts: dict[int, tuple[int, int]] = {}  # draws and pieces of a chain on disk
        with folder(self.path):
            pass
        remove_parts(self.path, "problem", "chain-*")
        self._head = self.path / "problem.zip"
        if self._head.exists():
            old = self._read(self._head, {}, "problem", "reference")["problem"]
            check_same(f"the folder {path} contains a checkpoint", "folder", old, problem)
        elif any(self.path.glob("chain-*.zip")):
            raise self._format.damaged(self._head, "it is missing")

    def reference(self, values: NDArray[Any]) -> NDArray[Any]:
        """Reference that draws are matched to, from the first run."""
        if not self._head.exists():
            write_tree(self._head, self._format, {"problem": self.problem, "reference": values})
        found = np.asarray(self._read(self._head, {}, "problem", "reference")["reference"])
        if found.shape != values.shape or found.dtype != values.dtype:
            raise self._format.damaged(self._head, "its reference is of another model")
        return found

    def load(self, number: int, kinds: Kinds) -> tuple[Tree, list[Tree]] | None:
        """State and pieces of the draws of a chain; None if it has not started.

        ``kinds`` are the classes allowed in the state and the draws.
        """
        path = self._file(number)
        if not path.exists():
            return None
        state = self._read(path, kinds, "kept", "pieces")
        self._counts[number] = state["kept"], state["pieces"]
        files = [self._file(f"{number}-draws-{piece}") for piece in range(state["pieces"])]
        return state, [self._read(one, kinds, "kept") for one in files]

    def save(self, number: int, state: Tree, draws: Tree) -> None:
        """Write new draws of a chain, if ``draws["kept"]`` has any, and its state."""
        kept, pieces = self._counts.get(number, (0, 0))
        if len(draws["kept"]):
            write_tree(self._file(f"{number}-draws-{pieces}"), self._format, draws)
            kept, pieces = kept + len(draws["kept"]), pieces + 1
        write_tree(self._file(number), self._format, state | {"kept": kept, "pieces": pieces})
        self._counts[number] = kept, pieces

    def damaged(self, number: int, problem: object) -> InputError:
        """The error for a chain with inconsistent files."""
        return self._format.damaged(self._file(number), problem)

    def _read(self, path: Path, kinds: Kinds, *names: str) -> Tree:
        """The dictionary in a file, which must have some entries."""
        if not path.exists():
            raise self._format.damaged(path, "it is missing")
        content = read_tree(path, self._format, kinds)
        if not isinstance(content, dict) or not set(names) <= set(content):
            raise self._format.damaged(path, "it contains something else")
        return content

    def _file(self, name: int | str) -> Path:
        return self.path / f"chain-{name}.zip"
