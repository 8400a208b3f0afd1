"""Observations of a view, rows by samples, as the likelihoods read them, and how they are coded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rankfactor.typing import Floats, Index


class Observed(Protocol):
    """A view's observations, rows by samples, read tile by tile."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of samples."""
        ...

    @property
    def block_ends(self) -> tuple[int, ...]:
        """The row after the last one of each block; no tile crosses it."""
        return (self.shape[0],)

    def tile(self, rows: slice, samples: Index) -> NDArray[Any]:
        """Observations of some rows and samples, in the form that the likelihood reads."""
        ...

    def content(self, rows: slice) -> bytes:
        """Content that identifies the observations of some rows, for all samples.

        Two tables with the same content give the same fit. Observations with more content than
        their tiles add it here.
        """
        return np.ascontiguousarray(self.tile(rows, slice(0, self.shape[1]))).tobytes()

    def moved(self, keep: Callable[[NDArray[Any]], NDArray[Any]]) -> Observed:
        """The same observations, with ``keep`` applied to their arrays.

        ``keep`` copies an array to its storage, such as a file.
        """
        return ObservedArray(keep(self.tile(slice(0, self.shape[0]), slice(0, self.shape[1]))))


@dataclass(frozen=True)
class ObservedArray(Observed):
    """Observations stored as such: one-byte codes or signed labels."""

    array: NDArray[Any]  # (rows, samples)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of samples."""
        rows, samples = self.array.shape
        return rows, samples

    def tile(self, rows: slice, samples: Index) -> NDArray[Any]:
        """Some rows and samples, row by row: a kernel is compiled for every order of an array."""
        return np.ascontiguousarray(self.array[rows, samples])


@dataclass(frozen=True)
class Mapped(Observed):
    """Observations transformed by a function of the rows and the content of a tile."""

    observed: Observed
    function: Callable[[slice, NDArray[Any]], Floats]

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of samples."""
        return self.observed.shape

    def tile(self, rows: slice, samples: Index) -> Floats:
        """The function's values at some rows and samples."""
        return self.function(rows, self.observed.tile(rows, samples))


class Coding(Protocol):
    """Transform of a table's values to observations, learned from training data."""

    @property
    def columns(self) -> NDArray[np.int64]:
        """Columns of the table that carry information."""
        ...

    def observe(self, values: Floats) -> Observed:
        """Observations of a table, shape (samples, all columns)."""
        ...
