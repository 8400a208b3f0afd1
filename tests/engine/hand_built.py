"""States built by hand, and errors of averages, for the tests of the Gibbs sampler."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from rankfactor.kernels.packed import packed_size
from rankfactor.laws.normal import Normal
from rankfactor.shrinkage.base import Shrinkage

LEVEL = 1e-4  # chance that a right sampler fails a test, shared by all that the test compares


def certain(values):
    """Known rows (n, K)."""
    values = np.array(values, np.float64)
    n, order = values.shape
    return Normal(values, np.zeros((n, packed_size(order))), np.zeros(n))


@dataclass(frozen=True)
class FixedNormal(Shrinkage):
    """Normal prior of known precision: no scales to learn, so a posterior can be integrated."""

    value: float = 1.0

    def start(self, n_rows, n_factors):
        return (n_rows, n_factors)

    def update(self, scales, squares, stream=None):
        return scales

    def precision(self, scales):
        return np.full(scales, self.value)

    def bound(self, scales, squares):
        return 0.0


def z_score(replicates, expected=0.0):
    """Distance of a mean of independent replicates from what is expected, in standard errors."""
    replicates = np.asarray(replicates, np.float64)
    error = replicates.std(ddof=1) / np.sqrt(len(replicates))
    return (replicates.mean() - expected) / max(error, np.finfo(float).tiny)


def failures(scores):
    """The z-scores, by name, that are too large given how many there are."""
    limit = norm.isf(0.5 * LEVEL / len(scores))
    return {name: round(float(z), 1) for name, z in scores.items() if not abs(z) < limit}
