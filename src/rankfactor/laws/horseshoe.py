r"""Precision of an entry under the horseshoe, given the entry: ``p(t) prop. exp(-x t) / (1 + t)``.

With ``a ~ N(0, xi)`` and sqrt(xi / phi) half-Cauchy, t = phi / xi and x = a^2 / (2 phi). The
normaliser is

    int_0^inf exp(-x t) / (1 + t) dt = e^x E_1(x),

with the exponential integral E_1: up to a constant it is the density of the entry itself, on the
scale of sqrt(phi). It behaves like ``-log x`` near zero and like ``1/x`` far out, which is why the
horseshoe leaves large entries alone and still has a pole at zero.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import exp1

from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_elements, draw_horseshoe_precision
from rankfactor.typing import Floats

_FAR = 200.0  # from here on the asymptotic series has an error below 1e-10


@dataclass(frozen=True)
class HorseshoePrecision:
    """Independent laws with positive parameters ``x``."""

    x: Floats

    @property
    def mean(self) -> Floats:
        """E[t] = 1 / (x e^x E_1(x)) - 1."""
        return np.asarray(np.exp(-log_exponential_integral(self.x)) / self.x - 1.0)

    def draw(self, stream: Stream, first: int = 0) -> Floats:
        """One draw of every element; element i has the index ``first + i`` in the stream."""
        return draw_elements(draw_horseshoe_precision, stream, first, self.x)


def log_exponential_integral(x: Floats) -> Floats:
    """Log of ``e^x E_1(x)``, x > 0: the log normaliser of the law."""
    near, far = np.minimum(x, _FAR), 1.0 / np.maximum(x, _FAR)
    series = far * (1 - far * (1 - far * (2 - far * (6 - far * (24 - far * 120)))))
    return np.asarray(np.where(x < _FAR, near + np.log(exp1(near)), np.log(series)))
