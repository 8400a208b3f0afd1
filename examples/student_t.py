"""Student's t features: a complete data likelihood, to copy when you add one of your own.

    x_in | w_in ~ t_nu(w_in, 1/t_i),   w_in = a_i . z_n + m_i,   t_i ~ Ga(shape, rate),

with known degrees of freedom nu, so that outliers pull less than under a Gaussian. It is locally
Gaussian in w once augmented by a weight for every entry:

    x_in | w, u ~ N(w_in, 1/(t_i u_in)),           u_in ~ Ga(nu/2, nu/2),
    u_in | rest ~ Ga((nu + 1)/2, (nu + T_in)/2),   T_in = t_i (x_in - w_in)^2,
    t_i | rest  ~ Ga(shape + N_i/2, rate + sum_n u_in (x_in - w_in)^2 / 2).

Every conditional is written once: variational Bayes takes its mean, with E[t] E[(x - w)^2] for T,
Gibbs sampling a draw. Site: tau = t u, rho = t u x. With the optimal q(u) an entry adds

    log Gamma((nu + 1)/2) - log Gamma(nu/2) + (E[log t] - log(nu pi) - (nu + 1) log(1 + T/nu)) / 2

to the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns
from rankfactor.likelihoods.base import Chance, DataLikelihood, Observed, Sites, Statistics

# What turns values into observations, and the parameters of its own, are those of the Gaussian
# likelihood. A likelihood that needs others writes two frozen dataclasses: a coding with `columns`
# (the features that vary) and `observe`, and a `RowArrays` with `draw` and `pool`.
from rankfactor.likelihoods.gaussian import Gaussian, Noise, Scaling
from rankfactor.typing import Floats


@dataclass(frozen=True)
class StudentT(DataLikelihood[Noise]):
    """Student's t likelihood. Fields are hyper-parameters with defaults.

    Attributes
    ----------
    freedom : float
        Degrees of freedom nu; large values are nearly Gaussian.
    shape, rate : float
        Prior of the precision t of a standardised feature.
    """

    freedom: float = 4.0
    shape: float = 1e-2
    rate: float = 1e-2

    has_intercept: ClassVar[bool] = True  # the rows end in the mean m_i
    needs_variance: ClassVar[bool] = True  # the sites depend on Var(w)

    def learn(self, values: Floats) -> Scaling:
        """Coding of a training table, shape (samples, features); the model keeps it."""
        return Gaussian().learn(values)

    def normal_scores(self, observed: Observed) -> Observed:
        """Values of about unit variance for the starting point, zero where missing."""
        return Gaussian().normal_scores(observed)

    def start(self, coding: Scaling, observed: Observed, loadings: Floats) -> Noise:
        """Parameters at the starting loadings, shape (d, K)."""
        return Gaussian().start(coding, observed, loadings)

    def noise_variance(self, params: Noise) -> Floats:
        """Variance of what w leaves unexplained, shape (d,)."""
        return np.asarray(1.0 / params.precision)

    def _weights(
        self,
        observed: NDArray[Any],
        w: Floats,
        var_w: Floats,
        params: Noise,
        chance: Chance | None,
    ) -> tuple[Floats, Floats]:
        """E[u] or a draw of u, and E[(x - w)^2], (rows, samples) each; zero where missing."""
        seen = ~np.isnan(observed)
        squares = (np.nan_to_num(observed) - w) ** 2
        if chance is None:
            squares = squares + var_w
        laws = Gamma(
            0.5 * (self.freedom + 1.0), 0.5 * (self.freedom + params.precision[:, None] * squares)
        )
        if chance is None:
            u = laws.mean
        else:

            def draw(i: int, stream: Stream, first: int) -> Floats:
                return Gamma(laws.shape, laws.rate[i]).draw(stream, first)

            u = chance.by_row(draw, len(observed))
        return u * seen, squares * seen

    def sites(
        self,
        observed: NDArray[Any],
        w: Floats,
        var_w: Floats,
        params: Noise,
        chance: Chance | None = None,
    ) -> Sites:
        """Sites of a tile, each array of shape (rows, samples)."""
        tau = params.precision[:, None] * self._weights(observed, w, var_w, params, chance)[0]
        return Sites(tau, tau * np.nan_to_num(observed))

    def statistics(
        self,
        observed: NDArray[Any],
        w: Floats,
        var_w: Floats,
        params: Noise,
        design: AnyColumns,
        chance: Chance | None = None,
    ) -> Statistics:
        """Sums over samples, for unit precision: `system` multiplies by the precision."""
        u, squares = self._weights(observed, w, var_w, params, chance)
        distance = params.precision[:, None] * squares / self.freedom
        return {
            "second": design.sum_second(u),
            "shift": (u * np.nan_to_num(observed)) @ design.mean,
            "count": (~np.isnan(observed)).sum(axis=1).astype(np.float64),
            "residuals": (u * squares).sum(axis=1),
            "log_distance": np.log1p(distance).sum(axis=1),
        }

    def bound(self, statistics: Statistics, rows: Normal, params: Noise) -> float:
        """E[log likelihood] and its weights, at the rows the statistics were made."""
        nu = self.freedom
        constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(np.pi * nu)
        terms = statistics["count"] * (constant + 0.5 * params.log_precision)
        return float(np.sum(terms - 0.5 * (nu + 1.0) * statistics["log_distance"]))

    def update(self, statistics: Statistics, rows: Normal, params: Noise) -> Noise:
        """Law of the precision given the rows and the weights; Gibbs sampling draws from it."""
        return Noise.of(
            self.shape + 0.5 * statistics["count"],
            self.rate + 0.5 * statistics["residuals"],
        )

    def system(self, statistics: Statistics, params: Noise) -> tuple[Floats, Floats]:
        """Packed precision (rows, P) and shift (rows, K) that the data add to each row."""
        t = params.precision[:, None]
        return t * statistics["second"], t * statistics["shift"]

    def params_bound(self, params: Noise) -> float:
        """E[log p(t)] - E[log q(t)]."""
        rate = np.full(params.rate.shape, self.rate)
        return params.law.expected_log_prior(self.shape, rate, np.log(rate)) + params.law.entropy()
