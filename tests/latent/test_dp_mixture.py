from dataclasses import fields, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from tests.engine.hand_built import certain

from rankfactor.errors import InputError
from rankfactor.kernels.packed import pack, unpack
from rankfactor.kernels.rng import Stream
from rankfactor.latent import DPMixture, Mixture
from rankfactor.laws.beta import Beta
from rankfactor.laws.gamma import Gamma
from rankfactor.laws.normal import Normal

N, K, T = 30, 2, 4
HYPER = DPMixture(T, 1.3, 0.8, centre_precision=0.5, scale_shape=2.0, scale_rate=3.0)


def scores(seed=0, n=N, reach=8.0):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((n, K, 5))
    precision = pack(a @ a.transpose(0, 2, 1))
    return Normal.from_natural(precision, reach * rng.standard_normal((n, K)))


def some_mixture(seed=0):
    """A mixture with arbitrary laws."""
    rng = np.random.default_rng(seed)
    R = rng.dirichlet(np.ones(T), size=N)
    return Mixture(
        HYPER,
        R,
        Normal.isotropic(rng.standard_normal((T, K)), 0.3),
        Gamma(rng.gamma(5.0, size=T), rng.gamma(5.0, size=T)),
        Beta(rng.gamma(5.0, size=T - 1), rng.gamma(5.0, size=T - 1)),
        Gamma(np.array([3.0]), np.array([2.0])),
    )


def test_the_bound_is_an_average_over_draws():
    """E[log p] - E[log q] by Monte Carlo over everything that is learned."""
    rng, z, mixture = np.random.default_rng(1), scores(n=3, reach=1.0), some_mixture()
    mixture = mixture.take(slice(0, 3))
    n, terms = 100_000, np.zeros(100_000)
    covs = unpack(z.cov)
    alpha = rng.gamma(3.0, size=n) / 2.0
    terms += stats.gamma.logpdf(alpha, 1.3, scale=1 / 0.8)
    terms -= stats.gamma.logpdf(alpha, 3.0, scale=1 / 2.0)
    log_share = np.zeros((n, T))
    for t in range(T - 1):
        a, b = mixture.sticks.first[t], mixture.sticks.second[t]
        v = rng.beta(a, b, size=n)
        terms += stats.beta.logpdf(v, 1.0, alpha) - stats.beta.logpdf(v, a, b)
        log_share[:, t] += np.log(v)
        log_share[:, t + 1 :] += np.log1p(-v)[:, None]
    mu = mixture.centres.mean + np.sqrt(0.3) * rng.standard_normal((n, T, K))
    terms += stats.norm.logpdf(mu, scale=np.sqrt(2.0)).sum(axis=(1, 2))
    terms -= stats.norm.logpdf(mu, mixture.centres.mean, np.sqrt(0.3)).sum(axis=(1, 2))
    shape, rate = mixture.psi.shape, mixture.psi.rate
    psi = rng.gamma(shape, size=(n, T)) / rate
    terms += stats.gamma.logpdf(psi, 2.0, scale=1 / 3.0).sum(axis=1)
    terms -= stats.gamma.logpdf(psi, shape, scale=1 / rate).sum(axis=1)
    for i in range(3):
        law = stats.multivariate_normal(z.mean[i], covs[i])
        x = law.rvs(n, random_state=rng)
        t = rng.choice(T, size=n, p=mixture.responsibilities[i])
        at = np.arange(n), t
        density = stats.norm.logpdf(x, mu[at], 1 / np.sqrt(psi[at])[:, None]).sum(axis=1)
        terms += density + log_share[at] - law.logpdf(x)
        terms -= np.log(mixture.responsibilities[i, t])
    error = terms.std() / np.sqrt(n)
    assert abs(mixture.bound(z) - terms.mean()) < 5 * error
    assert error < 0.1


def moved(law, rng):
    """A law near the given one."""
    if isinstance(law, Normal):
        return Normal.isotropic(
            law.mean + 0.05 * rng.standard_normal(law.mean.shape), law.cov[0, 0]
        )
    parts = [getattr(law, one.name) for one in fields(law)]
    shape = np.broadcast_shapes(*map(np.shape, parts))
    return type(law)(
        *(np.broadcast_to(one, shape) * np.exp(0.1 * rng.standard_normal(shape)) for one in parts)
    )


@pytest.mark.parametrize("name", ["centres", "psi", "sticks", "alpha"])
def test_every_update_is_the_best_there_is(name):
    """Given all the rest, no other law of the same form has a larger bound."""
    rng, z, mixture = np.random.default_rng(2), scores(), some_mixture()
    for _ in range(500):  # to a fixed point, where each law is optimal given the others
        mixture = mixture.update(z)
    best = mixture.bound(z)
    for _ in range(20):
        other = replace(mixture, **{name: moved(getattr(mixture, name), rng)})
        assert other.bound(z) < best


def test_responsibilities_are_the_best_there_are():
    rng, z = np.random.default_rng(3), scores()
    mixture = some_mixture().assign(z)
    best = mixture.bound(z)
    assert best > some_mixture().bound(z)
    for _ in range(20):
        R = mixture.responsibilities * np.exp(0.1 * rng.standard_normal((N, T)))
        other = replace(mixture, responsibilities=R / R.sum(axis=1, keepdims=True))
        assert other.bound(z) < best


