"""Writing files: nothing is ever half written, and what cannot be written is said beforehand."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rankfactor.errors import InputError


@contextmanager
def folder(path: Path) -> Iterator[None]:
    """Make sure of a folder to write to; one made here is removed again if the block fails."""
    made = [parent for parent in (path, *path.parents) if not parent.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {path} cannot be made ({error.strerror}): choose another."
        ) from error
    if not os.access(path, os.W_OK):
        raise InputError(f"the folder {path} cannot be written to: choose another.")
    try:
        yield
    except BaseException:
        for one in made:
            if one.is_dir() and not any(one.iterdir()):
                one.rmdir()
        raise


def check_destinations(*paths: Path) -> None:
    """Refuse, before any work is done, a path that cannot be written to."""
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path} is a folder: give the path of a file.")
        if not path.parent.is_dir():
            raise InputError(
                f"the folder {path.parent} does not exist: make it, or choose another."
            )
        if not os.access(path.parent, os.W_OK):
            raise InputError(f"the folder {path.parent} cannot be written to: choose another.")


@contextmanager
def written_together(*paths: Path) -> Iterator[list[Path]]:
    """Give paths beside those asked for; what is written there is renamed when all is done.

    If the block fails, nothing is left of its files, and older ones stay as they were.
    """
    mark = secrets.token_hex(4)
    # The suffix stays at the end, for writers that look at it.
    parts = [path.with_name(f".{path.stem}.{mark}{path.suffix}") for path in paths]
    try:
        yield parts
        for part, path in zip(parts, paths, strict=True):
            os.replace(part, path)
    except OSError as error:
        raise InputError(
            f"{error.filename or paths[0]} cannot be written ({error.strerror or error}): "
            "free some space, or choose another place."
        ) from error
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
