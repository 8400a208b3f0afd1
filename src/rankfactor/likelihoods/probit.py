"""Probit labels: y = sign(f*), f* ~ N(f, 1), f = beta . z + beta_0.

Mean field: f* is a one-sided normal around E[f]; site tau = 1, rho = E[f*]; the term's part of the
bound is log Phi(y E[f]) - Var(f)/2. A weight c multiplies tau, rho and the bound (c observations
of the same label); Gibbs draws c values f* and therefore needs whole weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from rankfactor.errors import InputError
from rankfactor.kernels.packed import Floats
from rankfactor.kernels.rng import Stream
from rankfactor.laws.truncated_normal import OneSidedNormal
from rankfactor.likelihoods.base import Chance, LabelLikelihood, Sites


@dataclass(frozen=True)
class Probit(LabelLikelihood):
    """Probit regression on the factors."""

    normalised: ClassVar[bool] = True

    def label_sites(
        self, signed: Floats, f: Floats, var_f: Floats, chance: Chance | None = None
    ) -> tuple[Sites, Floats]:
        """Sites and bound terms, each of shape (rows, samples)."""
        y, weight = np.sign(signed), np.abs(signed)
        side = OneSidedNormal(f, y)
        if chance is None:
            return Sites(weight, weight * side.mean), weight * (side.log_normaliser - 0.5 * var_f)

        if (weight != np.round(weight)).any():
            raise InputError(
                "class weights that are no whole numbers have no Gibbs sampler with a probit "
                "classifier: use whole weights, a BSVM, or variational Bayes."
            )

        def draw(i: int, stream: Stream, first: int) -> Floats:
            # As many observations of the label as its weight says, each with an f* of its own.
            copies = range(int(weight[i].max(initial=0)))
            law = OneSidedNormal(f[i], y[i])
            parts = [law.draw(stream.child(q), first) * (weight[i] > q) for q in copies]
            return np.sum(parts, axis=0) if parts else np.zeros_like(f[i])

        return Sites(weight, chance.by_row(draw, len(signed))), weight * side.log_normaliser

    def probability(self, f: Floats, var_f: Floats) -> Floats:
        """E[Phi(f)] over f ~ N(f, var_f)."""
        return np.asarray(ndtr(f / np.sqrt(1.0 + var_f)))
