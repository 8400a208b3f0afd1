"""Sparse tables: checked if they come from a file, and with names (`NamedSparse`)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, hstack

from rankfactor.errors import InputError
from rankfactor.storage.bounds import check_memory


def checked_sparse(matrix: Any, source: str) -> Any:
    """A sparse matrix of a file, refused if its indices lead out of it: SciPy does not look."""
    with _sound(source):
        if hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    return matrix


def dense(matrix: Any, source: str) -> NDArray[Any]:
    """A sparse matrix of a file as an array."""
    check_memory(source, *map(int, matrix.shape))
    checked_sparse(matrix, source)
    with _sound(source):
        values: NDArray[Any] = matrix.toarray()
    return values


@contextmanager
def _sound(source: str) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of types, which are refused or converted below
            yield
    except (ValueError, TypeError, AttributeError) as problem:
        raise InputError(
            f"{source} has a sparse matrix whose indices are damaged; copy or write it again."
        ) from problem


@dataclass(frozen=True)
class NamedSparse:
    """A sparse table with names."""

    matrix: Any  # sparse, (N, D)
    index: pd.Index[Any]  # names of the samples
    columns: pd.Index[Any]  # names of the features
    extra: pd.DataFrame  # further columns of the same samples, which are not features

    def take(self, rows: NDArray[np.int64]) -> NamedSparse:
        """Some of the samples."""
        return NamedSparse(
            self.matrix.tocsr()[rows], self.index[rows], self.columns, self.extra.iloc[rows]
        )

    def select(self, known: pd.Index[Any]) -> NamedSparse:
        """The features of these names in this order; those that are absent are all missing."""
        if self.columns.equals(known):
            return self
        place = self.columns.get_indexer(known)
        # One column of missing values after the last represents all absent ones.
        missing = csc_array(np.full((len(self.index), 1), np.nan))
        whole = hstack([self.matrix, missing], format="csc")
        return NamedSparse(whole[:, place], self.index, known, self.extra)
