"""`fingerprint`: what tells a table and its labels from all others."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd


def fingerprint(table: pd.DataFrame, labels: pd.DataFrame | None = None) -> dict[str, Any]:
    """Return hashes and counts of a table and its labels, as they were read.

    Numbers are hashed in double precision, so that the format of the file and its type of number
    do not matter; the order of samples and features does.

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
    told = {}
    for task in () if labels is None else labels.columns:
        known = labels[task].dropna().astype(str)  # type: ignore[index]
        counts = known.value_counts().sort_index()
        told[str(task)] = {
            "classes": {str(name): int(count) for name, count in counts.items()},
            "missing": len(table) - len(known),
            "sha256": _sha256(_text(known.index) + _text(known)),
        }
    return {
        "table_sha256": whole.hexdigest(),
        "samples_sha256": samples,
        "n_samples": len(table),
        "n_features": table.shape[1],
        "labels": told,
    }


def _content(column: pd.Series[Any]) -> bytes:
    if not pd.api.types.is_numeric_dtype(column):
        return _text(column.where(column.notna(), None))
    numbers = column.to_numpy("<f8", na_value=np.nan) + 0.0  # no negative zero
    numbers[np.isnan(numbers)] = np.nan  # a missing value has many bit patterns
    return numbers.tobytes()


def _text(values: Iterable[Any]) -> bytes:
    return json.dumps([None if one is None else str(one) for one in values]).encode()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
