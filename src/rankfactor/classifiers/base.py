"""Protocol of the classifiers on factor scores.

A classifier consists of rows of coefficients that turn a sample's label-free scores into decisions,
one per row. Linear classifiers have one row of coefficients per label; gated ones have one for each
of several gates and mix their decisions (`rankfactor.classifiers.gated`), with gates that were
placed beforehand or belong to the components of a mixture (`rankfactor.classifiers.per_component`);
kernel classifiers have a row of coefficients of nonlinear features
(`rankfactor.classifiers.kernel`).
"""

from __future__ import annotations

from typing import Protocol, Self

from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import LabelLikelihood
from rankfactor.typing import Floats


class Classifier(Protocol):
    """A fitted classifier of R label rows on K factors."""

    @property
    def rows(self) -> Normal:
        """Distribution of the coefficients, one row per label row."""
        ...

    def decide(self, z: Normal) -> tuple[Floats, Floats]:
        """Mean and variance of every row's decision at scores (N, K), each (N, R)."""
        ...

    def gradient(self, z: Normal, slope: Floats) -> Floats:
        """``sum_r slope_rn df_rn / dz_n``, shape (N, K), of slopes (R, N)."""
        ...

    def draw(self, stream: Stream) -> Self:
        """The classifier with coefficients drawn from their law."""
        ...

    def average(self, z: Normal) -> Normal:
        """Coefficients averaged over samples, shape (R, K + 1): a linear summary."""
        ...

    def transformed(self, matrix: Floats) -> Self:
        """The classifier on the scores ``z @ matrix``, where the matrix (K, K) is invertible."""
        ...

    def flipped(self, sign: Floats) -> Self:
        """The classifier whose decisions are ``sign`` (R,) times these."""
        ...


def pull(
    classifier: Classifier, label: LabelLikelihood, signed: Floats, z: Normal
) -> tuple[Floats, float]:
    """Gradient of the labels' bound in every sample's scores (N, K), and the bound.

        q_n = sum_rows (rho_n - tau_n f_n) df_n / dz_n,

    computed at fixed variances. ``signed`` are the labels' signed weights, shape (R, N).
    """
    f, var_f = (part.T for part in classifier.decide(z))
    sites, terms = label.label_sites(signed, f, var_f)
    return classifier.gradient(z, sites.rho - sites.tau * f), float(terms.sum())
