"""Learned parameters of a likelihood: arrays with one entry per row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.rng import Stream
from rankfactor.typing import Floats, Index


@cache
def field_names(kind: type) -> tuple[str, ...]:
    """Names of a dataclass's fields, kept: `dataclasses.fields` builds the tuple at each call."""
    return tuple(field.name for field in fields(kind))


@dataclass(frozen=True)
class RowArrays:
    """Parameters of a view's rows: arrays that share their first dimension, the rows.

    Attributes
    ----------
    public_names : dict or None
        Fields under which draws are reported (ArviZ, draw stores), with their names there; None for
        every floating-point field, under its own name.
    pooled : tuple of str
        Fields averaged over draws by `pool`.
    """

    public_names: ClassVar[dict[str, str] | None] = None
    pooled: ClassVar[tuple[str, ...]] = ()

    @property
    def _names(self) -> tuple[str, ...]:
        """Names of the fields."""
        kind: Any = type(self)
        return field_names(kind)

    @property
    def used(self) -> Any:
        """Which entries of arrays (rows, J) are in use; True for all."""
        return True

    def named(self) -> dict[str, NDArray[Any]]:
        """Reported arrays of a draw, shape (rows,) or (rows, J); NaN for unused entries."""
        names, found = self.public_names, {}
        for one in fields(self):
            values = getattr(self, one.name)
            if names is None and values.dtype.kind == "f" and values.size:
                found[one.name] = values
            elif names is not None and one.name in names:
                used = self.used if values.ndim == 2 else True
                found[names[one.name]] = np.where(used, values, np.nan)
        return found

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Rows of several, one after another."""
        columns = ([getattr(one, name) for one in parts] for name in parts[0]._names)
        return cls(*map(np.concatenate, columns))

    def take(self, rows: Index) -> Self:
        """Parameters of some of the rows."""
        return type(self)(*(getattr(self, name)[rows] for name in self._names))

    def put(self, rows: Index, part: Self) -> None:
        """Overwrite some of the rows in place."""
        for name in self._names:
            getattr(self, name)[rows] = getattr(part, name)

    def draw(self, stream: Stream, first: int = 0) -> Self:
        """One draw of every row's parameters, as laws without variance.

        Row i has the index ``first + i`` in the stream. Parameters that are not distributions stay.
        """
        return self

    @classmethod
    def pool(cls, draws: Sequence[Self]) -> Self:
        """The law with the mean and the variance of some draws."""
        means = {name: np.mean([getattr(x, name) for x in draws], axis=0) for name in cls.pooled}
        return replace(draws[-1].copy(), **means)

    def copy(self) -> Self:
        """Parameters with separate arrays, as stored in a posterior.

        State that only a fit needs (`Likelihood.prepare`) is left out.
        """
        return type(self)(*(getattr(self, name).copy() for name in self._names))


@dataclass(frozen=True)
class NoParameters(RowArrays):
    """For likelihoods without learned parameters."""


@dataclass(frozen=True)
class FixedNoise(RowArrays):
    """For data likelihoods without learned parameters."""

    variance: Floats  # (d,): variance not explained by w

    public_names: ClassVar[dict[str, str] | None] = {}
