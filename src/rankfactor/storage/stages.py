"""Checkpoints of the stages of a fit: a folder with one archive per stage.

A stage replaces its archive, ``stage-ascent.zip`` and so on, as it proceeds
(`rankfactor.storage.archive`), so a killed process leaves the last complete one. Each archive has
its problem in the header. The folder may also contain the chains of Gibbs sampling
(`rankfactor.storage.checkpoint`).
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

# A stage is written after this many iterations or seconds, whichever comes first, but writing takes
# at most this fraction of the time.
ITERATIONS, SECONDS, SHARE = 10, 30.0, 20.0
_BEGINS = "stage-"


class StageFolder:
    """A folder with the stages of one problem, created if needed.

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
            check_same(f"the folder {path} contains a checkpoint", "folder", old, problem)

    def part(self, prefix: str) -> StageFolder:
        """The same folder for a further fit of the problem, with separate stages."""
        return StageFolder(self.path, self.problem, f"{self._prefix}{prefix}-")

    def stage(self, name: str, kinds: Kinds) -> StageFile:
        """The file of a stage; ``kinds`` are the classes allowed in it."""
        path = self.path / f"{_BEGINS}{self._prefix}{name}.zip"
        return StageFile(path, self._format, self.problem, kinds)


class StageFile:
    """The file of a stage that proceeds by iterations.

    If a file cannot be written, the fit continues without the checkpoint and warns once.
    """

    def __init__(self, path: Path, form: Format, problem: dict[str, Any], kinds: Kinds) -> None:
        self.path, self._format, self._problem, self._kinds = path, form, problem, kinds
        self._pending: Tree | None = None
        self._count, self._cost, self._warned = 0, 0.0, False
        self._written = time.monotonic()

    def load(self) -> Tree | None:
        """The last written value; None if there is none."""
        if not self.path.exists():
            return None
        content = read_tree(self.path, self._format, self._kinds)
        if not isinstance(content, dict):
            raise self.damaged("it contains something else")
        return content

    def damaged(self, problem: object) -> InputError:
        """The error for a file whose content is not a stage."""
        return self._format.damaged(self.path, problem)

    @property
    def due(self) -> bool:
        """Whether the stage is due to be written."""
        since = time.monotonic() - self._written
        return (self._count >= ITERATIONS or since >= SECONDS) and since >= SHARE * self._cost

    def keep(self, content: Tree) -> None:
        """Record a stage after a complete iteration, and write it if due.

        The arrays must not change afterwards.
        """
        self._pending = content
        self._count += 1
        if self.due:
            self.write()

    def write(self) -> None:
        """Write the last record, if not yet written."""
        if self._pending is None:
            return
        begun = time.monotonic()
        try:
            write_tree(self.path, self._format, self._pending, problem=self._problem)
        except InputError as error:
            if not self._warned:
                self._warned = True
                text = f"the checkpoint was not written, the fit continues without it: {error}"
                warnings.warn(text, UserWarning, stacklevel=2)
        self._pending, self._count, self._written = None, 0, time.monotonic()
        self._cost = self._written - begun
