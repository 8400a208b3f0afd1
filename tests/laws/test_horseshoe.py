"""The precision of an entry under the horseshoe: draws, normaliser and moments."""

import numpy as np
import pytest
from mpmath import mp
from numpy.testing import assert_allclose, assert_array_equal
from tests.laws.goodness import (
    N,
    assert_fits,
    assert_mean,
    assert_slices_equal_whole,
    integrated_cdf,
)

from rankfactor.kernels.rng import Stream
from rankfactor.laws.horseshoe import HorseshoePrecision, log_exponential_integral

# From entries that are nothing to entries that stand far out; 1 is where the sampler changes.
PLACES = [1e-250, 1e-20, 1e-7, 1e-3, 0.2, 0.999, 1.0, 1.001, 4.0, 100.0, 1e8]


@pytest.mark.parametrize("x", PLACES)
def test_draws_fit(x):
    def log_density(s):  # of s = log t
        return s - x * np.exp(s) - np.log1p(np.exp(s))

    low, high = -40.0 - max(np.log(x), 0.0), 6.0 - np.log(x)
    cdf = integrated_cdf(log_density, np.linspace(low, high, 400_001))
    draws = HorseshoePrecision(np.full(N, x)).draw(Stream.from_seed(1))
    assert_fits(np.log(draws), cdf, len(PLACES))


@pytest.mark.parametrize("x", [0.2, 1.0, 4.0, 100.0])
def test_draws_have_the_mean_that_the_normaliser_says(x):
    """E[t] is minus the slope of the log normaliser."""
    step = 1e-4 * x
    ends = log_exponential_integral(np.array([x - step, x + step]))
    draws = HorseshoePrecision(np.full(N, x)).draw(Stream.from_seed(2))
    assert_mean(draws, (ends[0] - ends[1]) / (2 * step))


def exact(x):
    with mp.workdps(60):
        return float(mp.mpf(x) + mp.log(mp.e1(mp.mpf(x))))


def test_the_normaliser_near_and_far():
    x = np.array([1e-300, 1e-20, 1e-6, 0.01, 0.5, 1.0, 10.0, 150.0, 199.9, 200.0, 200.1, 1e4, 1e12])
    found = log_exponential_integral(x)
    assert_allclose(found, [exact(one) for one in x], rtol=1e-11)
    assert (np.diff(found) < 0).all()
    assert_array_equal(log_exponential_integral(x[:, None]), found[:, None])


def test_slices_equal_whole():
    x = np.exp(3 * np.random.default_rng(0).standard_normal((13, 4)))
    assert_slices_equal_whole(
        HorseshoePrecision(x), lambda i, j: HorseshoePrecision(x[i:j]), Stream.from_seed(2)
    )


def test_what_is_no_law_gives_nan_and_ends():
    x = np.array([np.nan, -1.0, 0.0, np.inf, 1e-320, 1e300])
    draws = HorseshoePrecision(x).draw(Stream.from_seed(0))
    assert_array_equal(np.isnan(draws), [True, True, True, True, False, False])
    assert (draws[4:] > 0).all()
    assert np.isfinite(1.0 / draws[4:]).all()
