"""What every shrinkage prior provides.

A prior gives the entries of a view's rows independent normals of uncertain scale,
``a_ik ~ N(0, xi_ik)``; inference needs E[1/xi] for the rows and updates the scales from E[a^2].
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from rankfactor.errors import InputError
from rankfactor.kernels.packed import Floats
from rankfactor.kernels.rng import Stream

Scales = TypeVar("Scales")


class Shrinkage(ABC, Generic[Scales]):
    """Base of all shrinkage priors; the learned scales travel in a state of the prior's own."""

    @abstractmethod
    def start(self, n_rows: int, n_factors: int) -> Scales:
        """Scales before anything is known."""

    @abstractmethod
    def update(self, scales: Scales, squares: Floats, stream: Stream | None = None) -> Scales:
        """Scales given E[a^2], shape (rows, K); with a stream, draws of them."""

    @abstractmethod
    def precision(self, scales: Scales) -> Floats:
        """E[1/xi], shape (rows, K)."""

    @abstractmethod
    def bound(self, scales: Scales, squares: Floats) -> float:
        """E[log p(a, scales)] - E[log q(scales)] at the squares of the last `update`."""


AnyShrinkage = Shrinkage[Any]


def check_positive(prior: AnyShrinkage, *names: str) -> None:
    """Refuse hyper-parameters that are no positive numbers."""
    for name in names:
        value = getattr(prior, name)
        real = isinstance(value, numbers.Real) and not isinstance(value, bool)
        if not (real and 0 < value < float("inf")):
            raise InputError(
                f"{name} of {type(prior).__name__} must be a positive number, not {value!r}."
            )


def check_scope(prior: Any, *allowed: str) -> None:
    """Refuse a scope that the prior does not have."""
    if prior.scope not in allowed:
        raise InputError(
            f"scope of {type(prior).__name__} must be {' or '.join(map(repr, allowed))}, "
            f"not {prior.scope!r}."
        )
