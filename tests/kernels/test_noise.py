"""Noise by the array: the words, the arithmetic, the laws, and independence of blocks."""

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import erf
from scipy.stats import binomtest, chi2, chisquare, gamma, invgauss, kstest, norm
from tests.laws.goodness import LEVEL, assert_fits, assert_mean

from rankfactor.kernels import noise
from rankfactor.kernels.noise import (
    fill_exponential,
    fill_noise,
    fill_normal,
    inverse_gaussian_from,
    philox,
)
from rankfactor.kernels.rng import derive
from rankfactor.kernels.sites import FAST

KEY = np.uint64(0x0123456789ABCDEF)
N = 1_000_000
HALF_SQUARE = gamma(0.5)  # law of chi2_1 / 2; its distribution function is erf(sqrt(y))


def noise_of(key, first, n):
    y, s = np.full(n, np.nan, np.float32), np.full(n, np.nan, np.float32)
    fill_noise(np.uint64(key), first, y, s)
    return y, s


def normals_of(key, first, n):
    out = np.full(n, np.nan)
    fill_normal(np.uint64(key), first, out)
    return out


@njit(error_model="numpy", fastmath=FAST)
def draws_of(u, y, s):
    """The draws in a loop compiled as the sampler's is."""
    out = np.empty_like(y)
    for m in range(y.size):
        out[m] = inverse_gaussian_from(u, y[m], s[m])
    return out


@njit
def over_keys(base, n_keys, n):
    """Noise and normals of consecutive keys of a stream, each shape (n_keys, n)."""
    y, s = np.empty((n_keys, n), np.float32), np.empty((n_keys, n), np.float32)
    z = np.empty((n_keys, n))
    for k in range(n_keys):
        key = derive(base, k)
        fill_noise(key, 0, y[k], s[k])
        fill_normal(key, 0, z[k])
    return y, s, z


@njit
def tail_counts(key, n_blocks, ends):
    """Numbers of y and of |normals| beyond some points, in blocks of 4096."""
    y, s, z = np.empty(4096, np.float32), np.empty(4096, np.float32), np.empty(4096)
    counts = np.zeros((2, ends.size), np.int64)
    for b in range(n_blocks):
        fill_noise(key, b * y.size, y, s)
        fill_normal(key, b * y.size, z)
        for m in range(y.size):
            for k in range(ends.size):
                counts[0, k] += y[m] > ends[k]
                counts[1, k] += 0.5 * z[m] * z[m] > ends[k]
    return counts


def exponentials_of(key, first, n):
    out = np.full(n, np.nan)
    fill_exponential(np.uint64(key), first, out)
    return out


def words_of(counter, key):
    """Philox in Python's integers: the slow reference."""
    c, k = list(counter), [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def minus_log(k, bits):
    """-log((k + 1/2) / 2^bits) of an integer k, by log1p near 1."""
    p = (2 * k + 1) / 2 ** (bits + 1)
    return -np.log(p) if p < 0.5 else -np.log1p(-(2 ** (bits + 1) - 2 * k - 1) / 2 ** (bits + 1))


def signed(word):
    return word - 2**32 if word >= 2**31 else word


def low(words):
    return [int(word) & 0xFFFFFFFF for word in words]


def assert_unrelated(a, b, n_cases):
    """Pairs of uniforms fill the unit square evenly, and do not correlate."""
    cells = np.histogram2d(np.ravel(a), np.ravel(b), bins=32, range=((0, 1), (0, 1)))[0]
    assert LEVEL / n_cases < chisquare(cells.ravel()).pvalue < 1 - LEVEL / n_cases
    assert abs(np.corrcoef(np.ravel(a), np.ravel(b))[0, 1]) < 5 / np.sqrt(np.size(a))


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ([0] * 4, 0, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ([0xFFFFFFFF] * 4, 2**64 - 1, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            0x299F31D0A4093822,
            "d16cfe09 94fdcceb 5001e420 24126ea1",
        ),
    ],
)
def test_known_answers(counter, key, answer):
    """The vectors that the generator's authors publish with Random123 (kat_vectors)."""
    words = low(philox(*np.array(counter, np.uint64), np.uint64(key)))
    assert " ".join(f"{word:08x}" for word in words) == answer
    assert words == words_of(counter, key)


def test_avalanche():
    """A bit of the key or of the pair's number changes every bit of the words half of the time."""
    changes = np.zeros(128)
    trials = 0
    for start in range(40):
        key, pair = derive(KEY, start), 1000 * start
        before = words_of([pair, 0, 0, 0], key)
        flips = [(pair ^ (1 << b), key) for b in range(32)] + [
            (pair, key ^ (1 << b)) for b in range(64)
        ]
        for other, other_key in flips:
            after = low(philox(*np.array([other, 0, 0, 0], np.uint64), np.uint64(other_key)))
            for i in range(4):
                difference = before[i] ^ after[i]
                changes[32 * i : 32 * i + 32] += [(difference >> b) & 1 for b in range(32)]
            trials += 1
    statistic = ((changes - trials / 2) ** 2 / (trials / 4)).sum()
    assert LEVEL < chi2.sf(statistic, 128) < 1 - LEVEL


