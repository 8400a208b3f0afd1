r"""Correlations of features and factors in the training table, and variance explained.

A feature enters as x_in, the normal score of its rank (its standardised value under a Gaussian
likelihood), with mean 0 and variance 1 over the samples that have one. Factor scores z_nk are
label-free posterior means, with mean 0 and in units of their standard deviation. With the
standardised loadings ``p_ik = a_ik sd(z_k) / sd(w_i + noise_i)`` the model predicts x by ``y_in =
c_i sum_k p_ik z_nk`` with the residual r = x - y. The scale c_i is the best one between 0 and 1:
the noise of a pseudo-likelihood is too small and the loadings are too large, while loadings that
shrinkage makes small stay small, so that noise is not explained. All sums are over samples where
x_in is known:

    structure_ik = cor(x_i, z_k)
    R^2_i = 1 - sum_n r_in^2 / sum_n x_in^2 = sum_k r2_ik,
    r2_ik = c_i p_ik sum_n (x_in + r_in) z_nk / sum_n x_in^2,

since ``x^2 - r^2 = (x + r)(x - r)`` and x - r is the sum over the factors. If scores do not
correlate and loadings are not shrunken, r2_ik is the squared correlation. A factor that worsens the
reconstruction of a feature has a negative part; the sum over all factors is never negative. The
mean over all features is the R^2 of the table, the mean over the features of a block the R^2 of the
block; both add up over the factors.

Without the table, as in model files of earlier versions, `by_model` gives the model's expectation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankfactor.typing import Floats


@dataclass(frozen=True)
class VarianceExplained:
    """Correlations with the factors and variance explained, for the d features in the model.

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
        """The same for the factors ``sign * factor[order]``."""
        return VarianceExplained(self.structure[:, order] * sign, self.r2[:, order])


def by_model(loadings: Floats, moment: Floats, noise: Floats) -> VarianceExplained:
    """Expectation of the model, given loadings (d, K), E[z z^T] (K, K), noise variances (d,)."""
    sd = np.sqrt(np.diag(moment))
    product = loadings @ moment  # (d, K): covariances of w and z
    total = (product * loadings).sum(axis=1) + noise
    tiny = np.finfo(float).tiny
    structure = product / np.maximum(sd * np.sqrt(total)[:, None], tiny)
    return VarianceExplained(structure, loadings * product / total[:, None])
