"""Hinge: the Bayesian support vector machine of Polson and Scott.

Label y = +1 or -1, decision f = beta . z + beta_0, u = 1 - y f, and the pseudo-likelihood

    exp(-2 max(0, u)) = int N(u; -lam, lam) dlam,     1/lam | u ~ IG(1/|u|, 1).

Mean field: E[1/lam] = E[u^2]^(-1/2), with the variance of f inside (the paper's 1/|E u| is singular
where E u = 0); site tau = E[1/lam], rho = y (1 + E[1/lam]); the term's whole part of the bound is
-(E[u] + sqrt(E[u^2])). A weight c raises the pseudo-likelihood to the power c, which multiplies
tau, rho and the bound by c. Gibbs: 1/lam ~ IG(1/(c |u|), 1) and tau = c^2 / lam.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit

from rankfactor.kernels.sites import TINY
from rankfactor.laws.inverse_gaussian import InverseGaussian
from rankfactor.likelihoods.base import Chance, LabelLikelihood, Sites
from rankfactor.typing import Floats

_NODES, _WEIGHTS = hermegauss(32)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()


@dataclass(frozen=True)
class Hinge(LabelLikelihood):
    """Bayesian SVM."""

    name: ClassVar[str] = "hinge"
    phrase: ClassVar[str] = "Bayesian support vector machine (hinge loss)"

    def label_sites(
        self, signed: Floats, f: Floats, var_f: Floats, chance: Chance | None = None
    ) -> tuple[Sites, Floats]:
        """Sites and bound terms, each of shape (rows, samples)."""
        y, weight = np.sign(signed), np.abs(signed)
        u = 1.0 - y * f
        root, tau = augmented(u, var_f, weight, chance)
        return Sites(tau, signed + y * tau), -weight * (u + root)

    def probability(self, f: Floats, var_f: Floats) -> Floats:
        """Normalised pseudo-likelihood of y = +1, averaged over f by Gauss-Hermite quadrature.

        The log ratio of the two sides, ``2 max(0, 1 + f) - 2 max(0, 1 - f)``, is odd in f, so the
        average exceeds 1/2 exactly where the mean decision is positive.
        """
        total = np.zeros(np.shape(f))
        spread = np.sqrt(var_f)
        for node, weight in zip(_NODES, _WEIGHTS, strict=True):
            x = f + spread * node
            total += weight * expit(2 * np.maximum(0, 1 + x) - 2 * np.maximum(0, 1 - x))
        return total


def augmented(
    u: Floats, variance: Floats, weight: Floats, chance: Chance | None
) -> tuple[Floats, Floats]:
    """sqrt(E[u^2]) and the site's precision of hinges, each in the shape of u: (rows, samples)."""
    if chance is None:
        root = np.sqrt(u**2 + variance + TINY)
        return root, weight / root
    root = np.abs(u)
    return root, weight**2 * chance.draw(InverseGaussian, weight * root)