@pytest.mark.parametrize("first", [0, 2**33 - 100])
def test_noise_is_box_and_muller_of_the_words(first):
    n = 2000
    y, s = noise_of(KEY, first, n)
    expected_y, expected_s = np.empty(n), np.empty(n)
    for b in range(n // 2):
        pair = first // 2 + b
        w = words_of([pair & 0xFFFFFFFF, pair >> 32, 0, 0], int(KEY))
        R = minus_log(w[0], 32)
        sine_sq = np.sin((signed(w[1]) + 0.5) / 2**31 * np.pi / 4) ** 2
        both = [R * (1 - sine_sq), R * sine_sq]
        expected_y[2 * b : 2 * b + 2] = both[::-1] if signed(w[1]) < 0 else both
        expected_s[2 * b : 2 * b + 2] = [((word >> 1) + 0.5) / 2**31 for word in w[2:]]
    assert_allclose(y, expected_y, rtol=5e-7)
    assert_allclose(s, expected_s, rtol=1.2e-7)


def test_normals_are_box_and_muller_of_the_words():
    n = 2000
    z = normals_of(KEY, 0, n)
    expected = np.empty(n)
    for b in range(n // 2):
        w = words_of([b, 0, 1, 0], int(KEY))
        r = np.sqrt(2 * minus_log((w[0] << 31) + (w[1] >> 1), 63))
        angle = (signed(w[2]) + ((w[3] >> 2) + 0.5) / 2**30) / 2**31 * np.pi / 4
        cosine, sine = r * np.cos(angle), r * np.sin(angle)
        cosine = -cosine if w[3] & 1 else cosine
        expected[2 * b : 2 * b + 2] = [sine, cosine] if w[3] & 2 else [cosine, sine]
    assert_allclose(z, expected, rtol=2e-15)


def test_exponentials_are_logarithms_of_the_words():
    expected = [
        minus_log((w[i] << 31) + (w[i + 1] >> 1), 63)
        for w in (words_of([b, 0, 2, 0], int(KEY)) for b in range(1000))
        for i in (0, 2)
    ]
    assert_allclose(exponentials_of(KEY, 0, 2000), expected, rtol=1e-15)


# Words at both ends and where the logarithm changes its form, with random ones between.
WORDS = [0, 1, 2, 100, 2**31 - 1, 2**31, int(2**31.5), int(2**31.5) + 1, 2**32 - 200, 2**32 - 1]
WORDS += [int(w) for w in np.random.default_rng(0).integers(0, 2**32, 500)]
WORDS += [int(w) for w in 2 ** np.random.default_rng(1).uniform(0, 32, 500)]


def test_exponentials_are_right_however_small_or_large():
    of_32 = [noise._exponential(np.uint64(w)) for w in WORDS]
    assert_allclose(of_32, [minus_log(w, 32) for w in WORDS], rtol=3e-7)
    assert min(of_32) > 0
    finer = [0, 2**32 - 1, 12345]
    of_64 = [[noise._exponential_64(np.uint64(w), np.uint64(v)) for v in finer] for w in WORDS]
    exact = [[minus_log((w << 31) + (v >> 1), 63) for v in finer] for w in WORDS]
    assert_allclose(of_64, exact, rtol=1e-15)
    assert np.min(of_64) > 0


def test_uniforms_stay_inside():
    assert noise._uniform(np.uint64(0)) == 2.0**-32
    assert noise._uniform(np.uint64(2**32 - 1)) == 1 - 2.0**-24


@pytest.mark.parametrize("first", [0, 1, 6, 255])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 16, 31, 133, 256])
def test_blocks_do_not_matter(first, n):
    """Scalar remainders and vector bodies give the same bits."""
    whole_y, whole_s = noise_of(KEY, 0, 600)
    y, s = noise_of(KEY, first, n)
    assert_array_equal(y, whole_y[first : first + n])
    assert_array_equal(s, whole_s[first : first + n])
    for numbers in (normals_of, exponentials_of):
        assert_array_equal(numbers(KEY, first, n), numbers(KEY, 0, 600)[first : first + n])


def test_one_element_at_a_time():
    singles = [noise_of(KEY, m, 1) for m in range(64)]
    y, s = noise_of(KEY, 0, 64)
    assert_array_equal([single[0][0] for single in singles], y)
    assert_array_equal([single[1][0] for single in singles], s)


def test_rows_of_noise_are_those_of_items():
    y, s = np.empty((2, 3, 48), np.float32)
    noise.fill_noise_rows(KEY, 5, y, s)
    for j in range(3):
        one_y, one_s = noise_of(derive(KEY, 5 + j), 0, 48)
        assert_array_equal(y[j], one_y)
        assert_array_equal(s[j], one_s)


def test_no_function_takes_a_caller_s_flags():
    """Else the bits would depend on which caller compiled a function first."""
    compiled = [f for f in vars(noise).values() if hasattr(f, "targetoptions")]
    assert len(compiled) >= 8
    assert all(f.targetoptions.get("fastmath") is False for f in compiled)


