"""What pairs of half-sample fits say of the fit to all samples.

Factors of a half are matched to those of the full fit by order and sign. Standard deviations are
root mean squares of half the differences within pairs (`rankfactor.posterior.stability`).
"""

from __future__ import annotations

import numpy as np

from rankfactor.engine.alignment import match_factors
from rankfactor.evaluation.pair_store import Pair
from rankfactor.posterior import Posterior
from rankfactor.posterior.stability import Stability
from rankfactor.typing import Floats

MOST_LEADING = 20  # features that count as leading, at most


def summarise(posterior: Posterior, pairs: list[Pair], top: int | None = None) -> Stability:
    """What pairs of half-sample fits say of the fit to all samples.

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
    squares = [np.zeros(s) for s in ((len(effects), d), reference.shape, pairs[0][2].shape[1:])]
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
        for total, one, other in zip(squares, *matched, strict=True):
            total += ((one - other) / 2) ** 2
    n_pairs = len(pairs)
    effect_sd, loading_sd, coefficient_sd = (np.sqrt(total / n_pairs) for total in squares)
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


def _leading(values: Floats, reference: Floats, top: int) -> Floats:
    """Whether each value is among the ``top`` of its row, with the sign of the reference: 0 or 1.

    Both of shape (rows, d); zeros never are.
    """
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :top]
    found = np.zeros(values.shape)
    np.put_along_axis(found, order, 1.0, axis=1)
    return np.asarray(found * (values * reference > 0))
