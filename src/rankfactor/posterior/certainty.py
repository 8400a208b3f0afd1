"""How sure a loading or a coefficient is: spread, 90 % interval and local false sign rate.

The local false sign rate (Stephens 2017) of an effect whose posterior mean has a sign is the
posterior probability that the effect is not on that side of zero. It follows the posterior, so it
sees the shrinkage: of a list of features, the mean rate is the share of wrong signs to expect.

After variational Bayes an entry is N(m, v) and the rate is ``Phi(-|m| / sqrt(v))``. After Gibbs
sampling a loading has the draws themselves: the rate is the share of draws that are not on the side
of the mean (0 says less than one in that many), and quantiles are the draws' own. A coefficient
that was fitted anew at some draws is a mixture of normals, one for each of these draws.

An effect is called clear if its local false sign rate is below 0.05. After variational Bayes that
is the same as a 90 % interval that leaves zero out, ``|m| > 1.645 sqrt(v)``. Everything that speaks
of clear features, coefficients or factors in use asks here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

from rankfactor.typing import Floats, Integers

if TYPE_CHECKING:
    from rankfactor.posterior.posterior import Posterior

LEVEL = 0.9  # of the intervals
CLEAR = 0.05  # the local false sign rate below which an effect is called clear
ALIKE = 3.0  # ratio of a correlation to a model loading, and its inverse, up to which they agree
_TAIL = (1 - LEVEL) / 2
_BISECTIONS = 60
_TINY = np.finfo(float).tiny


class Certainty(NamedTuple):
    """Effects with their spread, interval and local false sign rate: arrays of one shape."""

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    lfsr: Floats

    @property
    def clear(self) -> NDArray[np.bool_]:
        """Which effects are clear."""
        return np.asarray(self.lfsr < CLEAR)

    def at(self, index: Any) -> Certainty:
        """Those at an index of the arrays."""
        return Certainty(*(values[index] for values in self))

    def scaled(self, unit: Floats) -> Certainty:
        """The same in units of ``1 / unit``, which is positive; the rate does not change."""
        mean, sd, low, high, lfsr = self
        return Certainty(mean * unit, sd * unit, low * unit, high * unit, lfsr)


def of_normal(mean: Floats, sd: Floats) -> Certainty:
    """Effects that are independent normals."""
    return of_mixture(mean[None], sd[None])


def of_draws(draws: NDArray[Any], mean: Floats | None = None) -> Certainty:
    """Effects known by draws, shape (S, ...); their mean may come from more draws than these."""
    values = np.asarray(draws, np.float64)
    mean = values.mean(axis=0) if mean is None else mean
    low, high = np.quantile(values, (_TAIL, 1 - _TAIL), axis=0)
    return Certainty(mean, values.std(axis=0), low, high, _wrong_side(values, mean))


def of_mixture(means: Floats, sds: Floats) -> Certainty:
    """Effects that are equal mixtures of normals, means and deviations of shape (S, ...)."""
    mean = means.mean(axis=0)
    sd = np.sqrt((sds**2).mean(axis=0) + means.var(axis=0))
    lfsr = _not_above(np.where(mean < 0, -means, means), sds)
    if len(means) == 1:
        half = float(ndtri(1 - _TAIL)) * sd
        return Certainty(mean, sd, mean - half, mean + half, lfsr)
    low, high = (_quantile(means, sds, level) for level in (_TAIL, 1 - _TAIL))
    return Certainty(mean, sd, low, high, lfsr)


def loading_rates(posterior: Posterior) -> Floats:
    """Local false sign rates of all loadings of the features in the model, shape (d, K).

    The sign is that of the correlation with the factor (`Posterior.structure`).
    """
    k = posterior.n_factors
    mean = posterior.rows.mean[:, :k]
    if posterior.draws is None:
        rates = of_normal(mean, np.sqrt(posterior.rows.variance[:, :k])).lfsr
    else:
        draws = posterior.draws.loadings
        rates = np.empty(mean.shape)
        for first in range(0, len(mean), 256):  # by blocks: no second array of the draws' size
            block = draws[:, first : first + 256, :k]
            rates[first : first + 256] = _wrong_side(block, mean[first : first + 256])
    # Where factors correlate, a feature's correlation can be on the other side than its loading.
    return np.where(_structure(posterior) * mean < 0, 1.0 - rates, rates)


def _structure(posterior: Posterior) -> Floats:
    return posterior.structure[posterior.coding.columns]


def loading_certainty(posterior: Posterior, rows: Integers, factor: int) -> Certainty:
    """Correlations of some features in the model with a factor, shape (rows,) each.

    Their means are `Posterior.structure`. Their spread is, in proportion, that of the model's
    loading, whose posterior it is; where the two differ by more than ``ALIKE`` it is the model's
    own, in units of ``sd(w_i + noise_i) / sd(z_k)``. Intervals end at -1 and 1.
    """
    law, columns = posterior.rows, posterior.coding.columns[rows]
    mean, sd = law.mean[rows, factor], np.sqrt(law.variance[rows, factor])
    unit = posterior.standardised_loadings_sd[columns, factor] / np.maximum(sd, _TINY)
    if posterior.draws is None:
        found = of_normal(mean, sd).scaled(unit)
    else:
        found = of_draws(posterior.draws.loadings[:, rows, factor], mean).scaled(unit)
    loading = posterior.structure[columns, factor]
    ratio = loading / np.where(np.abs(found.mean) > _TINY, found.mean, np.inf)
    ratio = np.where((ratio >= 1 / ALIKE) & (ratio <= ALIKE), ratio, 1.0)
    return Certainty(
        loading,
        found.sd * ratio,
        np.clip(loading + (found.low - found.mean) * ratio, -1.0, 1.0),
        np.clip(loading + (found.high - found.mean) * ratio, -1.0, 1.0),
        np.where(loading * found.mean < 0, 1.0 - found.lfsr, found.lfsr),
    )


def coefficient_certainty(posterior: Posterior) -> Certainty:
    """Coefficients of all classifiers per unit of each factor's sd, shape (R, K) each.

    After variational Bayes those of the classifiers that predict. After Gibbs sampling the mixture
    over the draws that predict or, where they are the chain's own (probit labels), all draws.
    """
    draws, sds = _coefficients(posterior)
    found = of_draws(draws) if sds is None else of_mixture(draws, sds)
    return found.scaled(posterior.samples.sd)


def clear_coefficients(posterior: Posterior) -> NDArray[np.bool_]:
    """Which coefficients are clear, shape (R, K), without their intervals, which take longer."""
    draws, sds = _coefficients(posterior)
    mean = draws.mean(axis=0)
    if sds is None:
        return np.asarray(_wrong_side(draws, mean) < CLEAR)
    return np.asarray(_not_above(np.where(mean < 0, -draws, draws), sds) < CLEAR)


def _coefficients(posterior: Posterior) -> tuple[Floats, Floats | None]:
    """Means and deviations of a mixture of normals, (S, R, K), or draws of points and None."""
    assert posterior.classifiers is not None
    k, draws = posterior.n_factors, posterior.draws
    laws = (draws and draws.classifiers) or [posterior.classifiers.rows]
    variances = np.array([one.variance[:, :k] for one in laws])
    if draws is not None and draws.classifiers and not variances.any():
        return draws.coefficients[..., :k].astype(np.float64), None
    return np.array([one.mean[:, :k] for one in laws]), np.sqrt(variances)


def _wrong_side(draws: NDArray[Any], mean: Floats) -> Floats:
    """Share of draws (S, ...) that are not strictly on the side of their mean."""
    right = np.where(mean < 0, (draws < 0).mean(axis=0), (draws > 0).mean(axis=0))
    return np.asarray(1.0 - right)


def _not_above(means: Floats, sds: Floats) -> Floats:
    """P(x <= 0) of equal mixtures of normals (S, ...), some of which may be points."""
    certain = sds <= 0
    ratio = means / np.where(certain, 1.0, sds)
    return np.asarray(np.where(certain, means <= 0, ndtr(-ratio)).mean(axis=0))


def _quantile(means: Floats, sds: Floats, level: float) -> Floats:
    """Quantile of equal mixtures of normals (S, ...), by bisection."""
    reach = 10.0 * sds.max(axis=0) + _TINY
    low, high = means.min(axis=0) - reach, means.max(axis=0) + reach
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = _not_above(means - middle, sds)
        low, high = np.where(below < level, middle, low), np.where(below < level, high, middle)
    return np.asarray((low + high) / 2)
