"""Poisson factor analysis by the beta-negative binomial process, by Gibbs sampling.

Zhou, Hannah, Dunson and Carin (2012, AISTATS), truncated at K factors:

    x_in ~ Poisson(sum_k phi_ik theta_kn),      phi_k ~ Dirichlet(a, ..., a) over features,
    theta_kn ~ Gamma(r_k, scale p_k / (1 - p_k)),
    p_k ~ Beta(c / K, c (1 - 1/K)),             r_k ~ Gamma(shape g, rate c_0).

With x_in divided among the factors, x_ikn, multinomial in proportion to phi_ik theta_kn, and sums
written as dots (Zhou and Carin 2015, "Negative binomial process count and mixture modeling"):

    phi_k     ~ Dirichlet(a + x_ik.)
    p_k       ~ Beta(c / K + x_.k., c (1 - 1/K) + N r_k)             theta integrated out
    l_kn      ~ CRT(x_.kn, r_k)                                      tables of a Chinese restaurant
    r_k       ~ Gamma(g + sum_n l_kn, c_0 - N log(1 - p_k))          theta integrated out
    theta_kn  ~ Gamma(r_k + x_.kn, scale p_k)

A missing x_in is drawn with the rest. The chain starts at a maximum of the likelihood, found by
multiplicative updates: with counts in the millions a sweep moves little from any start.

Scores of training and new samples are the mean of the model's own conditional of theta_n at the
mean phi, r and (1 - p) / p: mean field over the division of counts,

    theta_kn ~ Gamma(r_k + sum_i x_in s_ikn, (1 - p_k) / p_k + sum over known i of phi_ik),
    s_ikn prop. phi_ik exp(E log theta_kn),

iterated for every sample separately, so that a score depends neither on a seed nor on other
samples.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.special import digamma, gammaln
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from rankfactor.errors import InputError, check_count
from rankfactor.evaluation.baselines.count_draws import divide_counts, draw_tables
from rankfactor.features.covariates import dense
from rankfactor.features.matching import table_values
from rankfactor.kernels.rng import Stream
from rankfactor.laws.beta import Beta
from rankfactor.laws.gamma import Gamma
from rankfactor.steps.workers import Workers, slices, workers
from rankfactor.typing import Floats

BLOCK = 256  # samples
DIVIDED = 16  # samples divided at a time; small, since tables may have few samples
TINY = 1e-300
ENCODE_STEPS = 300
ENCODE_TOL = 1e-4  # of a sample's total


class Prior(NamedTuple):
    """Hyper-parameters, with the values of Zhou and co-workers as defaults."""

    a: float = 0.05
    c: float = 1.0
    c_0: float = 1.0
    g: float = 1.0


class State(NamedTuple):
    """A point of the chain."""

    phi: Floats  # (D, K), columns add up to 1
    theta: Floats  # (N, K)
    r: Floats  # (K,)
    p: Floats  # (K,)
    rest: Floats  # (K,) 1 - p, stored separately for precision

    @property
    def rate(self) -> Floats:
        """Rate of the prior of theta, shape (K,)."""
        return self.rest / self.p


def start(counts: Floats, n_factors: int, steps: int, stream: Stream, pool: Workers) -> State:
    """A state of high likelihood: a random start, then updates that never lower it."""
    n, d = counts.shape
    phi = 0.5 + Gamma(np.ones((d, n_factors)), np.ones((d, n_factors))).draw(stream.child("phi"))
    phi /= phi.sum(axis=0)
    noise = Gamma(np.ones((n, n_factors)), np.ones((n, n_factors))).draw(stream.child("theta"))
    theta = (0.5 + noise) * (np.nansum(counts, axis=1)[:, None] + 1.0) / n_factors

    def step(some: slice) -> Floats:
        x = counts[some]
        known = ~np.isnan(x)
        ratio = np.where(known, x, 0.0) / np.maximum(theta[some] @ phi.T, TINY)
        theta[some] *= (ratio @ phi) / np.maximum(known @ phi, TINY)
        theta[some] = np.maximum(theta[some], 1e-12)
        # Missing counts are replaced by their rates at the new theta.
        rates = np.maximum(theta[some] @ phi.T, TINY)
        return np.asarray(np.where(known, x / rates, 1.0).T @ theta[some])

    for _ in range(steps):
        phi *= pool.sum(step, slices(n, BLOCK))
        phi = np.maximum(phi / np.maximum(phi.sum(axis=0), TINY), 1e-12)
    ones = np.ones(n_factors)
    mean = theta.mean(axis=0)
    p = mean / (1.0 + mean)
    return State(phi, theta, ones, p, 1.0 / (1.0 + mean))


def sweep(counts: Floats, state: State, prior: Prior, stream: Stream, pool: Workers) -> State:
    """One draw of everything from its conditional law."""
    (n, _), order, r = counts.shape, state.phi.shape[1], state.r
    word = stream.child("counts").word

    def divide(some: slice) -> tuple[Floats, Floats]:
        return divide_counts(  # type: ignore[no-any-return]
            counts[some], state.phi, state.theta[some], word, some.start
        )

    by_feature, parts = np.zeros(state.phi.shape), []
    for of_features, of_samples in pool.stream(divide, slices(n, DIVIDED)):
        by_feature += of_features
        parts.append(of_samples)
    by_sample = np.concatenate(parts)
    phi = Gamma(prior.a + by_feature, np.ones(by_feature.shape)).draw(stream.child("phi"))
    phi /= phi.sum(axis=0)
    total = by_sample.sum(axis=0)
    share = Beta(prior.c / order + total, prior.c * (1.0 - 1.0 / order) + n * r).draw(
        stream.child("p")
    )
    seated = draw_tables(by_sample, r, stream.child("tables").word, 0)
    p, rest = np.maximum(share.value, TINY), np.maximum(share.rest, TINY)
    r = Gamma(prior.g + seated, prior.c_0 - n * np.log(rest)).draw(stream.child("r"))
    rate = np.broadcast_to(1.0 / p, by_sample.shape)
    theta = Gamma(r + by_sample, rate).draw(stream.child("theta"))
    return State(phi, theta, r, p, rest)


def log_likelihood(counts: Floats, phi: Floats, theta: Floats) -> float:
    """Mean Poisson log likelihood per known count of (N, D)."""
    total, number = 0.0, 0
    for some in slices(len(counts), BLOCK):
        x = counts[some]
        known = ~np.isnan(x)
        rates = np.maximum(theta[some] @ phi.T, TINY)[known]
        total += float(np.sum(x[known] * np.log(rates) - rates - gammaln(x[known] + 1.0)))
        number += int(known.sum())
    return total / max(number, 1)


def encode(counts: Floats, phi: Floats, r: Floats, rate: Floats) -> Floats:
    """Mean scores of samples (N, D) given phi (D, K), r and the prior rate (K,); shape (N, K)."""
    parts = [_encode_block(counts[one], phi, r, rate) for one in slices(len(counts), BLOCK)]
    return np.concatenate(parts) if parts else np.empty((0, phi.shape[1]))


def _encode_block(counts: Floats, phi: Floats, r: Floats, rate: Floats) -> Floats:
    known = ~np.isnan(counts)
    x = np.where(known, counts, 0.0)
    rates = rate + known @ phi
    shape = r + x.sum(axis=1, keepdims=True) / len(r)
    scale = np.maximum(x.sum(axis=1), 1.0)
    moving = np.arange(len(x))
    for _ in range(ENCODE_STEPS):
        geometric = np.exp(digamma(shape[moving])) / rates[moving]
        ratio = x[moving] / np.maximum(geometric @ phi.T, TINY)
        new = r + geometric * (ratio @ phi)
        change = np.abs(new - shape[moving]).max(axis=1)
        shape[moving] = new
        # Each sample stops separately, so that its score does not depend on the others.
        moving = moving[change > ENCODE_TOL * scale[moving]]
        if not len(moving):
            break
    return np.asarray(shape / rates)


@dataclass(eq=False, repr=False)
class PoissonFactorAnalysis(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Poisson factor analysis of a table of counts, by Gibbs sampling.

    Parameters
    ----------
    n_factors : int, default 20
        Maximum number of factors; unneeded ones have a small share of the counts.
    burn_in, n_draws, start_steps : int, default 100, 100 and 200
        Burn-in sweeps, draws that are averaged, and multiplicative updates for the starting point.
    random_state : int, RandomState or None, default 0
    n_threads : int or None
        Threads, None for all cores; results do not depend on it.

    Attributes
    ----------
    loadings_ : array, shape (n_features, n_factors)
        Mean of phi: columns add up to 1.
    r_, rate_ : array, shape (n_factors,)
        Means of r and of (1 - p) / p.
    shares_ : array, shape (n_factors,)
        Mean share of all counts by factor.
    log_likelihood_ : array, shape (burn_in + n_draws,)
        Mean log likelihood per entry, by sweep.

    Examples
    --------
    >>> import numpy as np
    >>> from rankfactor.evaluation.baselines import PoissonFactorAnalysis
    >>> counts = np.random.default_rng(0).poisson(3.0, (30, 8))
    >>> PoissonFactorAnalysis(n_factors=2).fit_transform(counts).shape
    (30, 2)
    """

    n_factors: int = 20
    burn_in: int = 100
    n_draws: int = 100
    start_steps: int = 200
    random_state: Any = 0
    n_threads: int | None = None

    def fit(self, X: Any, y: Any = None) -> Self:
        """Sample from the posterior given counts (N, D); NaN = missing."""
        counts = self._counts(X)
        order = check_count("n_factors", self.n_factors)
        burn_in, n_draws = (check_count(k, getattr(self, k)) for k in ("burn_in", "n_draws"))
        steps = check_count("start_steps", self.start_steps)
        seed = check_random_state(self.random_state).randint(np.iinfo(np.int32).max)
        stream, prior = Stream.from_seed(seed), Prior()
        phi, r, rate = np.zeros((counts.shape[1], order)), np.zeros(order), np.zeros(order)
        shares = np.zeros(order)
        history = []
        with workers(self.n_threads) as pool:
            state = start(counts, order, steps, stream.child("start"), pool)
            for number in range(burn_in + n_draws):
                state = sweep(counts, state, prior, stream.child("sweep", number), pool)
                history.append(log_likelihood(counts, state.phi, state.theta))
                if number >= burn_in:
                    phi += state.phi / n_draws
                    r += state.r / n_draws
                    rate += state.rate / n_draws
                    shares += state.theta.sum(axis=0) / state.theta.sum() / n_draws
        self.loadings_, self.r_, self.rate_, self.shares_ = phi, r, rate, shares
        self.log_likelihood_ = np.array(history)
        self.n_features_in_ = counts.shape[1]
        return self

    def transform(self, X: Any) -> Floats:
        """Scores of samples, shape (n_samples, n_factors), by the model's own conditional."""
        check_is_fitted(self, "loadings_")
        counts = self._counts(X)
        if counts.shape[1] != self.n_features_in_:
            raise InputError(
                f"the table has {counts.shape[1]} features but the model has "
                f"{self.n_features_in_}: give the same ones in the same order."
            )
        with workers(1):
            return encode(counts, self.loadings_, self.r_, self.rate_)

    def _counts(self, X: Any) -> Floats:
        counts = np.ascontiguousarray(dense(table_values(X, estimator=self)), np.float64)
        bad = (counts < 0) | (counts != np.rint(counts)) & ~np.isnan(counts)
        if bad.any():
            n, i = (int(one[0]) for one in np.nonzero(bad))
            raise InputError(
                f"the value {counts[n, i]:g} in row {n + 1}, column {i + 1} is not a count: give "
                "whole numbers of at least 0, or use PFAClassifier, which rescales."
            )
        return counts

    def __sklearn_tags__(self) -> Any:
        """Counts, with missing values."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.positive_only = True
        return tags
