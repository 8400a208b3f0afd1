"""Matching factors: a model is the same in any order of its factors and with any of them negated.

**Permuted.** Loadings are matched to a reference by the order and the signs that maximise the sum
of absolute cosines between columns (a linear assignment), so that draws and chains can be compared.

**Rotated.** Where the prior is the same in every direction, ``A Q`` and ``Q^T z`` are as probable
as A and z for any orthogonal Q, and chains wander over all of them. The rotation (or reflection)
that brings loadings nearest to the reference, ``min_Q ||A Q - reference||``, is ``Q = U V^T`` with
``A^T reference = U S V^T`` (Schoenemann 1966, the orthogonal Procrustes problem); it contains the
order and the signs. Scores and coefficients take the same Q, so every w and every decision stays
what it was.

**In groups.** A prior may tell some axes apart and others hardly, such as those of two nearly empty
factors. Factors are divided into groups: two whose plane has axes that the prior leaves
free (`rankfactor.engine.axes.angle_spread`) belong together. Draws are permuted, then rotated
within each group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfactor.laws.normal import Normal, with_intercept
from rankfactor.typing import Floats

_TINY = np.finfo(float).tiny
# Axes of a plane are told apart if the prior leaves them a smaller spread than this, in radians.
FREE_ANGLE = 0.1

Groups = Sequence[NDArray[np.int64]]


def match_factors(loadings: Floats, reference: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Order (K,) and signs (K,) such that ``sign * loadings[:, order]`` is like ``reference``."""
    from scipy.optimize import linear_sum_assignment  # takes a tenth of a second to import

    product = reference.T @ loadings  # (K, K): reference factor by factor
    scale = np.sqrt((reference**2).sum(axis=0)[:, None] * (loadings**2).sum(axis=0))
    cosine = product / np.maximum(scale, _TINY)
    _, order = linear_sum_assignment(-np.abs(cosine))
    sign = np.where(product[np.arange(len(order)), order] < 0, -1.0, 1.0)
    return np.asarray(order, np.int64), sign


def rotate_factors(loadings: Floats, reference: Floats) -> Floats:
    """Orthogonal Q, shape (K, K), such that ``loadings @ Q`` is nearest to ``reference``."""
    left, _, right = np.linalg.svd(loadings.T @ reference)
    return np.asarray(left @ right)


@dataclass(frozen=True)
class Permuted:
    """Factors ``sign * factor[order]``."""

    order: NDArray[np.int64]
    sign: Floats

    def rows(self, law: Normal) -> Normal:
        """Rows of the matched factors; an intercept at their end stays."""
        if law.is_certain:  # a draw
            mean = law.mean.copy()
            mean[:, : len(self.order)] = law.mean[:, self.order] * self.sign
            return Normal.certain(mean)
        extra = law.order - len(self.order)
        full = np.append(self.order, len(self.order) + np.arange(extra))
        return law.reordered(full, np.append(self.sign, np.ones(extra)))


@dataclass(frozen=True)
class Rotated:
    """Factors ``factor @ matrix``."""

    matrix: Floats  # (K, K), orthogonal

    @property
    def order(self) -> None:
        """A rotation has none."""

    def rows(self, law: Normal) -> Normal:
        """Rows of the matched factors; an intercept at their end stays."""
        return law.transformed(with_intercept(self.matrix, law.order))


def matching(loadings: Floats, reference: Floats, groups: Groups = ()) -> Permuted | Rotated:
    """What brings loadings (d, K) nearest to the reference; groups of factors are rotated."""
    match = Permuted(*match_factors(loadings, reference))
    if not groups:
        return match
    turn = np.eye(len(match.order))[:, match.order] * match.sign
    for group in groups:
        own = turn[:, group]
        turn[:, group] = own @ rotate_factors(loadings @ own, reference[:, group])
    return Rotated(turn)


def free_groups(spread: Floats) -> Groups:
    """Groups of two factors or more, given the spread (K, K) of the axes of every plane."""
    from scipy.sparse.csgraph import connected_components

    count, group = connected_components(spread > FREE_ANGLE, directed=False)
    members = [np.flatnonzero(group == number) for number in range(count)]
    return [one for one in members if len(one) > 1]
