"""Tables written chunk by chunk as CSV, Parquet or Zarr, by file name.

A Zarr group has an array ``values`` (rows x columns of numbers) and one array per column of text.
Its attribute ``columns`` has the names of all columns in order; the attribute of ``values`` has the
names of its own.
"""

from __future__ import annotations

import csv
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankfactor.storage.files import written_folder, written_together
from rankfactor.storage.spreadsheet import csv_of

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
ZARR = ".zarr"
_ROWS = 4096  # of a chunk of a Zarr array


class FrameFile(ABC):
    """A table to which rows are appended."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @abstractmethod
    def append(self, frame: pd.DataFrame) -> None:
        """Append rows."""

    def close(self) -> None:  # noqa: B027 (not every file needs it)
        """Complete the file."""


class _Csv(FrameFile):
    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._file = path.open("w", encoding="utf-8", newline="")

    def append(self, frame: pd.DataFrame) -> None:
        text = io.StringIO(csv_of(frame), newline="")
        if self._file.tell():
            next(csv.reader(iter(text.readline, "")))  # the header, names may have line breaks
        self._file.write(text.read())

    def close(self) -> None:
        self._file.close()


class _Parquet(FrameFile):
    _writer: Any = None

    def append(self, frame: pd.DataFrame) -> None:
        from rankfactor.data.opening import need

        arrow = need("pyarrow", extra="parquet", path=self._path)
        parquet = need("pyarrow.parquet", extra="parquet", path=self._path)
        schema = None if self._writer is None else self._writer.schema
        table = arrow.Table.from_pandas(frame, schema, preserve_index=False)
        if self._writer is None:
            self._writer = parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class _Zarr(FrameFile):
    _group: Any = None

    def append(self, frame: pd.DataFrame) -> None:
        import numpy as np

        numbers = frame.select_dtypes("number")
        text = [name for name in frame.columns if name not in numbers.columns]
        if self._group is None:
            self._group = self._begun(list(frame.columns), list(numbers.columns), text)
        self._group["values"].append(numbers.to_numpy(dtype=np.float64))
        for name in text:
            self._group[_safe(name)].append(frame[name].to_numpy(dtype=object))

    def _begun(self, columns: list[str], numbers: list[str], text: list[str]) -> Any:
        from rankfactor.data.opening import need

        zarr = need("zarr", extra="zarr", path=self._path)
        group = zarr.open_group(self._path, mode="w", attributes={"columns": columns})
        shape = (0, len(numbers))
        chunks = (_ROWS, max(1, min(len(numbers), 256)))
        values = group.create_array("values", shape=shape, chunks=chunks, dtype="float64")
        values.attrs["columns"] = numbers
        for name in text:
            group.create_array(_safe(name), shape=(0,), chunks=(_ROWS,), dtype=str)
        return group


def _safe(name: str) -> str:
    """A column's name as the name of an array; a slash would create a subgroup."""
    return name.replace("/", "_")


@contextmanager
def frame_files(*paths: Path) -> Iterator[list[FrameFile]]:
    """Files to which rows are appended, renamed to their paths at the end.

    If the block fails, they are removed and earlier files stay unchanged.
    """
    folders = [path for path in paths if path.suffix.lower() == ZARR]
    files = [path for path in paths if path not in folders]
    with ExitStack() as stack:
        parts = dict(zip(files, stack.enter_context(written_together(*files)), strict=True))
        parts |= {path: stack.enter_context(written_folder(path)) for path in folders}
        opened = []
        for path in paths:
            file = _kind(path)(parts[path])
            stack.callback(file.close)
            opened.append(file)
        yield opened


def _kind(path: Path) -> type[FrameFile]:
    suffix = path.suffix.lower()
    return _Zarr if suffix == ZARR else _Parquet if suffix in PARQUET else _Csv
