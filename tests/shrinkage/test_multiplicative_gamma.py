import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, gammaln

from rankfactor import InputError
from rankfactor.shrinkage import MultiplicativeGamma


@pytest.mark.parametrize("prior", [MultiplicativeGamma(), MultiplicativeGamma(0.8, 0.5, 6.0)])
def test_updates_never_lower_the_bound(prior):
    squares = np.random.default_rng(0).exponential(size=(9, 5)) ** 4
    scales = prior.update(prior.start(9, 5), squares)
    bounds = []
    for _ in range(40):
        bounds.append(prior.bound(scales, squares))
        scales = prior.update(scales, squares)
    assert np.diff(bounds).min() > -1e-9
    assert bounds[-1] > bounds[0]


def test_bound_by_sampling():
    """E_q[log p - log q] over draws of phi and delta, every density written out."""
    prior = MultiplicativeGamma(2.0, 1.5, 2.5)
    rng = np.random.default_rng(0)
    squares = np.array([[0.8, 0.1, 0.02], [0.3, 0.4, 0.1]])
    scales = prior.update(prior.update(prior.start(2, 3), squares), squares)

    def log_gamma(x, shape, rate):
        return shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x

    n = 200_000
    phi = rng.gamma(scales.phi.shape, 1 / scales.phi.rate, (n, 2, 3))
    delta = rng.gamma(scales.delta.shape, 1 / scales.delta.rate, (n, 3))
    precision = phi * np.cumprod(delta, axis=1)[:, None, :]
    normal = 0.5 * (np.log(precision / (2 * np.pi)) - precision * squares)
    log_p = (normal + log_gamma(phi, 1.0, 1.0)).sum(axis=(1, 2))
    log_p += log_gamma(delta, np.array([1.5, 2.5, 2.5]), 1.0).sum(axis=1)
    log_q = log_gamma(phi, scales.phi.shape, scales.phi.rate).sum(axis=(1, 2))
    log_q += log_gamma(delta, scales.delta.shape, scales.delta.rate).sum(axis=1)
    terms = log_p - log_q
    error = terms.std() / np.sqrt(n)
    assert abs(prior.bound(scales, squares) - terms.mean()) < 5 * error
    assert error < 0.01


def test_fixed_point_is_that_of_the_printed_conditionals():
    """After convergence every law is its conditional given the others."""
    prior, squares = MultiplicativeGamma(), np.random.default_rng(1).exponential(size=(6, 4))
    scales = prior.start(6, 4)
    for _ in range(2000):
        scales = prior.update(scales, squares)
    delta, tau = scales.delta.mean, scales.tau
    assert_allclose(scales.phi.shape, 2.0)
    assert_allclose(scales.phi.rate, 0.5 * (3.0 + tau * squares), rtol=1e-6)
    summed = (scales.phi.mean * squares).sum(axis=0)
    for index in range(4):
        shape = (2.1 if index == 0 else 3.1) + 6 * (4 - index) / 2
        rate = 1 + 0.5 * sum(tau[k] / delta[index] * summed[k] for k in range(index, 4))
        assert_allclose(delta[index], shape / rate, rtol=1e-6)
    log_delta = digamma(scales.delta.shape) - np.log(scales.delta.rate)
    assert_allclose(scales.log_tau, np.cumsum(log_delta))


def test_later_factors_are_shrunk_harder():
    """Columns of equal size: the prior's order alone makes the difference."""
    prior = MultiplicativeGamma()
    scales = prior.start(3, 6)
    for _ in range(500):
        scales = prior.update(scales, np.full((3, 6), 0.1))
    assert (np.diff(prior.precision(scales).mean(axis=0)) > 0).all()


def test_empty_columns_are_switched_off():
    rng = np.random.default_rng(0)
    squares = np.column_stack([rng.exponential(size=200), np.full((200, 2), 1e-8)])
    prior = MultiplicativeGamma()
    scales = prior.start(200, 3)
    for _ in range(200):
        scales = prior.update(scales, squares)
    precision = prior.precision(scales)
    assert precision[:, 1:].min() > 500 * np.median(precision[:, 0])


@pytest.mark.parametrize("bad", [{"scope": "row"}, {"nu": 0.0}, {"a1": -1.0}, {"a2": np.inf}])
def test_hyper_parameters_out_of_range(bad):
    with pytest.raises(InputError, match="of MultiplicativeGamma must be"):
        MultiplicativeGamma(**bad)
