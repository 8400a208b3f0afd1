r"""Probit labels: y = sign(f*), f* ~ N(f, 1), f = beta . z + beta_0.

Mean field: f* is a one-sided normal around E[f]; site tau = 1, rho = E[f*]; the term's part of the
bound is log Phi(y E[f]) - Var(f)/2. A weight c multiplies tau, rho and the bound: the likelihood is
``Phi(y f)^c``, c observations of the same label.

Gibbs, with m the smallest integer not below c and delta = m - c, writes u = y f and

    Phi(u)^c = Phi(u)^m (1 - Phi(-u))^-delta
             = sum_k  Gamma(delta + k) / (Gamma(delta) k!)  Phi(u)^m Phi(-u)^k.

So k is drawn from its distribution given f, the negative binomial ``Poisson(g Phi(-u) / Phi(u))``
with ``g ~ Ga(delta, 1)``, then m values f* on the label's side and k on the other, and the site is
tau = m + k, rho = their sum. An integer weight has delta = 0 and k = 0.

The mean of k is ``delta Phi(-u) / Phi(u)``: less than one for labels on the correct side, 43 delta
at u = -2, 3e4 delta at u = -4. A chain therefore moves slowly past a sample that is far on the
wrong side. No other augmentation can avoid large tau: mixtures of ``exp(-tau f^2/2 + rho f)`` with
bounded tau are analytic in the whole complex plane, and Phi^c is not, since Phi has zeros there.

Where f itself is uncertain, f ~ N(m, v), a label of weight 1 has the probability
``Phi(y m / sqrt(1 + v))``: f* ~ N(m, 1 + v) on the label's side. Other weights have no closed form.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import log_ndtr, ndtr

from rankfactor.kernels.counts import draw_opposite
from rankfactor.kernels.evidence import PROBIT
from rankfactor.kernels.label_rows import draw_latents
from rankfactor.kernels.rng import Stream
from rankfactor.laws.truncated_normal import OneSidedNormal
from rankfactor.likelihoods.base import Chance, LabelLikelihood, Sites
from rankfactor.typing import Floats

# Larger odds (u < -8) would freeze f; the bound has no effect otherwise.
_LARGEST_ODDS = 1e15


@dataclass(frozen=True)
class Probit(LabelLikelihood):
    """Probit regression on the factors."""

    name: ClassVar[str] = "probit"
    phrase: ClassVar[str] = "Bayesian probit regression"
    normalised: ClassVar[bool] = True

    def label_sites(
        self, signed: Floats, f: Floats, var_f: Floats, chance: Chance | None = None
    ) -> tuple[Sites, Floats]:
        """Sites and bound terms, each of shape (rows, samples)."""
        y, weight = np.sign(signed), np.abs(signed)
        side = OneSidedNormal(f, y)
        if chance is None:
            return Sites(weight, weight * side.mean), weight * (side.log_normaliser - 0.5 * var_f)
        whole = np.ceil(weight)

        def draw(i: int, stream: Stream, first: int) -> Floats:
            # As many observations of the label as its weight, each with its own f*.
            law = OneSidedNormal(f[i], y[i])
            total = np.zeros_like(f[i])
            for q in range(int(whole[i].max(initial=0))):
                total += law.draw(stream.child(q), first) * (whole[i] > q)
            count, other = _opposite(whole[i] - weight[i], f[i], y[i], stream, first)
            return np.stack([whole[i] + count, total + other])

        sites = chance.by_row(draw, len(signed))
        return Sites(sites[:, 0], sites[:, 1]), weight * side.log_normaliser

    def probability(self, f: Floats, var_f: Floats) -> Floats:
        """E[Phi(f)] over f ~ N(f, var_f)."""
        return np.asarray(ndtr(f / np.sqrt(1.0 + var_f)))

    def evidence_kind(self, signed: Floats) -> int | None:
        """The kernel of Phi(y m / sqrt(1 + v)), if all labels have weight 1."""
        weight = np.abs(signed)
        return PROBIT if ((weight == 0.0) | (weight == 1.0)).all() else None

    def draw_sites(self, signed: Floats, mean: Floats, variance: Floats, stream: Stream) -> Sites:
        """Draws of f* on the label's side: f itself need not be drawn."""
        drawn = draw_latents(signed, mean, variance, stream.child("latent").word)
        return Sites(np.ones(len(mean)), drawn)


def _opposite(
    delta: Floats, f: Floats, y: Floats, stream: Stream, first: int
) -> tuple[Floats, Floats]:
    """Number and sum of the values on the other side, each (samples,), zero where delta is."""
    if not delta.any():
        return np.zeros_like(f), np.zeros_like(f)
    side = OneSidedNormal(f, -y)
    odds = np.exp(np.minimum(log_ndtr(-y * f) - log_ndtr(y * f), np.log(_LARGEST_ODDS)))
    mean = side.mean
    excess = -y * (mean - f)  # E[x] = m + s excess, Var = 1 - s m excess - excess^2
    variance = np.maximum(1.0 + y * f * excess - excess**2, 0.0)
    key = stream.child("other").word
    count, total = draw_opposite(delta, odds, f, -y, mean, variance, key, first)
    return count, total
