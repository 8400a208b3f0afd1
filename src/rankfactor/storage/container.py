"""The container of model files: a zip of arrays with a JSON header and a checksum, and no pickle.

``header.json`` names the format and its version, every array is a ``.npy`` member, and
``checksum.txt`` holds a SHA-256 over all of them. The checksum tells a file that was damaged or
edited; it is no signature, since whoever can write a file can also write its checksum. What the
members mean is the business of `rankfactor.storage.model_file`.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import struct
import zipfile
import zlib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.__about__ import __version__
from rankfactor.errors import InputError
from rankfactor.storage.files import check_destinations, written_together

HEADER = "header.json"
CHECKSUM = "checksum.txt"
_ALGORITHM = "sha256"
_ARRAY = ".npy"
# What reading a damaged zip, or a damaged member of one, can raise.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    NotImplementedError,  # a method of compression that there is not
    RuntimeError,  # a member marked as encrypted
    KeyError,
    ValueError,
    EOFError,
    OSError,
)
Arrays = dict[str, NDArray[Any]]


def write_container(path: Path, header: Mapping[str, Any], arrays: Arrays) -> None:
    """Write a header and arrays, beside the destination first.

    Parameters
    ----------
    path : Path
        Replaced if it exists; its folder must exist.
    header : mapping
        Plain values; numbers that JSON does not have (NaN, infinity) become null.
    arrays : dict from name to array
    """
    check_destinations(path)
    text = json.dumps(_plain({**header, "checksum": _ALGORITHM}), indent=1, allow_nan=False)
    digest = hashlib.new(_ALGORITHM)
    with written_together(path) as (part,), zipfile.ZipFile(part, "w") as archive:
        for name in (HEADER, *arrays):
            if name == HEADER:
                member, content = name, text.encode()
            else:
                member, content = name + _ARRAY, _array_bytes(arrays[name])
            digest.update(_framed(member, content))
            archive.writestr(_entry(member), content)
        archive.writestr(_entry(CHECKSUM), f"{digest.hexdigest()}\n")


def read_header(path: Path, kind: str, version: int, known: Collection[str] = ()) -> dict[str, Any]:
    """Read the header alone, without a look at the arrays or the checksum.

    Raises
    ------
    InputError
        As `read_container`.
    """
    with _opened(path, kind) as archive:
        return _header(path, archive, kind, version, known)


def read_container(
    path: Path, kind: str, version: int, known: Collection[str] = ()
) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays.

    Parameters
    ----------
    path : Path
    kind : str
        What the header has to give as its format.
    version : int
        The newest version of the format that can be read.
    known : collection of str
        What a file may need of its reader, as its header says under ``needs``.

    Raises
    ------
    InputError
        If there is no such file, or it is truncated, damaged, edited, foreign or newer, or needs
        what is not known.
    """
    with _opened(path, kind) as archive:
        header = _header(path, archive, kind, version, known)
        arrays: Arrays = {}
        digest = hashlib.new(_ALGORITHM)
        found = None
        try:
            for name in archive.namelist():
                content = archive.read(name)
                if name == CHECKSUM:
                    found = content.decode().strip()
                    continue
                digest.update(_framed(name, content))
                if name != HEADER:
                    arrays[name.removesuffix(_ARRAY)] = np.lib.format.read_array(
                        io.BytesIO(content), allow_pickle=False
                    )
        except _UNREADABLE as problem:
            raise _damaged(path, problem) from problem
    # Files written before there were checksums do not announce one.
    if "checksum" in header and found != digest.hexdigest():
        raise InputError(
            f"{path} has been changed since it was written, its checksum does not agree: get the "
            "file anew, or fit the model again."
        )
    return header, arrays


def is_container(path: Path) -> bool:
    """Whether a file is a zip with a header, as far as can be seen without reading it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return HEADER in archive.namelist()
    except _UNREADABLE:
        return False


def _opened(path: Path, kind: str) -> zipfile.ZipFile:
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the path of a model file.")
    if not path.is_file():
        raise InputError(f"there is no model file {path}: check its name.")
    try:
        with path.open("rb") as file:
            begins_well = file.read(4) == b"PK\x03\x04"
        return zipfile.ZipFile(path)
    except PermissionError as problem:
        raise InputError(f"{path} cannot be read ({problem.strerror}).") from problem
    except _UNREADABLE as problem:
        if begins_well:
            raise InputError(
                f"{path} is damaged, its end is missing or broken: copy it again, or fit the model "
                "again."
            ) from problem
        raise InputError(f"{path} is no {kind}.") from problem


def _header(
    path: Path, archive: zipfile.ZipFile, kind: str, version: int, known: Collection[str]
) -> dict[str, Any]:
    if HEADER not in archive.namelist():
        raise InputError(f"{path} is no {kind}.")
    try:
        header = json.loads(archive.read(HEADER))
    except _UNREADABLE as problem:
        raise _damaged(path, problem) from problem
    if not isinstance(header, dict) or header.get("format") != kind:
        raise InputError(f"{path} is no {kind}.")
    given = header.get("version")
    if not isinstance(given, int) or isinstance(given, bool) or not 1 <= given <= version:
        raise InputError(
            f"{path} has format version {given}, written by rankfactor {header.get('library')}; "
            f"this is rankfactor {__version__}, which reads versions up to {version}: install the "
            "version that wrote it, or a newer one."
        )
    needs = header.get("needs", [])
    unknown = [str(one) for one in needs if one not in known] if isinstance(needs, list) else ["?"]
    if unknown:
        raise InputError(
            f"{path} needs {', '.join(unknown)}, written by rankfactor {header.get('library')}; "
            f"this is rankfactor {__version__}, which does not know that: install the version that "
            "wrote it, or a newer one."
        )
    return header


def _damaged(path: Path, problem: Exception) -> InputError:
    return InputError(f"{path} is damaged ({problem}): copy it again, or fit the model again.")


def _framed(name: str, content: bytes) -> bytes:
    """Content with its name and length, so that nothing can move from one member to the next."""
    return f"{name}\0{len(content)}\0".encode() + content


def _array_bytes(array: NDArray[Any]) -> bytes:
    content = io.BytesIO()
    np.lib.format.write_array(content, array, allow_pickle=False)
    return content.getvalue()


def _entry(name: str) -> zipfile.ZipInfo:
    """Zip entry with a fixed date, so that the same model gives the same bytes."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.compress_type = zipfile.ZIP_DEFLATED
    return info


def _plain(value: Any) -> Any:
    """Values as JSON has them."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
