"""Base classes of the shrinkage priors.

A prior gives the entries of a view's rows independent normals of uncertain scale,
``a_ik ~ N(0, xi_ik)``; inference needs E[1/xi] for the rows and updates the scales from E[a^2].

The Gibbs sampler also stretches rows: it multiplies column k by ``sqrt(u_k)``, which changes the
unit of a factor (`rankfactor.engine.expansion`), or row r by ``sqrt(u_r)``, which changes the scale
of a decision (`rankfactor.engine.label_rows`). The scales may move along. The prior's contribution
to the density of u is its density at the new rows and scales, including the Jacobian, which has the
form of `Stretch` for all priors here.

It also rotates the factors (`rankfactor.engine.axes`), which only affects the priors. They are
compared with the scales of single entries integrated out (`Shrinkage.marginal`), because given
these scales hardly any rotation would be accepted.
"""

from abc import ABC, abstractmethod
from dataclasses import fields
from typing import Any, ClassVar, Generic, NamedTuple, Self, TypeVar

import numpy as np

from rankfactor.errors import InputError, check_positive
from rankfactor.kernels.rng import Stream
from rankfactor.parts import Part
from rankfactor.typing import Floats

Scales = TypeVar("Scales")


class Stretch(NamedTuple):
    """``power log u - rate u - inverse / u``: log density of u with respect to du/u."""

    power: float
    rate: Floats  # (K,), or (rows,) if rows are stretched
    inverse: Floats  # the same shape


class Shrinkage(Part, ABC, Generic[Scales], family="shrinkage prior"):
    """Base of all shrinkage priors; the learned scales are in a separate state.

    Attributes
    ----------
    scales : type
        The class of that state.
    """

    scales: ClassVar[type]

    @classmethod
    def for_loadings(cls) -> Self:
        """The prior at its defaults for loadings."""
        return cls()

    @property
    def rotation_invariant(self) -> bool:
        """Whether rotated rows, ``A Q`` with orthogonal Q, are as probable as A."""
        return False

    @property
    def kept_dims(self) -> dict[str, tuple[str, ...]]:
        """The scales stored for every draw, by name, with their dimensions.

        A dimension is ``"row"`` or ``"factor"``, in this order; without both, a single number.
        """
        return {}

    @property
    def kept_powers(self) -> dict[str, int]:
        """The power of a factor's unit by which each of them changes.

        Loadings change by the first power, their variances by the second.
        """
        return {}

    def kept(self, scales: Scales) -> dict[str, Floats]:
        """The values of these scales at a draw."""
        return {}

    @abstractmethod
    def start(self, n_rows: int, n_factors: int) -> Scales:
        """Initial scales."""

    @abstractmethod
    def update(self, scales: Scales, squares: Floats, stream: Stream | None = None) -> Scales:
        """Scales given E[a^2], shape (rows, K); with a stream, draws of them."""

    @abstractmethod
    def precision(self, scales: Scales) -> Floats:
        """E[1/xi], shape (rows, K)."""

    @abstractmethod
    def bound(self, scales: Scales, squares: Floats) -> float:
        """E[log p(a, scales)] - E[log q(scales)] at the squares of the last `update`."""

    def unit(self, scales: Scales) -> Floats:
        """Units of E[a^2] for `profile`, shape (rows, K): here the precisions."""
        return self.precision(scales)

    def profile(self, ratio: Floats) -> Floats:
        """Largest bound of an entry, up to a constant, at E[a^2] in its `unit`.

        The maximum over the distributions of the scales that belong to the entry alone, given those
        of all others; here there are none. Rotations of the factors raise the sum of these values
        (`rankfactor.steps.rotation`).
        """
        return -0.5 * ratio

    def marginal_unit(self, scales: Scales) -> Floats:
        """Units of a^2 for `marginal`, shape (rows, K); here the precisions."""
        return self.precision(scales)

    def marginal(self, ratio: Floats) -> Floats:
        """Log density of an entry at a^2 in its `marginal_unit`, up to a constant.

        A prior may integrate out the scales that belong to the entry alone if its `update` draws
        these scales from their conditional given the rows, independently of their previous values.
        Here nothing is integrated out.
        """
        return -0.5 * ratio

    @property
    def ridge(self) -> float:
        """Precision of a normal factor of every entry's density that `marginal` leaves out."""
        return 0.0

    def stretch(self, scales: Scales, squares: Floats, axis: int = 0) -> Stretch:
        """Density of u at fixed scales and rows, given the squares of the rows.

        Axis 0 stretches columns, axis 1 rows. Here the scales stay unchanged; a prior that moves
        its scales with the rows, which allows longer steps, overrides this and `stretched`
        together.
        """
        rate = 0.5 * (self.precision(scales) * squares).sum(axis=axis)
        return Stretch(0.5 * squares.shape[axis], rate, np.zeros_like(rate))

    def stretched(self, scales: Scales, u: Floats, axis: int = 0) -> Scales:
        """Scales of the rows with column k (axis 0) or row r (axis 1) multiplied by ``sqrt(u)``."""
        return scales


class ScopedShrinkage(Shrinkage[Scales]):
    """Base of priors with positive hyper-parameters and a scope: factors or rows."""

    scope: str
    scopes: ClassVar[tuple[str, ...]] = ("factor", "row")

    def __post_init__(self) -> None:
        """Refuse invalid hyper-parameters."""
        kind = type(self).__name__
        for one in fields(self):  # type: ignore[arg-type]
            if one.name != "scope" and getattr(self, one.name) is not None:
                check_positive(f"{one.name} of {kind}", getattr(self, one.name))
        if self.scope not in self.scopes:
            allowed = " or ".join(map(repr, self.scopes))
            raise InputError(f"scope of {kind} must be {allowed}, not {self.scope!r}.")

    @property
    def _axis(self) -> int:
        """Axis along which entries share a scale."""
        return 0 if self.scope == "factor" else 1


AnyShrinkage = Shrinkage[Any]
