"""Unit-variance normal kept to one side of zero: ``x ~ N(m, 1)`` given that ``s x > 0``.

    E[x] = m + s phi(m) / Phi(s m),    log normaliser = log Phi(s m)

The ratio is formed from the log of Phi, so it stays right far in the tail, where phi and Phi both
underflow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_ndtr

from rankfactor.kernels.packed import Floats


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
        log_density = -0.5 * self.location**2 - 0.5 * np.log(2 * np.pi)
        return np.asarray(self.location + self.sign * np.exp(log_density - self.log_normaliser))
