"""Three-parameter-beta normal prior; r = s = 1/2 is the horseshoe.

    a_ik ~ N(0, xi_ik),  xi_ik ~ Ga(r, eta_ik),  eta_ik ~ Ga(s, phi_k),
    phi_k ~ Ga(1/2, top),  top ~ Ga(1/2, 1)                      (shape, rate)

Mean field, n the number of rows that share phi and m the number of phi that share top:

    q(xi)  = GIG(r - 1/2, 2 E[eta], E[a^2])
    q(eta) = Ga(r + s, E[xi] + E[phi])
    q(phi) = Ga(1/2 + s n, E[top] + sum E[eta])     (the paper prints 1/2 before the sum)
    q(top) = Ga(1/2 + m/2, 1 + sum E[phi])          (the paper prints shape 1)

Loadings share phi down each column (``scope="factor"``): a factor that explains nothing has its
column switched off. Coefficients share it along each row (``scope="row"``), one per label.

**Slab.** The tails of the horseshoe are so heavy that nothing constrains a coefficient if the
labels do not: if the classes are separable, or if a factor that the table does not need absorbs the
labels. With ``slab`` the prior has a further factor ``exp(-a^2 / (2 slab^2))`` for every entry,
like an observation of 0 with that error: entries much smaller than the slab are not affected, and
larger ones are shrunk as by a ridge. It is the regularised horseshoe of Piironen and Vehtari (2017,
Electronic Journal of Statistics 11) in the form of Nishimura and Suchard (2023, Bayesian Analysis
18), in which the distributions of the scales given the rows do not change.

**Gibbs sampling** draws from the same laws. For the horseshoe it draws xi without eta. Given a and
phi, with x = a^2 / (2 phi), the precision t = phi / xi has the density

    exp(-x t) / (1 + t),    t > 0

(`rankfactor.laws.horseshoe`), then eta ~ Exp(xi + phi), phi and top follow. Integrating out t as
well gives the density of an entry, ``e^x E_1(x) / sqrt(phi)``, by which rotations of the factors
are accepted (`TPBN.marginal`). For other r and s, xi is drawn given eta.

When a column or a row is stretched, a^2 and xi by u and eta by 1/u, the laws of a given xi and of
xi given eta do not depend on u: their densities and the Jacobian cancel. If phi belongs to the
column or row it is multiplied by u as well, and its own law is left, ``u^(1/2) exp(-top phi u)``;
if others share it, that of its n entries' eta, ``u^(-s n) exp(-sum phi eta / u)``. A slab adds
``exp(-u sum a^2 / (2 slab^2))``.

The bound integrates xi out: with q(xi) at its optimum its terms add up to the log normaliser of the
GIG law, so `update` leaves xi for last. With q(eta) = Ga(c, rate), c = r + s, the digamma functions
in E[log Ga(xi; r, eta)], E[log Ga(eta; s, phi)] and eta's entropy cancel, and what eta leaves is

    -c log rate - E[phi] E[eta] + s E[log phi] + c + log Gamma(c) - log Gamma(r) - log Gamma(s).

At given E[phi], with both xi and eta at their optimum, an entry's bound depends on E[a^2] / E[phi]
alone, up to a constant. With rate = E[phi] rho and v that ratio it is (`TPBN.profile`)

    max_rho  log Z(r - 1/2, 2 c / rho, v) - c log rho - c / rho,

Z the normaliser of the GIG law; the maximum is at rho = 1 + E[xi] / E[phi].
"""

from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np
from scipy.special import gammaln

from rankfactor.kernels.horseshoe import draw_horseshoe_scales, stretched_scales
from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.gig import GeneralisedInverseGaussian
from rankfactor.laws.horseshoe import log_exponential_integral
from rankfactor.laws.point import Point, settle
from rankfactor.shrinkage.base import ScopedShrinkage, Stretch
from rankfactor.typing import Floats

# An entry with smaller E[a^2] counts as zero; smaller values only push 1/xi out of range.
FLOOR = 1e-14
# Slabs by default. Scores have unit variance, features unit variance or unit noise, decisions a
# margin or a noise of 1, so that larger entries are hardly ever needed.
LOADING_SLAB, COEFFICIENT_SLAB = 3.0, 2.0
PROFILE_STEPS = 60  # the rate of eta halves its distance to the fixed point, or better, at each


