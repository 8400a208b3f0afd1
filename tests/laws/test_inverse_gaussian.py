import numpy as np
from numpy.testing import assert_array_equal
from scipy.stats import ks_2samp
from tests.laws.goodness import LEVEL, N, assert_mean, assert_slices_equal_whole

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gig import GeneralisedInverseGaussian
from rankfactor.laws.inverse_gaussian import InverseGaussian


def test_draws_have_the_means():
    u = np.array([0.1, 1.0, 7.0, 1e5])
    draws = InverseGaussian(np.tile(u, (N, 1))).draw(Stream.from_seed(1))
    assert_mean(draws, 1 / u)
    assert_mean(1 / draws, u + 1)  # the mean of 1/x is 1/mean + 1/shape


def test_mean_at_zero_is_infinite():
    assert_array_equal(InverseGaussian(np.array([0.0, 4.0])).mean, [np.inf, 0.25])


def test_agrees_with_the_generalised_law():
    """IG(1/u, 1) is GIG(-1/2, u^2, 1): two unlike algorithms."""
    for u in (1e-3, 0.3, 5.0, 1e3):
        many = np.full(N, u)
        one = InverseGaussian(many).draw(Stream.from_seed(1))
        other = GeneralisedInverseGaussian(-0.5, many**2, np.ones(N)).draw(Stream.from_seed(2))
        assert ks_2samp(one, other).pvalue > LEVEL / 4


def test_slices_equal_whole():
    u = np.abs(np.random.default_rng(0).standard_normal((13, 4)))
    assert_slices_equal_whole(
        InverseGaussian(u), lambda a, b: InverseGaussian(u[a:b]), Stream.from_seed(2)
    )
