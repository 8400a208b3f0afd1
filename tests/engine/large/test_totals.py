"""Sums that do not depend on the order of their terms."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from rankfactor.engine.large.totals import Totals
from rankfactor.steps.workers import Workers


def _terms(seed, n=200):
    """Terms of very different sizes, whose plain sum depends on their order."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 40)) * 10.0 ** rng.integers(-8, 9, (n, 40))


def _total(terms):
    total = Totals()
    for term in terms:
        total.add({"x": term})
    return total


@pytest.mark.parametrize("seed", range(5))
def test_a_total_does_not_depend_on_order_or_grouping(seed):
    terms = _terms(seed)
    shuffled = np.random.default_rng(seed + 1).permutation(terms)
    whole = _total(terms).release()["x"]
    merged = _total(shuffled[:30])
    for part in (shuffled[30:31], shuffled[31:150], shuffled[150:]):
        merged.merge(_total(part))
    np.testing.assert_array_equal(merged.release()["x"], whole)
    # The plain sums differ, or this would show nothing.
    assert (terms.sum(axis=0) != shuffled.cumsum(axis=0)[-1]).any()


def test_a_total_is_the_exact_sum():
    terms = _terms(9)
    exact = [math.fsum(column) for column in terms.T]
    np.testing.assert_array_equal(_total(terms).release()["x"], exact)


def test_numbers_and_names_are_kept_apart():
    total = Totals()
    total.add({"n": 3, "mean": np.ones(2, np.float32)})
    total.add({"n": 4, "mean": np.full(2, 0.5, np.float32)})
    assert total.nbytes == 2 * (8 + 16)
    found = total.release()
    assert found["n"] == 7
    np.testing.assert_array_equal(found["mean"], [1.5, 1.5])


@pytest.mark.parametrize("count", [1, 2, 5])
def test_threads_add_terms_in_their_order(count):
    terms = [{"x": term, "n": 1.0, "y": 2 * term} for term in _terms(4, 30)]
    expected = Totals()
    for term in terms:
        expected.add(term)
    total = Totals()
    with ThreadPoolExecutor(count) as pool:
        for start in (0, 10, 20):
            total.add_in_turn(terms[start : start + 10], Workers(pool, count))
    # Also the low parts, which depend on the order.
    for name, low in expected._low.items():
        np.testing.assert_array_equal(total._low[name], low)
    found = total.release()
    for name, wanted in expected.release().items():
        np.testing.assert_array_equal(found[name], wanted)


def test_terms_are_not_changed():
    term = np.ones(3)
    total = _total([term, term, term])
    np.testing.assert_array_equal(term, 1.0)
    np.testing.assert_array_equal(total.release()["x"], 3.0)
