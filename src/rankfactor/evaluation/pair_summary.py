"""Stability of the full fit from pairs of half-sample fits.

Factors of a half are matched to those of the full fit in order and sign. Standard deviations are
root mean squares of half the differences within pairs, corrected for shrinkage
(`rankfactor.posterior.stability`).
"""

from __future__ import annotations

import numpy as np

from rankfactor.engine.alignment import match_factors
from rankfactor.evaluation.pair_store import Pair
from rankfactor.posterior import Posterior
from rankfactor.posterior.stability import Stability
from rankfactor.typing import Floats

MOST_LEADING = 20  # maximum number of leading features
# Largest ratio of shrinkage n / (n + a) between n and n / 2 samples, for any a.
MOST_SHRUNKEN = 2.0


def summarise(posterior: Posterior, pairs: list[Pair], top: int | None = None) -> Stability:
    """Summarise pairs of half-sample fits as the stability of the full fit.

    Parameters
    ----------
    posterior : Posterior
        The fit to all samples.
    pairs : list of Pair
    top : int, optional
        As for `stability`.
    """
    reference = posterior.structure[posterior.coding.columns]  # (d, K)
    d = len(reference)
    n_leading = min(d, max(1, min(MOST_LEADING, d // 4)) if top is None else top)
    effects = np.zeros((0, d)) if posterior.effects is None else posterior.effects.decision
    lengths = np.sqrt((reference**2).sum(axis=0))
    whole = [effects, reference, _coefficients(posterior)]
    squares, sums = ([np.zeros(one.shape) for one in whole] for _ in range(2))
    counts = [np.zeros(effects.shape), np.zeros(reference.shape)]
    match = np.zeros(len(lengths))
    for pair in pairs:
        matched = []
        for effect, own, coefficients in zip(*pair[:3], strict=True):
            order, sign = match_factors(own, reference)
            loadings = sign * own[:, order]
            matched.append((effect, loadings, sign * coefficients[:, order]))
            product = lengths * np.sqrt((loadings**2).sum(axis=0))
            cosine = (reference * loadings).sum(axis=0) / np.where(product > 0, product, 1.0)
            match += np.abs(cosine)
            counts[0] += _leading(effect, effects, n_leading)
            counts[1] += _leading(loadings.T, reference.T, n_leading).T
        for total, square, one, other in zip(sums, squares, *matched, strict=True):
            total += one + other
            square += ((one - other) / 2) ** 2
    n_pairs = len(pairs)
    effect_sd, loading_sd, coefficient_sd = (
        np.sqrt(square / n_pairs) * _shrunken(full, total / (2 * n_pairs))
        for full, square, total in zip(whole, squares, sums, strict=True)
    )
    effect_selected, loading_selected = (total / (2 * n_pairs) for total in counts)
    return Stability(
        n_fits=2 * n_pairs,
        top=n_leading,
        effect_sd=effect_sd,
        effect_selected=effect_selected,
        loading_sd=loading_sd,
        loading_selected=loading_selected,
        factor_match=match / (2 * n_pairs),
        coefficient_sd=coefficient_sd,
    )


def _coefficients(posterior: Posterior) -> Floats:
    """Coefficients per unit of a factor's standard deviation, shape (R, K)."""
    k = posterior.n_factors
    if posterior.classifiers is None:
        return np.zeros((0, k))
    return np.asarray(posterior.classifiers.rows.mean[:, :k] * posterior.samples.sd)


def _shrunken(full: Floats, halves: Floats) -> Floats:
    """Ratio of the full fit to the mean of the halves (less shrinkage), at least 1."""
    same = full * halves > 0
    ratio = np.abs(full) / np.where(same, np.abs(halves), 1.0)
    return np.asarray(np.where(same, np.clip(ratio, 1.0, MOST_SHRUNKEN), MOST_SHRUNKEN))


def _leading(values: Floats, reference: Floats, top: int) -> Floats:
    """Whether each value is among the ``top`` of its row, with the reference's sign: 0 or 1.

    Both have shape (rows, d); zeros never count.
    """
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :top]
    found = np.zeros(values.shape)
    np.put_along_axis(found, order, 1.0, axis=1)
    return np.asarray(found * (values * reference > 0))
