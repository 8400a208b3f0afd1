"""Simulated tables have the stated factors and forms; the measure is 1 at the truth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankfactor.experiments.simulated import FORMS, Simulated, Size, cosine, simulate

WIDE = Size(n=400, d=100, n_factors=3)


def seen_as(form: str, size: Size = WIDE) -> Simulated:
    return simulate(size, form, seed=0)


def test_the_truth_is_that_of_the_values() -> None:
    X, loadings = seen_as("values", Size(n=20_000, d=8, n_factors=2))
    expected = loadings @ loadings.T
    np.fill_diagonal(expected, 1.0)
    assert_allclose(X.std(axis=0), 1.0, atol=0.03)
    assert_allclose(np.corrcoef(X.T), expected, atol=0.03)


def test_noise_makes_standardised_loadings_smaller() -> None:
    little, much = (seen_as("values", WIDE._replace(noise=noise)).loadings for noise in (0.1, 3.0))
    assert (little.all(axis=1) == much.all(axis=1)).all()
    assert (np.abs(much)[much != 0] < np.abs(little)[little != 0]).all()


def test_loadings_are_sparse() -> None:
    _, loadings = seen_as("values", Size(n=10, d=2000))
    assert (loadings != 0).mean() == pytest.approx(0.4, abs=0.02)


def test_tables_depend_on_seed_and_repeat_only() -> None:
    one, same = (simulate(WIDE, "counts", 3, 1) for _ in range(2))
    assert_array_equal(one.X, same.X)
    for other in (simulate(WIDE, "counts", 3, 2), simulate(WIDE, "counts", 4, 1)):
        assert not np.array_equal(one.loadings, other.loadings)


def test_all_forms_show_the_same_factors() -> None:
    y, loadings = seen_as("values")
    for form in FORMS:
        X, same = seen_as(form)
        assert X.shape == y.shape
        assert_array_equal(same, loadings)
    assert_allclose(seen_as("raw").X, np.exp(2 * y))


def test_outliers_are_moved_by_twenty() -> None:
    moved = seen_as("outliers").X - seen_as("values").X
    assert (moved != 0).mean() == pytest.approx(0.01, abs=0.003)
    assert_allclose(np.unique(np.round(moved, 9)), [-20.0, 0.0, 20.0])


def test_counts_have_the_mean_of_their_law() -> None:
    X, y = seen_as("counts").X, seen_as("values").X
    assert_array_equal(X, np.round(X))
    assert X.min() == 0
    assert X.mean() == pytest.approx(np.exp(y).mean(), rel=0.02)


def test_levels_keep_the_order_and_differ_by_feature() -> None:
    X, y = seen_as("levels").X, seen_as("values").X
    assert all(set(column) == set(range(5)) for column in X.T)
    for levels, values in zip(X.T, y.T, strict=True):
        assert (np.diff(levels[np.argsort(values)]) >= 0).all()
    shares = (X == 0).mean(axis=0)
    assert shares.std() > 0.03


def test_a_third_of_the_cells_is_missing_and_the_rest_is_kept() -> None:
    X, y = seen_as("missing").X, seen_as("values").X
    known = ~np.isnan(X)
    assert known.mean() == pytest.approx(0.7, abs=0.01)
    assert_array_equal(X[known], y[known])


def test_a_mixture_has_every_form_on_a_fifth_of_the_features() -> None:
    X, y = seen_as("mixture").X, seen_as("values").X
    moved = np.round(X - y, 9)
    whole = (np.round(X) == X).all(axis=0)
    plain = np.isin(moved, (-20, 0, 20)).all(axis=0)
    assert plain.sum() == 40  # values, some with outliers
    assert 15 < (plain & moved.any(axis=0)).sum() <= 20
    assert np.isclose(X, np.exp(2 * y)).all(axis=0).sum() == 20
    assert whole.sum() == 40  # counts and levels
    assert (X[:, whole].max(axis=0) == 4).sum() == 20  # counts go beyond


def truth() -> np.ndarray:
    return seen_as("values").loadings


def test_the_truth_itself_in_any_order_sign_and_scale() -> None:
    true = truth()
    assert cosine(true, true) == pytest.approx(1.0)
    changed = true[:, [2, 0, 1]] * [-1.0, 3.0, 0.5]
    assert cosine(changed, true) == pytest.approx(1.0)
    more = np.column_stack([np.ones(len(true)), changed])
    assert cosine(more, true) == pytest.approx(1.0)


def test_random_loadings_have_a_low_cosine() -> None:
    true = truth()
    assert cosine(np.random.default_rng(1).standard_normal(true.shape), true) < 0.3


def test_factors_are_matched_one_to_one() -> None:
    true = np.eye(4)[:, :2]
    found = np.column_stack([[1.0, 0, 0, 0], [1.0, 0, 0, 0.1]])
    assert cosine(found, true) == pytest.approx(0.5, abs=0.01)


def test_a_factor_that_is_absent_counts_as_zero() -> None:
    true = np.eye(6)[:, :4]
    assert cosine(true[:, :3], true) == pytest.approx(0.75)
    assert cosine(true * [1, 1, 1, 0], true) == pytest.approx(0.75)
    assert cosine(0 * true, true) == 0


@pytest.mark.parametrize("small", [1e-9, 1e-200])
def test_tiny_loadings_count_by_their_direction(small: float) -> None:
    true = truth()
    assert cosine(true * [1, 1, small], true) == pytest.approx(1.0)


def test_a_true_factor_without_loadings_is_left_out() -> None:
    true = np.eye(4)[:, :2] * [1.0, 0.0]
    assert cosine(np.eye(4)[:, :2], true) == pytest.approx(1.0)
