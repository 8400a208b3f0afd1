"""Rows of lanes, against NumPy."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numpy.testing import assert_allclose, assert_array_equal

from rankfactor.kernels import lanes, llvm_lanes
from rankfactor.kernels.lanes import WIDTH, plain_reduce_row, reduce_row, wide_vectors
from rankfactor.kernels.solve import solve_packed


@njit
def reduced(out, c, left, a, right, b, count, scale, s):
    reduce_row(out, c, left, a, right, b, count, scale, s)


@njit
def plainly_reduced(out, c, left, a, right, b, count, scale, s):
    plain_reduce_row(out, c, left, a, right, b, count, scale, s)


@njit
def doubled(x):
    wide_vectors()
    out = np.empty_like(x)
    for i in range(x.size):
        out[i] = 2 * x[i]
    return out


def test_numba_builds_the_fast_ones():
    assert lanes.WIDTH == llvm_lanes.WIDTH
    assert lanes.reduce_row is llvm_lanes.reduce_row
    assert lanes.wide_vectors is llvm_lanes.wide_vectors


@pytest.mark.parametrize("reduced", [reduced, plainly_reduced], ids=["fast", "plain"])
@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_row_is_reduced_by_products_of_rows(kind, count, reduced):
    rng = np.random.default_rng(count)
    shape = (8, WIDTH // np.dtype(kind).itemsize)
    out, left, right, scale = rng.standard_normal((4, *shape)).astype(kind)
    expected = out.copy()
    total = (left[2 : 2 + count] * right[1 : 1 + count]).sum(axis=0)
    expected[3] = (out[3] - total) * scale[6]
    reduced(out, 3, left, 2, right, 1, count, scale, 6)
    assert_allclose(out, expected, rtol=1e-5 if kind is np.float32 else 1e-13, atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_the_plain_twin_gives_the_same_numbers(kind):
    rng = np.random.default_rng(3)
    out, left, right, scale = rng.standard_normal((4, 8, WIDTH // np.dtype(kind).itemsize))
    one, left, right, scale = (x.astype(kind) for x in (out, left, right, scale))
    two = one.copy()
    reduced(one, 0, left, 1, right, 2, 5, scale, 3)
    plainly_reduced(two, 0, left, 1, right, 2, 5, scale, 3)
    assert_allclose(one, two, rtol=0, atol=4 * np.finfo(kind).eps * np.abs(scale).max() * 8)


SYSTEMS = """
import sys
import numpy as np
from rankfactor.kernels import lanes
from rankfactor.kernels.solve import solve_packed
assert lanes.reduce_row is lanes.plain_reduce_row
assert lanes.wide_vectors is lanes.plain_wide_vectors
given = np.load(sys.argv[1])
mean, cov, log_det = solve_packed(given["precision"], given["shift"])
np.savez(sys.argv[2], mean=mean, cov=cov, log_det=log_det)
"""


@pytest.mark.slow
@pytest.mark.parametrize("why", ["chosen", "numba has changed"])
def test_systems_are_solved_without_the_fast_ones(tmp_path, why):
    rng = np.random.default_rng(0)
    roots = rng.standard_normal((40, 3, 3))
    full = roots @ roots.transpose(0, 2, 1) + np.eye(3)
    precision, shift = full[:, *np.triu_indices(3)], rng.standard_normal((40, 3))
    np.savez(tmp_path / "given.npz", precision=precision, shift=shift)
    # A cache of its own: compiled kernels are kept whatever the lanes were.
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    program = SYSTEMS
    if why == "chosen":
        settings["RANKFACTOR_PLAIN_LANES"] = "1"
    else:
        program = "import numba.extending\ndel numba.extending.intrinsic\n" + SYSTEMS
    files = [str(tmp_path / name) for name in ("given.npz", "found.npz")]
    subprocess.run([sys.executable, "-c", program, *files], env=settings, check=True)
    found = np.load(files[1])
    for name, expected in zip(
        ("mean", "cov", "log_det"), solve_packed(precision, shift), strict=True
    ):
        assert_allclose(found[name], expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(("version", "probed"), [(lanes.KNOWN_NUMBA + "0", 0), ("999.0", 1)])
def test_only_another_numba_is_probed(version, probed):
    program = f"import numba; numba.__version__ = {version!r}\n" + (
        "from rankfactor.kernels import lanes, llvm_lanes\n"
        "assert lanes.reduce_row is llvm_lanes.reduce_row\n"
        f"assert len(llvm_lanes._use_both.signatures) == {probed}\n"
    )
    settings = {key: v for key, v in os.environ.items() if key != "RANKFACTOR_PLAIN_LANES"}
    subprocess.run([sys.executable, "-c", program], env=settings, check=True)


def test_a_row_may_be_one_of_those_it_is_made_of():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4, WIDTH // 8))
    expected = (rows[2] - rows[0] * rows[0] - rows[1] * rows[1]) * rows[3]
    reduced(rows, 2, rows, 0, rows, 0, 2, rows, 3)
    assert_allclose(rows[2], expected, rtol=1e-13)


def test_wide_vectors_change_no_number():
    x = np.random.default_rng(0).standard_normal(37)
    assert_array_equal(doubled(x), 2 * x)
