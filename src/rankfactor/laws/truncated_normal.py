"""Unit-variance normals kept to an interval.

One side of zero, ``x ~ N(m, 1)`` given that ``s x > 0``:

    E[x] = m + s phi(m) / Phi(s m),    log normaliser = log Phi(s m)

With d = -s m and the scaled complementary error function, ``phi(d) / Phi(-d) = sqrt(2/pi) /
erfcx(d / sqrt 2)`` stays right where phi and Phi both underflow. Its difference from d then still
loses all digits; far in the tail it is the series ``1/d - 2/d^3 + 10/d^5 - 74/d^7``.

Two-sided, ``x ~ N(m, 1)`` given that ``low < x < high``: differences of Phi lose their digits where
the interval is narrow or far from m. Instead, with d the distance from m of an end and
``e = abs(x - end)``, so that the density of e is proportional to ``exp(-d e - e^2/2)``,

    Z = phi(d) int exp(-d e - e^2/2) de,     E[x] = end +- E[e]

are integrals of positive terms by Gauss and Legendre's rule, over the part of the interval that
holds all but e^-40 of the mass. The exponent then spans 40 at most, for which 40 nodes give all
digits.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import erfcx, log_ndtr

from rankfactor.kernels.draws import draw_elements, draw_truncated_normal
from rankfactor.kernels.rng import Stream
from rankfactor.typing import Floats

_FAR = 100.0  # from here on the series has all digits
_SPAN = 40.0  # exponents beyond this below the largest are dropped
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


@dataclass(frozen=True)
class OneSidedNormal:
    """Independent laws with untruncated mean ``location`` and side ``sign`` (+1 or -1)."""

    location: Floats
    sign: Floats

    @property
    def log_normaliser(self) -> Floats:
        """Log probability that the untruncated law falls on the stated side."""
        return np.asarray(log_ndtr(self.sign * self.location))

    @property
    def mean(self) -> Floats:
        """E[x]."""
        d = np.asarray(-self.sign * self.location)
        near = np.sqrt(2 / np.pi) / erfcx(d / np.sqrt(2)) - d
        far = np.maximum(d, _FAR) ** -2.0
        series = np.sqrt(far) * (1 - far * (2 - far * (10 - far * 74)))
        return np.asarray(self.sign * np.where(d < _FAR, near, series))

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every element; element i has the index ``first + i`` in the stream."""
        low = np.where(self.sign > 0, 0.0, -np.inf)
        high = np.where(self.sign > 0, np.inf, 0.0)
        return draw_elements(draw_truncated_normal, stream, first, self.location, low, high)


@dataclass(frozen=True)
class TwoSidedNormal:
    """Independent laws with untruncated mean ``location`` between ``low`` < ``high``.

    Either end may be infinite; the three broadcast.
    """

    location: Floats
    low: Floats
    high: Floats

    @cached_property
    def _integrals(self) -> tuple[Floats, Floats]:
        """Log normaliser and mean, each of the broadcast shape."""
        m, low, high = np.broadcast_arrays(self.location, self.low, self.high)
        # Turned, where need be, so that the end nearer to m is the lower one.
        turned = m - low > high - m
        side = np.where(turned, -1.0, 1.0)
        d = np.where(turned, m - high, low - m)
        # An end farther below m than this cuts nothing off; it may be infinite.
        reach = np.sqrt(2 * _SPAN)
        free = d < -reach
        d = np.maximum(d, -reach)
        end = np.where(free, m - side * reach, np.where(turned, high, low))
        width = np.where(free, np.where(turned, m - low, high - m) - d, high - low)
        tail = np.maximum(d, 0.0)
        rest = 2 * _SPAN / (tail + np.sqrt(tail**2 + 2 * _SPAN))  # d e + e^2/2 = span, for d >= 0
        width = np.minimum(width, rest - np.minimum(d, 0.0))
        total, moment = np.zeros(d.shape), np.zeros(d.shape)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            e = 0.5 * (1 + node) * width
            mass = 0.5 * weight * np.exp(-e * (d + 0.5 * e))
            total += mass
            moment += mass * e
        log_normaliser = np.log(total * width) - 0.5 * d**2 - 0.5 * np.log(2 * np.pi)
        return log_normaliser, end + side * moment / total

    @property
    def log_normaliser(self) -> Floats:
        """Log probability that the untruncated law falls between the ends."""
        return self._integrals[0]

    @property
    def mean(self) -> Floats:
        """E[x]."""
        return self._integrals[1]

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every element; element i has the index ``first + i`` in the stream."""
        return draw_elements(
            draw_truncated_normal, stream, first, self.location, self.low, self.high
        )
