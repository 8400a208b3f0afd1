"""Opening files: compression and encoding by content, and error handling.

A file is recognised by its first bytes, not by its name: gzip, xz, bzip2 and Zstandard are
unpacked; a byte-order mark names UTF-8 or UTF-16; UTF-16 without one is known by its zero bytes.
Text that is not UTF-8 is read as Windows-1252, the usual encoding of older spreadsheets in western
Europe, or as Latin-1 where that has no such character.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import IO, Any, TypeVar, cast

from rankfactor.errors import InputError
from rankfactor.storage.bounds import BoundedText

# Readers of compressed files by their first bytes; Zstandard needs a package.
_PACKED: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"\xfd7zXZ\x00": lzma.LZMAFile,
    b"BZh": bz2.BZ2File,
}
_ZSTANDARD = b"\x28\xb5\x2f\xfd"
_ZSTANDARD_PIECE = 1024  # four bytes can stand for 128 kB, and a piece is unpacked as a whole
_PACKED_SUFFIXES = frozenset({".gz", ".xz", ".bz2", ".zst", ".zstd"})
# Tab, line ends, form feed and escape occur in text; the other control characters do not.
_CONTROLS = frozenset(range(32)) - {9, 10, 11, 12, 13, 26, 27}
_HEAD = 4096
_SMALLER = "check the file, or read it chunk by chunk (memory)"

Begun = TypeVar("Begun")
Result = TypeVar("Result")


def need(package: str, *, extra: str, path: str | Path = "this") -> Any:
    """Import an optional package, or raise an error that names the extra of rankfactor.

    `path` names what needs the package in the message, usually the file.
    """
    try:
        return import_module(package)
    except ModuleNotFoundError as error:
        whole = package.partition(".")[0]
        if error.name is not None and error.name.partition(".")[0] != whole:
            raise
        raise InputError(
            f"{path} needs the package {whole}; install it with: pip install 'rankfactor[{extra}]'"
        ) from error


def name_suffixes(path: Path) -> tuple[str, str]:
    """Return the suffixes of a file's format and of its compression, in lower case."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in _PACKED_SUFFIXES else ""
    return (suffixes[-1] if suffixes else ""), packed


@contextmanager
def _translated_errors(path: Path) -> Iterator[None]:
    """Turn errors when reading `path` into an `InputError` of one sentence."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist; check the path.") from error
    except IsADirectoryError as error:
        raise InputError(f"{path} is a folder; give the path of a file.") from error
    except (gzip.BadGzipFile, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(
            f"{path} is not a whole {path.suffix} file; copy or compress it again."
        ) from error
    except MemoryError as error:
        raise InputError(f"{path} needs more memory than there is; {_SMALLER}.") from error
    except csv.Error as error:
        raise InputError(
            f"{path} cannot be parsed ({error}); check its separators and quotes."
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{path} cannot be read ({reason}); check the file.") from error


@contextmanager
def foreign_reader(path: Path, complaint: str) -> Iterator[None]:
    """Run another package's reader of `path`; any error becomes one sentence.

    Such packages raise many kinds of errors on damaged files.
    """
    with _translated_errors(path):
        path.open("rb").close()
    try:
        yield
    except InputError:
        raise
    except MemoryError as error:
        raise InputError(f"{path} needs more memory than there is; {_SMALLER}.") from error
    except Exception as error:
        raise InputError(f"{path} {complaint}") from error


class TextStream:
    """An open text file, plain or compressed, in its detected encoding.

    It is opened and read once: `begin` reads its start and `read_on` the rest. Only a wrong guess
    of the encoding, or a second `read_on`, goes back to the start.
    ``head`` has its first bytes, unpacked; ``encoding`` is "utf-8-sig" for UTF-8 with or without a
    byte-order mark.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        with _translated_errors(path):
            self._file = path.open("rb")
        try:
            with _translated_errors(path):
                self.head = _unpacked(self._file, path).read(_HEAD)
            if not self.head:
                raise InputError(f"{path} is empty; it needs a header and one row per sample.")
            self.encoding = _encoding_by_mark(self.head)
            if self.encoding == "utf-8-sig" and any(byte in _CONTROLS for byte in self.head):
                raise InputError(f"{path} is not a text file; {_what_it_may_be(self.head)}.")
        except BaseException:
            self._file.close()
            raise
        self._others = ["cp1252", "latin-1"] if self.encoding == "utf-8-sig" else []
        self._text: io.TextIOWrapper | None = None
        self._begun: Any = None

    def begin(self, start: Callable[[IO[str]], Begun]) -> Begun:
        """Return the result of `start` on the file's beginning, leaving the rest unread."""
        if self._begun is None:
            self._begun = self.read_on(start, lambda begun: begun)
        begun: Begun = self._begun
        return begun

    def read_on(self, start: Callable[[IO[str]], Begun], read: Callable[[Begun], Result]) -> Result:
        """Pass the result of `start` on the file's beginning to `read`, and return its result.

        Both are called again from the start of the file if the encoding was wrong.
        """
        while True:
            with _translated_errors(self.path):
                try:
                    begun, self._begun = self._begun, None
                    return read(start(self._rewound()) if begun is None else begun)
                except UnicodeDecodeError as error:
                    self._try_another_encoding(error)

    def walk(self, start: Callable[[IO[str]], Iterable[Result]]) -> Iterator[Result]:
        """Yield the items that `start` makes from the file, from its beginning.

        If the encoding turns out to be wrong, the file is read again from the start and items that
        were already yielded are skipped.
        """
        given, self._begun = 0, None
        while True:
            with _translated_errors(self.path):
                try:
                    for item in islice(start(self._rewound()), given, None):
                        given += 1
                        yield item
                    return
                except UnicodeDecodeError as error:
                    self._try_another_encoding(error)

    @property
    def share_read(self) -> float:
        """Share of the file's bytes, as they are on the disk, that was read so far."""
        return self._file.tell() / max(os.fstat(self._file.fileno()).st_size, 1)

    def _try_another_encoding(self, error: UnicodeDecodeError) -> None:
        if not self._others:
            raise InputError(
                f"{self.path} is not whole UTF-16 text; copy it, or save it as UTF-8."
            ) from error
        self.encoding = self._others.pop(0)

    def _rewound(self) -> IO[str]:
        if self._text is not None:
            self._text.detach()  # or it would close the file
        self._text = io.TextIOWrapper(
            _unpacked(self._file, self.path), encoding=self.encoding, newline=""
        )
        return self._text

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_as_text(path: Path, read: Callable[[IO[str]], Result]) -> Result:
    """Return the result of a function on an open file, in its detected encoding."""
    with closing(TextStream(path)) as stream:
        return stream.read_on(read, lambda result: result)


