"""Checkpoint of the passes over all samples: shared state is written, scores are recomputed."""

from __future__ import annotations

import logging
from typing import Any

from rankfactor.classifiers import Linear
from rankfactor.engine.vb import Fit
from rankfactor.engine.vb_checkpoint import NOT_OURS, Tree, point_kinds, point_of, restore
from rankfactor.model import Model
from rankfactor.storage.archive import kinds_of
from rankfactor.storage.stages import StageFolder

logger = logging.getLogger(__name__)


class PassCheckpoint:
    """The file of the passes; does nothing without a folder."""

    def __init__(self, folder: StageFolder | None, model: Model, fit: Fit) -> None:
        self._file = None
        if folder is not None:
            kinds = point_kinds(model, len(fit.data.state.rows.mean)) | kinds_of(Linear)
            self._file = folder.stage("passes", kinds)

    def resume(self, fit: Fit) -> Tree:
        """Restore the shared state in place; return the rest of the checkpoint, or {}."""
        found = None if self._file is None else self._file.load()
        if found is None or self._file is None:
            return {}
        try:
            restore(fit, found)
            number = int(found["number"])
        except NOT_OURS as problem:
            raise self._file.damaged(repr(problem)) from problem
        logger.info("%d passes were done before", number)
        return found

    def keep(self, fit: Fit, **more: Any) -> None:
        """Record a complete pass, and write it if due."""
        if self._file is not None:
            self._file.keep({**point_of(fit), **more, "ended": False})

    def write(self) -> None:
        """Write the last complete pass: the fit was interrupted."""
        if self._file is not None:
            self._file.write()

    def finish(self, fit: Fit, **more: Any) -> None:
        """Write the end of the passes."""
        if self._file is not None:
            self._file.keep({**point_of(fit), **more, "ended": True})
            self._file.write()
