"""Random numbers in the Gibbs sampler's inner loops: nanoseconds each, one core.

    .venv/bin/python benchmarks/noise.py

An inverse Gaussian draw for every sample of a block, as for one feature and cut: by a key for each
draw (`rankfactor.kernels.samplers`), and from an array of noise (`rankfactor.kernels.noise`);
standard normals in both ways. Best of the repeats, so that other work on the machine matters less.
"""

import argparse
import sys
import time

import numpy as np
from numba import njit

from rankfactor.kernels.noise import fill_noise, fill_normal, inverse_gaussian_from
from rankfactor.kernels.rng import derive, normal
from rankfactor.kernels.samplers import inverse_gaussian
from rankfactor.kernels.sites import FAST

LENGTHS = (20, 133, 256, 4096)
DRAWS = 200_000  # of one repeat


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def by_keys(key, rows, u, y, s, out, z):
    """A key for each feature, sample and cut, and a draw from it."""
    for row in range(rows):
        row_key = derive(key, row)
        for m in range(u.size):
            out[m] = inverse_gaussian(u[m], derive(derive(row_key, m), 0))


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def noise_only(key, rows, u, y, s, out, z):
    """The noise, without the draws."""
    for row in range(rows):
        fill_noise(derive(key, row), 0, y, s)


@njit(nogil=True, error_model="numpy", fastmath=FAST)
def by_noise(key, rows, u, y, s, out, z):
    """The noise and the draws from it."""
    for row in range(rows):
        fill_noise(derive(key, row), 0, y, s)
        for m in range(u.size):
            out[m] = inverse_gaussian_from(u[m], y[m], s[m])


@njit(nogil=True)
def normals_by_words(key, rows, u, y, s, out, z):
    """Normals one at a time."""
    for row in range(rows):
        item = derive(key, row)
        for m in range(z.size):
            z[m] = normal(item, m)


@njit(nogil=True)
def normals_by_array(key, rows, u, y, s, out, z):
    """Normals by the array."""
    for row in range(rows):
        fill_normal(derive(key, row), 0, z)


WAYS = (by_keys, noise_only, by_noise, normals_by_words, normals_by_array)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50)
    repeats = parser.parse_args().repeats
    sys.stdout.write("| length | " + " | ".join(way.__name__ for way in WAYS) + " |\n")
    sys.stdout.write("|---" * (len(WAYS) + 1) + "|\n")
    for n in LENGTHS:
        u = np.abs(np.random.default_rng(0).standard_normal(n)).astype(np.float32)
        arrays = (u, np.empty_like(u), np.empty_like(u), np.empty_like(u), np.empty(n))
        rows = DRAWS // n
        best = []
        for way in WAYS:
            way(np.uint64(1), 1, *arrays)  # compiles
            times = []
            for _ in range(repeats):
                start = time.perf_counter()
                way(np.uint64(1), rows, *arrays)
                times.append(time.perf_counter() - start)
            best.append(min(times) / (rows * n) * 1e9)
        sys.stdout.write(f"| {n} | " + " | ".join(f"{value:.2f}" for value in best) + " |\n")


if __name__ == "__main__":
    main()
