r"""Uncertainty of effects, loadings and coefficients: spread, limits, error rate, *clear*.

The posterior of variational Bayes is too narrow for this: of loadings whose 90 % interval excludes
zero, 12 to 22 % are truly zero (docs/reference/interpretation.md). So there are two sources of
evidence and, without either, no statement:

- **Stability** (`rankfactor.posterior.stability`), if half-sample fits were made. With s the
  standard deviation between samples and P pairs of halves, m / s is compared with Student's t with
  P degrees of freedom, which gives the probability of the opposite sign.
- **Draws** of Gibbs sampling. The local false sign rate (Stephens 2017) is the share of draws
  without the sign of the mean (0 means less than one in that many). Coefficients that were
  refitted at some draws are mixtures of normals. Effects are treated as normal, with the mean and
  the spread of the draws.
- Otherwise nothing is clear, and spreads and rates are NaN: *not assessed*.

A quantity is *clear* if twice its probability of the opposite sign passes the Benjamini-Hochberg
rule at `CLEAR` within its family: the features of a classifier row or of a factor, the factors of a
row.

Choices that make no claim, such as which factors count as in use (`nonzero_coefficients`) and where
lists are cut off (`supported_loadings`), use the posterior itself: neither calls anything clear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from rankfactor.typing import Floats

if TYPE_CHECKING:
    from rankfactor.posterior.posterior import Posterior

LEVEL = 0.9  # of the intervals
CLEAR = 0.05  # false discovery rate of clear quantities
ALIKE = 3.0  # largest ratio of a correlation to a model loading, or inverse, to agree
_TAIL = (1 - LEVEL) / 2
_BISECTIONS = 60
_TINY = np.finfo(float).tiny


class Certainty(NamedTuple):
    """Quantities with their spread, 90 % limits, local false sign rate and whether they are clear.

    Arrays of one shape. Spread, limits and rate are NaN if not assessed.
    """

    mean: Floats
    sd: Floats
    low: Floats
    high: Floats
    lfsr: Floats
    clear: NDArray[np.bool_]

    def at(self, index: Any) -> Certainty:
        """The quantities at an index of the arrays."""
        return Certainty(*(values[index] for values in self))

    def scaled(self, unit: Floats) -> Certainty:
        """The same in units of ``1 / unit``, which is positive; the rate does not change."""
        return self._replace(
            mean=self.mean * unit, sd=self.sd * unit, low=self.low * unit, high=self.high * unit
        )


def assessed(posterior: Posterior) -> bool:
    """Whether clear quantities are known: by half-sample fits, or by draws."""
    return posterior.stability is not None or posterior.draws is not None


def not_assessed(mean: Floats) -> Certainty:
    """Quantities of which only the mean is known."""
    unknown = np.full(mean.shape, np.nan)
    return Certainty(mean, unknown, unknown, unknown, unknown, _none(mean))


def of_spread(mean: Floats, sd: Floats, n_pairs: int, axis: int) -> Certainty:
    """Quantities with standard deviations between samples; families lie along an axis."""
    ratio = np.abs(mean) / np.maximum(sd, _TINY)
    wrong = np.asarray(stdtr(n_pairs, -ratio))
    half = float(stdtrit(n_pairs, 1 - _TAIL)) * sd
    return _judged(Certainty(mean, sd, mean - half, mean + half, wrong, _none(wrong)), axis)


def _judged(found: Certainty, axis: int) -> Certainty:
    """The same with clear quantities marked within families along an axis."""
    return found._replace(clear=adjusted(2.0 * found.lfsr, axis) < CLEAR)


def _none(values: Floats) -> NDArray[np.bool_]:
    return np.zeros(values.shape, bool)


def adjusted(p: Floats, axis: int) -> Floats:
    """Benjamini and Hochberg's q-values along an axis."""
    p = np.moveaxis(p, axis, -1)
    n = p.shape[-1]
    order = np.argsort(-p, axis=-1, kind="stable")
    ranked = np.take_along_axis(p, order, -1) * n / np.arange(n, 0, -1)
    q = np.empty(p.shape)
    np.put_along_axis(q, order, np.minimum(np.minimum.accumulate(ranked, axis=-1), 1.0), -1)
    return np.moveaxis(q, -1, axis)


def of_normal(mean: Floats, sd: Floats) -> Certainty:
    """Effects that are independent normals."""
    return of_mixture(mean[None], sd[None])


def of_draws(draws: NDArray[Any], mean: Floats | None = None) -> Certainty:
    """Effects known from draws, shape (S, ...); their mean may come from more draws."""
    values = np.asarray(draws, np.float64)
    mean = values.mean(axis=0) if mean is None else mean
    low, high = np.quantile(values, (_TAIL, 1 - _TAIL), axis=0)
    wrong = _wrong_side(values, mean)
    return Certainty(mean, values.std(axis=0), low, high, wrong, _none(wrong))


