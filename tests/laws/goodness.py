"""Goodness of fit of draws. Seeds are fixed, so a test that passes always passes."""

from __future__ import annotations

import numpy as np
from scipy.stats import kstest

LEVEL = 1e-4
N = 20_000


def assert_fits(draws, cdf, n_cases):
    """Kolmogorov and Smirnov's test, at a level shared by the cases of a grid."""
    assert np.isfinite(draws).all()
    assert kstest(np.ravel(draws), cdf).pvalue > LEVEL / n_cases


def integrated_cdf(log_density, grid):
    """Distribution function by the trapezoidal rule on a grid that holds all the mass."""
    log_values = log_density(grid)
    values = np.exp(log_values - log_values.max())
    steps = 0.5 * (values[1:] + values[:-1]) * np.diff(grid)
    total = np.concatenate([[0.0], np.cumsum(steps)])
    return lambda x: np.interp(x, grid, total / total[-1])


def assert_mean(draws, mean):
    """Average over the first axis within five standard errors of the mean."""
    error = draws.std(axis=0) / np.sqrt(len(draws))
    assert (np.abs(draws.mean(axis=0) - mean) < 5 * error).all()


def assert_slices_equal_whole(law, part, stream):
    """Drawing rows [a:b] with the right ``first`` gives those rows of the whole draw.

    ``part(a, b)`` is the law of the rows [a:b]; all parameters are of one 2-d shape.
    """
    whole = law.draw(stream)
    n, columns = whole.shape
    for a, b in ((0, 1), (0, n // 2), (n // 3, n), (n - 1, n)):
        np.testing.assert_array_equal(part(a, b).draw(stream, a * columns), whole[a:b])
    assert not (law.draw(stream, 1) == whole).any()
