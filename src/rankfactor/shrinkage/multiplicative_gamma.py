"""Multiplicative gamma process: later factors are shrunk more strongly.

Bhattacharya and Dunson (2011), Biometrika 98:

    a_ik ~ N(0, 1 / (phi_ik tau_k)),   phi_ik ~ Ga(nu/2, nu/2),   tau_k = prod_{l <= k} delta_l,
    delta_1 ~ Ga(a1, 1),   delta_l ~ Ga(a2, 1) for l > 1                 (shape, rate)

nu = 3 is the authors'; a1 = 2.1 and a2 = 3.1 are the customary values (those of the R package
IMIFA), for which 1/tau_k has a finite variance. The prior variance of a loading falls with k only
if E[1/delta_l] = 1/(a2 - 1) < 1, that is a2 > 2: E[delta_l] = a2 > 1 is not enough (Durante 2017).

Mean field, d rows, with every q a Gamma law. Given independent q(delta), E[tau_k] is the product of
the means and E[log tau_k] the sum of the E[log delta_l]:

    q(phi_ik)  = Ga((nu + 1)/2, (nu + E[tau_k] E[a_ik^2]) / 2)
    q(delta_l) = Ga(a_l + d (K - l + 1)/2,
                    1 + sum_{k >= l} (E[tau_k] / E[delta_l]) sum_i E[phi_ik] E[a_ik^2] / 2)

for l = 1, 2, ... in turn, each with the newest others (more turns per update changed no
measurement). The Ga(a2, 1) of a delta has a light tail, so one step of the order multiplies the
precision by at most about a2 + d (K - l + 1)/2: a factor next to a strong one is never switched off
as sharply as under the horseshoe.

The order of the factors is part of the prior. Inference starts from principal components in
decreasing order and reorders nothing before the end of the fit.
"""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.point import Point, settle
from rankfactor.shrinkage.base import ScopedShrinkage
from rankfactor.typing import Floats


@dataclass(frozen=True)
class MultiplicativeGammaScales:
    """Laws of the scales."""

    phi: Gamma | Point  # (rows, K)
    delta: Gamma | Point  # (K,)

    @property
    def tau(self) -> Floats:
        """E[tau], shape (K,)."""
        return np.cumprod(self.delta.mean, dtype=np.float64)

    @property
    def log_tau(self) -> Floats:
        """E[log tau], shape (K,)."""
        return np.cumsum(self.delta.log_mean, dtype=np.float64)


@dataclass(frozen=True)
class MultiplicativeGamma(ScopedShrinkage[MultiplicativeGammaScales]):
    """Multiplicative gamma process prior of loadings.

    Attributes
    ----------
    nu : float
        Degrees of freedom of a loading given its factor's scale; small is heavy-tailed.
    a1, a2 : float
        Shapes of the first and of every further delta.
    scope : {"factor"}
        Factors are ordered, rows are not: there is no "row".
    """

    nu: float = 3.0
    a1: float = 2.1
    a2: float = 3.1
    scope: Literal["factor"] = "factor"

    name: ClassVar[str] = "multiplicative_gamma"
    phrase: ClassVar[str] = "multiplicative gamma process prior"
    scales: ClassVar[type] = MultiplicativeGammaScales
    scopes: ClassVar[tuple[str, ...]] = ("factor",)

    @property
    def kept_dims(self) -> dict[str, tuple[str, ...]]:
        """Precisions of the loadings and of the factors.

        A tau is stored, not its deltas: it stays with its factor when factors are reordered.
        """
        return {"phi": ("row", "factor"), "tau": ("factor",)}

    @property
    def kept_powers(self) -> dict[str, int]:
        """A factor's precision changes by the inverse square of the unit."""
        return {"phi": 0, "tau": -2}

    def kept(self, scales: MultiplicativeGammaScales) -> dict[str, Floats]:
        """Both at a draw."""
        return {"phi": scales.phi.mean, "tau": scales.tau}

    def start(self, n_rows: int, n_factors: int) -> MultiplicativeGammaScales:
        """Initial scales: unit means."""
        phi, delta = np.ones((n_rows, n_factors)), np.ones(n_factors)
        return MultiplicativeGammaScales(Gamma(0.5 * self.nu, 0.5 * self.nu * phi), Gamma(1, delta))

    def update(
        self, scales: MultiplicativeGammaScales, squares: Floats, stream: Stream | None = None
    ) -> MultiplicativeGammaScales:
        """Scales given E[a^2], shape (rows, K); with a stream, draws of them."""
        n_rows, n_factors = squares.shape
        law = Gamma(0.5 * (self.nu + 1.0), 0.5 * (self.nu + scales.tau * squares))
        phi = settle(law, stream, "phi")
        summed = (phi.mean * squares).sum(axis=0)  # (K,)
        prior = np.where(np.arange(n_factors) == 0, self.a1, self.a2)
        shape = prior + 0.5 * n_rows * np.arange(n_factors, 0, -1)
        rate = np.ones(n_factors)
        delta = scales.delta.mean.copy()
        for l in range(n_factors):  # noqa: E741 (the paper's index)
            others = np.cumprod(np.where(np.arange(n_factors) == l, 1.0, delta))
            rate[l] = 1.0 + 0.5 * float(others[l:] @ summed[l:])
            one = slice(l, l + 1)
            delta[one] = settle(Gamma(shape[one], rate[one]), stream, "delta", l).mean
        whole = Gamma(shape, rate) if stream is None else Point(delta)
        return MultiplicativeGammaScales(phi, whole)

    def precision(self, scales: MultiplicativeGammaScales) -> Floats:
        """E[1/xi], shape (rows, K)."""
        return np.asarray(scales.phi.mean * scales.tau)

    def unit(self, scales: MultiplicativeGammaScales) -> Floats:
        """E[tau], shape (rows, K)."""
        return np.broadcast_to(scales.tau, scales.phi.mean.shape)

    def profile(self, ratio: Floats) -> Floats:
        """Largest bound of an entry over the law of its phi, at E[tau] E[a^2]."""
        return np.asarray(-0.5 * (self.nu + 1.0) * np.log(self.nu + ratio))

    def marginal_unit(self, scales: MultiplicativeGammaScales) -> Floats:
        """tau, shape (rows, K)."""
        return self.unit(scales)

    def marginal(self, ratio: Floats) -> Floats:
        """Log density of an entry without its phi, Student's t, at tau a^2."""
        return self.profile(ratio)

    def bound(self, scales: MultiplicativeGammaScales, squares: Floats) -> float:
        """E[log p(a, scales)] - E[log q(scales)] at the squares of the last `update`."""
        phi, delta = scales.phi, scales.delta
        assert isinstance(phi, Gamma)
        assert isinstance(delta, Gamma)
        log_precision = phi.log_mean + scales.log_tau
        entries = log_precision - np.log(2 * np.pi) - self.precision(scales) * squares
        shape = np.broadcast_to(delta.shape, delta.rate.shape)
        return (
            0.5 * float(entries.sum())
            + phi.gain_over(0.5 * self.nu, 0.5 * self.nu)
            + Gamma(shape[:1], delta.rate[:1]).gain_over(self.a1, 1.0)
            + Gamma(shape[1:], delta.rate[1:]).gain_over(self.a2, 1.0)
        )
