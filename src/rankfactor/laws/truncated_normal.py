"""Unit-variance normals truncated to one side of zero: ``x ~ N(m, 1)`` given that ``s x > 0``.

    E[x] = m + s phi(m) / Phi(s m),    log normaliser = log Phi(s m)

With d = -s m and the scaled complementary error function, ``phi(d) / Phi(-d) = sqrt(2/pi) /
erfcx(d / sqrt 2)`` stays accurate where phi and Phi both underflow. Its difference from d then
still loses all digits; far in the tail it is the series ``1/d - 2/d^3 + 10/d^5 - 74/d^7``.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import erfcx, log_ndtr

from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_elements, draw_truncated_normal
from rankfactor.typing import Floats

_FAR = 100.0  # from here on the series has all digits


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
