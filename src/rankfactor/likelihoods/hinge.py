"""Hinge: the Bayesian support vector machine of Polson and Scott.

Label y = +1 or -1, decision f = beta . z + beta_0, u = 1 - y f, and the pseudo-likelihood

    exp(-2 max(0, u)) = int N(u; -lam, lam) dlam,     1/lam | u ~ IG(1/|u|, 1).

Mean field: E[1/lam] = E[u^2]^(-1/2), with the variance of f inside (the paper's 1/|E u| is singular
where E u = 0); site tau = E[1/lam], rho = y (1 + E[1/lam]); the term's whole part of the bound is
-(E[u] + sqrt(E[u^2])). A weight c raises the pseudo-likelihood to the power c, which multiplies
tau, rho and the bound by c. Gibbs: 1/lam ~ IG(1/(c |u|), 1) and tau = c^2 / lam.

If f itself is uncertain, f ~ N(m, v), with g = y f, nu = y m and s = sqrt(v), the two sides of
the hinge integrate to

    E[exp(-2 c max(0, 1 - g))] = A + B,    A = Phi(a),    a = (nu - 1) / s,
    B = exp(-2 c (1 - nu) + 2 c^2 v) Phi(b),              b = (1 - nu - 2 c v) / s.

As the exponential times phi(b) is phi(a), the derivatives in nu are ``A' + B' = 2 c B`` and
``B' = 2 c B - phi(a) / s``. Given the label, g is above 1 with probability A / (A + B), and then
N(nu, v) above 1; else it is N(nu + 2 c v, v) below 1.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import expit, log_ndtr

from rankfactor.kernels.evidence import HINGE
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.samplers import draw_choices
from rankfactor.kernels.sites import TINY
from rankfactor.laws.inverse_gaussian import InverseGaussian
from rankfactor.laws.truncated_normal import OneSidedNormal
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

    def evidence_kind(self, signed: Floats) -> int | None:
        """The kernel of A + B, which serves all labels."""
        return HINGE

    def draw_decision(
        self, signed: Floats, mean: Floats, variance: Floats, stream: Stream
    ) -> Floats:
        """Draws of f: the side of the hinge, then a one-sided normal."""
        y, c, s = np.sign(signed), np.abs(signed), np.sqrt(variance)
        above, below = log_ndtr((y * mean - 1.0) / s), 2 * c * (y * mean - 1.0 + c * variance)
        below += log_ndtr((1.0 - y * mean - 2 * c * variance) / s)
        chances = np.column_stack([expit(below - above), expit(above - below)])
        side = 2.0 * draw_choices(chances, stream.child("side").word, 0) - 1.0
        centre = y * mean + np.where(side < 0, 2 * c * variance, 0.0)
        beyond = OneSidedNormal((centre - 1.0) / s, side).draw(stream.child("decision"))
        return np.asarray(y * (1.0 + s * beyond))


def augmented(
    u: Floats, variance: Floats, weight: Floats, chance: Chance | None
) -> tuple[Floats, Floats]:
    """sqrt(E[u^2]) and the site's precision of hinges, each in the shape of u: (rows, samples)."""
    if chance is None:
        root = np.sqrt(u**2 + variance + TINY)
        return root, weight / root
    root = np.abs(u)
    return root, weight**2 * chance.draw(InverseGaussian, weight * root)
