r"""Rotation step: axes of the factors that maximise the shrinkage priors.

For orthogonal R the predictors ``w = A z`` are those of ``A R`` and ``R^T z``, and a standard
normal (or a spherical mixture's) distribution of z does not change. In the ELBO only the shrinkage
priors' part changes. Coordinate ascent, rows given scores and scores given rows, cannot rotate:
each fixes the other. So the axes are rotated directly, in one plane of two factors after another
(Jacobi's method). With S = E[a a^T] of every row, an angle t changes the sum of

    g( unit_ik E[a_ik^2] ) + g( unit_il E[a_il^2] )

over the rows of all views, where g is the largest bound of an entry over the scales that belong to
it alone, at given laws of the scales that entries share (`rankfactor.shrinkage.base.Shrinkage`,
`profile`). Every rotation that raises the sum raises the ELBO once these scales are at their
optimum. They are moved there by updates of the prior, which are ascent steps themselves; a rotation
that does not raise the ELBO is rejected, so the ELBO never decreases.

Parameter expansion reaches the same axes in expectation maximisation (Rockova and George 2016,
Journal of the American Statistical Association 111).

A start is rotated by Kaiser's varimax (1958), which needs no scales: the orthogonal R that
maximises the variance of the squared loadings of every factor, summed over the factors.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.kernels.packed import add_outer_columns, pair_places
from rankfactor.kernels.planes import plane_values, table_points, turn_plane
from rankfactor.shrinkage import AnyShrinkage
from rankfactor.steps.score import ObservedView
from rankfactor.typing import Floats

ANGLES = np.linspace(-0.5, 0.5, 13)[1:] * np.pi  # tried in every plane
STILL = 5  # index of the zero angle
FINER, FINER_ROUNDS = np.array([-0.6, -0.2, 0.2, 0.6]), 3  # then around the best of them
SETTLE = 10  # updates of the scales at rotated rows
LEAST_GAIN = 1.0  # smallest gain in ELBO for a rotation; less is within the noise of the axes
VARIMAX_STEPS, VARIMAX_TOL = 200, 1e-6


def varimax(loadings: Floats) -> Floats:
    """Orthogonal R, shape (K, K), for which ``loadings @ R`` has the simplest columns."""
    n_rows, order = loadings.shape
    turn, size = np.eye(order), 0.0
    for _ in range(VARIMAX_STEPS):
        turned = loadings @ turn
        squares = turned * turned
        target = turned * (squares - squares.sum(axis=0) / n_rows)
        left, singular, right = np.linalg.svd(loadings.T @ target)
        turn, before, size = left @ right, size, float(singular.sum())
        if size <= before * (1.0 + VARIMAX_TOL):
            break
    return np.asarray(turn)


class _Side(NamedTuple):
    """A view's rows, as used by rotations."""

    second: Floats  # (P, rows): E[a a^T], packed
    place: NDArray[np.int64]  # (order, order): where the pairs are
    unit: Floats  # (K, rows)
    table: Floats  # (TABLE_SIZE,): g


def find_rotation(views: Sequence[ObservedView], n_factors: int) -> Floats:
    """Rotation (K, K) by one sweep over all planes."""
    sides = [_side(item) for item in views]
    turn = np.eye(n_factors)
    for k, m in combinations(range(n_factors), 2):
        angle, gain = _best_angle(sides, k, m)
        if gain < LEAST_GAIN:
            continue
        for side in sides:
            turn_plane(side.second, side.place, k, m, angle)
        c, s = np.cos(angle), np.sin(angle)
        turn[:, [k, m]] = turn[:, [k, m]] @ np.array([[c, -s], [s, c]])
    return turn


def _side(item: ObservedView) -> _Side:
    rows, prior = item.state.rows, item.view.shrinkage
    cov = np.ascontiguousarray(rows.cov.T, np.float64)
    second = np.empty(cov.shape)
    add_outer_columns(np.ascontiguousarray(rows.mean.T), cov, second)
    unit = np.ascontiguousarray(prior.unit(item.state.scales).T, np.float64)
    return _Side(second, pair_places(rows.order), unit, _profile_table(prior))


@lru_cache(maxsize=32)
def _profile_table(prior: AnyShrinkage) -> Floats:
    return np.asarray(prior.profile(table_points()))


def _best_angle(sides: Sequence[_Side], k: int, m: int) -> tuple[float, float]:
    """Angle that gains most in a plane, and its gain over no rotation."""

    def values(angles: Floats) -> Floats:
        return np.asarray(sum(_values(side, k, m, angles) for side in sides))

    found = values(ANGLES)
    still, best = float(found[STILL]), int(found.argmax())
    angle, value, width = float(ANGLES[best]), float(found[best]), float(ANGLES[1] - ANGLES[0])
    for _ in range(FINER_ROUNDS):
        near = angle + width * FINER
        found = values(near)
        best = int(found.argmax())
        if found[best] > value:
            angle, value = float(near[best]), float(found[best])
        width *= float(FINER[1] - FINER[0])
    return angle, value - still


def _values(side: _Side, k: int, m: int, angles: Floats) -> Any:
    own, between, other = (side.second[side.place[pair]] for pair in ((k, k), (k, m), (m, m)))
    return plane_values(own, between, other, side.unit[k], side.unit[m], side.table, angles)


def turned_scales(item: ObservedView, squares: Floats) -> tuple[Any, float]:
    """Scales updated to rows with other squares (rows, K), and the prior's bound there."""
    prior, scales = item.view.shrinkage, item.state.scales
    for _ in range(SETTLE):
        scales = prior.update(scales, squares)
    return scales, prior.bound(scales, squares)
