"""Arrays as streams: in memory, memory-mapped (``.npy``), in Zarr, sparse; and frames."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, issparse

from rankfactor.data.opening import foreign_reader, need
from rankfactor.data.streams.base import TableStream, refuse_infinite
from rankfactor.errors import InputError
from rankfactor.storage.zarr_codecs import check_codecs


class FrameStream(TableStream):
    """A DataFrame in memory."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame, self.name = frame, "the DataFrame"
        self.columns, self.sample_names = frame.columns, frame.index
        self.n_rows, self.n_columns = frame.shape
        kinds = zip(frame.columns, frame.dtypes, strict=True)
        self.words = tuple(
            str(name) for name, kind in kinds if not pd.api.types.is_numeric_dtype(kind)
        )

    def _pieces(self, rows: int) -> Iterator[pd.DataFrame]:
        for first in range(0, len(self._frame), rows):
            yield self._frame.iloc[first : first + rows]


class ArrayStream(TableStream):
    """An array without names: of NumPy, memory-mapped or not, of Zarr or HDF5, or sparse.

    Rows of a file are read and copied. Rows of a Zarr array are read in whole chunks, since each
    chunk is decompressed as one.
    """

    def __init__(self, array: Any, name: str) -> None:
        if len(array.shape) != 2 or array.dtype.kind not in "fiub":
            raise InputError(
                f"{name} has {len(array.shape)} dimensions and type {array.dtype}; it must contain "
                "numbers, samples x features."
            )
        self._array = csr_array(array) if issparse(array) else array
        self.name, (self.n_rows, self.n_columns) = name, map(int, array.shape)

    def _pieces(self, rows: int) -> Iterator[Any]:
        array, on_disk = self._array, not isinstance(self._array, np.ndarray | csr_array)
        step = rows
        if on_disk and array.chunks:
            step = max(rows // array.chunks[0], 1) * array.chunks[0]
        for first in range(0, array.shape[0], step):
            yield self.rows(first, first + step)

    def rows(self, first: int, stop: int) -> Any:
        """Consecutive rows."""
        array = self._array
        if isinstance(array, np.memmap):
            values = np.array(array[first:stop])
            _release(array)
        elif isinstance(array, np.ndarray | csr_array):
            values = array[first:stop]
        else:
            with _zarr_reader(self.name, "is damaged; copy or write it again."):
                values = np.asarray(array[first:stop])
        refuse_infinite(values, self.name, first, None)
        return values


def npy_stream(path: Path) -> ArrayStream:
    """Stream of a ``.npy`` file."""
    with foreign_reader(path, "is not a whole .npy file of numbers; save it with numpy.save."):
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise InputError(f"{path} is an archive of arrays, not one array; name it .npz.")
    return ArrayStream(array, str(path))


def zarr_stream(path: Path) -> ArrayStream:
    """Stream of a Zarr array in a folder or a zip file."""
    zarr = need("zarr", extra="zarr", path=path)
    if not path.exists():
        raise InputError(f"{path} does not exist; check the path.")
    if (path / "obs").is_dir() and (path / "var").is_dir():
        raise InputError(
            f"{path} is AnnData in Zarr, which cannot be read: write it with write_h5ad, or give "
            "the path of a dense array in it and the labels from another file."
        )
    advice = "is not a Zarr array; give the path of an array, not of a group of them."
    with _zarr_reader(path, advice):
        array = zarr.open_array(path, mode="r")
        check_codecs(array, path)
        return ArrayStream(array, str(path))


@contextmanager
def _zarr_reader(name: object, complaint: str) -> Iterator[None]:
    """Read Zarr, which fails in as many ways as there are files to damage, in one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(f"{name} {complaint}") from error


def is_array_on_disk(source: Any) -> bool:
    """Whether an object is an array of Zarr or h5py, neither of which is imported."""
    package = type(source).__module__.partition(".")[0]
    return package in ("zarr", "h5py") and hasattr(source, "chunks")


def _release(array: np.memmap[Any, Any]) -> None:
    """Release the pages of a mapped file that were read, which count as memory until then."""
    whole: Any = getattr(array, "_mmap", None)
    if array.mode == "r" and whole is not None and hasattr(mmap, "MADV_DONTNEED"):
        whole.madvise(mmap.MADV_DONTNEED)
