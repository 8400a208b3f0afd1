"""Counts, and sums of as many one-sided normals."""

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from rankfactor.kernels import counts
from rankfactor.kernels.counts import draw_opposite, poisson
from rankfactor.kernels.rng import Stream, derive

KEY = Stream.from_seed(0).word
N = 40_000
LIMIT = stats.norm.isf(0.5e-4 / 8)  # a right sampler fails one test in 10,000


@njit
def poissons(rates, key=KEY):
    """A draw at every rate."""
    out = np.empty(rates.size)
    for i in range(rates.size):
        out[i] = poisson(rates[i], derive(key, i))
    return out


def z_of_share(share, p):
    return (share - p) / np.sqrt(p * (1 - p) / N)


@pytest.mark.parametrize("rate", [0.01, 0.7, 9.9, 10.0, 33.3, 5e3, 1e9, 1.5e10])
def test_poisson(rate):
    """Either side of the rates at which the method changes."""
    draws, law = poissons(np.full(N, rate)), stats.poisson(rate)
    assert_array_equal(draws, np.round(draws))
    assert abs(draws.mean() - rate) < LIMIT * np.sqrt(rate / N)
    for quantile in np.unique(law.ppf([0.01, 0.1, 0.4, 0.6, 0.9, 0.99, 0.9999])):
        p = float(law.cdf(quantile))
        assert abs(z_of_share((draws <= quantile).mean(), p)) < LIMIT


def test_poisson_of_no_rate_and_of_none():
    draws = poissons(np.array([0.0, -1.0, np.nan, np.inf]))
    assert_array_equal(draws, [0, np.nan, np.nan, np.nan])


def opposite(delta, u, n=N, first=0):
    """Counts and sums for a label of +1 at f = u, by the laws of SciPy."""
    law = stats.truncnorm(-np.inf, -u, loc=u)
    odds = stats.norm.sf(u) / stats.norm.cdf(u)
    values = (delta, odds, u, -1.0, law.mean(), law.var())
    return draw_opposite(*(np.full(n, float(one)) for one in values), KEY, first)


@pytest.mark.parametrize("delta", [0.05, 0.4, 0.9])
@pytest.mark.parametrize("u", [-2.5, -1.0, 0.3, 2.0])
def test_counts_are_negative_binomial(u, delta):
    drawn, _ = opposite(delta, u)
    law = stats.nbinom(delta, stats.norm.cdf(u))
    for quantile in np.unique(law.ppf([0.3, 0.6, 0.9, 0.99])):
        p = float(law.cdf(quantile))
        assert abs(z_of_share((drawn <= quantile).mean(), p)) < LIMIT


def test_sums_are_of_draws_on_the_other_side():
    u = -1.0
    drawn, sums = opposite(0.8, u)
    law = stats.truncnorm(-np.inf, -u, loc=u)
    some = drawn > 0
    z = (sums - drawn * law.mean())[some] / np.sqrt(drawn[some] * law.var())
    assert abs(z.mean()) < LIMIT / np.sqrt(some.sum())
    assert abs(z.var() - 1) < LIMIT * np.sqrt(3 / some.sum())  # no larger than a normal's kurtosis
    assert (sums[some] < 0).all()
    one = sums[drawn == 1]
    assert stats.kstest(one, law.cdf).pvalue > 1e-4
    assert_array_equal(sums[drawn == 0], 0.0)


def test_long_sums_are_like_summed_ones():
    """The normal of long sums against draws one by one, at the length where it takes over."""
    u, longest = -3.5, counts.LONGEST
    law = stats.truncnorm(-np.inf, -u, loc=u)
    for count in (longest, longest + 1):
        place = (float(count), u, -1.0, float(law.mean()), float(law.var()))
        sums = np.array([counts._one_sided_sum(*place, np.uint64(i)) for i in range(300)])
        z = (sums - count * law.mean()) / np.sqrt(count * law.var())
        assert stats.kstest(z, "norm").pvalue > 1e-4
    assert abs(0.07 * float(law.stats("s")) / np.sqrt(longest)) < 5e-6


def test_an_element_has_its_own_numbers():
    whole = opposite(0.5, -1.0, n=10)
    part = opposite(0.5, -1.0, n=4, first=6)
    for one, other in zip(whole, part, strict=True):
        assert_allclose(one[6:], other)
