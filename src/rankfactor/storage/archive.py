"""Archives: zips of arrays with a JSON header and a checksum, without pickle.

``header.json`` names the format, every array is a ``.npy`` member, and ``checksum.txt`` contains a
SHA-256 over all of them. The checksum detects a file that was damaged or edited; it is not a
signature, since whoever can write a file can also write its checksum.

The caller defines the meaning of the members. Nested dataclasses, dictionaries, tuples and lists
can be written as one *tree* (`write_tree`): the header then describes the arrays. A tree names
classes by their short names, and only classes passed in by the reader are built, so reading a file
never runs code from the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_type_hints

import numpy as np
from numpy.typing import NDArray

from rankfactor.__about__ import __version__
from rankfactor.errors import InputError
from rankfactor.storage.bounds import check_zip, read_array
from rankfactor.storage.files import check_destinations, written_together

Arrays = dict[str, NDArray[Any]]
Kinds = dict[str, type]

_HEADER = "header.json"
_OLDER_HEADER = "tree.json"  # for checkpoints written without a checksum
_CHECKSUM = "checksum.txt"
_ALGORITHM = "sha256"
_ARRAY = ".npy"
# Errors raised when reading a damaged zip or member.
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    RuntimeError,  # an unknown method of compression, or a member marked as encrypted
    LookupError,
    TypeError,
    ValueError,
    EOFError,
    OSError,
    SyntaxError,
    tokenize.TokenError,  # of the header of an array
    MemoryError,
)


@dataclass(frozen=True)
class Format:
    """A kind of archive: its format name in the header, and its words for messages.

    ``noun`` names such a file, ``remedy`` is the advice for a damaged one, and ``version`` is the
    newest readable version, None if the format has no versions.
    """

    name: str
    noun: str
    remedy: str
    version: int | None = None

    def damaged(self, path: Path, problem: object) -> InputError:
        """The error for a file that cannot be used."""
        return InputError(f"{path} is damaged ({problem}): {self.remedy}.")


def write_archive(
    path: Path, header: Mapping[str, Any], arrays: Arrays, *, compressed: bool = True
) -> None:
    """Write a header, converted by `plain`, and arrays, atomically.

    An existing file is replaced; its folder must exist.
    """
    check_destinations(path)
    text = json.dumps(plain({**header, "checksum": _ALGORITHM}), indent=1, allow_nan=False)
    digest = hashlib.new(_ALGORITHM)
    with written_together(path) as (part,), zipfile.ZipFile(part, "w") as archive:

        def add(name: str, content: Any) -> None:
            # A fixed date makes the bytes reproducible.
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.compress_type = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
            archive.writestr(entry, content)
            _digest_member(digest, name, content)

        add(_HEADER, text.encode())
        for name, array in arrays.items():
            content = io.BytesIO()
            np.lib.format.write_array(content, array, allow_pickle=False)
            add(name + _ARRAY, content.getbuffer())
        add(_CHECKSUM, f"{digest.hexdigest()}\n".encode())


def read_header(path: Path, form: Format, known: Collection[str] = ()) -> dict[str, Any]:
    """Read only the header, without the arrays and the checksum."""
    with _opened(path, form) as archive:
        return _header(path, archive, form, known)


def read_archive(
    path: Path, form: Format, known: Collection[str] = ()
) -> tuple[dict[str, Any], Arrays]:
    """Read header and arrays.

    Truncated, damaged, edited, foreign or newer files are refused, and so are files whose header
    lists something under ``needs`` that is not in ``known``.
    """
    with _opened(path, form) as archive:
        header = _header(path, archive, form, known)
        arrays: Arrays = {}
        digest = hashlib.new(_ALGORITHM)
        found = None
        try:
            for name in archive.namelist():
                content = archive.read(name)
                if name == _CHECKSUM:
                    found = content.decode().strip()
                    continue
                _digest_member(digest, name, content)
                if name not in (_HEADER, _OLDER_HEADER):
                    array = read_array(content)
                    if array.dtype == np.float16:  # compiled code does not know it
                        raise TypeError("an array of half precision")
                    arrays[name.removesuffix(_ARRAY)] = array
        except _UNREADABLE as problem:
            raise form.damaged(path, problem) from problem
    # Older files have no checksum.
    if "checksum" in header and found != digest.hexdigest():
        raise InputError(
            f"{path} has been changed since it was written (its checksum differs): {form.remedy}."
        )
    return header, arrays


def is_archive(path: Path) -> bool:
    """Whether a file looks like a zip with a header, without reading it fully."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _HEADER in archive.namelist()
    except _UNREADABLE:
        return False


