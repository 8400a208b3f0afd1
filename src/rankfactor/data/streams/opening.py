"""`open_stream`: a file or an object of any kind as a `TableStream`.

| source | format |
|---|---|
| ``.csv``, ``.tsv``, ``.tab``, ``.txt`` | text, also compressed; `rankfactor.data.streams.text` |
| ``.parquet``, ``.pq``, a folder of them | `rankfactor.data.streams.parquet` |
| ``.npy`` | `rankfactor.data.streams.arrays` |
| ``.zarr``, any folder with a Zarr array | the same |
| ``.h5ad`` | read in place, `rankfactor.data.streams.annotated` |
| array, memory-mapped array, DataFrame, sparse matrix, Zarr array, AnnData | in memory or backed |
| Dask array or dataframe | computed part by part, `rankfactor.data.streams.collections` |
"""

from __future__ import annotations

from collections.abc import Collection
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from rankfactor.data.frames import PARQUET
from rankfactor.data.opening import TextStream, name_suffixes
from rankfactor.data.streams.annotated import h5ad_stream, object_stream
from rankfactor.data.streams.arrays import (
    ArrayStream,
    FrameStream,
    is_array_on_disk,
    npy_stream,
    zarr_stream,
)
from rankfactor.data.streams.base import TableStream
from rankfactor.data.streams.collections import DaskStream, is_collection
from rankfactor.data.streams.parquet import ParquetRows
from rankfactor.data.streams.text import TextRows
from rankfactor.data.textfile import open_records
from rankfactor.errors import InputError

TEXT = (".csv", ".tsv", ".tab", ".txt")
ZARR = (".zarr",)
_PACKED = 5  # compression ratio of text
_ZARR_FILES = ("zarr.json", ".zarray")


def open_stream(
    source: Any,
    *,
    id_column: str | int | None = None,
    orient: str | None = None,
    text_columns: Collection[str] = (),
    exclude: Collection[str] = (),
    layer: str | None = None,
) -> TableStream:
    """Open a table that is read chunk by chunk.

    Parameters
    ----------
    source : str, Path or object
        A path, whose name determines the format, or an array, DataFrame, sparse matrix, Zarr array,
        AnnData object or Dask collection.
    id_column : str or int, optional
        The column of sample names of a text or Parquet table, by heading or by position from 0.
    orient : {"samples-in-rows"}, optional
        Set if samples are rows although names or headings suggest otherwise.
    text_columns : collection of str
        Columns of a text or Parquet table to keep as written even if they look like numbers:
        labels.
    exclude : collection of str
        Columns to leave out.
    layer : str, optional
        The layer of AnnData to use instead of ``X``.

    Returns
    -------
    TableStream

    Raises
    ------
    InputError
        If the source cannot be read chunk by chunk.
    """
    if orient not in (None, "samples-in-rows"):
        raise InputError(
            f"orient='{orient}' is not available for a table that is read chunk by chunk: its "
            "samples must be rows."
        )
    cells = {
        "id_column": id_column,
        "orient": orient,
        "text_columns": text_columns,
        "exclude": exclude,
    }
    if isinstance(source, str | Path):
        path = Path(source)
        kind = _kind(path)
        if kind in TEXT:
            return TextRows(path, **cells)
        if kind in PARQUET:
            return ParquetRows(path, **cells)
        if kind == ".h5ad":
            return h5ad_stream(path, layer).without(list(exclude))
        return npy_stream(path) if kind == ".npy" else zarr_stream(path)
    if isinstance(source, TableStream):
        return source
    if is_collection(source):
        return DaskStream(source).without(list(exclude))
    if isinstance(source, pd.DataFrame):
        return FrameStream(source).without(list(exclude))
    if hasattr(source, "obs_names") and hasattr(source, "X"):
        return object_stream(source, layer).without(list(exclude))
    if isinstance(source, np.ndarray) or issparse(source) or is_array_on_disk(source):
        return ArrayStream(source, f"the {type(source).__name__}")
    raise InputError(
        f"a table of type {type(source).__name__} cannot be read chunk by chunk; give a path, an "
        "array, a DataFrame, a sparse matrix, a Zarr array or an AnnData object."
    )


def can_stream(path: Path) -> bool:
    """Whether a file or folder has a format that is read chunk by chunk, by its name."""
    try:
        _kind(path)
    except InputError:
        return False
    return True


def _kind(path: Path) -> str:
    """Suffix that determines the format of a file or folder."""
    suffix, packed = name_suffixes(path)
    if path.is_dir():
        is_zarr = suffix in ZARR or any((path / name).exists() for name in _ZARR_FILES)
        return ZARR[0] if is_zarr else PARQUET[0]
    if suffix in TEXT or (suffix in (*PARQUET, *ZARR, ".npy", ".h5ad") and not packed):
        return suffix
    raise InputError(
        f"{path} cannot be read chunk by chunk; that needs .csv, .tsv or .txt, .parquet (or a "
        "folder of parts), .npy, .zarr or .h5ad."
    )


def about_shape(path: Path, layer: str | None = None, *, least_cells: int = 0) -> tuple[int, int]:
    """Rows and columns of a table, estimated for text; (0, 0) if it cannot be read chunk by chunk.

    For text, only the header and the first lines are read. A text file that is too small for
    ``least_cells`` is not opened, and counts as (0, 0).
    """
    try:
        if _kind(path) not in TEXT:
            stream = open_stream(path, layer=layer)
            return stream.count(), stream.n_columns
        size = path.stat().st_size * (_PACKED if name_suffixes(path)[1] else 1)
        if size < 2 * least_cells:  # a cell takes a character and a separator
            return 0, 0
        with closing(TextStream(path)) as text:
            names = text.begin(partial(open_records, path=path)).names
            line = max(len(text.head) // max(text.head.count(b"\n"), 1), 1)
            return size // line, len(names)
    except InputError:
        return 0, 0
