r"""`Stability`: how much effects, loadings and coefficients vary between samples of the same size.

The model is fitted again to complementary halves of the training samples
(`rankfactor.evaluation.stability`). The two halves of a pair share no sample, so half of the
difference of what they say has, to first order, the variance of what a fit to all samples says: an
estimate from n / 2 samples has twice the variance, the difference of two independent ones four
times, half of it once. The standard deviation reported is the root mean square of these half
differences over all pairs,

    sd^2 = (1 / P) sum_p ( (x_p1 - x_p2) / 2 )^2,

with P degrees of freedom.

That holds for an estimate without a prior. A prior shrinks an estimate from fewer samples more:
with s(n) = n / (n + a) the factor of shrinkage, half the difference has s(n / 2) times the spread
of an unshrunken estimate from all samples, and the full fit s(n) times. The mean of all halves
shows how much: it is s(n / 2) times what the unshrunken estimate from all samples would be. So the
standard deviation above is multiplied by the ratio of the full fit to the mean of the halves, kept
between 1 and 2, which s(n) / s(n / 2) cannot leave; it is 2 where the two differ in sign. A
quantity then stands out from zero by as many standard deviations as the mean of the halves does
from the spread of the halves. Without this correction, 18 to 36 % of the effects called clear after
label-free training were truly zero in simulated tables (docs/reference/interpretation.md).

Everything is that of the full fit's factors: those of a half are matched to them by order and
sign first.
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
