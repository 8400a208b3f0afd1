r"""Shards: samples that are processed together, with their scores.

A table of many samples is split into shards of `SHARD` consecutive samples. A pass over the table
gives every shard the shared state (rows, parameters, coefficients), updates the scores of its
samples and sums statistics over them; the sums of all shards update the shared state. These are the
same steps as for a table in memory (`rankfactor.steps.score`, `rankfactor.steps.row`), in another
order: only the codes and the scores have a row for every sample of the table, and these may be in
files (`rankfactor.storage.scratch`).

The samples of a shard depend only on their numbers, and statistics are summed so that their order
does not matter (`rankfactor.engine.large.totals`). Threads, workers and chunks of a file therefore
do not change the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankfactor.classifiers import Classifier, pull
from rankfactor.kernels.solve import solve_packed
from rankfactor.latent import StandardNormal
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import Rows
from rankfactor.likelihoods import LabelLikelihood, Observed, ObservedArray
from rankfactor.likelihoods.base import Statistics
from rankfactor.model import View, ViewState
from rankfactor.steps.encode import STEPS, TOL, encode, lay_out
from rankfactor.steps.row import add_statistics, laid_out_scores, row_statistics
from rankfactor.steps.score import BLOCK, ObservedView, tile_length, update_scores
from rankfactor.steps.through_encoder import loading_gradient, settle_scores
from rankfactor.steps.workers import Workers, slices
from rankfactor.typing import Floats

SHARD = 2048  # samples
PRIOR = StandardNormal()
FIRST_STEPS = 5  # updates of the scores of new samples
NEAR = 0.003  # the last step of a score that is near its fixed point
_HERE = Workers()  # shards are distributed among threads, so each uses one thread


@dataclass
class Shard:
    """Consecutive samples of a table.

    Attributes
    ----------
    first : int
        Number of the first sample in the table.
    observed : Observed, shape (d, n)
    signed : array, shape (R, n)
        Signed weights of the labels, 0 where unknown; R is 0 without labels.
    withheld : bool array, shape (n,)
        Samples whose labels are held out (`rankfactor.engine.large.held_out`).
    z : Normal, shape (n, K)
    """

    first: int
    observed: Observed
    signed: Floats
    withheld: NDArray[np.bool_]
    z: Normal

    @property
    def size(self) -> int:
        """Number of samples."""
        return len(self.withheld)

    def labels(self, withhold: bool = True) -> ObservedArray:
        """Signed weights, with held-out labels as unknown."""
        return ObservedArray(np.where(self.withheld, 0.0, self.signed) if withhold else self.signed)

    def turn(self, matrix: Floats | None) -> None:
        """Multiply the scores by a matrix (K, K), in place."""
        if matrix is not None:
            self.z.put(slice(0, self.size), self.z.transformed(matrix))


@dataclass(frozen=True)
class Shared:
    """State shared by all shards: the table's view and, in a joint fit, the labels' view."""

    view: View
    state: ViewState
    label_view: View | None = None
    label_state: ViewState | None = None

    def data(self, shard: Shard) -> ObservedView:
        """The table's view of a shard."""
        return ObservedView(self.view, shard.observed, self.state)

    def labels(self, shard: Shard) -> ObservedView:
        """The labels' view of a shard."""
        assert self.label_view is not None
        assert self.label_state is not None
        return ObservedView(self.label_view, shard.labels(), self.label_state)

    def views(self, shard: Shard) -> list[ObservedView]:
        """All views of a shard."""
        labels = [] if self.label_view is None else [self.labels(shard)]
        return [self.data(shard), *labels]

    def light(self) -> Shared:
        """Without shrinkage scales, which shards do not need."""
        label_state = self.label_state and replace(self.label_state, scales=None)
        return replace(self, state=replace(self.state, scales=None), label_state=label_state)


def tiles_of(item: ObservedView) -> list[slice]:
    """The rows of a view that are processed together, the same in every shard."""
    return item.tiles(tile_length(BLOCK))


def find_scores(shard: Shard, shared: Shared) -> None:
    """Scores of new samples, starting from the prior, without labels."""
    views = [shared.data(shard)]
    rows = [item.rows() for item in views]
    for samples in slices(shard.size, BLOCK):
        z = PRIOR.law(samples.stop - samples.start, shard.z.order)
        for _ in range(FIRST_STEPS):
            z = update_scores(views, PRIOR, z, samples, rows=rows)
        shard.z.put(samples, z)


def ascend_shard(shard: Shard, shared: Shared, turn: Floats | None) -> dict[str, Any]:
    """Update the scores, then take the statistics at these (`rankfactor.engine.large.ascent`)."""
    shard.turn(turn)
    views = shared.views(shard)
    rows = [item.rows() for item in views]
    for samples in slices(shard.size, BLOCK):
        z = update_scores(views, PRIOR, shard.z.take(samples), samples, rows=rows)
        shard.z.put(samples, z)
    found = moments(shard.z)
    for number, item in enumerate(views):
        found |= view_statistics(item, shard.z, number)
    return found


