r"""A move of the Gibbs sampler that draws the rows of binary features without the scores.

A factor may separate the two levels of a feature perfectly. Its loading is then large, every score
is on its side of the cut, and neither can change without the other: given the scores, the direction
of the row is known to about 1/N, the distance of the nearest score from the cut. But a feature with
two levels is equivalent to a label,

    p(x_n | w_n) = p(y_n | f_n),    f_n = (w_n - cut) / unit,    y_n = +1 or -1,

so its row and its cut point are drawn like those of labels, with the scores integrated out
(`rankfactor.engine.label_rows`). The unit, and the weight of the labels, is the margin for
max-margin ranks and 1 for the ordinal probit.

A sweep does this for a few of the binary features, chosen at random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.label_rows import LabelRows
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import Stream, fill_uniform
from rankfactor.likelihoods import DataLikelihood
from rankfactor.steps.row import row_prior
from rankfactor.steps.score import ObservedView

MOST = 4  # rows a sweep


def choose_binary_rows(
    item: ObservedView, stream: Stream
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
    """Indices of the rows to draw (m,), and a mask of all rows; None if there are none."""
    likelihood, n_rows = item.view.likelihood, len(item.state.rows.mean)
    assert isinstance(likelihood, DataLikelihood)
    rows = likelihood.two_levels(item.state.params)
    if not len(rows):
        return rows, None
    numbers = np.empty(len(rows))
    fill_uniform(stream.word, 0, 0, numbers)
    rows = np.sort(rows[np.argsort(numbers)[:MOST]])
    chosen = np.zeros(n_rows, bool)
    chosen[rows] = True
    return rows, chosen


def as_label_rows(item: ObservedView, rows: NDArray[np.int64]) -> LabelRows:
    """Binary features as rows of labels."""
    likelihood, state, everyone = item.view.likelihood, item.state, slice(0, item.observed.shape[1])
    assert isinstance(likelihood, DataLikelihood)
    found = likelihood.as_labels(state.params, rows)
    unit = found.unit[:, None]
    codes = np.concatenate([item.observed.tile(slice(i, i + 1), everyone) for i in rows])
    signed = np.where(codes == MISSING, 0.0, np.where(codes > 0, unit, -unit))
    laid_out = np.column_stack([state.rows.mean[rows], -found.cuts]) / unit
    cut_precision = np.full(len(rows), found.cut_precision)
    prior = np.column_stack([row_prior(item)[rows], cut_precision]) * unit**2
    return LabelRows(item, found.label, signed, rows, laid_out, prior, found.unit)


def put_back(part: LabelRows) -> None:
    """Write the rows of binary features, and their cut points, to the view, in place."""
    likelihood, state = part.item.view.likelihood, part.item.state
    assert isinstance(likelihood, DataLikelihood)
    rows = part.unit[:, None] * part.rows
    state.rows.mean[part.where] = rows[:, :-1]
    state.params = likelihood.with_cuts(state.params, part.where, -rows[:, -1])
