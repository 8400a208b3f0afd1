"""Mixed experts: the hyper-parameters of local classifiers behind gates.

The scores keep their standard normal prior. After the factors are fitted, the label-free scores are
divided into regions, a few per class; gates (`rankfactor.latent.gates`) weight them softly, and one
classifier is fitted to the mixed decision

    f = beta_0 . (z, 1) + sum_t R_t(z) delta_t . (z, 1),     beta_0, delta_t ~ N(0, 1 / precision),

whose intercept beta_0 has a flat prior. Gates share one precision, psi = 1 / mean within-region
variance; tempering by ``sharpness / psi`` makes the exponent ``-sharpness/2 |z - mu_t|^2``.
"""

from dataclasses import dataclass

import numpy as np

from rankfactor.errors import InputError, check_count, check_positive
from rankfactor.latent.gates import Gates
from rankfactor.typing import Floats


@dataclass(frozen=True)
class MixedExperts:
    """Local classifiers with a shared part, on one mixed decision.

    Attributes
    ----------
    n_components : int
        Regions.
    sharpness : float
        Decay of the gates with the squared distance from their centre, in units of the scores,
        whose prior standard deviation is 1.
    precision : float
        Prior precision of the coefficients.
    gradient : {"linear", "mixed"}
        Gradient of predictive training: that of a linear classifier, to whose scores the experts
        are fitted afterwards, or that of the mixed decision. The latter separates the training
        samples sooner, and then no longer informs the factors (docs/notes/decisions.md).
    """

    n_components: int = 10
    sharpness: float = 0.25
    precision: float = 1.0
    gradient: str = "linear"

    def __post_init__(self) -> None:
        """Refuse hyper-parameters out of range."""
        check_count("n_components", self.n_components)
        check_positive("sharpness", self.sharpness)
        check_positive("precision", self.precision)
        if self.gradient not in ("linear", "mixed"):
            raise InputError(f"gradient must be 'linear' or 'mixed', not {self.gradient!r}.")

    def gates(self, z: Floats, centres: Floats) -> Gates:
        """Gates on regions of scores (N, K) around centres (T, K)."""
        squares = ((z[:, None, :] - centres) ** 2).sum(axis=2)  # (N, T)
        counts = np.bincount(squares.argmin(axis=1), minlength=len(centres)) + 1.0
        within = squares.min(axis=1).mean() / z.shape[1]
        psi = 1.0 / max(within, np.finfo(float).tiny)
        return Gates(
            centres,
            np.full(len(centres), psi),
            np.log(counts / counts.sum()),
            np.array([self.sharpness / psi]),
            np.array([True]),
        )

    def prior_precision(self, gates: Gates, intercept_precision: float) -> Floats:
        """Prior precisions of a row, shape (gates (K + 1),)."""
        order = gates.centres.shape[1] + 1
        result = np.full(gates.n_gates * order, float(self.precision))
        result[order - 1] = intercept_precision
        return result
