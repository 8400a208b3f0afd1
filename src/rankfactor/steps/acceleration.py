"""Fewer steps to a fixed point: Anderson acceleration, and momentum.

Anderson acceleration works on many small vectors in parallel.

For x <- g(x) with residuals f = g(x) - x, the next point is not g(x) but the combination of the
last m + 1 of them whose residuals, combined alike, are smallest:

    x' = g_k - sum_a c_a (g_{a+1} - g_a),     c = argmin | f_k - sum_a c_a (f_{a+1} - f_a) |

It has the same fixed point, and needs no derivative. Every vector has its own coefficients, so its
path does not depend on the others. A vector whose residual has grown takes the plain step g.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rankfactor.typing import Floats, Index

WINDOW = 3  # differences that are combined; 2 to 8 need about as many steps
_RIDGE = 1e-8  # of the trace: differences become parallel near the fixed point
_GROWTH = 4.0  # of a squared residual: noise of the path, not divergence, stays below
# Largest momentum; 0.8 to 0.98 need about as many iterations.
MOMENTUM = 0.95
ROUNDING = 1e-9  # a smaller relative fall of the ELBO is rounding


def nesterov(step: int) -> float:
    """Momentum after a step, counted from 1."""
    return (step - 1) / (step + 2)


class Momentum:
    """Extrapolate means in the direction they moved (Nesterov momentum).

    After a step they are moved by a part (`nesterov`) of the difference between its result and that
    of the step before. If block updates are slow, with small steps in a constant direction, this
    adds up to the whole distance. Plain steps never lower the ELBO; extrapolated ones may, and then
    the count of steps restarts (O'Donoghue and Candes 2015) and the extrapolation is at most half
    as long.
    """

    def __init__(self) -> None:
        self._most, self._age, self._last = MOMENTUM, 0, -np.inf
        self._given: list[Floats] = []

    def carry(self, means: Sequence[Floats], elbo: float) -> None:
        """Extrapolate the means after a step, in place.

        Parameters
        ----------
        means : sequence of array
            The same ones every time.
        elbo : float
            ELBO before the step.
        """
        if elbo < self._last - ROUNDING * abs(elbo):
            self._most, self._age = 0.5 * self._most, 0
        self._last = elbo
        self._age += 1
        weight = min(self._most, nesterov(self._age))
        given = [mean.copy() for mean in means]
        if weight:
            for mean, old in zip(means, self._given, strict=True):
                mean += weight * (mean - old)
        self._given = given

    def memory(self) -> dict[str, Any]:
        """Extrapolation of the first of the means, as stored in a checkpoint."""
        first = self._given[0].copy() if self._given else None
        return {"most": self._most, "age": self._age, "last": self._last, "given": first}

    def recall(self, memory: dict[str, Any], *others: Floats) -> None:
        """Resume with the first of the means; the ``others`` have not moved yet."""
        self._most, self._age, self._last = memory["most"], memory["age"], memory["last"]
        first = memory["given"]
        self._given = [] if first is None else [first.copy(), *(mean.copy() for mean in others)]

    def turn(self, matrix: Floats) -> None:
        """Continue with means whose first columns were multiplied by a matrix (K, K)."""
        k = len(matrix)
        for mean in self._given:
            mean[:, :k] = mean[:, :k] @ matrix


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
        """Next point after ``x`` (n, K), given ``g`` = g(x)."""
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
        """Continue with some of the vectors."""
        self._points = self._points[:, some]
        self._residuals = self._residuals[:, some]
        self._smallest = self._smallest[some]
