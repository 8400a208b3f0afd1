r"""A move of the Gibbs sampler that rotates the factors in the plane of two of them.

For orthogonal R the predictors ``w = A z`` are those of ``A R`` and ``R^T z``, and the law of the
scores does not change; only the shrinkage priors do. Rows given scores and scores given rows hold
each other's axes in place, so an angle t is drawn outright. The rotations of a plane are a group
whose Haar measure is dt, so drawing t from

    prod_i p(a_ik cos t + a_il sin t) p(a_il cos t - a_ik sin t) dt

over the rows of all views leaves the joint law alone (Liu and Sabatti 2000). p is the prior of an
entry with the scales that belong to it alone integrated out, given those that it shares
(`rankfactor.shrinkage.base.Shrinkage.marginal`); the sweep draws the former afresh right after the
move. The density has the period pi and is sampled by slices (`rankfactor.kernels.slices`).

Every sweep divides the factors at random into pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rankfactor.kernels.planes import fine_points
from rankfactor.kernels.rng import Stream, fill_uniform
from rankfactor.kernels.slices import slice_planes
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.shrinkage import AnyShrinkage
from rankfactor.steps.score import ObservedView
from rankfactor.typing import Floats

ROUNDS = 1  # divisions into pairs a sweep


def draw_axes(
    views: Sequence[ObservedView], z: Normal, prior: ScorePrior, stream: Stream
) -> ScorePrior:
    """Rotate the factors, views and scores in place; the prior of the rotated scores.

    The scales of single entries have to be drawn again before anything depends on them.
    """
    order = z.order
    sides, turn, numbers = [_side(item, order) for item in views], np.eye(order), np.empty(order)
    for number in range(ROUNDS):
        fill_uniform(stream.word, 0, number, numbers)
        shuffled, half = np.argsort(numbers), order // 2
        pairs = np.column_stack([shuffled[:half], shuffled[half : 2 * half]])
        slice_planes(stream.child(number).word, pairs, tuple(sides), turn)
    for item, (rows, _, _) in zip(views, sides, strict=True):
        item.state.rows.mean[:, :order] = rows.T
    z.mean[:] = z.mean @ turn.T
    return prior.turned(turn.T)


def _side(item: ObservedView, order: int) -> tuple[Floats, Floats, Floats]:
    """A view's rows (K, d), their units (K, d) and the log density of an entry."""
    prior = item.view.shrinkage
    rows = np.ascontiguousarray(item.state.rows.mean[:, :order].T)
    unit = np.ascontiguousarray(prior.marginal_unit(item.state.scales).T, np.float64)
    return rows, unit, _table(prior)


@lru_cache(maxsize=32)
def _table(prior: AnyShrinkage) -> Floats:
    return np.asarray(prior.marginal(fine_points()))
