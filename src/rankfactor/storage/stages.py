"""Checkpoints of the stages of a fit: a folder with one archive a stage.

A stage replaces its archive, ``stage-ascent.zip`` and so on, as it goes on
(`rankfactor.storage.archive`), so a process that is killed leaves the last one that was complete.
Each has the problem that it belongs to in its header. The folder may hold the chains of Gibbs
sampling as well (`rankfactor.storage.checkpoint`).
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path
from typing import Any

from rankfactor.errors import InputError
from rankfactor.storage.archive import Format, Kinds, read_header, read_tree, write_tree
from rankfactor.storage.files import folder, remove_parts
from rankfactor.storage.problem import check_same

Tree = dict[str, Any]

# A stage is written after so many iterations or seconds, whichever comes first, but never so often
# that writing takes more than one part in so many of the time.
ITERATIONS, SECONDS, SHARE = 10, 30.0, 20.0
_BEGINS = "stage-"


class StageFolder:
    """A folder with the stages of one problem, made if it does not exist.

    ``problem`` has plain values; a folder of another problem is refused, and so is a damaged file.
    """

    def __init__(
        self, path: str | os.PathLike[str], problem: dict[str, Any], prefix: str = ""
    ) -> None:
        self.path, self.problem, self._prefix = Path(path), problem, prefix
        self._format = Format(
            "rankfactor stage 1", "checkpoint", f"remove the folder {path}, or choose another"
        )
        with folder(self.path):
            pass
        remove_parts(self.path, f"{_BEGINS}*")
        for one in sorted(self.path.glob(f"{_BEGINS}*.zip")):
            old = read_header(one, self._format).get("problem")
            check_same(f"the folder {path} holds a checkpoint", "folder", old, problem)

    def part(self, prefix: str) -> StageFolder:
        """The same folder for a further fit of the problem, with stages of its own."""
        return StageFolder(self.path, self.problem, f"{self._prefix}{prefix}-")

    def stage(self, name: str, kinds: Kinds) -> StageFile:
        """The file of a stage; ``kinds`` are the classes that it may be made of."""
        path = self.path / f"{_BEGINS}{self._prefix}{name}.zip"
        return StageFile(path, self._format, self.problem, kinds)


class StageFile:
    """The file of a stage that goes on by iterations.

    A file that cannot be written costs the checkpoint and not the fit: a warning says so once.
    """

    def __init__(self, path: Path, form: Format, problem: dict[str, Any], kinds: Kinds) -> None:
        self.path, self._format, self._problem, self._kinds = path, form, problem, kinds
        self._pending: Tree | None = None
        self._count, self._cost, self._warned = 0, 0.0, False
        self._written = time.monotonic()

    def load(self) -> Tree | None:
        """What was written last; None if nothing was."""
        if not self.path.exists():
            return None
        content = read_tree(self.path, self._format, self._kinds)
        if not isinstance(content, dict):
            raise self.damaged("it holds something else")
        return content

    def damaged(self, problem: object) -> InputError:
        """The error for a file whose content does not make a stage."""
        return self._format.damaged(self.path, problem)

    @property
    def due(self) -> bool:
        """Whether the stage has gone on long enough to be written."""
        since = time.monotonic() - self._written
        return (self._count >= ITERATIONS or since >= SECONDS) and since >= SHARE * self._cost

    def keep(self, content: Tree) -> None:
        """Note where a stage is after a complete iteration, and write it if that is due.

        The arrays must not change afterwards.
        """
        self._pending = content
        self._count += 1
        if self.due:
            self.write()

    def write(self) -> None:
        """Write what was noted last, if that has not been done."""
        if self._pending is None:
            return
        begun = time.monotonic()
        try:
            write_tree(self.path, self._format, self._pending, problem=self._problem)
        except InputError as error:
            if not self._warned:
                self._warned = True
                text = f"the checkpoint was not written, the fit goes on without it: {error}"
                warnings.warn(text, UserWarning, stacklevel=2)
        self._pending, self._count, self._written = None, 0, time.monotonic()
        self._cost = self._written - begun
