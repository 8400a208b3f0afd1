r"""Dirichlet-process mixture of the factor scores, truncated at T components.

    z_n | t_n ~ N(mu_t, I / psi_t),     t_n ~ q,     q_t = v_t prod_{s<t} (1 - v_s),
    v_t ~ Beta(1, alpha) for t < T, v_T = 1,         alpha ~ Ga(a, b),
    mu_t ~ N(0, I / nu),                psi_t ~ Ga(psi_s, psi_r)            (shape, rate)

and every component has its own row of coefficients for every label, in the labels' view
(`rankfactor.classifiers.per_component`). With R_nt = q(t_n = t), N_t its sum over n, and ``D_nt =
E|z_n - mu_t|^2``, mean field (Blei and Jordan 2006) gives

    log R_nt = E[log q_t] + K/2 E[log psi_t] - E[psi_t]/2 D_nt + evidence of the labels + const
    q(v_t)   = Beta(1 + N_t, E[alpha] + sum_{s>t} N_s)
    q(alpha) = Ga(a + T - 1, b - sum_t E[log(1 - v_t)])
    q(mu_t)  = N( E[psi_t] sum_n R_nt E[z_n] / p, I / p ),    p = nu + E[psi_t] N_t
    q(psi_t) = Ga(psi_s + K N_t / 2, psi_r + 1/2 sum_n R_nt D_nt)

(the paper's rate has mu_t^2 in place of D_nt, its shape K/2 without N_t, and its t_n ignores the
label), and a sample's scores have the normal prior of precision ``sum_t R_nt E[psi_t]`` and shift
``sum_t R_nt E[psi_t] E[mu_t]``. Gibbs sampling (the blocked sampler of Ishwaran and James 2001)
draws from the same distributions: R_nt is then an indicator.

The scale of z. ``w = a . z`` does not change if z, mu and 1/sqrt(psi) are multiplied by c and A is
divided by it, and the shrinkage prior of A learns its scale; so only the priors of mu and psi
determine the unit of z. Along c, and over the components in use, the bound changes as

    sum_t [ (K - 2 psi_s) log c - c^2 nu E|mu_t|^2 / 2 - psi_r E[psi_t] / c^2 ].

The paper's psi ~ Ga(1.1, 0.001) has mean 1100 and leaves the scale to the centres alone. Here psi_s
= psi_r, so that the unit is about the spread within a component, and nu = 1: a mixture of one
component is nearly the standard normal prior. The prior weighs as much as 2 psi_s / K samples per
component. With a much larger weight, it widens tight components at the initial scores, which have
unit spread in total; with a smaller one, it leaves the scale undetermined. Mean field moves along c
by very small steps: a fit that stops at the usual tolerance has scores near their initial unit
spread, and only very long fits to tight clusters continue to a larger one. The labels' shrinkage
prior learns its scale like that of A, so decisions hardly depend on c. The sampler draws c
(`rankfactor.engine.expansion`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import ClassVar

import numpy as np

from rankfactor.errors import check_count, check_positive
from rankfactor.kernels.packed import packed_diagonal
from rankfactor.kernels.rng import Stream
from rankfactor.latent.base import Latent, ScorePrior
from rankfactor.latent.gates import USED_SHARE, Gates
from rankfactor.laws.beta import Beta, Share
from rankfactor.laws.categorical import Categorical, entropy, indicators
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal
from rankfactor.laws.point import Point, settle
from rankfactor.typing import Floats, Index

_START_STEPS = 5  # of the parameters, at the starting assignment


@dataclass(frozen=True)
class DPMixture(Latent):
    """Dirichlet-process mixture of spherical normals.

    Attributes
    ----------
    n_components : int
        T, the truncation of the process.
    concentration_shape, concentration_rate : float
        a and b of alpha.
    centre_precision : float
        nu.
    scale_shape, scale_rate : float
        psi_s and psi_r.
    """

    n_components: int = 10
    concentration_shape: float = 1.0
    concentration_rate: float = 1.0
    centre_precision: float = 1.0
    scale_shape: float = 10.0
    scale_rate: float = 10.0

    name: ClassVar[str] = "dp_mixture"
    phrase: ClassVar[str] = "Dirichlet process mixture of normals"

    def __post_init__(self) -> None:
        """Refuse hyper-parameters out of range."""
        check_count("n_components", self.n_components)
        for field in fields(self)[1:]:
            check_positive(field.name, getattr(self, field.name))

    def start(self, z: Normal, centres: Callable[[int], Floats]) -> Mixture:
        """Every sample with the nearest of T centres, components by decreasing size."""
        T = int(self.n_components)
        places = centres(T)
        nearest = ((z.mean[:, None, :] - places) ** 2).sum(axis=2).argmin(axis=1)
        order = np.argsort(-np.bincount(nearest, minlength=T), kind="stable")
        R = indicators(np.argsort(order)[nearest], T)
        mixture = Mixture(
            self,
            R,
            Normal.isotropic(places[order], 1.0 / self.centre_precision),
            Gamma(np.full(T, self.scale_shape), np.full(T, self.scale_rate)),
            Beta(np.ones(T - 1), np.ones(T - 1)),
            Gamma(np.full(1, self.concentration_shape), np.full(1, self.concentration_rate)),
        )
        for _ in range(_START_STEPS):
            mixture = mixture.update(z)
        return mixture


@dataclass(frozen=True)
class Mixture(ScorePrior):
    """Learned parameters of a mixture, and its samples' responsibilities."""

    hyper: DPMixture
    responsibilities: Floats  # (N, T): R; indicators when drawn
    centres: Normal  # (T, K): mu
    psi: Gamma | Point  # (T,)
    sticks: Beta | Share  # (T - 1,): v
    alpha: Gamma | Point  # (1,)

    @property
    def n_components(self) -> int:
        """T."""
        return len(self.centres.mean)

    @property
    def n_used(self) -> int:
        """Number of components with at least 1 % of the samples, and at least one."""
        sizes = self.responsibilities.sum(axis=0)
        return int((sizes >= max(USED_SHARE * len(self.responsibilities), 1.0)).sum())

    @property
    def log_share(self) -> Floats:
        """E[log q_t], shape (T,)."""
        left = np.concatenate([[0.0], np.cumsum(self.sticks.log_rest)])
        return np.asarray(left + np.append(self.sticks.log_mean, 0.0))

    def natural(self, n_samples: int, n_factors: int) -> tuple[Floats, Floats]:
        """Packed precision (n, P) and shift (n, K) of its samples, in separate arrays."""
        weight = self.responsibilities * self.psi.mean  # (n, T)
        return packed_diagonal(weight.sum(axis=1), n_factors), weight @ self.centres.mean

    def take(self, samples: Index) -> Mixture:
        """The mixture with the responsibilities of some of the samples."""
        return replace(self, responsibilities=self.responsibilities[samples])

    def fresh(self, n_samples: int) -> Mixture:
        """The mixture with unassigned samples: R is the components' shares."""
        R = Categorical(self.log_share[None]).mean
        return replace(self, responsibilities=np.repeat(R, n_samples, axis=0))

    def distances(self, z: Normal) -> Floats:
        """E|z_n - mu_t|^2, shape (n, T)."""
        m = self.centres.mean
        between = (z.mean**2).sum(axis=1)[:, None] - 2 * z.mean @ m.T + (m**2).sum(axis=1)
        spread = z.variance.sum(axis=1)[:, None] + self.centres.variance.sum(axis=1)
        return np.asarray(np.maximum(between, 0.0) + spread)

    def log_density(self, z: Normal) -> Floats:
        """E[log q_t N(z_n; mu_t, I / psi_t)], shape (n, T)."""
        level = self.log_share + 0.5 * z.order * (self.psi.log_mean - np.log(2 * np.pi))
        return np.asarray(level - 0.5 * self.psi.mean * self.distances(z))

    def assign(
        self,
        z: Normal,
        evidence: Floats | None = None,
        stream: Stream | None = None,
        first: int = 0,
    ) -> Mixture:
        """Responsibilities of samples with scores z (n, K) or, with a stream, a draw of t_n."""
        logits = self.log_density(z)
        law = Categorical(logits if evidence is None else logits + evidence)
        R = law.mean if stream is None else law.draw(stream, first)
        return replace(self, responsibilities=R)

    def update(self, z: Normal, stream: Stream | None = None) -> Mixture:
        """Sticks, concentration, centres and psi given scores and responsibilities."""
        hyper, R, order = self.hyper, self.responsibilities, z.order
        sizes = R.sum(axis=0)  # (T,)
        beyond = np.cumsum(sizes[::-1])[::-1][1:]  # (T - 1,): samples in later components
        law = Beta(1.0 + sizes[:-1], self.alpha.mean + beyond)
        sticks = law if stream is None else law.draw(stream.child("sticks"))
        rate = hyper.concentration_rate - sticks.log_rest.sum(keepdims=True)
        shape = hyper.concentration_shape + self.n_components - 1.0
        alpha = settle(Gamma(shape, rate), stream, "alpha")
        p = packed_diagonal(hyper.centre_precision + self.psi.mean * sizes, order)
        centres = Normal.from_natural(p, self.psi.mean[:, None] * (R.T @ z.mean))
        if stream is not None:
            centres = centres.draw(stream.child("centres"))
        moved = replace(self, centres=centres, sticks=sticks, alpha=alpha)
        rate = hyper.scale_rate + 0.5 * (R * moved.distances(z)).sum(axis=0)
        psi = settle(Gamma(hyper.scale_shape + 0.5 * order * sizes, rate), stream, "psi")
        return replace(moved, psi=psi)

    def turned(self, matrix: Floats) -> Mixture:
        """The mixture of the scores ``z @ matrix``, where the matrix (K, K) is orthogonal."""
        return replace(self, centres=self.centres.transformed(matrix))

    def in_unit(self, u: Floats) -> Mixture:
        """A drawn mixture of scores that were divided by ``sqrt(u)``, shape (1,)."""
        centres = replace(self.centres, mean=self.centres.mean / np.sqrt(u))
        return replace(self, centres=centres, psi=Point(self.psi.mean * u))

    def moment(self, z: Normal) -> Floats:
        """S (K, K): that of scores around their centres, and that of the centres."""
        centres, R = self.centres.mean, self.responsibilities
        apart = z.mean - R @ centres
        spread = (apart.T * (R @ self.psi.mean)) @ apart
        return np.asarray(spread + self.hyper.centre_precision * centres.T @ centres)

    def location(self, z: Normal) -> tuple[float, Floats]:
        """Precision and shift (K,) of the law of a vector that is added to scores and centres."""
        nu = self.hyper.centre_precision
        return nu * self.n_components, -nu * self.centres.mean.sum(axis=0)

    def moved(self, by: Floats) -> Mixture:
        """A drawn mixture of scores to which a vector (K,) was added."""
        return replace(self, centres=replace(self.centres, mean=self.centres.mean + by))

    def draw(self, stream: Stream) -> Mixture:
        """One draw of all that is learned, as laws without variance."""
        assert isinstance(self.sticks, Beta)
        with np.errstate(divide="ignore"):
            law = Categorical(np.log(self.responsibilities))
        return replace(
            self,
            responsibilities=law.draw(stream.child("components")),
            centres=self.centres.draw(stream.child("centres")),
            psi=settle(self.psi, stream, "psi"),
            sticks=self.sticks.draw(stream.child("sticks")),
            alpha=settle(self.alpha, stream, "alpha"),
        )

    def bound(self, z: Normal) -> float:
        """E[log p] - E[log q] of the scores, their components and all parameters."""
        hyper, order, T = self.hyper, z.order, self.n_components
        sticks, psi, alpha = self.sticks, self.psi, self.alpha
        assert isinstance(sticks, Beta)
        assert isinstance(psi, Gamma)
        assert isinstance(alpha, Gamma)
        nu = hyper.centre_precision
        known = np.full(1, hyper.concentration_rate)
        psi_rate = np.full(1, hyper.scale_rate)
        scores = float((self.responsibilities * self.log_density(z)).sum())
        shares = float(((alpha.mean - 1.0) * sticks.log_rest).sum() + (T - 1) * alpha.log_mean[0])
        middle = 0.5 * (T * order * np.log(nu / (2 * np.pi)) - nu * self.centres.squares.sum())
        return float(
            scores
            + entropy(self.responsibilities)
            + z.entropy()
            + shares
            + sticks.entropy()
            + alpha.expected_log_prior(hyper.concentration_shape, known, np.log(known))
            + alpha.entropy()
            + middle
            + self.centres.entropy()
            + psi.expected_log_prior(hyper.scale_shape, psi_rate, np.log(psi_rate))
            + psi.entropy()
        )

    def gates(self, z: Normal) -> Gates:
        """Responsibilities as a function of a sample's mean score.

        Gates do not use the variance of a sample's scores; the mean over the given samples (n, K),
        which is nearly that of every complete sample, replaces it.
        """
        psi, spread = self.psi.mean, float(z.variance.sum(axis=1).mean())
        uncertain = spread + self.centres.variance.sum(axis=1)  # (T,)
        level = self.log_share + 0.5 * z.order * (self.psi.log_mean - np.log(psi))
        level -= 0.5 * psi * uncertain
        return Gates(self.centres.mean, psi, level, np.ones(1), np.zeros(1, bool))
