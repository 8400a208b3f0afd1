r"""How features and factors of the training table go together: correlations and explained variance.

A feature enters as x_in, the normal score of its rank (its standardised value under a Gaussian
likelihood), of mean 0 and variance 1 over the samples that have one. Factor scores z_nk are
label-free posterior means, in units of their standard deviation and with mean 0. With the
standardised loadings ``p_ik = a_ik sd(z_k) / sd(w_i + noise_i)`` the model says that x is about
``y_in = c_i sum_k p_ik z_nk`` and leaves the residual r = x - y. The scale c_i is the best one
between 0 and 1: the noise of a pseudo-likelihood is too small and the loadings are too large, while
those that shrinkage makes small stay small, so that noise is not explained. All sums are over
samples where x_in is known:

    structure_ik = cor(x_i, z_k)
    R^2_i = 1 - sum_n r_in^2 / sum_n x_in^2 = sum_k r2_ik,
    r2_ik = c_i p_ik sum_n (x_in + r_in) z_nk / sum_n x_in^2,

since ``x^2 - r^2 = (x + r)(x - r)`` and x - r is the sum over the factors. Where scores do not
correlate and loadings are not shrunken, r2_ik is the square of the correlation. A factor that makes
the reconstruction of a feature worse has a negative part, the sum over all factors is never
negative. The mean over all features is the R^2 of the table, that over the features of a block the
R^2 of the block; both add up over the factors.

Without the table, as in model files of earlier versions, `by_model` takes what the model expects.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfactor.typing import Floats


@dataclass(frozen=True)
class VarianceExplained:
    """Correlations with the factors, and what these explain, of the d features in the model.

    Attributes
    ----------
    structure : array, shape (d, K)
        Correlation of every feature with every factor's scores.
    r2 : array, shape (d, K)
        Part of a feature's variance that each factor explains.
    """

    structure: Floats
    r2: Floats

    def reordered(self, order: NDArray[np.int64], sign: Floats) -> VarianceExplained:
        """The same of the factors ``sign * factor[order]``."""
        return VarianceExplained(self.structure[:, order] * sign, self.r2[:, order])


def by_model(loadings: Floats, moment: Floats, noise: Floats) -> VarianceExplained:
    """What the model expects, given loadings (d, K), E[z z^T] (K, K) and noise variances (d,)."""
    sd = np.sqrt(np.diag(moment))
    product = loadings @ moment  # (d, K): covariances of w and z
    total = (product * loadings).sum(axis=1) + noise
    tiny = np.finfo(float).tiny
    structure = product / np.maximum(sd * np.sqrt(total)[:, None], tiny)
    return VarianceExplained(structure, loadings * product / total[:, None])
