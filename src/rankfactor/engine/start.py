"""Starting point: principal components of normal scores.

The scores are read tile by tile (from codes, through a table of each level's normal quantile), so
no array of the size of the data is allocated. If the smaller side of the table is at most
``EXACT_SIDE``, the components come from its Gram matrix, otherwise from randomised subspace
iteration (Halko, Martinsson and Tropp 2011). Signs are fixed by the skewness of the loadings, which
does not depend on the order of samples or features.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, qr, svd

from rankfactor.likelihoods import Observed
from rankfactor.steps.score import TILE
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats

EXACT_SIDE = 1000
ENTRIES = 2**19  # of the table read at once, as floats
_OVERSAMPLING = 10
_POWER_ITERATIONS = 6


def principal_components(
    scores: Observed, n_factors: int, rng: np.random.Generator, pool: Workers
) -> tuple[Floats, Floats]:
    """Loadings (d, K) and unit-variance factor scores (N, K).

    Directions beyond the rank of the table start as small noise.
    """
    d, n = scores.shape
    rank = min(n_factors, d, n)
    if min(d, n) <= EXACT_SIDE:
        left, singular, right = _exact(scores, rank, pool)
    else:
        left, singular, right = _randomised(scores, rank, rng, pool)
    loadings = left * singular / np.sqrt(n)
    factors = right * np.sqrt(n)
    sign = np.sign((loadings**3).sum(axis=0))
    sign[sign == 0] = 1.0
    extra = n_factors - rank
    loadings = np.column_stack([loadings * sign, 1e-2 * rng.standard_normal((d, extra))])
    factors = np.column_stack([factors * sign, rng.standard_normal((n, extra))])
    return np.ascontiguousarray(loadings), np.ascontiguousarray(factors)


def _times(scores: Observed, right: Floats, pool: Workers) -> Floats:
    """``scores @ right``, shape (d, columns)."""
    everything = slice(0, scores.shape[1])
    length = max(8, min(TILE, ENTRIES // scores.shape[1]))
    parts = pool.map(
        lambda tile: scores.tile(tile, everything) @ right, slices(scores.shape[0], length)
    )
    return np.vstack(parts)


def _times_transposed(scores: Observed, left: Floats, pool: Workers) -> Floats:
    """``scores.T @ left``, shape (N, columns)."""
    everything = slice(0, scores.shape[0])
    parts = pool.map(
        lambda block: scores.tile(everything, block).T @ left, slices(scores.shape[1], TILE)
    )
    return np.vstack(parts)


def _exact(scores: Observed, rank: int, pool: Workers) -> tuple[Floats, Floats, Floats]:
    """Leading singular triplets (U, s, V) by the Gram matrix of the smaller side."""
    d, n = scores.shape
    side = min(d, n)
    if d <= n:
        gram = pool.sum(lambda block: _gram(scores.tile(slice(0, d), block)), slices(n, TILE))
    else:
        gram = pool.sum(lambda tile: _gram(scores.tile(tile, slice(0, n)).T), slices(d, TILE))
    values, vectors = eigh(gram, subset_by_index=[side - rank, side - 1])
    values, vectors = values[::-1], vectors[:, ::-1]
    singular = np.sqrt(np.maximum(values, 1e-12 * values[0] + 1e-300))
    if d <= n:
        return vectors, singular, _times_transposed(scores, vectors / singular, pool)
    return _times(scores, vectors / singular, pool), singular, vectors


def _gram(part: Floats) -> Floats:
    return np.asarray(part @ part.T)


def _randomised(
    scores: Observed, rank: int, rng: np.random.Generator, pool: Workers
) -> tuple[Floats, Floats, Floats]:
    """Leading singular triplets (U, s, V) by randomised subspace iteration."""
    size = min(rank + _OVERSAMPLING, *scores.shape)
    basis = _times(scores, rng.standard_normal((scores.shape[1], size)), pool)
    for _ in range(_POWER_ITERATIONS):
        basis = qr(basis, mode="economic")[0]
        back = qr(_times_transposed(scores, basis, pool), mode="economic")[0]
        basis = _times(scores, back, pool)
    basis = qr(basis, mode="economic")[0]
    left, singular, right = svd(_times_transposed(scores, basis, pool).T, full_matrices=False)
    return basis @ left[:, :rank], singular[:rank], right[:rank].T
