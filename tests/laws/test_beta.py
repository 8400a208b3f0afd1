import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from tests.laws.goodness import N, assert_fits, assert_mean

from rankfactor.kernels.rng import Stream
from rankfactor.laws.beta import Beta

CASES = [(1.0, 1.0), (0.2, 3.0), (40.0, 0.5), (1.0, 0.05), (300.0, 200.0)]


def test_moments_and_entropy():
    a, b = np.transpose(CASES)
    law, frozen = Beta(a, b), stats.beta(a, b)
    assert_allclose(law.mean, frozen.mean())
    assert_allclose(law.entropy(), frozen.entropy().sum())
    for k, (one, other) in enumerate(CASES):
        if min(one, other) < 0.1:  # the pole is too much for quadrature
            continue
        assert_allclose(law.log_mean[k], stats.beta(one, other).expect(np.log), rtol=1e-5)
        assert_allclose(law.log_rest[k], stats.beta(other, one).expect(np.log), rtol=1e-5)
    # 1 - v is u^(1/b) of a uniform u where a = 1.
    assert_allclose(Beta(np.ones(1), np.array([0.05])).log_rest, -20.0)


def test_draws_have_the_law():
    for number, (a, b) in enumerate(CASES):
        draw = Beta(np.full(N, a), np.full(N, b)).draw(Stream.from_seed(number))
        # Where v is one to the last digit, a sixth of the cases at b = 0.05, what it leaves still
        # has its law.
        if b > 0.1:
            assert_fits(draw.value, stats.beta(a, b).cdf, 2 * len(CASES))
        assert_fits(draw.rest, stats.beta(b, a).cdf, 2 * len(CASES))
        assert_allclose(draw.value + draw.rest, 1.0)


def test_draws_have_the_mean_of_the_logarithms():
    a, b = np.transpose(CASES)
    law = Beta(np.tile(a, (N, 1)), np.tile(b, (N, 1)))
    draw = law.draw(Stream.from_seed(1))
    assert_mean(draw.mean, a / (a + b))
    assert_mean(draw.log_mean, law.log_mean[0])
    assert_mean(draw.log_rest, law.log_rest[0])


def test_slices_equal_whole():
    a, b = np.random.default_rng(0).gamma(2.0, size=(2, 13, 4))
    whole = Beta(a, b).draw(Stream.from_seed(2))
    for first, last in ((0, 1), (4, 13), (12, 13)):
        part = Beta(a[first:last], b[first:last]).draw(Stream.from_seed(2), first * 4)
        assert_array_equal(part.value, whole.value[first:last])
        assert_array_equal(part.rest, whole.rest[first:last])
    assert not (Beta(a, b).draw(Stream.from_seed(2), 1).value == whole.value).any()
