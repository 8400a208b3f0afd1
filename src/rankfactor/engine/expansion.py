r"""A move of the Gibbs sampler that changes the unit of every factor.

The predictors ``w_in = sum_k a_ik z_nk`` do not change if column k of the rows of all views is
multiplied by sqrt(u) and the scores z_nk of all samples are divided by it. Rows given scores and
scores given rows, each known to about 1/sqrt(N) or 1/sqrt(d) from the other, move along this line
only by small steps. So the position on the line is drawn directly (parameter expansion; Liu and Wu
1999, and for factor models Ghosh and Dunson 2009). Likelihood, intercepts and the likelihoods' own
parameters are not affected.

The maps by u > 0 are a group with Haar measure du/u, so drawing u from

    p(state moved by u) |Jacobian of the move by u| du/u

leaves the joint distribution invariant (Liu and Sabatti 2000). The scores give

    u^(-N/2) exp( -sum_n z_nk^2 / (2 u) ),

and every shrinkage prior gives ``u^power exp(-rate u - inverse / u)``
(`rankfactor.shrinkage.base.Shrinkage.stretch`): rows given scales that stay have

    u^(d/2) exp( -u sum_i a_ik^2 / (2 xi_ik) ),

and if the scales are moved along, only the distribution at the top of the hierarchy remains.
Together

    u_k ~ GIG( power, 2 rate, sum_n z_nk^2 + 2 inverse ),    power summed, less N/2,

independently over the factors, and with a rate of zero an inverse gamma law.

Moving the scales along matters: given them, u is known to about ``sqrt(2 / (d + N))``, and the move
is hardly longer than a sweep anyway; without them, to ``sqrt(2 / N)``, which is the precision with
which N scores determine their own scale.

The components of a mixture have the same width in every direction, so its factors share one u.
Scores and centres are divided by sqrt(u) and psi_t is multiplied by u: the distribution of the
scores given the rest does not depend on u, and those of the centres and of psi give

    u^(-T K / 2) exp( -nu sum_t |mu_t|^2 / (2 u) ),     u^(T psi_s) exp( -psi_r u sum_t psi_t ).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from rankfactor.kernels.rng import Stream
from rankfactor.latent import Mixture
from rankfactor.laws.gig import GeneralisedInverseGaussian
from rankfactor.laws.normal import Normal
from rankfactor.steps.score import ObservedView
from rankfactor.typing import Floats


def unit_law(views: Sequence[ObservedView], z: Normal) -> GeneralisedInverseGaussian:
    """Law of u, shape (K,), at a state of the sampler: draws, without variance."""
    n_samples, n_factors = z.mean.shape
    power, rate, inverse = -0.5 * n_samples, np.zeros(n_factors), 0.5 * (z.mean**2).sum(axis=0)
    for item in views:
        squares = item.state.rows.mean[:, :n_factors] ** 2
        part = item.view.shrinkage.stretch(item.state.scales, squares)
        power, rate, inverse = power + part.power, rate + part.rate, inverse + part.inverse
    return GeneralisedInverseGaussian(power, 2.0 * rate, 2.0 * inverse)


def change_units(views: Sequence[ObservedView], z: Normal, u: Floats) -> None:
    """Multiply column k of all rows by ``sqrt(u_k)`` and divide the scores by it, in place."""
    root = np.sqrt(u)
    z.mean[:] /= root
    for item in views:
        item.state.rows.mean[:, : z.order] *= root
        item.state.scales = item.view.shrinkage.stretched(item.state.scales, u)


def draw_units(views: Sequence[ObservedView], z: Normal, stream: Stream) -> None:
    """Draw the unit of every factor, in place."""
    change_units(views, z, unit_law(views, z).draw(stream))


def common_unit_law(
    views: Sequence[ObservedView], mixture: Mixture, n_factors: int
) -> GeneralisedInverseGaussian:
    """Law of the u that all factors of a mixture share, shape (1,), at a state of the sampler."""
    hyper = mixture.hyper
    power = mixture.n_components * (hyper.scale_shape - 0.5 * n_factors)
    rate = np.full(1, hyper.scale_rate * mixture.psi.mean.sum())
    inverse = np.full(1, 0.5 * hyper.centre_precision * (mixture.centres.mean**2).sum())
    for item in views:
        squares = item.state.rows.mean[:, :n_factors] ** 2
        part = item.view.shrinkage.stretch(item.state.scales, squares)
        power += n_factors * part.power
        rate, inverse = rate + part.rate.sum(), inverse + part.inverse.sum()
    return GeneralisedInverseGaussian(power, 2.0 * rate, 2.0 * inverse)


def draw_common_unit(
    views: Sequence[ObservedView], z: Normal, mixture: Mixture, stream: Stream
) -> Mixture:
    """Draw the unit of all factors, views and scores in place; the mixture in that unit."""
    u = common_unit_law(views, mixture, z.order).draw(stream)
    change_units(views, z, np.repeat(u, z.order))
    return mixture.in_unit(u)