def view_statistics(item: ObservedView, z: Normal, number: int) -> dict[str, Floats]:
    """Statistics of all rows of a view at scores (n, K); views have numbers."""
    columns = laid_out_scores(item, z)
    found: dict[str, Floats] = {}
    for place, tile in enumerate(tiles_of(item)):
        found |= named(number, place, row_statistics(item, columns, tile, BLOCK))
    return found


def train_shard(
    shard: Shard, shared: Shared, classifier: Classifier, weight: float
) -> dict[str, Any]:
    """A Newton step of the scores, then statistics and the gradient of the labels' bound.

    See `rankfactor.engine.large.training`; ``shared`` has the classifier's rows as its labels'
    view, whose statistics are taken as well.
    """
    data, labels = shared.data(shard), shared.labels(shard)
    likelihood = data.view.likelihood
    curvature = settle_scores(data, PRIOR, shard.z, _HERE)
    label, signed = labels.view.likelihood, shard.labels().array
    assert isinstance(label, LabelLikelihood)
    q, label_bound = pull(classifier, label, signed, shard.z)
    response = solve_packed(curvature, weight * q)[0].astype(likelihood.dtype)
    del curvature
    found = moments(shard.z) | {"labels": label_bound}
    columns = laid_out_scores(data, shard.z)
    for place, tile in enumerate(tiles_of(data)):
        rows = Rows.of(data.state.rows.take(tile), likelihood.dtype, likelihood.needs_variance)
        statistics: Statistics = {}
        for samples, some in zip(slices(shard.size, BLOCK), columns, strict=True):
            seen = data.look(tile, rows, some, samples)
            gradient = loading_gradient(rows, some, data.slopes(seen), response[samples])
            part = likelihood.statistics(seen, some)
            add_statistics(statistics, part | {GRADIENT: gradient})
        found |= named(0, place, statistics)
    return found | view_statistics(labels, shard.z, 1)


def settle_shard(shard: Shard, shared: Shared) -> dict[str, Any]:
    """Move label-free scores near the fixed point of the rows; return their moments.

    This is the encoder in working precision: a sample takes as many steps as it needs.
    """
    views = [shared.data(shard)]
    rows, k = [item.rows() for item in views], shard.z.order
    for samples in slices(shard.size, BLOCK):
        near = shard.z.take(samples)
        z = encode(views, PRIOR, samples, k, tol=NEAR, max_steps=STEPS, rows=rows, start=near)
        shard.z.put(samples, z)
    return moments(shard.z)


def label_statistics(shard: Shard, view: View, state: ViewState, withhold: bool) -> dict[str, Any]:
    """Statistics of the labels' view; ``withhold`` leaves out held-out labels."""
    return view_statistics(ObservedView(view, shard.labels(withhold), state), shard.z, 1)


def decide_withheld(shard: Shard, classifier: Classifier) -> tuple[Any, Floats, Floats]:
    """Samples with held-out labels, and mean and variance of their decisions (n, R)."""
    some = np.flatnonzero(shard.withheld)
    mean, variance = classifier.decide(shard.z.take(some))
    return shard.first + some, mean, variance


def settled_scores(
    shard: Shard, shared: Shared, wanted: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Normal]:
    """Numbers and label-free scores, as for new samples, of those samples that are wanted (N,).

    They start at the current scores, which are close.
    """
    data, k = shared.data(shard), shard.z.order
    some = np.flatnonzero(wanted[shard.first : shard.first + shard.size])
    rows, scores = lay_out([data]), shard.z.take(some)
    for part in slices(len(some), BLOCK):
        near = scores.take(part)
        start = Normal(near.mean, near.cov.astype(np.float64), near.log_det)
        z = encode([data], PRIOR, some[part], k, tol=TOL, max_steps=STEPS, rows=rows, start=start)
        scores.put(part, z)
    return shard.first + some, scores


def final_scores(shard: Shard, shared: Shared, matrix: Floats) -> Normal:
    """Label-free scores as for new samples, times a matrix (K, K), which replace the shard's."""
    wanted = np.ones(shard.first + shard.size, bool)
    shard.z.put(slice(0, shard.size), settled_scores(shard, shared, wanted)[1])
    shard.turn(matrix)
    return shard.z


GRADIENT = "gradient"


def named(view: int, place: int, statistics: Statistics) -> dict[str, Floats]:
    """Statistics of a tile under names that identify view and tile."""
    return {f"{view}/{place}/{name}": values for name, values in statistics.items()}


def statistics_of(found: dict[str, Floats], view: int, place: int) -> Statistics:
    """The statistics of a tile among all."""
    start = f"{view}/{place}/"
    return {name[len(start) :]: values for name, values in found.items() if name.startswith(start)}


def moments(z: Normal) -> dict[str, Any]:
    """Sums over samples that the history and the bound need."""
    return {
        "n": len(z.mean),
        "mean": z.mean.sum(axis=0),
        "moment": z.mean.T @ z.mean,
        "prior": PRIOR.bound(z),
    }
