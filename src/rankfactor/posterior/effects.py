r"""Effect on every decision of moving a feature from its first to its third quartile.

To first order, with everything else fixed: a feature that moves from x_lo to x_hi changes the force
on the scores of sample n by a_i ( push_in(x_hi) - push_in(x_lo) ), with push = rho - tau w the
derivative of the likelihood's bound in w, and the scores respond with H_n^-1 times that,

    effect_in = (g_n^T H_n^-1 a_i) (push_in(x_hi) - push_in(x_lo)) + gamma_i (s_i,hi - s_i,lo),
    H_n = P_0n + sum_i k_in E[a_i a_i^T],

with k the curvature of the bound, g_n the gradient of the decision in the scores and gamma_i s_i
the second part of decisions, both as in `rankfactor.posterior.explanation`. An effect is the mean
over the samples in which the feature is known. This takes one solve per sample and matrix products;
encoding again would take two passes per feature.

Quartiles are observed values, so effects are invariant to increasing transforms. If both quartiles
are the same value, as in a table of counts that are mostly zero, the feature moves between that
value and the median of the values above it (or, if there are none, below it).

The change of probability is taken at the mean decision, from half an effect below to half above.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from rankfactor.classifiers.probabilities import class_probabilities
from rankfactor.classifiers.two_part import feature_tiles
from rankfactor.kernels.codes import is_known
from rankfactor.kernels.solve import solve_packed
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Observed
from rankfactor.posterior.classifiers import Classifiers
from rankfactor.posterior.explanation import (
    Decider,
    added_to_decision,
    gradients_at,
    mean_gradients,
    residual_slopes,
)
from rankfactor.steps.score import BLOCK, view_sums
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats, Integers

MOST_SAMPLES = 2000  # samples that effects are averaged over; larger tables are subsampled evenly
FIRST, THIRD = 0.25, 0.75


@dataclass(frozen=True)
class Effects:
    """Effects of the features in the model on the decisions of all rows.

    Attributes
    ----------
    low, high : array, shape (d,)
        First and third quartile of the training values.
    decision : array, shape (R, d)
        Change of the decision when the feature moves from ``low`` to ``high``.
    probability : array, shape (R, d)
        Change of the probability of the row's class at the mean decision.
    sd : array, shape (R, d)
        Standard deviation of ``decision`` over the draws of Gibbs sampling; NaN without draws.
    mean : array, shape (R, d)
        Mean contribution of the feature over the training samples, the reference of explanations.
    """

    low: Floats
    high: Floats
    decision: Floats
    probability: Floats
    sd: Floats
    mean: Floats

    def flipped(self, sign: Floats) -> Effects:
        """Effects on decisions that are ``sign`` (R,) times these."""
        by_row = sign[:, None]
        return replace(
            self,
            decision=self.decision * by_row,
            probability=self.probability * by_row,
            mean=self.mean * by_row,
        )


class Found(NamedTuple):
    """Means over samples: effects and contributions (R, d), decisions and variances (R,)."""

    effect: Floats
    mean: Floats
    decision: Floats
    variance: Floats


def find_effects(
    decider: Decider, z: Normal, samples: Integers, extremes: Observed, pool: Workers
) -> Found:
    """Effects and mean contributions over some samples of the decider's table.

    Parameters
    ----------
    decider : Decider
    z : Normal, shape (n, K)
        Label-free scores of these samples.
    samples : int array, shape (n,)
    extremes : Observed, shape (d, 2)
        Every feature at its first and at its third quartile.
    pool : Workers
    """
    item, k, n_rows = decider.item, decider.model.n_factors, decider.n_rows
    likelihood, rows = item.view.likelihood, item.rows(kind=np.float64)
    lost = residual_slopes(decider, samples)
    local = gradients_at(decider.classifier, z, n_rows) - lost
    whole = mean_gradients(decider.classifier, z, n_rows) - lost

    def find(some: slice) -> Floats:
        """Sums of effects and contributions, and the number of samples: (2 R + 1, d)."""
        near, here = z.take(some), samples[some]
        precision, _ = decider.prior.assign(near).natural(*near.mean.shape)
        sums = view_sums(item, rows, near, here, curved=True)
        answers = [solve_packed(precision + sums.curvature, one[some])[0] for one in local]
        leads = [solve_packed(precision + sums.precision, one[some])[0] for one in whole]
        total = np.zeros((2 * n_rows + 1, len(rows.mean)))
        for where, part, tile in item.walk(rows, near, here):
            pushes = []
            for end in (0, 1):
                seen = likelihood.read(extremes, where, slice(end, end + 1), tile.params)
                moved = tile._replace(observed=np.repeat(seen, len(here), axis=1))
                tau, rho = likelihood.sites(moved)
                pushes.append(rho - tau * tile.w)
            known = is_known(item.observed.tile(where, here))
            pull = np.where(known, pushes[1] - pushes[0], 0.0)
            sites = likelihood.sites(tile)
            for row, (answer, lead) in enumerate(zip(answers, leads, strict=True)):
                total[row, where] = (pull * (part.mean[:, :k] @ answer.T)).sum(axis=1)
                added = added_to_decision(part, sites, lead, k, item.view.has_intercept)
                total[n_rows + row, where] = added.sum(axis=1)
            total[-1, where] = known.sum(axis=1)
        return total

    total = pool.sum(find, slices(len(samples), BLOCK))
    count = np.maximum(total[-1], 1.0)
    effect, mean = total[:n_rows] / count, total[n_rows:-1] / count
    if decider.residual is not None:
        more = _single_features(decider, samples, extremes, total[-1])
        effect, mean = effect + more[0], mean + more[1]
    decisions, variances = decider.decide(z, pool, samples)
    return Found(effect, mean, decisions.mean(axis=0), variances.mean(axis=0))


def _single_features(
    decider: Decider, samples: Integers, extremes: Observed, count: Floats
) -> tuple[Floats, Floats]:
    """Contribution of the second part of decisions to effects and mean contributions, (R, d)."""
    residual, ranked = decider.residual, decider.ranked()
    assert residual is not None
    ends = decider.model.data.normal_scores(extremes, residual.levels)
    move, mean = np.zeros((2, len(count)))
    for tile in feature_tiles(decider.item.observed):
        low, high = ends.tile(tile, slice(0, 2)).T
        move[tile] = (high - low) * (count[tile] > 0)
        mean[tile] = ranked.tile(tile, samples).sum(axis=1) / np.maximum(count[tile], 1.0)
    return residual.weights * move, residual.weights * mean


def probability_effects(
    classifiers: Classifiers, label: Any, effect: Floats, decision: Floats, variance: Floats
) -> Floats:
    """Change of every row's probability, shape (R, d), at the mean decision and variance (R,)."""
    found = np.zeros(effect.shape)
    for number, task in enumerate(classifiers.tasks):
        rows = classifiers.rows_of(number)
        spread = np.broadcast_to(variance[rows], effect[rows].T.shape)
        ends = [
            class_probabilities(
                label, decision[rows] + half * effect[rows].T, spread, classifiers.scale[number]
            )
            for half in (-0.5, 0.5)
        ]
        found[rows] = (ends[1] - ends[0])[:, -task.n_rows :].T
    return found


