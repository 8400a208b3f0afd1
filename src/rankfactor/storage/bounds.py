"""Bounds on what a file may become in memory, whatever its header promises.

- *Expansion.* A compressed file may expand to `FREE` bytes, and beyond that to `MOST_RATIO` times
  its size: a gzip, xz, zip, xlsx, npz or HDF5 file that is larger unpacked is a bomb or so empty
  that it can be unpacked beforehand.
- *Lines.* A line of text may have `MOST_LINE` bytes: parsers hold a line as a whole.
- *Memory.* A table that is read as a whole may take as much memory as the machine has, or the
  process may use (`ulimit -v`).

The checks need the sizes that a file states, or count what is read; nothing is unpacked for them.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError

FREE = 2**28
MOST_RATIO = 200
MOST_LINE = 2**26

_HIGHEST_CHARACTER = 0x10FFFF
_SURROGATES = 0xD800, 0xDFFF


def machine_bytes() -> int:
    """Memory of this machine in bytes; 8 GB where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows has no sysconf
        return 8 * 10**9


def usable_bytes() -> int:
    """Memory that this process may use: that of the machine, or its own limit if that is less."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return machine_bytes()
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    unlimited = limit == resource.RLIM_INFINITY
    return machine_bytes() if unlimited else min(limit, machine_bytes())


def check_memory(path: Path | str, n_rows: int, n_columns: int, width: int = 8) -> None:
    """Refuse a table that the memory cannot hold, before any of it is read."""
    needed, there = n_rows * n_columns * width, usable_bytes()
    if needed > there:
        raise InputError(
            f"{path} has {n_rows:,} rows x {n_columns:,} columns by its header, "
            f"{needed / 1e9:,.0f} GB in memory, where {there / 1e9:,.0f} GB can be used: check the "
            "file, or read it chunk by chunk (memory)."
        )


def check_expansion(path: Path | str, packed: int, unpacked: int) -> None:
    """Refuse a file that expands to far more than its size."""
    if unpacked > max(FREE, MOST_RATIO * packed):
        raise InputError(
            f"{path} expands to more than {MOST_RATIO} times its size ({packed:,} bytes to "
            f"{unpacked:,} or more), as files made to exhaust the memory do: check where it comes "
            "from; if it is right, store it without compression."
        )


def check_zip(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse a zip whose members expand to far more than its size, by the sizes that they state.

    `zipfile` reads no more of a member than that.
    """
    unpacked = sum(one.file_size for one in archive.infolist())
    check_expansion(path, os.path.getsize(path), unpacked)


class BoundedText(io.RawIOBase):
    """Text of a file, plain or compressed, as bytes: its expansion and its lines are bounded."""

    def __init__(self, content: IO[bytes], path: Path, packed: int) -> None:
        self._content, self._path, self._packed = content, path, packed
        self._count = self._line = 0

    def readable(self) -> bool:
        """Whether it can be read: it can."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read into a buffer; InputError beyond the bounds."""
        n = self._content.readinto(buffer)  # type: ignore[attr-defined]
        self._count += n
        if self._count > FREE:
            check_expansion(self._path, self._packed, self._count)
        read = bytes(buffer[:n])
        end = max(read.rfind(b"\n"), read.rfind(b"\r"))
        self._line = self._line + n if end < 0 else n - end - 1
        if self._line > MOST_LINE:
            raise InputError(
                f"{self._path} has a line of more than {MOST_LINE:,} bytes: check its line ends, "
                "or store the table with fewer columns, or as .parquet or .npz."
            )
        return int(n)


def read_array(content: bytes, kinds: str = "fiubU") -> NDArray[Any]:
    """Array of a ``.npy`` file in memory, in this machine's order of bytes.

    ``kinds`` are those that it may be of, by NumPy's letters: by default numbers and text.

    Raises
    ------
    ValueError
        If it is anything else, or its header promises another length than it has.
    """
    file = io.BytesIO(content)
    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0), (3, 0)):
        raise ValueError(f"unknown version {version} of an array")
    # Version 3 differs from 2 in the encoding of names of fields, which no array of ours has.
    read = np.lib.format.read_array_header_1_0
    shape, _, kind = (read if version == (1, 0) else np.lib.format.read_array_header_2_0)(file)
    if kind.kind not in kinds:
        raise ValueError(f"an array of type {kind}")
    there = len(content) - file.tell()
    if min(shape, default=0) < 0 or math.prod(shape) * kind.itemsize != there:
        raise ValueError(f"an array of shape {shape} and type {kind} in {there} bytes")
    file.seek(0)
    array = np.lib.format.read_array(file, allow_pickle=False)
    if kind.kind == "U":
        _check_characters(array)
    return array.astype(kind.newbyteorder("="), copy=False)


def _check_characters(array: NDArray[Any]) -> None:
    """Refuse text that Python has no characters for."""
    if array.size and array.dtype.itemsize:
        plain = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("=")))
        numbers = plain.reshape(-1).view(np.uint32)
        low, high = _SURROGATES
        if (numbers > _HIGHEST_CHARACTER).any() or ((numbers >= low) & (numbers <= high)).any():
            raise ValueError("text with characters that there are not")
