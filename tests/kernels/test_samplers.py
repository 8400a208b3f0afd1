"""Every draw against its density. Means and slices are tested with the laws."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import gammainc, log_ndtr, ndtr
from scipy.stats import kstest
from tests.laws.goodness import N, assert_fits, integrated_cdf

from rankfactor.kernels.packed import pack
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import (
    LARGEST,
    SMALLEST,
    draw_elements,
    draw_gamma,
    draw_gig,
    draw_inverse_gaussian,
    draw_rows,
    draw_truncated_normal,
    generalised_inverse_gaussian,
    inverse_gaussian,
    truncated_normal,
)

STREAM = Stream.from_seed(2014)
BIG = 1_000_000  # of the slow grids
SIZES = [N, pytest.param(BIG, marks=pytest.mark.slow)]


def many(driver, n, *parameters):
    """n draws of one law, of a stream that depends on the parameters."""
    full = [np.full(n, float(parameter)) for parameter in parameters]
    return draw_elements(driver, STREAM.child(str(parameters)), 0, *full)


GAMMAS = list(product([1e-3, 0.05, 0.5, 0.999, 1.0, 2.5, 40.0, 1e6], [1e-8, 1.0, 1e8]))


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("shape", "rate"), GAMMAS)
def test_gamma(shape, rate, n):
    x = many(draw_gamma, n, shape, rate)
    if shape < 0.01:
        # Most of the mass lies below the smallest number: compare where it does not.
        kept = x[x > SMALLEST]
        lost = gammainc(shape, rate * SMALLEST)
        assert abs((n - len(kept)) / n - lost) < 5 * np.sqrt(lost * (1 - lost) / n)
        assert_fits(kept, lambda y: (gammainc(shape, rate * y) - lost) / (1 - lost), len(GAMMAS))
    else:
        assert_fits(x, lambda y: gammainc(shape, rate * y), len(GAMMAS))


def test_gamma_of_shape_one_among_others():
    """An element's draw depends on its own shape, not on whether the others have shape 1."""
    shape, rate = np.tile([1.0, 2.5, 1.0, 1.0, 0.5], 20), np.linspace(0.5, 3.0, 100)
    whole = draw_elements(draw_gamma, STREAM, 0, shape, rate)
    for i in (0, 1, 2, 97, 99):
        assert draw_elements(draw_gamma, STREAM, i, shape[i], rate[i]) == whole[i]
    bad = draw_elements(draw_gamma, STREAM, 0, 1.0, np.array([0.0, -1.0, np.nan, np.inf, 1e-305]))
    assert np.isnan(bad[:3]).all()
    assert_array_equal(bad[3:], [SMALLEST, LARGEST])


def test_gamma_of_a_small_shape_does_not_underflow_before_it_is_scaled():
    # The product with 1/rate is an ordinary number in most cases, the power U^(1/shape) in few.
    x = many(draw_gamma, N, 0.005, 1e-200)
    assert (x > SMALLEST).mean() > 0.9


def inverse_gaussian_cdf(u):
    def cdf(x):
        root = np.sqrt(x)
        return ndtr(u * root - 1 / root) + np.exp(2 * u + log_ndtr(-u * root - 1 / root))

    return cdf


RECIPROCAL_MEANS = [0.0, 1e-300, 1e-12, 1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 30.0, 1e3, 1e4, 1e5, 1e6]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("u", RECIPROCAL_MEANS)
def test_inverse_gaussian(u, n):
    x = many(draw_inverse_gaussian, n, u)
    assert_fits(x, inverse_gaussian_cdf(u), len(RECIPROCAL_MEANS))


@pytest.mark.parametrize("u", [1e-4, 1e-2, 1.0])
def test_the_heavy_tail_of_the_inverse_gaussian(u):
    """Far above 1 the draws are the conjugate root, which a test of all draws hardly sees."""
    x = many(draw_inverse_gaussian, 500_000, u)
    cdf = inverse_gaussian_cdf(u)
    edge = 1 / u if u < 1 else 4.0
    tail = x[x > edge]
    assert len(tail) > 100
    assert kstest(tail, lambda y: (cdf(y) - cdf(edge)) / (1 - cdf(edge))).pvalue > 1e-4 / 3


