"""The outer side of a text table: opening, separator, header, and the length of its rows."""

from __future__ import annotations

import csv
import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from rankfactor.errors import InputError

__all__ = ["Layout", "find_ragged_row", "open_text", "read_layout", "translate_read_errors"]

_COMPRESSED = (".gz", ".xz")
_SEPARATORS = {".csv": ",;\t", ".tsv": "\t", ".txt": "\t"}


@dataclass(frozen=True)
class Layout:
    """How a text table is laid out.

    Attributes
    ----------
    separator : str
        The character between cells.
    names : list of str
        The name of every column, stripped; the first is "" where the header has none for it.
    """

    separator: str
    names: list[str]


@contextmanager
def translate_read_errors(path: Path) -> Iterator[None]:
    """Turn what can go wrong when reading `path` into an `InputError` of one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path.") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; give the path of a file.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text; save it again as UTF-8.") from error
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(
            f"{path} is not a whole {path.suffix} file; copy or compress it again."
        ) from error
    except csv.Error as error:
        raise InputError(
            f"{path} cannot be parsed ({error}); check its separators and quotes."
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path} cannot be read ({reason}); check the file.") from error


def open_text(path: Path) -> TextIO:
    """Open a plain or compressed text file; a byte-order mark at its start is skipped."""
    suffix = path.suffix.lower()
    if suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig", newline="")
    if suffix == ".xz":
        return lzma.open(path, "rt", encoding="utf-8-sig", newline="")
    return path.open(encoding="utf-8-sig", newline="")


def read_layout(path: Path) -> Layout:
    """Find the separator and the column names of a text table.

    Parameters
    ----------
    path : Path
        The file; its extension says which separators are possible.

    Returns
    -------
    Layout
        The separator and the names.

    Raises
    ------
    InputError
        If the extension is unknown or the file has no header.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSED:
        suffixes.pop()
    kind = suffixes[-1] if suffixes else ""
    if kind not in _SEPARATORS:
        raise InputError(
            f"{path} has an unknown extension; "
            "name it .csv, .tsv or .txt, with .gz or .xz after it if it is compressed."
        )
    with translate_read_errors(path), open_text(path) as file:
        header_line = file.readline()
        if not header_line:
            raise InputError(f"{path} is empty; it needs a header and one row per sample.")
        if not header_line.strip():
            raise InputError(f"{path}, row 1 is empty; the column names have to stand there.")
        separator = _most_frequent(header_line, _SEPARATORS[kind])
        file.seek(0)
        rows = csv.reader(file, delimiter=separator)
        names = [name.strip() for name in next(rows)]
        first_row = next((row for row in rows if row), [])
    if len(first_row) == len(names) + 1:
        names = ["", *names]
    return Layout(separator, names)


def find_ragged_row(path: Path, separator: str, width: int) -> tuple[int, int] | None:
    """Find the first row that has not `width` cells.

    Parameters
    ----------
    path : Path
        The file.
    separator : str
        Its separator.
    width : int
        How many cells every row below the header should have; blank rows are passed over.

    Returns
    -------
    tuple of int or None
        The number of the row, the header being row 1, and how many cells it has.
    """
    with translate_read_errors(path), open_text(path) as file:
        rows = csv.reader(file, delimiter=separator)
        next(rows)
        for number, row in enumerate(rows, start=2):
            if row and len(row) != width:
                return number, len(row)
    return None


def _most_frequent(header_line: str, candidates: str) -> str:
    # What stands between quotes belongs to a name. The first candidate wins a tie, so a file of
    # one column is read with commas.
    bare = re.sub(r'"[^"]*"', "", header_line)
    return max(candidates, key=bare.count)
