"""`FactorCount`: how parallel analysis chose the number of factors."""

from __future__ import annotations

from dataclasses import dataclass

from rankfactor.errors import counted
from rankfactor.typing import Floats, Integers, Strings

METHOD = "parallel analysis"


@dataclass(frozen=True)
class FactorCount:
    """Result of a parallel analysis (`rankfactor.engine.parallel_analysis`).

    Attributes
    ----------
    n_factors : int
        Number of factors in the model: at least 1, at most the upper limit.
    common : int
        Leading eigenvalues of the whole table that exceed chance; can be 0.
    eigenvalues : array, shape (L,)
        Largest eigenvalues of the correlation of the normal scores, in decreasing order.
    chance : array, shape (L,)
        The 95 % quantiles of the same eigenvalues after permuting every feature.
    n_samples : int
        Number of samples that the eigenvalues were computed from.
    blocks : str array, shape (B,)
        Names of the blocks; empty for a table without blocks.
    added : int array, shape (B,)
        Factors that each block adds to those of the whole table.
    """

    n_factors: int
    common: int
    eigenvalues: Floats
    chance: Floats
    n_samples: int
    blocks: Strings
    added: Integers

    @property
    def n_found(self) -> int:
        """Number of factors that exceed chance, up to the upper limit; can be 0."""
        return self.common + int(self.added.sum())

    @property
    def at_limit(self) -> bool:
        """Whether every eigenvalue that was computed exceeds chance, so there may be more."""
        return self.common == len(self.eigenvalues)

    @property
    def in_words(self) -> str:
        """The number and its method: "5 factors (parallel analysis)"."""
        return f"{counted(self.n_factors, 'factor')} ({METHOD})"