def gig_cdf(p, a, b):
    """Distribution function of log x, by integration on a grid that holds all the mass."""

    def log_density(t):
        return p * t - 0.5 * (a * np.exp(t) + b * np.exp(-t))

    # Concave in t: leave the mode by doubling steps until 50 below it on each side.
    root = np.sqrt(p * p + a * b)
    mode = np.log((p + root) / a) if p >= 0 else np.log(b / (root - p))
    ends = []
    for side in (-1, 1):
        step = 1e-6
        while log_density(mode + side * step) > log_density(mode) - 50:
            step *= 1.2
        ends.append(mode + side * step)
    return integrated_cdf(log_density, np.linspace(*ends, 200_001))


ORDERS = [-5.0, -1.3, -0.5, -1e-3, 0.0, 0.2, 0.5, 1.0, 5.0]
OMEGAS = [1e-10, 1e-4, 0.03, 0.3, 1.0, 4.0, 100.0, 1e6]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize(("p", "omega"), list(product(ORDERS, OMEGAS)))
def test_generalised_inverse_gaussian(p, omega, n):
    ratio = 37.0  # sqrt(b/a)
    a, b = omega / ratio, omega * ratio
    x = many(draw_gig, n, p, a, b)
    assert_fits(np.log(x), gig_cdf(p, a, b), len(ORDERS) * len(OMEGAS))


@pytest.mark.parametrize("p", [0.05, 0.5, 3.0])
@pytest.mark.parametrize("b", [0.0, 1e-250, 1e-100])
def test_generalised_inverse_gaussian_without_b_is_gamma(p, b):
    assert_fits(many(draw_gig, N, p, 6.0, b), lambda x: gammainc(p, 3.0 * x), 9)


@pytest.mark.parametrize("p", [-5.0, -0.5, 0.0, 0.5, 5.0])
@pytest.mark.parametrize(("a", "b"), [(0, 0), (1, 0), (0, 1), (1e-320, 1e300), (1e250, 1e250)])
def test_generalised_inverse_gaussian_stays_positive_and_finite(p, a, b):
    x = many(draw_gig, 1000, p, a, b)
    assert (x >= SMALLEST).all()
    assert (x <= LARGEST).all()


def normal_cdf(d, width):
    """Of the excess e over an end at distance d from the mean: exp(-d e - e^2/2) on (0, width)."""
    tail = max(d, 0.0)
    width = min(width, 80 / (tail + np.sqrt(tail**2 + 80)) - min(d, 0.0))
    return integrated_cdf(lambda e: -e * (d + 0.5 * e), np.linspace(0.0, width, 200_001))


DISTANCES = [-20.0, -4.0, -1.2, -0.3, 0.0, 0.2, 0.7, 2.0, 8.0, 40.0, 1e3, 1e8]
WIDTHS = [1e-12, 1e-4, 0.3, 1.0, 2.0, 2.99, 3.01, 6.0, np.inf]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("side", [1, -1])
@pytest.mark.parametrize(("d", "width"), list(product(DISTANCES, WIDTHS)))
def test_truncated_normal(d, width, side, n):
    low, high = sorted((0.0, side * width))
    x = many(draw_truncated_normal, n, -side * d, low, high)
    assert ((x >= low) & (x <= high)).all()
    if d == -20.0 and width < np.inf:
        # The far end is the nearer one to the mean: measured from there, digits are kept.
        cdf, e = normal_cdf(-d - width, width), width - side * x
        if width < 1:  # the subtraction from the width is exact to its own rounding only
            e = np.clip(e, 0, width)
        assert_fits(e, cdf, 2 * len(DISTANCES) * len(WIDTHS))
    else:
        assert_fits(side * x, normal_cdf(d, width), 2 * len(DISTANCES) * len(WIDTHS))


