"""What the commands that fit a model many times share: their record, and Ctrl-C."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.__about__ import __version__
from rankfactor.cli.console import in_options
from rankfactor.cli.reading import Labelled
from rankfactor.errors import counted

if TYPE_CHECKING:
    from rankfactor.evaluation.fit_folder import FitFolder
    from rankfactor.evaluation.watch import Heard


def record_of(table: Path, data: Labelled, heard: list[Heard]) -> dict[str, Any]:
    """The part of a record that says what was fitted, and the warnings."""
    from rankfactor.evaluation.watch import kinds

    return {
        "table": table.name,
        "tasks": data.tasks,
        "n_samples": len(data.values),
        "n_features": data.values.shape[1],
        "grouped": data.groups is not None,
        "library": __version__,
        "data": data.fingerprint,
        "notes": data.notes,
        "warnings": [in_options(one.text) for one in kinds(heard)],
    }


@contextmanager
def resumable(folder: FitFolder[Any], part: str) -> Iterator[None]:
    """Let Ctrl-C say what is in the folder of finished parts, or remove one that has none."""
    try:
        yield
    except KeyboardInterrupt as error:
        done = len(folder.files)
        if not done:
            folder.remove()
            raise
        said = f"{counted(done, f'finished {part}')} in {folder.path}, --resume computes the rest"
        raise KeyboardInterrupt(said) from error
