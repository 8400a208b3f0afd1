r"""Correlations of features through the factors, by blocks.

With w_i = a_i . z and residual noise e_i, the correlation of features i and j is

    cor(i, j) = E[a_i^T S a_j] / sqrt((E[a_i^T S a_i] + noise_i) (E[a_j^T S a_j] + noise_j)),

S = E[z z^T] over samples and posterior, shape (K, K). After variational Bayes rows are independent,
so the numerator is ``m_i^T S m_j`` and the first part of the diagonal ``m_i^T S m_i + tr(V_i S)``:
uncertain loadings make correlations smaller. After Gibbs sampling both are averages over draws,
which are invariant to rotations of the factors between draws.

Everything is written as products of wide rows, ``numerator = F_i . F_j``, so that a block of
features against all others is one matrix product and no d x d array is allocated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from rankfactor.posterior import Posterior
from rankfactor.posterior.samples import evenly_spaced
from rankfactor.typing import Floats, Integers

BLOCK = 512
_DRAWS = 50  # evenly spaced draws that correlations are averaged over


class Wide(NamedTuple):
    """Features as rows whose inner products are covariances."""

    rows: Floats  # F, shape (d, width)
    spread: Floats  # standard deviations, noise included, shape (d,)

    def blocks(self) -> Iterator[tuple[int, Floats]]:
        """First feature of a block, and its correlations, (block, d); zero with itself."""
        tiny = np.finfo(float).tiny
        scaled = self.rows / np.maximum(self.spread, tiny)[:, None]
        for first in range(0, len(scaled), BLOCK):
            part = scaled[first : first + BLOCK]
            block = np.clip(part @ scaled.T, -1.0, 1.0)
            block[np.arange(len(part)), first + np.arange(len(part))] = 0.0
            yield first, block


def through_factors(posterior: Posterior, chosen: Integers) -> Wide:
    """Chosen features, with covariances through the factors and noise in the variances."""
    k = posterior.n_factors
    S = score_moment(posterior)
    values, vectors = np.linalg.eigh(S)
    root = vectors * np.sqrt(np.maximum(values, 0.0))  # its product with its transpose is S
    noise = posterior.noise_variance[chosen]
    if posterior.draws is None:
        rows = posterior.rows.mean[chosen, :k] @ root
        total = (rows**2).sum(axis=1) + _uncertain(posterior, S, chosen) + noise
        return Wide(rows, np.sqrt(total))
    draws = posterior.draws.loadings
    picked = evenly_spaced(len(draws), _DRAWS)
    scaled = np.asarray(draws[picked][:, chosen, :k], np.float64) @ root  # (draws, chosen, K)
    rows = scaled.transpose(1, 0, 2).reshape(len(chosen), -1) / np.sqrt(len(picked))
    return Wide(rows, np.sqrt((rows**2).sum(axis=1) + noise))


def of_loadings(posterior: Posterior, chosen: Integers) -> Wide:
    """Chosen features, compared by the cosine of their mean loadings alone."""
    rows = posterior.rows.mean[chosen, : posterior.n_factors]
    return Wide(rows, np.sqrt((rows**2).sum(axis=1)))


def score_moment(posterior: Posterior) -> Floats:
    """E[z z^T] over samples and posterior, shape (K, K)."""
    samples, k = posterior.samples, posterior.n_factors
    spread = np.zeros((k, k))
    spread[np.triu_indices(k)] = samples.spread
    return np.asarray(samples.moment + spread + np.triu(spread, 1).T)


def _uncertain(posterior: Posterior, S: Floats, chosen: Integers) -> Floats:
    """tr(V_i S) of chosen features, shape (chosen,)."""
    rows, k = posterior.rows, posterior.n_factors
    first, second = np.triu_indices(rows.order)
    inside = second < k  # an intercept comes last
    a, b = first[inside], second[inside]
    weights = S[a, b] * np.where(a == b, 1.0, 2.0)
    return np.asarray(rows.cov[chosen][:, inside] @ weights)
