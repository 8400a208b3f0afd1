import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose
from scipy.special import ndtri
from scipy.stats import chi2, kstest

from rankfactor.kernels.rng import (
    _CHILD,
    Stream,
    _lower_quantile,
    bits,
    derive,
    normal,
    uniform,
)

KEY = np.uint64(20240229)
N = 200_000


@njit
def over_items(function, key, n):
    """Word 0 of items 0, 1, ..., n - 1."""
    return np.array([function(derive(key, i), 0) for i in range(n)])


@njit
def over_counters(function, key, n):
    """Words 0, 1, ..., n - 1 of one item."""
    return np.array([function(key, i) for i in range(n)])


@njit
def over_grid(keys, n):
    """Item keys of a grid of (key, index)."""
    out = np.empty((len(keys), n), np.uint64)
    for k in range(len(keys)):
        for i in range(n):
            out[k, i] = derive(keys[k], i)
    return out


WAYS = pytest.mark.parametrize("way", [over_items, over_counters])


@WAYS
def test_uniform(way):
    u = way(uniform, KEY, N)
    assert u.min() > 0
    assert u.max() < 1
    assert kstest(u, "uniform").pvalue > 1e-4


@WAYS
def test_normal(way):
    assert kstest(way(normal, KEY, N), "norm").pvalue > 1e-4


@WAYS
def test_every_bit_is_fair(way):
    words = way(bits, KEY, N)
    ones = np.array([((words >> np.uint64(b)) & np.uint64(1)).sum() for b in range(64)], float)
    statistic = ((ones - N / 2) ** 2 / (N / 4)).sum()
    assert 1e-4 < chi2.sf(statistic, 64) < 1 - 1e-4


@WAYS
@pytest.mark.parametrize("lag", [1, 2, 3, 8, 64])
def test_neighbours_are_unrelated(way, lag):
    u = way(uniform, KEY, N)
    assert abs(np.corrcoef(u[lag:], u[:-lag])[0, 1]) < 5 / np.sqrt(N)
    # High moments too: pairs fill the square evenly.
    cells = np.histogram2d(u[lag:], u[:-lag], bins=16)[0]
    statistic = ((cells - cells.mean()) ** 2 / cells.mean()).sum()
    assert 1e-5 < chi2.sf(statistic, 255) < 1 - 1e-5


def test_keys_that_differ_in_one_bit_are_unrelated():
    """Of the stream's key, and of the item's key and index: half of the output bits flip."""
    n = 2_000
    u = over_items(uniform, KEY, n)
    for b in range(64):
        other = KEY ^ np.uint64(1 << b)
        assert abs(np.corrcoef(u, over_items(uniform, other, n))[0, 1]) < 5 / np.sqrt(n)
        for function in (bits, derive):
            one, two = over_counters(function, KEY, n), over_counters(function, other, n)
            flipped = np.unpackbits((one ^ two).view(np.uint8)).mean()
            assert abs(flipped - 0.5) < 5 * 0.5 / np.sqrt(64 * n)


@pytest.mark.parametrize("keys", ["consecutive", "one bit", "derived"])
@pytest.mark.quick_cases("one bit")
def test_keys_do_not_collide(keys):
    start = np.arange(1000, dtype=np.uint64)
    if keys == "one bit":
        start = np.uint64(1) << np.arange(64, dtype=np.uint64)
    if keys == "derived":
        start = over_grid(start[:1], 1000)[0]
    grid = over_grid(start, 1000 if len(start) == 1000 else 15_000)
    assert len(np.unique(grid)) == grid.size


def test_normal_is_exact_in_the_tail():
    p = 10.0 ** np.linspace(-19, -0.31, 500)
    assert_allclose([_lower_quantile(x) for x in p], ndtri(p), rtol=1e-14)
    assert _lower_quantile(2.0**-65) < -9


def test_streams_never_change():
    stream = Stream.from_seed(1)
    assert stream.key == 0x672D8EE56D6791FF
    assert stream.child("rows", 3, 0).key == 0xC7AFD096EB0AE745
    assert int(derive(np.uint64(0), 0)) == 0xB758ED7D38F81352
    assert int(derive(np.uint64(2**64 - 1), 7)) == 0x85399567DF0C20D4
    assert int(bits(np.uint64(0), 0)) == 0xE220A8397B1DCDAF  # SplitMix64 seeded with 0
    assert int(bits(np.uint64(0), 1)) == 0x6E789E6AA1B965F4
    assert_allclose(uniform(np.uint64(0), 0), 0.8833108082136427, rtol=1e-15)
    assert_allclose(normal(np.uint64(0), 1), 0.7865796137556241, rtol=1e-14)


def test_type_of_an_integer_does_not_matter():
    expected = derive(np.uint64(5), np.uint64(9))
    assert derive(5, 9) == expected
    assert derive(np.int32(5), np.int32(9)) == expected
    assert uniform(5, 3) == uniform(np.uint64(5), np.uint64(3))


def test_children():
    stream = Stream.from_seed(0)
    assert stream.child("rows", 3) == stream.child("rows").child(3)
    assert stream.child(np.int64(3)) == stream.child(3)
    assert stream.child() == stream
    names = ["rows", "columns", "3", 3, -1, 0]
    keys = {stream.child(a, b).key for a in names for b in names}
    assert len(keys) == 36
    # A child is not one of the stream's own items.
    assert stream.child(3).key != int(derive(stream.word, 3))


def test_seeds():
    assert Stream.from_seed(3) == Stream.from_seed(np.random.SeedSequence(3))
    assert len({Stream.from_seed(seed).key for seed in range(1000)}) == 1000


def test_child_streams_are_derived_as_compiled_code_does():
    stream = Stream.from_seed(4)
    for label in (0, 7, -1, np.int64(3), 2**63):
        key = derive(np.uint64(stream.key ^ _CHILD), np.uint64(int(label) % 2**64))
        assert stream.child(label).key == int(key)
