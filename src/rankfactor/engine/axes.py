r"""Moves of the Gibbs sampler that change the axes of the factors: rotations and shears.

For any invertible matrix M the predictors ``w = A z`` are those of ``A M`` and ``M^-1 z``; only the
priors of loadings and scores change. Rows given scores and scores given rows hold each other's axes
in place, so two kinds of M are drawn outright, in the plane of two factors k and l.

**Rotations** by an angle t leave the law of the scores as it is. They are a group with the Haar
measure dt, so drawing t from

    prod_i p(a_ik cos t + a_il sin t) p(a_il cos t - a_ik sin t) dt

over the rows of all views leaves the joint law alone (Liu and Sabatti 2000). The density has the
period pi.

**Shears** add e times column k of the rows to column l and take e times the scores of factor l from
those of factor k. They change the correlation of the two factors' scores, which their prior
knows to about 1/sqrt(N) only. They are a group with the Haar measure de, and their Jacobian is 1:

    prod_i p(a_il + e a_ik) exp( -sum_n (z_nk - e z_nl)^2 / 2 ) de.

Units (`rankfactor.engine.expansion`), rotations and shears together reach every M. p is the prior
of an entry with the scales that belong to it alone integrated out, given those that it
shares (`rankfactor.shrinkage.base.Shrinkage.marginal`); the sweep draws the former afresh right
after the move. Both densities are sampled by slices (`rankfactor.kernels.slices`).

The factors are divided at random into pairs as often as a factor has others, so that every plane
is among them once, on average. All pairs are rotated, then all are sheared in both directions.

The density of t also tells how well a prior knows the axes (`angle_spread`), which decides how
draws are matched (`rankfactor.engine.alignment`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from rankfactor.kernels.planes import fine_points, plane_log_densities
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.slices import random_pairs, slice_planes, slice_shears
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.shrinkage import AnyShrinkage
from rankfactor.steps.score import ObservedView
from rankfactor.typing import Floats

ANGLES = np.arange(180) * (np.pi / 180)  # the period of squares


def draw_axes(
    views: Sequence[ObservedView], z: Normal, prior: ScorePrior, stream: Stream
) -> ScorePrior:
    """Rotate and shear the factors, views and scores in place; the prior of the new scores.

    The scales of single entries have to be drawn again before anything depends on them.
    """
    order = z.order
    sides, turn = tuple(_side(item, order) for item in views), np.eye(order)
    pairs = random_pairs(stream.word, order)
    slice_planes(stream.child("planes").word, pairs, sides, turn)
    moment = turn @ prior.moment(z) @ turn.T
    both = np.concatenate([pairs, pairs[:, ::-1]])
    slice_shears(stream.child("shears").word, both, sides, moment, turn)
    for item, (rows, *_) in zip(views, sides, strict=True):
        item.state.rows.mean[:, :order] = rows.T
    z.mean[:] = z.mean @ turn.T
    return prior.turned(turn.T)


def angle_spread(views: Sequence[ObservedView], order: int) -> Floats:
    """How freely the priors let the axes of every plane turn, in radians, shape (K, K).

    The circular standard deviation of the angle of a rotation, up to quarter turns, which only
    exchange the axes. It is zero for axes that are told apart exactly, and large for free ones.
    """
    sides, spread = tuple(_side(item, order) for item in views), np.zeros((order, order))
    for k in range(order):
        for m in range(k):
            log_density = sum(
                plane_log_densities(rows[k], rows[m], unit[k], unit[m], table, ANGLES)
                for rows, unit, table, _ in sides
            )
            weight = np.exp(log_density - np.max(log_density))
            length = np.abs(weight @ np.exp(4j * ANGLES)) / weight.sum()
            spread[k, m] = spread[m, k] = np.sqrt(-2.0 * np.log(np.clip(length, 1e-12, 1.0))) / 4.0
    return spread


def _side(item: ObservedView, order: int) -> tuple[Floats, Floats, Floats, float]:
    """A view's rows (K, d), their units (K, d), the log density of an entry and a slab's part."""
    prior = item.view.shrinkage
    rows = np.ascontiguousarray(item.state.rows.mean[:, :order].T)
    unit = np.ascontiguousarray(prior.marginal_unit(item.state.scales).T, np.float64)
    return rows, unit, _table(prior), prior.ridge


@lru_cache(maxsize=32)
def _table(prior: AnyShrinkage) -> Floats:
    return np.asarray(prior.marginal(fine_points()))
