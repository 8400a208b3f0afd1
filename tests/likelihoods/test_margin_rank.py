import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal

from rankfactor.kernels.sites import margin_rank_sites
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods.coding import choose_cuts
from rankfactor.likelihoods.margin_rank import MarginRank

columns = arrays(np.float64, st.integers(2, 40), elements=st.integers(-9, 9).map(float))


@given(columns, st.integers(1, 6))
def test_cuts_are_observed_values_below_the_largest(column, max_cuts):
    cuts = choose_cuts(column, max_cuts)
    assert len(cuts) <= max_cuts
    assert set(cuts) <= set(column)
    assert (np.diff(cuts) > 0).all()
    assert len(cuts) == 0 or cuts[-1] < column.max()
    if len(np.unique(column)) <= max_cuts + 1:
        assert_array_equal(cuts, np.unique(column)[:-1])


@given(columns, st.integers(1, 6))
def test_increasing_transforms_leave_codes_alone(column, max_cuts):
    part = MarginRank(max_cuts=max_cuts)
    table, bent = column[:, None], (np.exp(column / 3) + column)[:, None]
    if len(np.unique(column)) < 2:
        return
    one, other = part.learn(table), part.learn(bent)
    assert_array_equal(one.observe(table).array, other.observe(bent).array)


def test_quantile_cuts_split_evenly():
    cuts = choose_cuts(np.random.default_rng(0).permutation(900).astype(float), 8)
    assert_array_equal(cuts, np.arange(1, 9) * 100 - 1)


def test_constant_and_missing_columns_are_left_out():
    table = np.array([[1.0, 2.0, np.nan, 0.0], [1.0, 3.0, np.nan, np.nan], [1.0, 2.0, np.nan, 5.0]])
    coding = MarginRank().learn(table)
    assert_array_equal(coding.columns, [1, 3])
    assert_array_equal(coding.observe(table).array, [[0, 1, 0], [0, 255, 1]])


def test_new_values_beyond_the_training_range():
    coding = MarginRank(max_cuts=3).learn(np.arange(8.0)[:, None])
    codes = coding.observe(np.array([[-100.0], [100.0], [np.nan]])).array
    assert_array_equal(codes, [[0, 3, 255]])


def test_normal_scores_are_centred_with_unit_variance():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.exponential(size=200), rng.integers(0, 3, 200)]).astype(float)
    part = MarginRank(max_cuts=16)
    observed = part.learn(table).observe(table)
    scores = part.normal_scores(observed).tile(slice(0, 2), slice(0, 200))
    assert_allclose(scores.mean(axis=1), 0, atol=1e-12)
    assert_allclose(scores.std(axis=1), 1)


def test_update_of_cut_points_maximises_the_augmented_bound():
    """At fixed 1/lam the update is the optimum of a quadratic: moving away can only lose."""
    rng = np.random.default_rng(2)
    part = MarginRank(margin=0.025, max_cuts=4)
    table = rng.standard_normal((30, 1))
    coding = part.learn(table)
    observed = coding.observe(table).array
    params = part.start(coding, coding.observe(table), np.ones((1, 1)))
    w, var_w = rng.standard_normal((1, 30)), np.full((1, 30), 0.1)

    arguments = (
        observed,
        w,
        var_w,
        params.mean,
        params.variance,
        params.n_cuts,
        params.margin,
        True,
    )
    inv_lam = margin_rank_sites(*arguments)[2]
    design = Normal.isotropic(w.T.copy(), 1e-12)  # one factor: the score is w, the loading 1
    statistics = part.statistics(observed, w, var_w, params, design)
    updated = part.update(statistics, Normal.isotropic(np.ones((1, 1)), 1e-12), params)

    s = np.where(observed[:, None, :] > np.arange(4)[:, None], 1.0, -1.0)

    def augmented(b):
        u = params.margin - s * (w[:, None, :] - b[:, :, None])
        return -0.5 * (inv_lam * u**2).sum() - u.sum() - 0.5 * part.cut_precision * (b**2).sum()

    best = augmented(updated.mean)
    for _ in range(20):
        assert augmented(updated.mean + 0.01 * rng.standard_normal((1, 4))) < best


@pytest.mark.parametrize("max_cuts", [1, 8, 254])
def test_codes_are_one_byte(max_cuts):
    table = np.random.default_rng(0).standard_normal((400, 3))
    codes = MarginRank(max_cuts=max_cuts).learn(table).observe(table).array
    assert codes.dtype == np.uint8
    assert codes.max() == max_cuts


def test_features_weigh_the_same_whatever_their_number_of_cuts():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.standard_normal(100), rng.integers(0, 2, 100)]).astype(float)
    part = MarginRank(margin=0.05, max_cuts=64)
    coding = part.learn(table)
    params = part.start(coding, coding.observe(table), np.ones((2, 1)))
    assert_array_equal(coding.n_cuts, [64, 1])
    assert_allclose(params.margin * params.n_cuts, 0.05 * 32)
