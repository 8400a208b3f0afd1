"""Student's t features: a complete data likelihood, to copy when you add one of your own.

This file is all there is to it: once it is imported the likelihood can be chosen by its name, is
fitted by both engines, saved, loaded and named in reports.

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
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from rankfactor.errors import check_positive
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal
from rankfactor.laws.products import AnyColumns
from rankfactor.likelihoods.base import Sites, Statistics, Tile

# How values become observations, where a fit starts and the precision t with its prior are those of
# all likelihoods of standardised values. A likelihood of levels derives from `CutLikelihood`. One
# that needs other codings or parameters writes two frozen dataclasses, a coding with `columns` (the
# features that vary) and `observe`, and a `RowArrays` with `draw` and `pool`, and names them in
# `coding` and `parameters`.
from rankfactor.likelihoods.gaussian import Noise, StandardisedLikelihood
from rankfactor.typing import Floats


@dataclass(frozen=True)
class StudentT(StandardisedLikelihood):
    """Student's t likelihood. Fields are hyper-parameters with defaults.

    Attributes
    ----------
    shape, rate : float
        Prior of the precision t of a standardised feature.
    freedom : float
        Degrees of freedom nu; large values are nearly Gaussian.
    """

    freedom: float = 4.0

    name: ClassVar[str] = "student_t"  # what it is chosen and saved by
    phrase: ClassVar[str] = "Student t likelihood"  # what a report calls it

    def __post_init__(self) -> None:
        """Refuse hyper-parameters out of range."""
        check_positive("freedom", self.freedom)

    def _weights(self, tile: Tile) -> tuple[Floats, Floats]:
        """E[u] or a draw of u, and E[(x - w)^2], (rows, samples) each; zero where missing."""
        seen = ~np.isnan(tile.observed)
        squares = (np.nan_to_num(tile.observed) - tile.w) ** 2
        if tile.chance is None:
            squares = squares + tile.var_w
        rate = 0.5 * (self.freedom + tile.params.precision[:, None] * squares)
        shape = np.full_like(rate, 0.5 * (self.freedom + 1.0))
        chance = tile.chance
        u = Gamma(shape, rate).mean if chance is None else chance.draw(Gamma, shape, rate)
        return u * seen, squares * seen

    def sites(self, tile: Tile) -> Sites:
        """Sites of a tile, each array of shape (rows, samples)."""
        tau = tile.params.precision[:, None] * self._weights(tile)[0]
        return Sites(tau, tau * np.nan_to_num(tile.observed))

    def statistics(self, tile: Tile, columns: AnyColumns) -> Statistics:
        """Sums over samples, for unit precision: `system` multiplies by the precision."""
        u, squares = self._weights(tile)
        distance = tile.params.precision[:, None] * squares / self.freedom
        return {
            "second": columns.sum_second(u),
            "shift": (u * np.nan_to_num(tile.observed)) @ columns.mean,
            "count": (~np.isnan(tile.observed)).sum(axis=1).astype(np.float64),
            "residuals": (u * squares).sum(axis=1),
            "log_distance": np.log1p(distance).sum(axis=1),
        }

    def bound(self, statistics: Statistics, rows: Normal, params: Noise) -> float:
        """E[log likelihood] and its weights, at the rows the statistics were made."""
        nu = self.freedom
        constant = gammaln(0.5 * (nu + 1.0)) - gammaln(0.5 * nu) - 0.5 * np.log(np.pi * nu)
        terms = statistics["count"] * (constant + 0.5 * params.log_precision)
        return float(np.sum(terms - 0.5 * (nu + 1.0) * statistics["log_distance"]))