def is_model_file(path: Path) -> bool:
    """Whether a file looks like a model: a zip with a header, or something called .rankfactor."""
    return path.suffix == ".rankfactor" or is_archive(path)


def _digest_member(digest: Any, name: str, content: Any) -> None:
    """Hash a member with its name and length, so that content cannot move between members."""
    digest.update(f"{name}\0{len(content)}\0".encode())
    digest.update(content)


def _opened(path: Path, form: Format) -> zipfile.ZipFile:
    if path.is_dir():
        raise InputError(f"{path} is a folder: give the path of a {form.noun}.")
    if not path.is_file():
        raise InputError(f"there is no {form.noun} {path}: check its name.")
    try:
        with path.open("rb") as file:
            begins_well = file.read(4) == b"PK\x03\x04"
        archive = zipfile.ZipFile(path)
    except PermissionError as problem:
        raise InputError(f"{path} cannot be read ({problem.strerror}).") from problem
    except _UNREADABLE as problem:
        if begins_well:
            raise InputError(
                f"{path} is damaged, its end is missing or broken: {form.remedy}."
            ) from problem
        raise InputError(f"{path} is not a {form.name}.") from problem
    try:
        check_zip(path, archive)
    except InputError:
        archive.close()
        raise
    return archive


def _header(
    path: Path, archive: zipfile.ZipFile, form: Format, known: Collection[str]
) -> dict[str, Any]:
    names = [name for name in (_HEADER, _OLDER_HEADER) if name in archive.namelist()]
    if not names:
        raise InputError(f"{path} is not a {form.name}.")
    try:
        header = json.loads(archive.read(names[0]))
    except _UNREADABLE as problem:
        raise form.damaged(path, problem) from problem
    if not isinstance(header, dict) or header.get("format") != form.name:
        raise InputError(f"{path} is not a {form.name}.")
    version = str(header.get("library"))
    writer = f"written by rankfactor {version}; this is rankfactor {__version__}"
    install = "install the version that wrote it, or a newer one"
    if re.fullmatch(r"\d[\w.+!-]*", version) and version != __version__:
        install = f"pip install 'rankfactor>={version}'"
    given, newest = header.get("version"), form.version
    if newest is not None and not (type(given) is int and 1 <= given <= newest):
        raise InputError(
            f"{path} has format version {given}, {writer}, which reads versions up to {newest}: "
            f"{install}."
        )
    needs = header.get("needs", [])
    unknown = [str(one) for one in needs if one not in known] if isinstance(needs, list) else ["?"]
    if unknown:
        raise InputError(
            f"{path} needs {', '.join(unknown)}, {writer}, which does not support this: {install}."
        )
    return header