def _encoding_by_mark(head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    # Every other byte of western text in UTF-16 is zero.
    for start, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if len(head) >= 4 and not any(head[start::2]) and all(head[1 - start :: 2]):
            return encoding
    return "utf-8-sig"


def _what_it_may_be(head: bytes) -> str:
    if head[:4] == b"PK\x03\x04":
        return "it may be an Excel workbook or a zip archive: name it .xlsx or .npz, or unpack it"
    if head[:4] == b"PAR1":
        return "it is a Parquet file: name it .parquet"
    if head[:8] == b"\x89HDF\r\n\x1a\n":
        return "it is an HDF5 file: name it .h5ad or .h5mu"
    return "export the table as CSV"


def _unpacked(file: IO[bytes], path: Path) -> IO[bytes]:
    """An open file from its start, unpacked as its first bytes say and within bounds."""
    file.seek(0)
    head = file.read(8)
    file.seek(0)
    content: Any = file
    if head.startswith(_ZSTANDARD):
        zstandard = need("zstandard", extra="zstd", path=path)
        content = _File(_frames(file, zstandard))
    for magic, unpack in _PACKED.items():
        if head.startswith(magic):
            content = unpack(_InParts(file))
    bounded = BoundedText(content, path, os.fstat(file.fileno()).st_size)
    return cast(IO[bytes], io.BufferedReader(bounded))


class _InParts:
    """A file read in small parts, so that its position shows how much of it was unpacked.

    From Python 3.12 on, gzip would read 128 KiB ahead.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int, /) -> bytes:
        return self._file.read(min(size, io.DEFAULT_BUFFER_SIZE))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class _File(io.RawIOBase):
    """A file object over the items of an iterator."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks, self._ready = chunks, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int:
        self._ready = self._ready or next(filter(None, self._chunks), b"")
        n = min(len(buffer), len(self._ready))
        buffer[:n], self._ready = self._ready[:n], self._ready[n:]
        return n


def _frames(file: IO[bytes], package: Any) -> Iterator[bytes]:
    """Content of a Zstandard file, whose end is checked: the package's own reader does not."""
    frame = None
    while packed := file.read(_ZSTANDARD_PIECE):
        while packed:  # a file may be several frames, one after the other
            frame = frame or package.ZstdDecompressor().decompressobj()
            try:
                yield frame.decompress(packed)
            except package.ZstdError as error:
                raise EOFError(str(error)) from error
            packed, frame = (frame.unused_data, None) if frame.eof else (b"", frame)
    if frame is not None:
        raise EOFError("a frame of the file is not whole")
