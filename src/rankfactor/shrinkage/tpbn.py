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

The sampler draws from the same laws. For the horseshoe it draws xi without eta, and exponentials
are all it takes (Makalic and Schmidt 2016, "A simple sampler for the horseshoe estimator", IEEE
Signal Processing Letters 23). Without eta the prior is

    p(xi | phi) prop. xi^(-1/2) / (xi + phi) prop. int xi^(-3/2) exp(-v / xi - v / phi) dv,

so that v, given xi, is exponential of rate 1/xi + 1/phi. Given v and a, with the xi^(-1/2)
exp(-a^2 / (2 xi)) of the normal law, xi has the density xi^(-2) exp(-(v + a^2/2) / xi): 1/xi is
exponential of rate v + a^2/2. Both are conditionals of one law of (v, xi) given a and phi, whose
margin is p(xi | a, phi), so a draw of v and then of xi leaves that as it is, however often. With a
draw of eta from p(eta | xi, phi), exponential of rate xi + phi, after them the step leaves
p(xi, eta | a, phi) as it is; phi and top are drawn next, and v is not kept. Two turns of (v, xi)
are taken: in three small chains of normal means, one seed each, the effective size of phi with two
was 0.6 to 1.1 times that with a GIG draw of xi given eta, at a fifth of the time, and with one
turn 0.3 to 0.6 times in two of them.

When a factor's unit changes, a^2 and xi by u and eta by 1/u, the laws of a given xi and of xi given
eta say nothing of u: their densities and the Jacobian cancel. What is left is, with scope "factor"
and phi multiplied by u, too, the law of phi, ``u^(1/2) exp(-top phi u)``; with scope "row", where
phi belongs to all factors and stays, that of eta, ``u^(-s n) exp(-sum phi eta / u)``.

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
from typing import ClassVar, Literal

import numpy as np
from scipy.special import gammaln

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.gig import GeneralisedInverseGaussian
from rankfactor.laws.point import Point, settle
from rankfactor.shrinkage.base import ScopedShrinkage, Stretch
from rankfactor.typing import Floats

# Below this E[a^2] an entry counts as zero; smaller values only push 1/xi out of range.
FLOOR = 1e-14
# Turns of (v, xi) in a draw of the horseshoe's scales: phi then mixes as with GIG draws of xi.
TURNS = 2
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
    """

    r: float = 0.5
    s: float = 0.5
    scope: Literal["factor", "row"] = "factor"

    name: ClassVar[str] = "tpbn"
    phrase: ClassVar[str] = "three-parameter beta normal shrinkage prior (horseshoe type)"
    scales: ClassVar[type] = TPBNScales

    @property
    def kept_dims(self) -> dict[str, tuple[str, ...]]:
        """Local variances, and the global rates above them; eta is only what links the two."""
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
        """Scales before anything is known."""
        one = np.ones((n_rows, n_factors))
        phi = np.ones((1, n_factors) if self.scope == "factor" else (n_rows, 1))
        top = np.ones((1, 1) if self.scope == "factor" else (n_rows, 1))
        shape = self.r + self.s
        return TPBNScales(one, one, Gamma(shape, shape * one), Gamma(phi, phi), Gamma(top, top))

    def update(
        self, scales: TPBNScales, squares: Floats, stream: Stream | None = None
    ) -> TPBNScales:
        """Scales given E[a^2], shape (rows, K); with a stream, draws of them."""
        xi, inv_xi = scales.xi, scales.inv_xi
        horseshoe = stream is not None and self.r == self.s == 0.5
        if stream is not None and horseshoe:
            half, inv_phi = 0.5 * np.maximum(squares, FLOOR), 1.0 / scales.phi.mean
            for turn in range(TURNS):
                source = stream.child(turn)
                v = settle(Gamma(1.0, inv_xi + inv_phi), source, "v")
                inv_xi = settle(Gamma(1.0, v.mean + half), source, "xi").mean
            xi = 1.0 / inv_xi
        eta = settle(Gamma(self.r + self.s, xi + scales.phi.mean), stream, "eta")
        eta_mean = eta.mean
        summed, shared = eta_mean.sum(axis=self._axis, keepdims=True), squares.shape[self._axis]
        phi = settle(Gamma(0.5 + self.s * shared, scales.top.mean + summed), stream, "phi")
        top_sum = phi.mean.sum(axis=1, keepdims=True)
        top = settle(Gamma(0.5 + 0.5 * phi.mean.shape[1], 1.0 + top_sum), stream, "top")
        if not horseshoe:
            law = settle(self._xi_law(eta_mean, squares), stream, "xi")
            xi, inv_xi = law.mean, law.inv_mean
        return TPBNScales(xi, inv_xi, eta, phi, top)

    def _xi_law(self, eta: Floats, squares: Floats) -> GeneralisedInverseGaussian:
        return GeneralisedInverseGaussian(self.r - 0.5, 2.0 * eta, np.maximum(squares, FLOOR))

    def precision(self, scales: TPBNScales) -> Floats:
        """E[1/xi], shape (rows, K)."""
        return scales.inv_xi

    def unit(self, scales: TPBNScales) -> Floats:
        """1 / E[phi], shape (rows, K)."""
        return np.broadcast_to(1.0 / scales.phi.mean, scales.xi.shape)

    def profile(self, ratio: Floats) -> Floats:
        """Largest bound of an entry over the laws of its xi and eta, at E[a^2] over E[phi]."""
        c, rate = self.r + self.s, 1.0 + np.sqrt(ratio)
        for _ in range(PROFILE_STEPS):
            rate = 1.0 + self._xi_law(c / rate, ratio).mean
        return np.asarray(
            self._xi_law(c / rate, ratio).log_normaliser - c * (np.log(rate) + 1.0 / rate)
        )

    def stretch(self, scales: TPBNScales, squares: Floats) -> Stretch:
        """Density of u with xi, eta and, with scope "factor", phi in the new unit."""
        if self.scope == "factor":
            rate = (scales.top.mean * scales.phi.mean)[0]
            return Stretch(0.5, rate, np.zeros_like(rate))
        inverse = (scales.phi.mean * scales.eta.mean).sum(axis=0)
        return Stretch(-self.s * len(squares), np.zeros_like(inverse), inverse)

    def stretched(self, scales: TPBNScales, u: Floats) -> TPBNScales:
        """Scales in the new unit."""
        phi = Point(scales.phi.mean * u) if self.scope == "factor" else scales.phi
        eta = Point(scales.eta.mean / u)
        return TPBNScales(scales.xi * u, scales.inv_xi / u, eta, phi, scales.top)

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
            + phi.expected_log_prior(0.5, top.mean, top.log_mean)
            + phi.entropy()
            + top.gain_over(0.5, 1.0)
        )
