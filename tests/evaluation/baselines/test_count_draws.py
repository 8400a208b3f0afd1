"""Binomials, tables of a Chinese restaurant and divided counts, against their laws."""

from __future__ import annotations

import numpy as np
import pytest
from numba import njit
from scipy.special import digamma, polygamma
from scipy.stats import binom, chisquare, kstest, norm

from rankfactor.evaluation.baselines.count_draws import binomial, divide_counts, draw_tables, tables
from rankfactor.kernels.rng import derive

LEVEL = 1e-4
N = 20_000


@njit
def many_binomials(n, p, key, size):
    out = np.empty(size)
    for i in range(size):
        out[i] = binomial(n, p, derive(key, i))
    return out


@njit
def many_tables(count, r, key, size):
    out = np.empty(size)
    for i in range(size):
        out[i] = tables(count, r, derive(key, i))
    return out


def assert_masses(draws, support, masses, n_cases):
    """Pearson's test, with values of small mass put together."""
    order = np.argsort(-masses)
    kept = order[masses[order] * len(draws) >= 8]
    if masses.max() == 1.0:
        assert (draws == support[order[0]]).all()
        return
    counts = np.array([(draws == support[i]).sum() for i in kept])
    expected = masses[kept] * len(draws)
    rest = len(draws) - counts.sum(), len(draws) - expected.sum()
    if rest[1] > 8:
        counts, expected = np.append(counts, rest[0]), np.append(expected, rest[1])
    else:
        assert rest[0] < 40
        expected = expected * counts.sum() / expected.sum()
    assert chisquare(counts, expected).pvalue > LEVEL / n_cases


BINOMIALS = [
    (1, 0.3),
    (20, 0.02),
    (900, 0.008),
    (2000, 0.003),
    (3000, 0.2),
    (30, 0.5),
    (40, 0.9),
    (200, 0.2),
    (5000, 0.4),
    (10**6, 5e-5),
]


@pytest.mark.parametrize(("n", "p"), BINOMIALS)
def test_binomial(n: int, p: float) -> None:
    draws = many_binomials(float(n), p, np.uint64(7), N)
    support = np.arange(binom.ppf(1e-9, n, p), binom.ppf(1 - 1e-9, n, p) + 1)
    assert_masses(draws, support, binom.pmf(support, n, p), len(BINOMIALS))


def test_large_binomial_is_normal() -> None:
    n, p = 3e8, 0.3
    draws = many_binomials(n, p, np.uint64(3), N)
    assert (draws == np.rint(draws)).all()
    assert kstest(draws, norm(n * p, np.sqrt(n * p * (1 - p))).cdf).pvalue > LEVEL


def test_ends_of_a_binomial() -> None:
    key = np.uint64(1)
    found = [binomial(n, p, key) for n, p in ((0.0, 0.5), (9.0, 0.0), (9.0, 1.0), (9.0, 1.5))]
    assert found == [0, 0, 9, 9]
    assert np.isnan(binomial(9.0, np.nan, key))


def law_of_tables(count: int, r: float) -> np.ndarray:
    """Masses of 0, 1, ... tables, customer by customer."""
    masses = np.zeros(count + 1)
    masses[0] = 1.0
    for seated in range(count):
        new = r / (r + seated)
        masses[1:] = masses[1:] * (1 - new) + masses[:-1] * new
        masses[0] *= 1 - new
    return masses


TABLES = [(1, 0.5), (2, 3.0), (15, 0.2), (300, 0.3), (400, 2.5), (60, 40.0)]


@pytest.mark.parametrize(("count", "r"), TABLES)
def test_tables(count: int, r: float) -> None:
    # From 16 + 4 r customers on the next table is drawn at once.
    draws = many_tables(float(count), r, np.uint64(5), N)
    assert_masses(draws, np.arange(count + 1), law_of_tables(count, r), len(TABLES))


@pytest.mark.parametrize(("count", "r"), [(1e8, 0.7), (3e9, 20.0), (1e6, 1e4), (2e5, 1e7)])
def test_tables_of_very_many_customers(count: float, r: float) -> None:
    draws = many_tables(count, r, np.uint64(2), 4000)
    mean = r * (digamma(r + count) - digamma(r))
    variance = mean - r * r * (polygamma(1, r) - polygamma(1, r + count))
    assert abs(draws.mean() - mean) < 5 * np.sqrt(variance / len(draws))
    assert draws.var() == pytest.approx(variance, rel=0.12)
    assert draws.max() <= count