def test_updates_never_lower_the_bound():
    z, mixture, bounds = scores(), some_mixture(), []
    for _ in range(30):
        mixture = mixture.assign(z)
        bounds.append(mixture.bound(z))
        mixture = mixture.update(z)
        bounds.append(mixture.bound(z))
    assert np.diff(bounds).min() > -1e-9


def test_natural_form_is_the_average_of_the_components():
    mixture = some_mixture()
    precision, shift = mixture.natural(N, K)
    for n in (0, 17):
        P, h = np.zeros((K, K)), np.zeros(K)
        for t in range(T):
            weight = mixture.responsibilities[n, t] * mixture.psi.mean[t]
            P += weight * np.eye(K)
            h += weight * mixture.centres.mean[t]
        assert_allclose(unpack(precision)[n], P)
        assert_allclose(shift[n], h)
        assert_allclose(mixture.law(N, K).mean[n], np.linalg.solve(P, h))


def test_evidence_moves_responsibilities():
    z, mixture = scores(), some_mixture()
    plain = mixture.assign(z).responsibilities
    evidence = np.random.default_rng(0).standard_normal((N, T))
    seen = mixture.assign(z, evidence).responsibilities
    expected = plain * np.exp(evidence)
    assert_allclose(seen, expected / expected.sum(axis=1, keepdims=True))


def test_gates_are_the_responsibilities_of_samples_of_average_spread():
    z, mixture = scores(), some_mixture()
    same = Normal(z.mean, np.tile(z.cov[:1], (N, 1)), np.tile(z.log_det[:1], N))
    gates = mixture.gates(same)
    assert_allclose(gates.weights(z.mean), mixture.assign(same).responsibilities, rtol=1e-10)


def test_fresh_samples_have_the_shares():
    mixture = some_mixture()
    v = np.append(np.exp(mixture.sticks.log_mean), 1.0)
    left = np.concatenate([[1.0], np.cumprod(np.exp(mixture.sticks.log_rest))])
    expected = v * left / (v * left).sum()
    assert_allclose(mixture.fresh(3).responsibilities, np.tile(expected, (3, 1)))


def test_start_is_by_nearest_centre_in_order_of_size():
    z = certain(np.repeat([[0.0, 0.0], [1.0, 1.0], [0.0, 2.0]], [3, 10, 5], axis=0))
    mixture = DPMixture(3).start(z, lambda count: np.array([[0.0, 0.1], [0.9, 1.0], [0.0, 1.8]]))
    assert_array_equal(mixture.responsibilities.sum(axis=0), [10, 5, 3])
    # Centres are drawn towards zero by their prior.
    assert_allclose(mixture.centres.mean, [[1, 1], [0, 2], [0, 0]], atol=0.3)
    assert mixture.n_used == 3


def test_number_of_components_in_use():
    R = np.zeros((500, 4))
    R[:, 0] = 1.0
    R[:6, 0], R[:6, 1] = 0.0, 1.0  # more than 1 %
    R[6:9, 0], R[6:9, 2] = 0.0, 1.0  # less
    assert replace(some_mixture(), responsibilities=R).n_used == 2
    few = np.array([[1.0, 0.0, 0.0, 0.0], [0.4, 0.6, 0.0, 0.0]])
    assert replace(some_mixture(), responsibilities=few).n_used == 1


@pytest.mark.slow
def test_draws_average_to_the_laws():
    """Gibbs conditionals are the laws of mean field where the rest is known."""
    z, start = scores(), some_mixture()
    start = start.draw(Stream.from_seed(0))
    certain_z = certain(z.mean)
    sizes = start.responsibilities.sum(axis=0)
    draws = [start.update(certain_z, Stream.from_seed(i)) for i in range(4000)]
    v = np.array([one.sticks.value for one in draws])
    beyond = np.cumsum(sizes[::-1])[::-1][1:]
    expected = (1 + sizes[:-1]) / (1 + sizes[:-1] + start.alpha.mean + beyond)
    assert (np.abs(v.mean(axis=0) - expected) < 5 * v.std(axis=0) / np.sqrt(4000)).all()
    mu = np.array([one.centres.mean for one in draws])
    p = HYPER.centre_precision + start.psi.mean * sizes
    mean = (start.psi.mean / p)[:, None] * (start.responsibilities.T @ z.mean)
    assert (np.abs(mu.mean(axis=0) - mean) < 5 / np.sqrt(4000 * p)[:, None]).all()
    assert_allclose(mu.var(axis=0), np.tile(1 / p, (K, 1)).T, rtol=0.15)


def test_one_component():
    z = scores()
    mixture = DPMixture(1).start(z, lambda count: z.mean[:count])
    assert_array_equal(mixture.assign(z).responsibilities, np.ones((N, 1)))
    assert mixture.log_share == 0.0
    assert np.isfinite(mixture.bound(z))
    drawn = mixture.draw(Stream.from_seed(0)).update(certain(z.mean), Stream.from_seed(1))
    assert np.isfinite(drawn.psi.mean).all()


@pytest.mark.parametrize(
    ("name", "value"),
    [("n_components", 0), ("n_components", 2.5), ("scale_rate", -1.0), ("centre_precision", 0)],
)
def test_hyper_parameters_are_checked(name, value):
    with pytest.raises(InputError, match=name):
        DPMixture(**{name: value})