def of_mixture(means: Floats, sds: Floats) -> Certainty:
    """Effects that are equal mixtures of normals, means and deviations of shape (S, ...)."""
    mean = means.mean(axis=0)
    sd = np.sqrt((sds**2).mean(axis=0) + means.var(axis=0))
    lfsr = _not_above(np.where(mean < 0, -means, means), sds)
    if len(means) == 1:
        half = float(ndtri(1 - _TAIL)) * sd
        return Certainty(mean, sd, mean - half, mean + half, lfsr, _none(lfsr))
    low, high = (_quantile(means, sds, level) for level in (_TAIL, 1 - _TAIL))
    return Certainty(mean, sd, low, high, lfsr, _none(lfsr))


def effect_certainty(posterior: Posterior) -> Certainty:
    """Effects of the features in the model on every row's decision, shape (R, d) each."""
    effects, stability = posterior.effects, posterior.stability
    assert effects is not None
    if stability is not None:
        return of_spread(effects.decision, stability.effect_sd, stability.n_pairs, 1)
    if posterior.draws is not None:
        return _judged(of_normal(effects.decision, effects.sd), 1)
    return not_assessed(effects.decision)


def loading_certainty(posterior: Posterior) -> Certainty:
    """Correlations of the features in the model with the factors, shape (d, K) each.

    After Gibbs sampling their relative spread is that of the model's loading, whose posterior the
    draws are; if the two differ by more than a factor of ``ALIKE``, it is the model's own spread,
    in units of ``sd(w_i + noise_i) / sd(z_k)``. Limits are clipped to [-1, 1].
    """
    loading = posterior.structure[posterior.coding.columns]
    stability = posterior.stability
    if stability is not None:
        found = of_spread(loading, stability.loading_sd, stability.n_pairs, 0)
        return found._replace(low=np.maximum(found.low, -1.0), high=np.minimum(found.high, 1.0))
    if posterior.draws is None:
        return not_assessed(loading)
    mean = posterior.rows.mean[:, : posterior.n_factors]
    parts = []
    for first in range(0, len(mean), 256):  # in blocks, to avoid a second array of the draws' size
        some = slice(first, first + 256)
        draws = posterior.draws.loadings[:, some, : posterior.n_factors]
        parts.append(of_draws(draws, mean[some]))
    model = Certainty(*(np.concatenate(part) for part in zip(*parts, strict=True)))
    sd = np.sqrt(posterior.rows.variance[:, : posterior.n_factors])
    columns = posterior.coding.columns
    model = model.scaled(posterior.standardised_loadings_sd[columns] / np.maximum(sd, _TINY))
    ratio = loading / np.where(np.abs(model.mean) > _TINY, model.mean, np.inf)
    ratio = np.where((ratio >= 1 / ALIKE) & (ratio <= ALIKE), ratio, 1.0)
    # If factors correlate, a feature's correlation can have the opposite sign of its loading.
    lfsr = np.where(loading * model.mean < 0, 1.0 - model.lfsr, model.lfsr)
    found = Certainty(
        loading,
        model.sd * ratio,
        np.clip(loading + (model.low - model.mean) * ratio, -1.0, 1.0),
        np.clip(loading + (model.high - model.mean) * ratio, -1.0, 1.0),
        lfsr,
        _none(lfsr),
    )
    return _judged(found, 0)


def supported_loadings(posterior: Posterior) -> NDArray[np.bool_]:
    """Which loadings are supported by evidence, shape (d, K).

    Clear loadings or, if not assessed, correlations of feature and factor beyond chance: Fisher's z
    against N(0, 1 / (n - 3)), by the Benjamini-Hochberg rule among the features of a factor.
    """
    if assessed(posterior):
        return loading_certainty(posterior).clear
    loading = posterior.structure[posterior.coding.columns]
    z = np.arctanh(np.clip(loading, -1 + 1e-12, 1 - 1e-12))
    z *= np.sqrt(max(posterior.samples.n_samples - 3, 1))
    return np.asarray(adjusted(2.0 * ndtr(-np.abs(z)), 0) < CLEAR)


def coefficient_certainty(posterior: Posterior) -> Certainty:
    """Coefficients of all classifiers per unit of each factor's sd, shape (R, K) each.

    After Gibbs sampling a mixture over the draws used for prediction or, if they are the chain's
    own (probit labels), over all draws.
    """
    assert posterior.classifiers is not None
    unit, stability = posterior.samples.sd, posterior.stability
    if stability is not None:
        mean = posterior.classifiers.rows.mean[:, : posterior.n_factors] * unit
        return of_spread(mean, stability.coefficient_sd, stability.n_pairs, 1)
    means, sds = _coefficients(posterior)
    if posterior.draws is None:
        return not_assessed(means[0] * unit)
    found = of_draws(means) if sds is None else of_mixture(means, sds)
    return _judged(found.scaled(unit), 1)


def nonzero_coefficients(posterior: Posterior) -> NDArray[np.bool_]:
    """Which coefficients the posterior separates from zero, shape (R, K).

    Those with a local false sign rate below `CLEAR` in the posterior itself, which is too narrow
    after variational Bayes: enough to say that a classifier uses a factor, not to call it clear.
    """
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
    """Share of draws (S, ...) that do not have strictly the sign of their mean."""
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
