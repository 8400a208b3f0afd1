"""`fingerprint`: hashes that identify a table and its labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from rankfactor.data.sparse import NamedSparse


def fingerprint(table: pd.DataFrame, labels: pd.DataFrame | None = None) -> dict[str, Any]:
    """Return hashes and counts of a table and its labels, as they were read.

    Numbers are hashed in double precision, so that the format and number type of the file do not
    matter; the order of samples and features does.

    Returns
    -------
    dict
        Plain values: ``table_sha256`` (names and values), ``samples_sha256`` (names of the
        samples), ``n_samples``, ``n_features``, and for every task in ``labels`` its ``classes``
        with their counts, the number ``missing`` and ``sha256`` (labels by sample).
    """
    samples = _sha256(_text(table.index))
    whole = hashlib.sha256(_text(table.columns) + samples.encode())
    for place in range(table.shape[1]):
        whole.update(_content(table.iloc[:, place]))
    counts = {"n_samples": len(table), "n_features": table.shape[1]}
    hashes = {"table_sha256": whole.hexdigest(), "samples_sha256": samples}
    return {**hashes, **counts, "labels": _of_labels(labels, len(table))}


class RowsFingerprint:
    """The fingerprint of a table that is read chunk by chunk, in any chunks.

    It has ``rows_sha256`` instead of ``table_sha256``: values are hashed row by row, while
    `fingerprint` hashes columns and needs the whole table. For sparse rows the nonzero values are
    hashed with their positions, so that a sparse table and its dense copy differ.
    """

    def __init__(self) -> None:
        # Separate hashes of sparse values, numbers and text, each in the order of the rows.
        self._parts = [hashlib.sha256() for _ in range(3)]
        self._columns: list[Any] = []
        self._samples: list[Any] = []

    def add(self, table: Any) -> None:
        """Add the next rows: a DataFrame or a `NamedSparse`."""
        sparse, numbers, text = self._parts
        self._columns = table.columns.tolist()
        cells = table
        if isinstance(table, NamedSparse):
            sparse.update(_of_sparse(table.matrix, len(self._samples)))
            cells = table.extra
            self._columns += cells.columns.tolist()
        self._samples += table.index.tolist()
        numeric = np.array([pd.api.types.is_numeric_dtype(kind) for kind in cells.dtypes], bool)
        numbers.update(_bytes(cells.loc[:, numeric].to_numpy("<f8", na_value=np.nan)))
        words = cells.loc[:, ~numeric]
        if words.shape[1]:
            for row in words.where(words.notna(), None).itertuples(index=False):
                text.update(_text(row))

    def told(self, labels: pd.DataFrame | None = None) -> dict[str, Any]:
        """As `fingerprint`."""
        samples = _sha256(_text(self._samples))
        whole = hashlib.sha256(_text(self._columns) + samples.encode())
        for part in self._parts:
            whole.update(part.digest())
        counts = {"n_samples": len(self._samples), "n_features": len(self._columns)}
        hashes = {"rows_sha256": whole.hexdigest(), "samples_sha256": samples}
        return {**hashes, **counts, "labels": _of_labels(labels, len(self._samples))}


def _of_labels(labels: pd.DataFrame | None, n_samples: int) -> dict[str, Any]:
    """Classes, counts and hashes of labels, by task."""
    told = {}
    for task in () if labels is None else labels.columns:
        known = labels[task].dropna().astype(str)  # type: ignore[index]
        counts = known.value_counts().sort_index()
        told[str(task)] = {
            "classes": {str(name): int(count) for name, count in counts.items()},
            "missing": n_samples - len(known),
            "sha256": _sha256(_text(known.index) + _text(known)),
        }
    return told


def _content(column: pd.Series[Any]) -> bytes:
    if not pd.api.types.is_numeric_dtype(column):
        return _text(column.where(column.notna(), None))
    return _bytes(column.to_numpy("<f8", na_value=np.nan))


def _bytes(numbers: Any) -> bytes:
    numbers = numbers + 0.0  # no negative zero
    numbers[np.isnan(numbers)] = np.nan  # a missing value has many bit patterns
    return bytes(numbers.tobytes())


def _of_sparse(matrix: Any, first: int) -> bytes:
    """Row, column and value of all nonzero values, given the number of the first row."""
    rows = csr_array(matrix, dtype="<f8", copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    numbers = first + np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    return _bytes(np.column_stack([numbers, rows.indices, rows.data]).astype("<f8"))


def _text(values: Iterable[Any]) -> bytes:
    return json.dumps([None if one is None else str(one) for one in values]).encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
