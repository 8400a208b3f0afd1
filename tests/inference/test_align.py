"""Matching factors."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from rankfactor.inference.align import match_factors


@st.composite
def turned(draw):
    """Loadings, an order and signs."""
    k = draw(st.integers(1, 7))
    d = draw(st.integers(k, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    order = np.array(draw(st.permutations(range(k))))
    sign = np.array(draw(st.lists(st.sampled_from([-1.0, 1.0]), min_size=k, max_size=k)))
    return rng.standard_normal((d, k)), order, sign


@given(turned())
def test_order_and_signs_are_undone(case):
    reference, order, sign = case
    found, signs = match_factors(reference[:, order] * sign, reference)
    assert_array_equal((reference[:, order] * sign)[:, found] * signs, reference)


@given(turned(), st.floats(-3, 3))
def test_scale_of_a_factor_does_not_matter(case, log_scale):
    reference, order, sign = case
    scale = 10.0 ** (log_scale * np.arange(reference.shape[1]))
    loadings = (reference * scale)[:, order] * sign
    found, signs = match_factors(loadings, reference)
    assert_allclose(loadings[:, found] * signs, reference * scale, rtol=1e-12)


@given(turned())
def test_small_changes_do_not_matter(case):
    reference, order, sign = case
    if len(reference) < 20:  # random columns of few rows can be nearly parallel
        return
    noise = 0.01 * np.random.default_rng(0).standard_normal(reference.shape)
    loadings = (reference + noise)[:, order] * sign
    found, signs = match_factors(loadings, reference)
    assert_array_equal(order[found], np.arange(len(order)))
    assert_array_equal(signs, sign[found])


def test_zero_columns_take_the_places_that_are_left():
    rng = np.random.default_rng(0)
    reference = rng.standard_normal((12, 4))
    loadings = -reference[:, [2, 0, 3, 1]]
    loadings[:, 0] = 0.0
    order, sign = match_factors(loadings, reference)
    assert_array_equal(order, [1, 3, 0, 2])
    assert_array_equal(sign, [-1, -1, 1, -1])


@pytest.mark.parametrize("which", ["loadings", "reference", "both"])
def test_nothing_but_zeros_is_still_an_order(which):
    some, zeros = np.random.default_rng(0).standard_normal((5, 3)), np.zeros((5, 3))
    order, sign = match_factors(
        some if which == "reference" else zeros, some if which == "loadings" else zeros
    )
    assert sorted(order) == [0, 1, 2]
    assert_array_equal(np.abs(sign), 1.0)


def test_tiny_columns_are_matched_like_any_other():
    """A factor that the horseshoe has switched off still has a direction."""
    reference = np.random.default_rng(0).standard_normal((9, 3))
    loadings = 1e-30 * reference[:, [1, 2, 0]] * [1, -1, 1]
    order, sign = match_factors(loadings, reference)
    assert_array_equal(order, [2, 0, 1])
    assert_array_equal(sign, [1, 1, -1])
