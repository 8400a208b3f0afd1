"""Probit labels: y = sign(f*), f* ~ N(f, 1), f = beta . z + beta_0.

Mean field: f* is a one-sided normal around E[f]; site tau = 1, rho = E[f*]; the term's part of the
bound is log Phi(y E[f]) - Var(f)/2. A weight c multiplies tau, rho and the bound (c observations
of the same label).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from rankfactor.kernels.packed import Floats
from rankfactor.kernels.rng import Stream
from rankfactor.laws.truncated_normal import OneSidedNormal
from rankfactor.likelihoods.base import Chance, LabelLikelihood, Sites


@dataclass(frozen=True)
class Probit(LabelLikelihood):
    """Probit regression on the factors."""

    def label_sites(
        self, signed: Floats, f: Floats, var_f: Floats, chance: Chance | None = None
    ) -> tuple[Sites, Floats]:
        """Sites and bound terms, each of shape (rows, samples)."""
        y, weight = np.sign(signed), np.abs(signed)
        side = OneSidedNormal(f, y)
        if chance is None:
            return Sites(weight, weight * side.mean), weight * (side.log_normaliser - 0.5 * var_f)

        def draw(i: int, stream: Stream, first: int) -> Floats:
            return OneSidedNormal(f[i], y[i]).draw(stream, first)

        drawn = chance.by_row(draw, len(signed))
        return Sites(weight, weight * drawn), weight * side.log_normaliser

    def probability(self, f: Floats, var_f: Floats) -> Floats:
        """E[Phi(f)] over f ~ N(f, var_f)."""
        return np.asarray(ndtr(f / np.sqrt(1.0 + var_f)))
