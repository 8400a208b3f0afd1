"""What every shrinkage prior provides.

A prior gives the entries of a view's rows independent normals of uncertain scale,
``a_ik ~ N(0, xi_ik)``; inference needs E[1/xi] for the rows and updates the scales from E[a^2].
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from rankfactor.kernels.packed import Floats

Scales = TypeVar("Scales")


class Shrinkage(ABC, Generic[Scales]):
    """Base of all shrinkage priors; the learned scales travel in a state of the prior's own."""

    @abstractmethod
    def start(self, n_rows: int, n_factors: int) -> Scales:
        """Scales before anything is known."""

    @abstractmethod
    def update(self, scales: Scales, squares: Floats) -> Scales:
        """Scales given E[a^2], shape (rows, K)."""

    @abstractmethod
    def precision(self, scales: Scales) -> Floats:
        """E[1/xi], shape (rows, K)."""

    @abstractmethod
    def bound(self, scales: Scales, squares: Floats) -> float:
        """E[log p(a, scales)] - E[log q(scales)] at the squares of the last `update`."""


AnyShrinkage = Shrinkage[Any]
