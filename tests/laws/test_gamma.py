import numpy as np
from numpy.testing import assert_allclose
from scipy import stats
from scipy.integrate import quad
from tests.laws.goodness import N, assert_mean, assert_slices_equal_whole

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma


def test_moments_and_entropy():
    shape, rate = np.array([0.3, 2.0, 50.0]), np.array([4.0, 0.1, 7.0])
    law, frozen = Gamma(shape, rate), stats.gamma(shape, scale=1 / rate)
    assert_allclose(law.mean, frozen.mean())
    assert_allclose(law.entropy(), frozen.entropy().sum())
    for k in range(3):
        one = stats.gamma(shape[k], scale=1 / rate[k])
        assert_allclose(law.log_mean[k], one.expect(np.log), rtol=1e-6)


def test_expected_log_prior_with_a_known_rate():
    law = Gamma(np.array([2.0]), np.array([3.0]))
    frozen, prior = stats.gamma(2.0, scale=1 / 3), stats.gamma(0.5, scale=1 / 1.7)
    expected = quad(lambda x: frozen.pdf(x) * prior.logpdf(x), 0, 50)[0]
    found = law.expected_log_prior(0.5, np.array([1.7]), np.log([1.7]))
    assert_allclose(found, expected, rtol=1e-6)


def test_draws_have_the_mean():
    shape, rate = np.array([0.1, 0.5, 2.0, 300.0]), np.array([1e-6, 3.0, 0.1, 1e6])
    law = Gamma(shape, np.tile(rate, (N, 1)))
    draws = law.draw(Stream.from_seed(1))
    assert_mean(draws, shape / rate)
    assert_mean(np.log(draws), law.log_mean[0])


def test_slices_equal_whole():
    rate = np.random.default_rng(0).gamma(1.0, size=(13, 4))
    assert_slices_equal_whole(
        Gamma(0.5, rate), lambda a, b: Gamma(0.5, rate[a:b]), Stream.from_seed(2)
    )
