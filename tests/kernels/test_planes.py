"""Rotations in a plane against plain matrices."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from rankfactor.kernels.planes import plane_values, table_points, turn_plane


def moments(n=40, order=4, seed=0):
    """Second moments (K, K, rows) of rows with a covariance."""
    rng = np.random.default_rng(seed)
    factor = rng.standard_normal((n, order, order))
    return np.ascontiguousarray((factor @ factor.transpose(0, 2, 1)).transpose(1, 2, 0))


def plane(order, k, m, angle):
    turn = np.eye(order)
    turn[k, k] = turn[m, m] = np.cos(angle)
    turn[m, k], turn[k, m] = np.sin(angle), -np.sin(angle)
    return turn


@pytest.mark.parametrize(("k", "m"), [(0, 1), (1, 3), (2, 0)])
def test_turn_plane_rotates_second_moments(k, m):
    second, turn = moments(), plane(4, k, m, 0.7)
    expected = np.einsum("ka,klr,lb->abr", turn, second, turn)
    turn_plane(second, k, m, 0.7)
    assert_allclose(second, expected, atol=1e-12)


def test_plane_values_are_those_of_the_rotated_moments():
    second, angles = moments(), np.linspace(-1.5, 1.5, 7)
    unit = np.random.default_rng(1).uniform(0.1, 10, (4, second.shape[2]))
    table = -np.log(1.0 + table_points())
    found = plane_values(second[1, 1], second[1, 2], second[2, 2], unit[1], unit[2], table, angles)
    for angle, value in zip(angles, found, strict=True):
        turned = second.copy()
        turn_plane(turned, 1, 2, angle)
        ratios = np.stack([turned[1, 1] * unit[1], turned[2, 2] * unit[2]])
        assert_allclose(value, -np.log(1.0 + ratios).sum(), rtol=1e-4)


def test_a_linear_function_is_exact_and_ends_of_the_range_are_kept():
    second, still = np.array([2.0**-80, 1e-3, 0.7, 123.4]), np.zeros(1)
    zero, one = np.zeros(4), np.ones(4)
    found = plane_values(second, zero, zero, one, one, table_points(), still)
    ends = 2.0**-70 * 5  # the first number, and four zeros
    assert_allclose(found[0], second[1:].sum() + ends, rtol=1e-12)