def plain(value: Any) -> Any:
    """Values as JSON types.

    NaN and infinity become null, NumPy numbers become plain numbers, arrays, tuples and sets become
    lists, and anything else becomes text.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(one) for one in value]
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def write_tree(path: Path, form: Format, value: Any, **header: Any) -> None:
    """Write nested dataclasses, dictionaries, tuples, lists, arrays and plain values.

    Further entries of the header can be read without the value. Nothing is compressed, since draws
    do not compress.
    """
    arrays: Arrays = {}
    tree = _flattened(value, arrays, kinds_of(value))
    write_archive(path, {"format": form.name, **header, "tree": tree}, arrays, compressed=False)


def read_tree(path: Path, form: Format, kinds: Kinds) -> Any:
    """Read the value written by `write_tree`.

    ``kinds`` are the classes that the file may name, as found by `kinds_of`.
    """
    header, arrays = read_archive(path, form)
    try:
        return _unflattened(header["tree"], arrays, kinds)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise form.damaged(path, problem) from problem


def kinds_of(*values: Any) -> Kinds:
    """Dataclasses in the values, and those in the annotations of their fields.

    A field annotated `Gamma | Point` may thus be read as either.
    """
    kinds: Kinds = {}
    waiting = list(values)
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += one.values()
        elif isinstance(one, tuple | list):
            waiting += one
        elif not isinstance(one, type):
            waiting += get_args(one)  # of an annotation
            if is_dataclass(one):
                waiting += [type(one), *(getattr(one, field.name) for field in fields(one))]
        elif is_dataclass(one) and one.__name__ not in kinds:
            kinds[one.__name__] = one
            waiting += get_type_hints(one).values()
    return kinds


def _flattened(value: Any, arrays: Arrays, kinds: Kinds) -> Any:
    """JSON tree of a value; its arrays are added to ``arrays`` and referred to by number."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.ndarray):
        number = len(arrays)
        arrays[str(number)] = value
        return {"array": number}
    if isinstance(value, dict):
        return {"dict": {str(key): _flattened(one, arrays, kinds) for key, one in value.items()}}
    if isinstance(value, tuple | list):
        form = "tuple" if isinstance(value, tuple) else "list"
        return {form: [_flattened(one, arrays, kinds) for one in value]}
    name = type(value).__name__
    if kinds.get(name) is not type(value) or not is_dataclass(value):
        raise InputError(
            f"{name} cannot be written to a file: it must be a dataclass, and its name must be "
            "unique within the file."
        )
    parts = {
        field.name: _flattened(getattr(value, field.name), arrays, kinds) for field in fields(value)
    }
    return {"kind": name, "fields": parts}


def _unflattened(tree: Any, arrays: Arrays, kinds: Kinds) -> Any:
    """Inverse of `_flattened`; raises LookupError, TypeError or ValueError for invalid input."""
    if not isinstance(tree, dict):
        return tree
    if "kind" in tree:
        # Older files have the module's path before the name.
        name = tree["kind"].rpartition(".")[2]
        if name not in kinds:
            raise LookupError(repr(tree["kind"]))
        parts = {key: _unflattened(one, arrays, kinds) for key, one in tree["fields"].items()}
        return kinds[name](**parts)
    ((form, content),) = tree.items()
    if form == "array":
        return arrays[str(content)]
    if form == "float":
        return float(content)
    if form == "dict":
        return {key: _unflattened(one, arrays, kinds) for key, one in content.items()}
    if form in ("tuple", "list"):
        values = [_unflattened(one, arrays, kinds) for one in content]
        return tuple(values) if form == "tuple" else values
    raise ValueError(f"unknown entry {form!r}")


def stacked(values: Sequence[Any]) -> Any:
    """Stack several values of one structure: arrays get a first dimension for the values.

    Without values, an empty dictionary.
    """
    return _mapped(lambda *leaves: np.stack(leaves), *values) if values else {}


def unstacked(value: Any, count: int) -> list[Any]:
    """Inverse of `stacked`."""
    return [_mapped(lambda leaf, i=i: leaf[i], value) for i in range(count)]


def _mapped(function: Callable[..., Any], *values: Any) -> Any:
    """Apply a function to the leaves of nested values of one structure."""
    first = values[0]
    if isinstance(first, dict):
        return {key: _mapped(function, *(one[key] for one in values)) for key in first}
    if isinstance(first, tuple):
        return tuple(_mapped(function, *some) for some in zip(*values, strict=True))
    if not is_dataclass(first) or isinstance(first, type):
        return function(*values)
    names = [field.name for field in fields(first)]
    parts = {name: _mapped(function, *(getattr(one, name) for one in values)) for name in names}
    return type(first)(**parts)
