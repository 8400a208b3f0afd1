import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from rankfactor.classifiers.centres import class_aware_centres, label_groups, shares

CORNERS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])


def four_corners(n=80, seed=0):
    """Scores at the corners of a square, the first two of one class, some of unknown class."""
    rng = np.random.default_rng(seed)
    corner = np.arange(n) % 4
    groups = corner // 2
    groups[::11] = -1
    return CORNERS[corner] + 0.05 * rng.standard_normal((n, 2)), groups


def test_centres_lie_in_their_groups():
    z, groups = four_corners()
    centres = class_aware_centres(z, groups, 4, np.random.default_rng(0))
    for part, corners in ((centres[:2], CORNERS[:2]), (centres[2:], CORNERS[2:])):
        order = np.argsort(-part.sum(axis=1) - 0.1 * part[:, 0])
        expected = np.argsort(-corners.sum(axis=1) - 0.1 * corners[:, 0])
        assert_allclose(part[order], corners[expected], atol=0.05)


def test_shares_are_in_proportion_and_nobody_goes_without():
    assert_array_equal(shares(np.array([90, 10]), 10), [8, 2])
    assert_array_equal(shares(np.array([990, 5, 5]), 10), [8, 1, 1])
    assert_array_equal(shares(np.array([1, 1, 1]), 3), [1, 1, 1])


@pytest.mark.parametrize("groups", [np.full(80, -1), np.arange(80)])
def test_all_samples_together_without_groups_or_with_too_many(groups):
    z, _ = four_corners()
    centres = class_aware_centres(z, groups, 4, np.random.default_rng(0))
    distance = ((centres[:, None] - CORNERS) ** 2).sum(axis=2)
    assert_array_equal(np.sort(distance.argmin(axis=1)), np.arange(4))


def test_more_centres_than_samples_and_samples_that_coincide():
    z = np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 0.0]])
    centres = class_aware_centres(z, np.array([0, 0, 1]), 7, np.random.default_rng(0))
    assert centres.shape == (7, 2)
    assert_allclose(centres[:-1][centres[:-1, 0] < 1], [[0.0, 1.0]] * 4)
    assert (centres == [2.0, 0.0]).all(axis=1).sum() == 3


def test_the_number_of_threads_does_not_matter():
    z, groups = np.random.default_rng(1).standard_normal((3000, 6)), np.arange(3000) % 2
    found = []
    for limit in (1, 2):
        with threadpool_limits(limit):
            found.append(class_aware_centres(z, groups, 6, np.random.default_rng(2)))
    assert_array_equal(*found)


def test_groups_are_combinations_of_labels():
    signed = np.array([[1.0, -2.0, 1.0, 0.0, -0.5], [1.0, 1.0, 1.0, 1.0, 1.0]])
    groups = label_groups(signed)
    assert groups[0] == groups[2]
    assert groups[1] == groups[4] != groups[0]
    assert groups[3] == -1


def test_tasks_with_samples_of_their_own_make_groups_of_what_they_have():
    signed = np.array([[1.0, -2.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, -1.0, 0.0, 0.0]])
    groups = label_groups(signed)
    assert groups[4] == -1
    assert groups[0] == groups[5]
    assert len(set(groups[:4])) == 4
