"""The same samples encoded by many draws of rows and parameters, side by side.

A few samples of a small table take less time to encode than the calls that encode them do. So the
rows of S draws are stacked, (S d, n) predictors being to a likelihood what (d, n) are, and every
sample of every draw follows the path that `rankfactor.steps.encode.encode` would take it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.packed import packed_size, pair_weights, places, times
from rankfactor.latent import StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed
from rankfactor.likelihoods.base import Sites, Tile
from rankfactor.model import View, ViewState
from rankfactor.steps.acceleration import Anderson
from rankfactor.steps.encode import Newton
from rankfactor.steps.score import ObservedView, tile_length
from rankfactor.typing import Floats, Reals


class Stack:
    """Certain rows and parameters of S draws, and the samples that they encode."""

    def __init__(
        self,
        view: View,
        observed: Observed,
        states: Sequence[ViewState],
        samples: NDArray[np.int64],
        n_factors: int,
    ) -> None:
        self.view, self.n, self.order = view, len(samples), n_factors
        self._item = ObservedView(view, observed, states[0])
        self._samples, self._states = samples, list(states)
        self._rows = np.array([state.rows.mean for state in states])  # (S, d, K) or (S, d, K + 1)
        self.likelihood = view.likelihood

    def keep(self, some: NDArray[np.int64]) -> None:
        """Go on with some of the draws only."""
        self._states = [self._states[s] for s in some]
        self._rows = self._rows[some]

    def sums(self, mean: Floats, cov: Reals, curved: bool) -> tuple[Floats, Floats, Floats]:
        """Precision and curvature (S n, P) and shift (S n, K), with those of the prior."""
        count, order, size = len(self._states), self.order, packed_size(self.order)
        columns = mean.reshape(count, self.n, order).transpose(0, 2, 1)
        first, last = places(order)
        start = (first == last).astype(np.float64)[:, None]
        precision = np.zeros((count, size, self.n)) + start
        curvature = precision.copy() if curved else precision
        shift = np.zeros((count, self.n, order))
        for where in self._item.tiles(tile_length(self.n)):
            rows = self._rows[:, where]
            a = rows[:, :, :order]
            pairs = (a[:, :, first] * a[:, :, last]).transpose(0, 2, 1)  # (S, P, t)
            w = a @ columns
            if self.view.has_intercept:
                w += rows[:, :, order:]
            sites, bend = self._sites(where, w, pairs, cov, curved)
            tau, rho = (one.reshape(w.shape) for one in sites)
            if self.view.has_intercept:
                rho = rho - tau * rows[:, :, order:]
            precision += pairs @ tau
            shift += rho.transpose(0, 2, 1) @ a
            if bend is not None:
                curvature += pairs @ bend.reshape(w.shape)
        flat = count * self.n
        packed = (one.transpose(1, 0, 2).reshape(size, flat).T for one in (precision, curvature))
        return next(packed), shift.reshape(flat, order), next(packed)

    def _sites(
        self, where: slice, w: Floats, pairs: Floats, cov: Reals, curved: bool
    ) -> tuple[Sites, Floats | None]:
        """Sites of a tile (S t, n) and, if asked for, minus the second derivative in w."""
        count, _, n = w.shape
        parts = [state.params.take(where) for state in self._states]
        variance = np.empty((0, 0))
        if self.likelihood.needs_variance:
            weighted = cov.reshape(count, n, -1) * pair_weights(self.order)
            spread = np.maximum(weighted @ pairs, 0.0).transpose(0, 2, 1)
            variance = np.ascontiguousarray(spread).reshape(-1, n)
        seen = self.likelihood.read(self._item.observed, where, self._samples, parts[0])
        observed = np.tile(seen, (count, 1))
        tile = Tile(observed, w.reshape(-1, n), variance, type(parts[0]).joined(parts))
        if not curved:
            return self.likelihood.sites(tile), None
        slopes = self._item.slopes(tile)
        return Sites(slopes.tau, slopes.push + slopes.tau * tile.w), slopes.curvature


def encode_draws(
    view: View,
    observed: Observed,
    states: Sequence[ViewState],
    samples: NDArray[np.int64],
    n_factors: int,
    *,
    tol: float,
    max_steps: int,
) -> Floats:
    """Label-free scores of some samples by each of the draws, shape (S, n, K).

    Scores have the standard normal prior. ``tol`` and ``max_steps`` are those of
    `rankfactor.steps.encode.encode`, and so is the result.
    """
    stack, count, n = Stack(view, observed, states, samples, n_factors), len(states), len(samples)
    start = StandardNormal().law(count * n, n_factors)
    mean, cov = start.mean, start.cov
    found = np.zeros((count, n, n_factors))
    curved = stack.likelihood.has_curvature and not stack.likelihood.has_fixed_sites
    path = (Newton if curved else Anderson)(count * n, n_factors)
    live, going = np.arange(count), np.ones(count * n, bool)
    for _ in range(max_steps):
        precision, shift, curvature = stack.sums(mean, cov, curved)
        law = Normal.from_natural(precision, shift)
        if stack.likelihood.has_fixed_sites:
            return law.mean.reshape(found.shape)
        if isinstance(path, Newton):
            gradient = shift - times(precision, mean)
            points, moves = path.propose(mean, gradient, curvature, precision)
            law.mean[moves <= tol] = points[moves <= tol]
        else:
            moves = np.abs(law.mean - mean).max(axis=1)
            points = path.propose(mean, law.mean)
        now = found[live].reshape(mean.shape)
        now[going] = law.mean[going]
        found[live] = now.reshape(-1, n, n_factors)
        going &= moves > tol
        cov = np.where(going[:, None], law.cov, cov)
        mean = np.where(going[:, None], points, now)
        left = np.flatnonzero(going.reshape(-1, n).any(axis=1))
        if not len(left):
            break
        if len(left) < len(live):
            some = (left[:, None] * n + np.arange(n)).ravel()
            stack.keep(left)
            path.keep(some)
            live, going, mean, cov = live[left], going[some], mean[some], cov[some]
    return found
