"""Arrays in scratch files, for data that do not fit into memory.

A scratch file has no name: the system frees its space when the process ends in any way, so nothing
is left behind after Ctrl-C or a kill. Its space is reserved when it is created, so a full disk is
detected then, and not in the middle of a fit.
"""

from __future__ import annotations

import errno
import mmap
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError


class Scratch:
    """A folder for scratch files.

    Parameters
    ----------
    folder : str or Path, optional
        By default the system's temporary folder.

    Raises
    ------
    InputError
        If the folder does not exist or cannot be written to.
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = Path(tempfile.gettempdir() if folder is None else folder)
        if not self.folder.is_dir():
            raise InputError(f"the scratch folder {self.folder} does not exist: create it first.")
        try:
            tempfile.TemporaryFile(dir=self.folder).close()
        except OSError as problem:
            raise InputError(
                f"the scratch folder {self.folder} cannot be written to "
                f"({problem.strerror}): set scratch to another folder."
            ) from problem

    def empty(self, shape: tuple[int, ...], kind: Any) -> NDArray[Any]:
        """An array of zeros in its own file."""
        kind = np.dtype(kind)
        size = max(int(np.prod(shape)) * kind.itemsize, 1)
        with tempfile.TemporaryFile(dir=self.folder) as file:
            self._reserve(file.fileno(), size)
            return np.memmap(file, kind, "r+", shape=shape)

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy of an array in a file."""
        copy = self.empty(array.shape, array.dtype)
        copy[...] = array
        return copy

    def _reserve(self, number: int, size: int) -> None:
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(number, 0, size)
            else:
                os.truncate(number, size)
        except OSError as problem:
            if problem.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise InputError(
                f"the scratch folder {self.folder} has no room for another {size / 1e6:,.0f} MB: "
                "free some space, or set scratch to another folder."
            ) from problem


def let_go(array: NDArray[Any]) -> None:
    """Release the memory that maps an array's file; the file keeps its content.

    Arrays that are not in files are unchanged.
    """
    base: Any = array
    while base is not None and not isinstance(base, mmap.mmap):
        base = getattr(base, "base", None)
    if base is not None and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)
