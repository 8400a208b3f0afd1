"""Rotations in a plane against plain matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankfactor.kernels.packed import pack, pair_places
from rankfactor.kernels.planes import plane_values, table_points, turn_plane

PLACE = pair_places(4)


def moments(n=40, order=4, seed=0):
    """Second moments of rows with a covariance, full (rows, K, K) and packed (P, rows)."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((n, order, order))
    full = factor @ factor.transpose(0, 2, 1)
    return full, np.ascontiguousarray(pack(full).T)


def plane(order, k, m, angle):
    turn = np.eye(order)
    turn[k, k] = turn[m, m] = np.cos(angle)
    turn[m, k], turn[k, m] = np.sin(angle), -np.sin(angle)
    return turn


@pytest.mark.parametrize(("k", "m"), [(0, 1), (1, 3), (2, 0)])
def test_turn_plane_rotates_second_moments(k, m):
    (full, second), turn = moments(), plane(4, k, m, 0.7)
    turn_plane(second, PLACE, k, m, 0.7)
    assert_allclose(second, pack(turn.T @ full @ turn).T, atol=1e-12)


def test_plane_values_are_those_of_the_rotated_moments():
    (_, second), angles = moments(), np.linspace(-1.5, 1.5, 7)
    unit = np.random.default_rng(1).uniform(0.1, 10, (4, second.shape[1]))
    table = -np.log(1.0 + table_points())
    own = [second[PLACE[pair]] for pair in ((1, 1), (1, 2), (2, 2))]
    found = plane_values(*own, unit[1], unit[2], table, angles)
    for angle, value in zip(angles, found, strict=True):
        turned = second.copy()
        turn_plane(turned, PLACE, 1, 2, angle)
        ratios = np.stack([turned[PLACE[1, 1]] * unit[1], turned[PLACE[2, 2]] * unit[2]])
        assert_allclose(value, -np.log(1.0 + ratios).sum(), rtol=1e-4)


def test_a_linear_function_is_exact_and_ends_of_the_range_are_kept():
    second, still = np.array([2.0**-80, 1e-3, 0.7, 123.4]), np.zeros(1)
    zero, one = np.zeros(4), np.ones(4)
    found = plane_values(second, zero, zero, one, one, table_points(), still)
    ends = 2.0**-70 * 5  # the first number, and four zeros
    assert_allclose(found[0], second[1:].sum() + ends, rtol=1e-12)
