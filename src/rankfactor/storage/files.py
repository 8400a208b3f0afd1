"""Writing files: never half written, and a path that cannot be written is refused beforehand.

A file or folder is written beside its destination, flushed to the disk, renamed, and its folder is
flushed. A process that is killed, or a computer that loses power, leaves the old one or the new
one; of the new one a hidden file with eight hexadecimal digits in its name may be left beside it,
which can be removed.
"""

from __future__ import annotations

import ctypes
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rankfactor.errors import InputError, listed

_TRIES, _LOOKS = 10, 3
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


@contextmanager
def folder(path: Path) -> Iterator[None]:
    """Create the output folder if needed; one created here is removed again if the block fails."""
    made = [parent for parent in (path, *path.parents) if not parent.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {path} cannot be made ({error.strerror}): choose another."
        ) from error
    check_folder(path)
    try:
        yield
    except BaseException:
        for one in made:
            if one.is_dir() and not any(one.iterdir()):
                one.rmdir()
        raise


def check_folder(path: Path) -> None:
    """Refuse a folder that cannot be written to; one that does not exist yet is accepted."""
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is a file: give a folder.")
    if path.is_dir() and not os.access(path, os.W_OK):
        raise InputError(f"the folder {path} cannot be written to: choose another.")


def check_destinations(*paths: Path) -> None:
    """Refuse, before any work is done, a path that cannot be written to."""
    for path in paths:
        if path.is_dir():
            raise InputError(f"{path} is a folder: give the path of a file.")
        # A rename would put a file in the place of a device or a pipe.
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a regular file: give the path of a file.")
        target = _target(path)
        if target.is_symlink():
            raise InputError(f"{path} is a link to itself: remove it, or choose another path.")
        parent = target.parent if path.is_symlink() else path.parent
        if not parent.is_dir():
            raise InputError(f"the folder {parent} does not exist: make it, or choose another.")
        if not os.access(parent, os.W_OK):
            raise InputError(f"the folder {parent} cannot be written to: choose another.")


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file: by links, by another spelling, or one not yet written.

    Names that differ in case only count as the same while neither file exists, since on some file
    systems they are.
    """
    try:
        return os.path.samefile(one, other)
    except OSError:
        if one.exists() or other.exists():
            return False
        return str(_target(one)).casefold() == str(_target(other)).casefold()


@contextmanager
def written_together(*paths: Path) -> Iterator[list[Path]]:
    """Yield paths beside those asked for, and rename what is written there at the end.

    If the block fails, nothing is left of its files, and older ones stay as they were. A process
    that is killed leaves the old file or the new one. Links are followed, so that they stay links;
    a file that is replaced keeps its permissions.
    """
    mark = secrets.token_hex(4)
    targets = [_target(path) for path in paths]
    # The suffix stays at the end, for writers that look at it; names have a greatest length.
    parts = [one.with_name(f".{one.stem[:40]}.{mark}{one.suffix}") for one in targets]
    asked = {str(part): path for part, path in zip(parts, paths, strict=True)}
    try:
        yield parts
        # The content must be on the disk before the name is.
        for part in parts:
            _flush(part, os.O_RDWR)
        for part, target in zip(parts, targets, strict=True):
            if target.exists():  # a new file has the permissions that umask gives it
                shutil.copymode(target, part)
            os.replace(part, target)
        for parent in {target.parent for target in targets}:
            _flush_names(parent)
    except _NotWrittenError as error:
        # A writer within the block has parts of its own: the user knows the path asked for.
        if error.place not in asked or not isinstance(error.__cause__, OSError):
            raise
        raise _not_written(asked[error.place], error.__cause__) from error.__cause__
    except OSError as error:
        unknown = listed(list(map(str, paths)), 3) if len(paths) > 1 else paths[0]
        place = asked.get(str(error.filename), error.filename or unknown)
        raise _not_written(place, error) from error
    finally:
        for part in parts:
            with suppress(OSError):  # it is hidden, and what was asked for does not need it
                part.unlink(missing_ok=True)


def remove_parts(path: Path, *stems: str) -> None:
    """Remove what processes that were killed left in a folder of ours, of files with these stems.

    Stems are patterns. Nobody else may be writing there.
    """
    digits = "[0-9a-f]" * 8
    for stem in stems:
        for part in path.glob(f".{stem}.{digits}.*"):
            with suppress(OSError):
                part.unlink()


@contextmanager
def written_folder(path: Path) -> Iterator[Path]:
    """Yield the path of a folder to make beside the one asked for, whose place it takes at the end.

    If the block fails, nothing is left of it, and an older folder stays as it was. A process that
    is killed leaves the old folder or the new one on Linux. Elsewhere there is a moment between two
    renames in which the old one is called ``.NAME.DIGITS.old``.
    """
    target, mark = _target(path), secrets.token_hex(4)
    ends = (target.suffix, ".old")
    part, old = (target.with_name(f".{target.stem[:40]}.{mark}{end}") for end in ends)
    looks = _LOOKS
    try:
        yield part
        for parent, _, names in os.walk(part):
            for name in names:
                _flush(Path(parent, name), os.O_RDWR)
            _flush_names(Path(parent))
        if not target.exists():
            os.replace(part, target)
        elif not _exchanged(part, target):
            os.replace(target, old)
            os.replace(part, target)
        _flush_names(target.parent)
        looks = 1
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        with suppress(OSError):
            if old.exists() and not target.exists():
                os.replace(old, target)
        _remove(part, looks)
        _remove(old)


@contextmanager
def after_saving(model: Path, what: str, path: Path) -> Iterator[None]:
    """Write what belongs to a model that is saved already: a failure says that the model is kept.

    So does the text of a KeyboardInterrupt.
    """
    kept = f"the model was saved to {model}, but its {what} {path} was not written"
    try:
        yield
    except (InputError, OSError) as error:
        raise InputError(f"{kept}: {error}") from error
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(kept) from error
    except Exception as error:
        error.add_note(f"{kept}.")
        raise


class _NotWrittenError(InputError):
    """A disk is full or fails."""

    place = ""  # the path that could not be written


def _not_written(place: object, error: OSError) -> InputError:
    """The error for a disk that is full or fails."""
    found = _NotWrittenError(
        f"{place} cannot be written ({error.strerror or error}): "
        "free some space, or choose another place."
    )
    found.place = str(place)
    return found


def _target(path: Path) -> Path:
    """The file that a path leads to, whether it exists or not."""
    return Path(os.path.realpath(path))


def _remove(folder: Path, looks: int = 1) -> None:
    """Remove a folder; after Ctrl-C threads of a library may write there yet, so look again."""
    for number in range(_TRIES):
        shutil.rmtree(folder, ignore_errors=True)
        if number + 1 >= looks and not folder.exists():
            return
        time.sleep(0.1)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; False where the system cannot."""
    try:
        rename = ctypes.CDLL(None).renameat2
    except (OSError, AttributeError, TypeError):
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def _flush(path: Path, flags: int) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    number = os.open(path, flags)
    try:
        os.fsync(number)
    except OSError as error:
        error.filename = str(path)
        raise
    finally:
        os.close(number)


def _flush_names(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, on systems that can open a folder."""
    with suppress(OSError):
        _flush(folder, os.O_RDONLY)
