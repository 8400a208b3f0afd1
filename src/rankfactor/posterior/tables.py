"""Tables of new samples: whole, or chunk by chunk if they are large or not in memory.

Chunks of a multiple of the samples that are encoded together do not change a bit of predictions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from scipy.sparse import issparse

from rankfactor.data.streams import TableStream, open_stream
from rankfactor.data.streams.arrays import is_array_on_disk
from rankfactor.data.streams.collections import is_collection
from rankfactor.errors import InputError
from rankfactor.features.matching import is_annotated
from rankfactor.steps.score import BLOCK

Result = TypeVar("Result")

ENTRIES, MOST_ROWS = 2**22, 8192  # of a chunk
MANY = 2**15  # samples of a table in memory up to which it is one chunk


def chunk_rows(n_columns: int) -> int:
    """Number of samples of a chunk: a multiple of those that are encoded together."""
    rows = ENTRIES // max(n_columns, 1) // BLOCK * BLOCK
    return max(BLOCK, min(rows, MOST_ROWS))


def is_elsewhere(X: Any) -> bool:
    """Whether a table is not in memory: a path, a stream, of Dask, or on disk."""
    return (
        isinstance(X, str | Path | TableStream | np.memmap)
        or is_collection(X)
        or is_array_on_disk(X)
        or (is_annotated(X) and bool(getattr(X, "isbacked", False)))
    )


def refuse_elsewhere(X: Any) -> None:
    """Refuse a path or a stream where the samples must be in memory."""
    if isinstance(X, str | Path | TableStream):
        raise InputError(
            "this needs its samples in memory: give a table of some of them. `rankfactor explain` "
            "reads a file chunk by chunk."
        )


def opened_stream(X: Any, covariates: Collection[str] = ()) -> TableStream:
    """Stream of a table, with those covariates that are annotations of its samples."""
    stream = open_stream(X)
    noted = () if stream.annotations is None else stream.annotations.columns
    return stream.with_covariates([name for name in covariates if name in noted])


def chunks_of(X: Any, covariates: Collection[str] = ()) -> Iterator[Any]:
    """The table, or its chunks if it is large or not in memory."""
    if not is_elsewhere(X) and not _is_large(X):
        yield X
        return
    stream = opened_stream(X, covariates)
    for chunk in stream.chunks(chunk_rows(stream.n_columns)):
        yield chunk.table


def _is_large(X: Any) -> bool:
    """Whether a table in memory is better predicted chunk by chunk."""
    if is_annotated(X):
        return len(X.obs_names) > MANY
    plain = issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "fiub")
    known = plain or isinstance(X, pd.DataFrame)
    return known and len(X.shape) == 2 and bool(X.shape[0] > MANY)


def stacked(parts: Sequence[Result]) -> Result:
    """Arrays of chunks one below the other, or a tuple of such arrays."""
    if len(parts) == 1:
        return parts[0]
    arrays: Any = parts
    if isinstance(parts[0], tuple):
        return cast(Result, tuple(np.concatenate(one) for one in zip(*arrays, strict=True)))
    return cast(Result, np.concatenate(arrays))
