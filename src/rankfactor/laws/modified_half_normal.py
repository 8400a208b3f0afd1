r"""Modified half-normal: the product of a Gamma density and a normal factor.

    p(x) prop. x^(a-1) exp(-T x^2 / 2 + g x),    x > 0, a >= 1, T > 0

a = 1 is the normal N(g/T, 1/T) truncated to x > 0; without the normal factor it is Gamma(a, -g).
With ``y = sqrt(T) x`` and ``c = g / sqrt(T)`` there is one parameter less.

Integrals are taken in ``r = log(y / y_1)``, y_1 the mode of the density of log y, where
``a + c y_1 = y_1^2``. Relative to its maximum that density is, with E = e^r - 1,

    exp( -a (E - r) - y_1^2 E^2 / 2 ):

smooth, unimodal, and free of cancellation for all parameters. Gauss-Legendre quadrature covers all
but e^-40 of the mass in three parts: above the mode, close below it, and the rest below, which is
long if the normal factor cuts off little at zero. The ends are where one of the two terms alone
reaches 40, by ``E - r >= E^2 / (2 (1 + E))`` above the mode and ``E - r >= r^2 / (2 - r)`` below.

Draws are by rejection. The mode of the density of y is y_0, ``(a - 1) / y_0 + c = y_0``. Replacing
the logarithm by its tangent at y_0 leaves the normal N(y_0, 1) on y > 0, replacing -y^2/2 by its
tangent leaves Gamma(a, (a - 1) / y_0), and both lie above the density. The term with the smaller
curvature is replaced, and at least about 0.7 of the proposals are accepted. Sun, Kong and Pal
(2023,
Communications in Statistics 52) name the law and study it.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import gammaln

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.truncated_normal import OneSidedNormal
from rankfactor.typing import Floats

_SPAN = 40.0  # exponents beyond this below the largest are dropped
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)


@dataclass(frozen=True)
class ModifiedHalfNormal:
    """Independent laws ``x^(shape-1) exp(-precision x^2 / 2 + tilt x)``, shape at least 1.

    ``precision`` and ``tilt`` are of shape (n,).
    """

    shape: float
    precision: Floats
    tilt: Floats

    @cached_property
    def _slope(self) -> Floats:
        """C = g / sqrt(T)."""
        return np.asarray(self.tilt / np.sqrt(self.precision))

    def _root(self, a: float) -> Floats:
        """Positive root of ``y^2 = a + c y``, without cancellation."""
        c = self._slope
        far = np.abs(c) + np.sqrt(c**2 + 4 * a)
        return np.where(c > 0, 0.5 * far, 2 * a / np.maximum(far, np.finfo(float).tiny))

    @cached_property
    def _integrals(self) -> tuple[Floats, Floats, Floats]:
        """Log normaliser, mean and variance, each of shape (n,)."""
        a, mode = self.shape, self._root(self.shape)
        reach = np.sqrt(2 * _SPAN) / mode
        steep = (_SPAN + np.sqrt(_SPAN**2 + 2 * _SPAN * a)) / a
        high = np.log1p(np.minimum(reach, steep))
        steep = (_SPAN + np.sqrt(_SPAN**2 + 8 * _SPAN * a)) / (2 * a)
        low = np.minimum(-np.log1p(-np.minimum(reach, 1 - 1e-15)), steep)
        near = np.minimum(low, 9 / np.sqrt(a + mode**2))  # nine standard deviations at the mode
        total, first, second = np.zeros((3, *mode.shape))
        for start, end in ((0.0, high), (-near, 0.0), (-low, -near)):
            width = end - start
            r = start + 0.5 * width * (1 + _NODES[:, None])  # (nodes, n)
            E = np.expm1(r)
            mass = np.exp(-a * (E - r) - 0.5 * (mode * E) ** 2) * (0.5 * width)
            mass *= _WEIGHTS[:, None]
            total += mass.sum(axis=0)
            first += (mass * E).sum(axis=0)
            second += (mass * E**2).sum(axis=0)
        first, second = first / total, second / total
        unit = mode / np.sqrt(self.precision)  # x at the mode
        peak = a * np.log(unit) + self.tilt * unit - 0.5 * mode**2
        return np.log(total) + peak, unit * (1 + first), unit**2 * (second - first**2)

    @property
    def log_normaliser(self) -> Floats:
        """Log of the integral of the unnormalised density."""
        return self._integrals[0]

    @property
    def mean(self) -> Floats:
        """E[x]."""
        return self._integrals[1]

    @property
    def variance(self) -> Floats:
        """Var(x)."""
        return self._integrals[2]

    def gain_over(self, rate: Floats) -> Floats:
        """E[log p] - E[log q] of every element, q this law and p = Gamma(shape, rate)."""
        shift = self.tilt + rate  # contribution of the data to the prior's exponent
        squares = self.variance + self.mean**2
        prior = self.shape * np.log(rate) - gammaln(self.shape)
        return np.asarray(
            prior + self.log_normaliser - shift * self.mean + 0.5 * self.precision * squares
        )

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every element; element i has the index ``first + i`` in the stream."""
        c, more = self._slope, self.shape - 1.0
        if more == 0.0:
            y = OneSidedNormal(c, np.ones_like(c)).draw(stream, first)
            return np.asarray(y / np.sqrt(self.precision))
        mode = self._root(more)
        normal = OneSidedNormal(mode, np.ones_like(c))
        gamma = Gamma(self.shape, more / mode)
        by_normal = mode**2 > more
        y = np.full(c.shape, np.nan)
        waiting = np.isfinite(mode)
        attempt = 0
        while waiting.any():
            # Every element proposes in each round, so that its random numbers do not depend on
            # others.
            source = stream.child("attempt", attempt)
            proposal = np.where(
                by_normal,
                normal.draw(source.child("normal"), first),
                gamma.draw(source.child("gamma"), first),
            )
            t = proposal / mode
            loss = np.where(by_normal, more * (t - 1 - np.log(t)), 0.5 * (proposal - mode) ** 2)
            taken = waiting & (Gamma(1.0, np.ones_like(c)).draw(source, first) >= loss)
            y[taken] = proposal[taken]
            waiting &= ~taken
            attempt += 1
        return np.asarray(y / np.sqrt(self.precision))
