"""Divisions into halves: complementary, balanced by class, with whole groups."""

from __future__ import annotations

import numpy as np
import pytest

from rankfactor.errors import InputError
from rankfactor.evaluation.halves import Halves, make_halves
from rankfactor.tasks import encode_labels


def divide(labels: object, n: int, n_pairs: int = 6, groups: object = None, seed: int = 0):
    tasks, class_index = encode_labels(labels, n)
    numbers = None if groups is None else np.unique(groups, return_inverse=True)[1]
    return make_halves(tasks, class_index, n_pairs=n_pairs, groups=numbers, random_state=seed)


def test_halves_share_no_sample_and_have_all_together() -> None:
    for one in divide(np.arange(41) % 3, 41):
        assert sorted([*one.first, *one.second]) == list(range(41))
        assert abs(len(one.first) - len(one.second)) == 1


def test_every_class_of_a_task_is_divided_evenly() -> None:
    labels = np.repeat([0, 1, 2], [7, 20, 14])
    for one in divide(labels, 41):
        for label in range(3):
            counts = [(labels[half] == label).sum() for half in (one.first, one.second)]
            assert abs(counts[0] - counts[1]) <= 1


def test_combinations_of_two_tasks_are_divided_evenly() -> None:
    rng = np.random.default_rng(0)
    labels = np.column_stack([rng.integers(0, 2, 60), rng.integers(0, 2, 60)])
    for one in divide(labels, 60):
        for a in range(2):
            for b in range(2):
                member = (labels[:, 0] == a) & (labels[:, 1] == b)
                counts = [member[half].sum() for half in (one.first, one.second)]
                assert abs(counts[0] - counts[1]) <= 1


def test_classes_of_the_second_task_are_in_both_halves_though_the_first_decides() -> None:
    rare = np.zeros(30, int)
    rare[[3, 17]] = 1
    labels = np.column_stack([np.arange(30) % 15 // 5, rare])
    for one in divide(labels, 30, n_pairs=20):
        assert rare[one.first].sum() == rare[one.second].sum() == 1


def test_missing_labels_are_divided_too() -> None:
    labels = np.array([None, "a", "b", "a", None, "b"] * 6, object)
    unknown = np.array([one is None for one in labels])
    for one in divide(labels, 36):
        assert unknown[one.first].sum() == unknown[one.second].sum() == 6


def test_groups_stay_whole_and_sizes_stay_close() -> None:
    rng = np.random.default_rng(1)
    groups = rng.integers(0, 20, 80)
    labels = (groups + rng.integers(0, 2, 80)) % 2
    for one in divide(labels, 80, groups=groups):
        assert not set(groups[one.first]) & set(groups[one.second])
        assert abs(len(one.first) - len(one.second)) <= 2 * np.bincount(groups).max()


def test_groups_of_unequal_composition_are_divided_differently_each_time() -> None:
    groups = np.repeat(np.arange(12), np.arange(1, 13))
    labels = np.arange(len(groups)) % 2
    found = {tuple(one.first) for one in divide(labels, len(groups), 10, groups)}
    found |= {tuple(one.second) for one in divide(labels, len(groups), 10, groups)}
    assert len(found) > 15


def test_more_pairs_begin_with_the_same_ones() -> None:
    few, many = (divide(np.arange(30) % 2, 30, n_pairs) for n_pairs in (3, 8))
    assert same(few, many[:3])
    assert not same(few, divide(np.arange(30) % 2, 30, 3, seed=1))


def same(some: list[Halves], others: list[Halves]) -> bool:
    pairs = zip(some, others, strict=True)
    return all(np.array_equal(a.first, b.first) and a.seeds == b.seeds for a, b in pairs)


def test_without_labels_halves_differ_by_one_sample_at_most() -> None:
    nothing = np.zeros((21, 0), np.int64)
    for one in make_halves((), nothing, n_pairs=5, groups=None, random_state=0):
        assert abs(len(one.first) - len(one.second)) == 1


def test_a_class_of_one_sample_or_group_is_refused() -> None:
    labels = np.array(["a"] * 10 + ["b"])
    with pytest.raises(InputError, match=r"1 sample of class 'b', and both halves need one"):
        divide(labels, 11)
    labels = np.array(["a", "a", "b", "b", "a", "a", "a", "a"])
    with pytest.raises(InputError, match=r"1 group of class 'b'"):
        divide(labels, 8, groups=np.arange(8) // 2)
    with pytest.raises(InputError, match="at least 4 samples"):
        divide(np.array(["a", "a", "b"]), 3)


def test_groups_that_cannot_give_both_halves_all_classes_are_refused() -> None:
    # Two of the first three groups are always in the same half, which the other then lacks.
    groups = np.repeat(np.arange(5), 2)
    labels = np.array(["b", "c", "b", "d", "c", "d", "a", "a", "a", "a"])
    with pytest.raises(InputError, match="no split of the samples gives both halves all"):
        divide(labels, 10, groups=groups)