def test_both_ends_infinite():
    assert_fits(many(draw_truncated_normal, N, 3.0, -np.inf, np.inf), lambda x: ndtr(x - 3), 1)


def test_what_is_no_law_gives_nan():
    key = np.uint64(1)
    assert np.isnan(many(draw_gamma, 1, -1, 1)).all()
    assert np.isnan(many(draw_gamma, 1, np.nan, 1)).all()
    assert np.isnan(inverse_gaussian(np.nan, key))
    assert np.isnan(inverse_gaussian(-1.0, key))
    assert np.isnan(generalised_inverse_gaussian(0.0, np.nan, 1.0, key))
    assert np.isnan(generalised_inverse_gaussian(0.0, 1.0, np.inf, key))
    assert np.isnan(truncated_normal(np.nan, 0.0, 1.0, key))
    assert np.isnan(truncated_normal(0.0, 1.0, 0.0, key))
    assert truncated_normal(5.0, 1.0, 1.0, key) == 1.0


@pytest.mark.parametrize("order", [1, 2, 7])
def test_rows_have_their_covariance(order):
    rng = np.random.default_rng(order)
    a = rng.standard_normal((order, order + 2))
    cov = a @ a.T
    packed, mean = np.tile(pack(cov[None]), (N, 1)), np.tile(rng.standard_normal(order), (N, 1))
    x = draw_rows(mean, packed, STREAM.word, 0) - mean
    white = np.linalg.solve(np.linalg.cholesky(cov), x.T)
    for one in white:
        assert_fits(one, "norm", order)
    assert_allclose(white @ white.T / N, np.eye(order), atol=5 * np.sqrt(2 / N))


def test_rows_may_be_singular():
    direction = np.array([[2.0, 0.0, -1.0, 3.0]])
    packed = np.tile(pack(direction[:, :, None] * direction[:, None, :]), (N, 1))
    x = draw_rows(np.ones((N, 4)), packed, STREAM.word, 0) - 1.0
    assert_fits(x[:, 0] / 2, "norm", 1)
    assert_allclose(x, x[:, :1] / 2 * direction, atol=1e-6)
    assert_array_equal(
        draw_rows(np.ones((5, 4)), np.zeros((5, 10)), STREAM.word, 0), np.ones((5, 4))
    )


def test_rows_do_not_depend_on_their_neighbours():
    rng = np.random.default_rng(0)
    n = 3 * 32 + 2  # three rounds of lanes and a little
    a = rng.standard_normal((n, 6, 9))
    packed, mean = pack(a @ a.transpose(0, 2, 1)), rng.standard_normal((n, 6))
    whole = draw_rows(mean, packed, STREAM.word, 0)
    for start, stop in ((0, 1), (3, 14), (32, n), (n - 1, n)):
        part = draw_rows(mean[start:stop], packed[start:stop], STREAM.word, start)
        assert_array_equal(part, whole[start:stop])


def test_broadcasting_and_shapes():
    full = draw_elements(draw_gamma, STREAM, 0, np.full((2, 3), 0.5), np.full((2, 3), 2.0))
    assert full.shape == (2, 3)
    assert_array_equal(draw_elements(draw_gamma, STREAM, 0, 0.5, np.full((2, 3), 2.0)), full)
    assert_array_equal(
        draw_elements(draw_gamma, STREAM, 0, np.full((2, 1), 0.5), np.full(3, 2.0)), full
    )
    assert draw_elements(draw_gamma, STREAM, 0, 0.5, 2.0) == full[0, 0]
    assert draw_elements(draw_gamma, STREAM, 0, 0.5, np.empty((0, 3))).shape == (0, 3)
    transposed = np.asfortranarray(np.full((2, 3), 2.0))
    assert_array_equal(draw_elements(draw_gamma, STREAM, 0, 0.5, transposed), full)