@dataclass(frozen=True)
class TPBNScales:
    """Laws of the scales, and the moments of xi, shape (rows, K)."""

    xi: Floats
    inv_xi: Floats
    eta: Gamma | Point  # (rows, K)
    phi: Gamma | Point  # (1, K) or (rows, 1)
    top: Gamma | Point  # (1, 1) or (rows, 1)


@dataclass(frozen=True)
class TPBN(ScopedShrinkage[TPBNScales]):
    """Three-parameter-beta normal prior.

    Attributes
    ----------
    r, s : float
        Shapes of the local scales; 1/2 each is the horseshoe.
    scope : {"factor", "row"}
        Whether the global scale phi belongs to a factor (column) or to a row.
    slab : float or None
        Standard deviation beyond which entries are shrunk as by a ridge; None for no such limit.
    """

    r: float = 0.5
    s: float = 0.5
    scope: Literal["factor", "row"] = "factor"
    slab: float | None = None

    name: ClassVar[str] = "tpbn"
    phrase: ClassVar[str] = "three-parameter beta normal shrinkage prior (horseshoe type)"
    scales: ClassVar[type] = TPBNScales

    @classmethod
    def for_loadings(cls) -> Self:
        """The horseshoe with a slab, a global scale for each factor."""
        return cls(slab=LOADING_SLAB)

    @classmethod
    def for_coefficients(cls) -> Self:
        """The horseshoe with a slab, a global scale for each row."""
        return cls(scope="row", slab=COEFFICIENT_SLAB)

    @property
    def kept_dims(self) -> dict[str, tuple[str, ...]]:
        """Local variances, and the global rates above them; eta only links the two."""
        top: tuple[str, ...] = () if self.scope == "factor" else ("row",)
        return {"xi": ("row", "factor"), "phi": (self.scope,), "top": top}

    @property
    def kept_powers(self) -> dict[str, int]:
        """Variances change by the square of the unit; rates of all factors stay."""
        return {"xi": 2, "phi": 2 if self.scope == "factor" else 0, "top": 0}

    def kept(self, scales: TPBNScales) -> dict[str, Floats]:
        """All three at a draw."""
        phi, top = scales.phi.mean.ravel(), scales.top.mean.ravel()
        return {"xi": scales.xi, "phi": phi, "top": top[0] if self.scope == "factor" else top}

    def start(self, n_rows: int, n_factors: int) -> TPBNScales:
        """Initial scales."""
        one = np.ones((n_rows, n_factors))
        phi = np.ones((1, n_factors) if self.scope == "factor" else (n_rows, 1))
        top = np.ones((1, 1) if self.scope == "factor" else (n_rows, 1))
        shape = self.r + self.s
        return TPBNScales(one, one, Gamma(shape, shape * one), Gamma(phi, phi), Gamma(top, top))

    def update(
        self, scales: TPBNScales, squares: Floats, stream: Stream | None = None
    ) -> TPBNScales:
        """Scales given E[a^2], shape (rows, K); with a stream, draws of them."""
        if stream is not None and self.is_horseshoe:
            given = np.ascontiguousarray(squares), scales.phi.mean, scales.top.mean
            xi, inv_xi, *above = draw_horseshoe_scales(*given, FLOOR, stream.word)
            return TPBNScales(xi, inv_xi, *map(Point, above))
        eta = settle(Gamma(self.r + self.s, scales.xi + scales.phi.mean), stream, "eta")
        eta_mean = eta.mean
        summed, shared = eta_mean.sum(axis=self._axis, keepdims=True), squares.shape[self._axis]
        phi = settle(Gamma(0.5 + self.s * shared, scales.top.mean + summed), stream, "phi")
        top_sum = phi.mean.sum(axis=1, keepdims=True)
        top = settle(Gamma(0.5 + 0.5 * phi.mean.shape[1], 1.0 + top_sum), stream, "top")
        law = settle(self._xi_law(eta_mean, squares), stream, "xi")
        return TPBNScales(law.mean, law.inv_mean, eta, phi, top)

    def _xi_law(self, eta: Floats, squares: Floats) -> GeneralisedInverseGaussian:
        return GeneralisedInverseGaussian(self.r - 0.5, 2.0 * eta, np.maximum(squares, FLOOR))

    def precision(self, scales: TPBNScales) -> Floats:
        """E[1/xi], and that of the slab, shape (rows, K)."""
        return scales.inv_xi + self.ridge

    @property
    def is_horseshoe(self) -> bool:
        """Whether r = s = 1/2."""
        return self.r == self.s == 0.5

    @property
    def ridge(self) -> float:
        """Precision of the slab."""
        return 0.0 if self.slab is None else self.slab**-2.0

    def unit(self, scales: TPBNScales) -> Floats:
        """1 / E[phi], shape (rows, K)."""
        unit = np.empty(scales.xi.shape)
        unit[:] = 1.0 / scales.phi.mean
        return unit

    def profile(self, ratio: Floats) -> Floats:
        """Largest bound of an entry over the laws of its xi and eta, at E[a^2] over E[phi]."""
        c, rate = self.r + self.s, 1.0 + np.sqrt(ratio)
        for _ in range(PROFILE_STEPS):
            rate = 1.0 + self._xi_law(c / rate, ratio).mean
        return np.asarray(
            self._xi_law(c / rate, ratio).log_normaliser - c * (np.log(rate) + 1.0 / rate)
        )

    def marginal_unit(self, scales: TPBNScales) -> Floats:
        """1 / phi for the horseshoe, else the precisions, shape (rows, K)."""
        return self.unit(scales) if self.is_horseshoe else scales.inv_xi

    def marginal(self, ratio: Floats) -> Floats:
        """Log density of an entry without its scales for the horseshoe, else given them.

        Without the slab (`ridge`).
        """
        if not self.is_horseshoe:
            return super().marginal(ratio)
        return log_exponential_integral(0.5 * ratio)

    def stretch(self, scales: TPBNScales, squares: Floats, axis: int = 0) -> Stretch:
        """Density of u with xi, eta and, if it belongs to the entries alone, phi moved along."""
        slab = 0.5 * self.ridge * squares.sum(axis=axis)
        if axis == self._axis:
            rate = (scales.top.mean * scales.phi.mean).ravel()
            return Stretch(0.5, rate + slab, np.zeros(len(slab)))
        inverse = (scales.phi.mean * scales.eta.mean).sum(axis=axis)
        return Stretch(-self.s * squares.shape[axis], slab, inverse)

    def stretched(self, scales: TPBNScales, u: Floats, axis: int = 0) -> TPBNScales:
        """Scales of stretched rows."""
        given = scales.xi, scales.inv_xi, scales.eta.mean, u, axis
        xi, inv_xi, eta = stretched_scales(*given)
        phi = scales.phi
        if axis == self._axis:
            phi = Point(phi.mean * (u if axis == 0 else u[:, None]))
        return TPBNScales(xi, inv_xi, Point(eta), phi, scales.top)

    def bound(self, scales: TPBNScales, squares: Floats) -> float:
        """E[log p(a, scales)] - E[log q(scales)] at the squares of the last `update`."""
        eta, phi, top = scales.eta, scales.phi, scales.top
        assert isinstance(eta, Gamma)
        assert isinstance(phi, Gamma)
        assert isinstance(top, Gamma)
        eta_mean, c = eta.mean, self.r + self.s
        constant = c + gammaln(c) - gammaln(self.r) - gammaln(self.s) - 0.5 * np.log(2 * np.pi)
        shared = squares.shape[self._axis]
        summed = eta_mean.sum(axis=self._axis, keepdims=True)
        return (
            float(self._xi_law(eta_mean, squares).log_normaliser.sum())
            - c * float(np.log(eta.rate).sum())
            + float((self.s * shared * phi.log_mean - phi.mean * summed).sum())
            + squares.size * float(constant)
            - 0.5 * self.ridge * float(squares.sum())
            + phi.expected_log_prior(0.5, top.mean, top.log_mean)
            + phi.entropy()
            + top.gain_over(0.5, 1.0)
        )
