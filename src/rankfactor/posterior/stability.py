r"""`Stability`: how much effects, loadings and coefficients vary between samples of the same size.

The model is fitted again to complementary halves of the training samples
(`rankfactor.evaluation.stability`). The two halves of a pair share no sample, so half of the
difference of what they say has, to first order, the variance of what a fit to all samples says: an
estimate from n / 2 samples has twice the variance, the difference of two independent ones four
times, half of it once. The standard deviation reported is the root mean square of these half
differences over all pairs,

    sd^2 = (1 / P) sum_p ( (x_p1 - x_p2) / 2 )^2,

with P degrees of freedom. Everything is that of the full fit's factors: those of a half are matched
to them by order and sign first.
"""

from __future__ import annotations

from dataclasses import dataclass

from rankfactor.typing import Floats


@dataclass(frozen=True)
class Stability:
    """What refits to complementary half-samples say of a model.

    Attributes
    ----------
    n_fits : int
        Half-sample fits: twice the number of pairs.
    top : int
        How many features count as the leading ones of a task or a factor.
    effect_sd : array, shape (R, d)
        Standard deviation of every feature's effect on every row's decision.
    effect_selected : array, shape (R, d)
        Share of the fits in which the feature is among the ``top`` by the size of its effect, with
        the sign of the full fit.
    loading_sd : array, shape (d, K)
        Standard deviation of the loadings (`Posterior.structure`).
    loading_selected : array, shape (d, K)
        Share of the fits in which the feature is among the ``top`` of the matched factor, with the
        sign of the full fit.
    factor_match : array, shape (K,)
        Mean absolute cosine of a factor's loadings in the full fit and in the half-sample fits.
    coefficient_sd : array, shape (R, K)
        Standard deviation of the coefficients per unit of the factor's standard deviation.
    """

    n_fits: int
    top: int
    effect_sd: Floats
    effect_selected: Floats
    loading_sd: Floats
    loading_selected: Floats
    factor_match: Floats
    coefficient_sd: Floats

    @property
    def n_pairs(self) -> int:
        """Complementary pairs: the degrees of freedom of the standard deviations."""
        return self.n_fits // 2
