"""Fewer steps to a fixed point: Anderson acceleration, and steps that go further.

Anderson acceleration is for many small vectors side by side.

For x <- g(x) with residuals f = g(x) - x, the next point is not g(x) but the combination of the
last m + 1 of them whose residuals, combined alike, are smallest:

    x' = g_k - sum_a c_a (g_{a+1} - g_a),     c = argmin | f_k - sum_a c_a (f_{a+1} - f_a) |

It has the same fixed point, and needs no derivative. Every vector has coefficients of its own, so
its path does not depend on which others are worked on with it. A vector whose residual has grown
takes the plain step g.
"""

from __future__ import annotations

import numpy as np

from rankfactor.kernels.packed import Floats
from rankfactor.laws.normal import Index

WINDOW = 3  # differences that are combined; 2 to 8 need about as many steps
_RIDGE = 1e-8  # of the trace: differences become parallel near the fixed point
_GROWTH = 4.0  # of a squared residual: noise of the path, not divergence, stays below
# How much further than their step means go. An update by blocks is, near its end, a contraction
# with factors between 0 and 1, which any value below 1 leaves one (it makes them -OVER to 1); of
# 0.6, 0.9 and adaptive ones this was the best that never lowered the ELBO (docs/performance.md).
OVER = 0.9
ROUNDING = 1e-9  # a fall of the ELBO by less, of itself, is none


class Overstep:
    """How far to go beyond a step: ``OVER`` times it, and no further once the ELBO has fallen.

    Steps as they are never lower the ELBO.
    """

    def __init__(self) -> None:
        self._size, self._last = OVER, -np.inf

    def __call__(self, elbo: float) -> float:
        """Given the ELBO before a step, how far to go beyond it."""
        if elbo < self._last - ROUNDING * abs(elbo):
            self._size = 0.0
        self._last = elbo
        return self._size


class Anderson:
    """The last points and residuals of ``n`` vectors.

    Parameters
    ----------
    n, order : int
        Number of vectors and their dimension.
    """

    def __init__(self, n: int, order: int) -> None:
        self._points = np.zeros((WINDOW + 1, n, order))
        self._residuals = np.zeros((WINDOW + 1, n, order))
        self._smallest = np.full(n, np.inf)  # squared norm of a vector's residual
        self._count = 0

    def propose(self, x: Floats, g: Floats) -> Floats:
        """Where to go from ``x`` (n, K), given ``g`` = g(x)."""
        kept = min(self._count, WINDOW)
        for values, new in ((self._points, g), (self._residuals, g - x)):
            values[1:] = values[:-1].copy()
            values[0] = new
        self._count += 1
        norm = (self._residuals[0] ** 2).sum(axis=1)
        self._smallest = np.minimum(self._smallest, norm)
        if kept == 0:
            return g
        change = self._points[:kept] - self._points[1 : kept + 1]  # (m, n, K)
        slope = self._residuals[:kept] - self._residuals[1 : kept + 1]
        gram = np.einsum("ank,bnk->nab", slope, slope)
        ridge = _RIDGE * np.trace(gram, axis1=1, axis2=2) + np.finfo(float).tiny
        gram[:, np.arange(kept), np.arange(kept)] += ridge[:, None]
        target = np.einsum("ank,nk->na", slope, self._residuals[0])
        c = np.linalg.solve(gram, target[..., None])[..., 0]
        c[norm > _GROWTH * self._smallest] = 0.0
        return np.asarray(g - np.einsum("na,ank->nk", c, change))

    def keep(self, some: Index) -> None:
        """Go on with some of the vectors only."""
        self._points = self._points[:, some]
        self._residuals = self._residuals[:, some]
        self._smallest = self._smallest[some]