def test_tables_are_summed_over_samples() -> None:
    counts = np.array([[0.0, 5.0], [3.0, 0.0], [7.0, 9.0]])
    r = np.array([0.5, 2.0])
    key = np.uint64(11)
    parts = [draw_tables(counts[i : i + 1], r, key, i) for i in range(3)]
    np.testing.assert_array_equal(draw_tables(counts, r, key, 0), sum(parts))
    assert draw_tables(np.zeros((2, 2)), r, key, 0).tolist() == [0, 0]


@pytest.mark.slow
def test_divided_counts_add_up_and_have_the_right_shares() -> None:
    rng = np.random.default_rng(0)
    phi, theta = rng.random((4, 3)), rng.random((5, 3))
    counts = np.array([0.0, 3.0, 40.0, 1e7])[None] * np.ones((5, 1))
    total = np.zeros((4, 3))
    squares = np.zeros((4, 3))
    size = 2000
    for number in range(size):
        by_feature, by_sample = divide_counts(counts, phi, theta, np.uint64(number), 0)
        np.testing.assert_array_equal(by_feature.sum(axis=1), counts.sum(axis=0))
        np.testing.assert_array_equal(by_sample.sum(axis=1), counts.sum(axis=1))
        total += by_feature
        squares += by_feature**2
    weight = phi[None] * theta[:, None]  # (5, 4, 3)
    share = weight / weight.sum(axis=2, keepdims=True)
    mean = (counts[:, :, None] * share).sum(axis=0)
    variance = (counts[:, :, None] * share * (1 - share)).sum(axis=0)
    found = total / size
    assert (np.abs(found - mean) <= 5 * np.sqrt(variance / size) + 1e-12).all()
    np.testing.assert_allclose((squares / size - found**2)[1:], variance[1:], rtol=0.2)


@pytest.mark.parametrize("count", [9, 60])
def test_the_part_of_a_factor_is_binomial(count: int) -> None:
    """Whatever the order of the factors, and where binomials give way to single units."""
    phi = np.array([[0.3, 0.05, 0.4, 0.25, 0.01]])
    theta = np.array([[0.2, 3.0, 1.0, 0.7, 2.0]])
    parts = np.array(
        [
            divide_counts(np.array([[float(count)]]), phi, theta, np.uint64(i), 0)[0][0]
            for i in range(N)
        ]
    )
    share = (phi * theta)[0] / (phi * theta).sum()
    support = np.arange(count + 1.0)
    for k in range(5):
        assert_masses(parts[:, k], support, binom.pmf(support, count, share[k]), 10)
    # Parts of a multinomial count are negatively correlated.
    expected = count * (np.diag(share) - np.outer(share, share))
    np.testing.assert_allclose(np.cov(parts.T), expected, atol=0.06 * expected.max())


def test_blocks_of_samples_do_not_matter() -> None:
    rng = np.random.default_rng(1)
    phi, theta = rng.random((6, 4)), rng.random((7, 4))
    counts = rng.poisson(20.0, (7, 6)).astype(float)
    counts[2, 3] = np.nan
    whole = divide_counts(counts, phi, theta, np.uint64(9), 0)
    parts = [
        divide_counts(counts[i : i + 2], phi, theta[i : i + 2], np.uint64(9), i)
        for i in range(0, 7, 2)
    ]
    np.testing.assert_array_equal(whole[0], sum(part[0] for part in parts))
    np.testing.assert_array_equal(whole[1], np.concatenate([part[1] for part in parts]))


def test_a_missing_count_is_drawn() -> None:
    phi, theta = np.array([[0.5, 0.5]]), np.array([[6.0, 2.0]])
    counts = np.array([[np.nan]])
    draws = np.array(
        [divide_counts(counts, phi, theta, np.uint64(i), 0)[0][0] for i in range(5000)]
    )
    assert draws.mean(axis=0) == pytest.approx([3.0, 1.0], abs=5 * np.sqrt(3 / 5000))
    assert draws.var(axis=0) == pytest.approx([3.0, 1.0], rel=0.1)


def test_weights_that_have_underflowed() -> None:
    tiny = np.full((1, 3), 1e-300)
    by_feature, _ = divide_counts(np.array([[50.0]]), tiny, tiny, np.uint64(0), 0)
    assert by_feature.sum() == 50
    assert (by_feature > 0).all()