@pytest.fixture(scope="module")
def uniforms():
    """Noise of one key, brought to uniforms: y, s, normals and exponentials."""
    y, s = noise_of(KEY, 0, N)
    z, e = norm.cdf(normals_of(KEY, 0, N)), -np.expm1(-exponentials_of(KEY, 0, N))
    return erf(np.sqrt(y.astype(float))), s.astype(float), z, e


@pytest.mark.slow
def test_laws(uniforms):
    for u in uniforms:
        assert_fits(u, "uniform", 4)
        assert chisquare(np.histogram(u, 1000, (0, 1))[0]).pvalue > LEVEL / 4
        # The same, a thousand times closer to the ends.
        for end in (u, 1 - u):
            assert kstest(end[end < 1e-3] / 1e-3, "uniform").pvalue > LEVEL / 8


@pytest.mark.slow
def test_elements_are_unrelated(uniforms):
    y, s, z, e = uniforms
    lags = (1, 2, 3, 16, 256)
    for u in uniforms:
        for lag in lags:
            assert_unrelated(u[lag:], u[:-lag], 32)
        assert_unrelated(u[::2], u[1::2], 32)  # the two halves of a pair
    assert_unrelated(y, s, 32)
    assert_unrelated(y[1:], s[:-1], 32)
    assert_unrelated(y[:-1], s[1:], 32)
    assert_unrelated(y, z, 32)
    assert_unrelated(s, z, 32)
    assert_unrelated(y, e, 32)
    assert_unrelated(z, e, 32)


@pytest.mark.slow
def test_neighbouring_keys_are_unrelated():
    y, s, z = over_keys(np.uint64(3), 4000, 256)
    y, s, z = erf(np.sqrt(y.astype(float))), s.astype(float), norm.cdf(z)
    for u in (y, s, z):
        assert_fits(u, "uniform", 4)
        assert_unrelated(u[1:], u[:-1], 8)
        assert_unrelated(u[1:, 1:], u[:-1, :-1], 8)
        # Every element, over keys.
        scores = (u.mean(axis=0) - 0.5) * np.sqrt(12 * len(u))
        assert LEVEL < chi2.sf((scores**2).sum(), 256) < 1 - LEVEL
    assert_unrelated(y[1:], s[:-1], 8)
    assert_unrelated(s[1:], y[:-1], 8)


@pytest.mark.slow
def test_far_tails():
    """10^9 elements: 43 are expected beyond 15, which is 5.5 sigma, and 1.8 beyond 18."""
    n_blocks = 10**9 // 4096
    ends = np.array([5.0, 10.0, 13.0, 15.0, 18.0])
    for counts in tail_counts(KEY, n_blocks, ends):
        for count, mass in zip(counts, HALF_SQUARE.sf(ends), strict=True):
            assert binomtest(int(count), n_blocks * 4096, mass).pvalue > LEVEL / 10


GRID = 10.0 ** np.arange(-6, 5)


@pytest.mark.parametrize("case", range(len(GRID)))
@pytest.mark.quick_cases("3", "7")
def test_inverse_gaussian(case):
    y, s = noise_of(derive(KEY, case), 0, N)
    u = np.float32(GRID[case])
    draws = draws_of(u, y, s)
    assert draws.dtype == np.float32
    law = invgauss(1 / float(u))
    draws = draws.astype(float)
    assert_fits(draws, law.cdf, len(GRID))
    assert_mean(1 / draws, float(u) + 1)
    # The second root, which small u hardly ever take: how many exceed multiples of the mean.
    for multiple in (0.3, 1.0, 3.0):
        count, mass = int((draws > multiple / u).sum()), law.sf(multiple / float(u))
        assert binomtest(count, N, min(mass, 1.0)).pvalue > LEVEL / (3 * len(GRID))
    # And in float64, from the same noise, the same draws: rounding is all that differs.
    assert_allclose(draws, draws_of(float(u), y.astype(float), s.astype(float)), rtol=5e-7)


@pytest.mark.parametrize("u", [0.0, 1e-38, 1e-19])
def test_inverse_gaussian_at_zero_is_the_law_of_inverse_chi_square(u):
    y, s = noise_of(KEY, 0, N)
    draws = draws_of(np.float32(u), y, s)
    assert_fits(1 / draws.astype(float), chi2(1).cdf, 3)


def test_inverse_gaussian_at_the_ends():
    y, s = noise_of(KEY, 0, 10_000)
    # So far out the law is its mean; float32 has no room for the square of these u.
    for u in (1e20, 1e30, 1e37):
        assert_allclose(draws_of(np.float32(u), y, s), np.full(y.size, 1 / u), rtol=3e-7)
    # The smallest noise there is, and a little more: T/u^2 is beyond float32 for the second.
    least = np.float32(2.0**-32)
    for tiny in (4e-30, 1.78e-20):
        for u in (0.0, 1e-29, 1e-25, 1e-18, 1.0):
            assert 0 < inverse_gaussian_from(np.float32(u), np.float32(tiny), least) < np.inf
    assert np.isnan(inverse_gaussian_from(np.float32(np.nan), y[0], s[0]))
