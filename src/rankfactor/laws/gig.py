"""Generalised inverse Gaussian: ``p(x) prop. x^(p-1) exp(-(a x + b / x) / 2)``.

With omega = sqrt(a b):

    E[x] = sqrt(b/a) K_{p+1}(omega) / K_p(omega)
    E[1/x] = sqrt(a/b) K_{p-1}(omega) / K_p(omega)      (the paper prints the ratio inverted)
    log normaliser = log 2 + log K_p(omega) + (p/2) log(b/a)

K is even in its order. Order 0, the horseshoe, has its own kernel, about thirty times faster
than SciPy (`rankfactor.kernels.bessel`). Orders 1/2 and 3/2 have the closed forms

    exp(omega) K_{1/2}(omega) = sqrt(pi / (2 omega)),    K_{3/2} = (1 + 1/omega) K_{1/2}.

For all others SciPy's scaled functions keep the ratios finite for large omega.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import k0e, k1e, kve

from rankfactor.kernels.bessel import order_zero_log_k0, order_zero_moments
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_elements, draw_gig
from rankfactor.typing import Floats


@dataclass(frozen=True)
class GeneralisedInverseGaussian:
    """Independent laws with common order ``p`` and positive arrays ``a``, ``b``."""

    p: float
    a: Floats
    b: Floats

    @cached_property
    def _omega(self) -> Floats:
        return np.sqrt(self.a * self.b)

    def _bessel(self, order: float) -> Floats:
        """K_order(omega) exp(omega)."""
        order, omega = abs(order), self._omega
        if order in (0.5, 1.5):
            half = np.sqrt(0.5 * np.pi / omega)
            return np.asarray(half if order == 0.5 else half * (1.0 + 1.0 / omega))
        whole = {0.0: k0e, 1.0: k1e}
        return np.asarray(whole[order](omega) if order in whole else kve(order, omega))

    @cached_property
    def _moments(self) -> tuple[Floats, Floats]:
        """E[x] and E[1/x]: callers usually need both."""
        if self.p == 0:
            return order_zero_moments(self.a, self.b)
        unit = np.sqrt(self.b / self.a)
        centre = self._bessel(self.p)
        mean = unit * self._bessel(self.p + 1) / centre
        return np.asarray(mean), np.asarray(self._bessel(self.p - 1) / (centre * unit))

    @property
    def mean(self) -> Floats:
        """E[x]."""
        return self._moments[0]

    @property
    def inv_mean(self) -> Floats:
        """E[1/x]."""
        return self._moments[1]

    @property
    def log_normaliser(self) -> Floats:
        """Log of the integral of ``x^(p-1) exp(-(a x + b/x)/2)``."""
        if self.p == 0:
            return np.asarray(np.log(2.0) + order_zero_log_k0(self.a, self.b))
        log_bessel = np.log(self._bessel(self.p)) - self._omega
        return np.asarray(np.log(2.0) + log_bessel + 0.5 * self.p * np.log(self.b / self.a))

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every element; element i has the index ``first + i`` in the stream."""
        return draw_elements(draw_gig, stream, first, self.p, self.a, self.b)
