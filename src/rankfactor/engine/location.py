r"""A move of the Gibbs sampler that shifts the scores of all samples.

The predictors ``w_in = a_i . z_n`` of all samples change by ``t_i = a_i . delta`` if delta is added
to all scores, which has no effect on the data if the row's intercept is moved by -t_i, or its cut
points (or latent values) by t_i. In the joint density only the priors depend on delta: those of the
scores (or of a mixture's centres), of the intercepts of all views and of the cut points. All are
normal, so delta is normal as well. The maps are translations, so their Jacobian is 1.

Without the move, the mean of the scores, known to about 1/sqrt(N) from its prior, and the
intercepts of many features keep each other in place.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfactor.kernels.packed import pack
from rankfactor.kernels.rng import Stream
from rankfactor.latent import ScorePrior
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods.base import Location
from rankfactor.steps.row import intercept_precision
from rankfactor.steps.score import ObservedView
from rankfactor.typing import Floats


def draw_location(
    views: Sequence[ObservedView], z: Normal, prior: ScorePrior, stream: Stream
) -> ScorePrior:
    """Shift the scores, views and scores in place; the prior of the shifted scores.

    Nothing is done if the rows of a view cannot absorb a shift.
    """
    found = [location_of(item) for item in views]
    known = [one for one in found if one is not None]
    if len(known) < len(views):
        return prior
    precision, shift = location_law(views, known, z, prior)
    delta = Normal.draw_natural(pack(precision[None]), shift[None], stream).mean[0]
    shift_scores(views, known, z, delta)
    return prior.moved(delta)


def location_of(item: ObservedView) -> Location | None:
    """How the rows of a view absorb a shift."""
    state = item.state
    return item.view.likelihood.location(state.params, len(state.rows.mean))


def location_law(
    views: Sequence[ObservedView], locations: Sequence[Location], z: Normal, prior: ScorePrior
) -> tuple[Floats, Floats]:
    """Precision (K, K) and shift (K,) of the distribution of delta."""
    own, shift = prior.location(z)
    precision = own * np.eye(z.order)
    for item, place in zip(views, locations, strict=True):
        rows = item.state.rows.mean
        a, weight, pull = rows[:, : z.order], place.precision, place.pull
        if item.view.has_intercept:
            p = np.where(place.by_parameters, 0.0, intercept_precision(item))
            weight, pull = weight + p, pull - p * rows[:, z.order]
        precision += (a.T * weight) @ a
        shift = shift - pull @ a
    return precision, shift


def shift_scores(
    views: Sequence[ObservedView], locations: Sequence[Location], z: Normal, delta: Floats
) -> None:
    """Add delta (K,) to all scores and let the rows follow, in place."""
    z.mean[:] += delta
    for item, place in zip(views, locations, strict=True):
        state, by = item.state, item.state.rows.mean[:, : z.order] @ delta
        state.params = item.view.likelihood.shifted(
            state.params, np.where(place.by_parameters, by, 0.0)
        )
        if item.view.has_intercept:
            state.rows.mean[:, z.order] -= np.where(place.by_parameters, 0.0, by)