def quartiles(values: Any, columns: Integers) -> Floats:
    """First and third quartile of some columns of an array or a CSC matrix, shape (2, d)."""
    found = np.zeros((2, len(columns)))
    n, sparse = values.shape[0], issparse(values)
    for place, column in enumerate(columns.tolist()):
        if sparse:
            one = values.data[values.indptr[column] : values.indptr[column + 1]]
        else:
            one = np.asarray(values[:, column], float)
        levels, counts = np.unique(one[~np.isnan(one)], return_counts=True)
        if len(one) < n:
            levels, counts = _with_zeros(levels, counts, n - len(one))
        found[:, place] = _quartiles(levels, counts)
    return found


def _with_zeros(levels: Floats, counts: Integers, more: int) -> tuple[Floats, Integers]:
    """Distinct values in order and their counts, with ``more`` zeros."""
    place = int(np.searchsorted(levels, 0.0))
    if place == len(levels) or levels[place] != 0:
        levels, counts = np.insert(levels, place, 0.0), np.insert(counts, place, 0)
    counts[place] += more
    return levels, counts


def _quartiles(levels: Floats, counts: Integers) -> tuple[float, float]:
    """Two distinct observed values, the quartiles if they differ; NaN without any value."""
    if not len(levels):
        return np.nan, np.nan
    first, third = (_quantile(counts, level) for level in (FIRST, THIRD))
    if first == third:
        if third + 1 < len(levels):
            third += 1 + _quantile(counts[third + 1 :], 0.5)
        elif first > 0:
            first = _quantile(counts[:first], 0.5)
    return float(levels[first]), float(levels[third])


def _quantile(counts: Integers, level: float) -> int:
    """Place of the smallest value with at least this share of all at or below it."""
    upto = np.cumsum(counts)
    return int(np.searchsorted(upto, np.ceil(level * upto[-1])))
