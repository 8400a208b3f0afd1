import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import digamma, gammaln

from rankfactor.shrinkage import TPBN


@pytest.mark.parametrize("scope", ["factor", "row"])
@pytest.mark.parametrize(("r", "s"), [(0.5, 0.5), (1.0, 0.5), (0.7, 1.4)])
def test_updates_never_lower_the_bound(scope, r, s):
    squares = np.random.default_rng(0).exponential(size=(9, 4)) ** 4
    prior = TPBN(r, s, scope)
    scales = prior.update(prior.start(9, 4), squares)
    bounds = []
    for _ in range(40):
        bounds.append(prior.bound(scales, squares))
        scales = prior.update(scales, squares)
    assert np.diff(bounds).min() > -1e-9
    assert bounds[-1] > bounds[0]


def test_bound_by_quadrature():
    """One entry: every expectation of the bound is integrated or written out by hand."""
    prior, squares = TPBN(0.7, 1.4), np.array([[0.8]])
    scales = prior.update(prior.update(prior.start(1, 1), squares), squares)
    eta, phi, top = scales.eta, scales.phi, scales.top

    def log_gamma_prior(shape, rate, log_rate, x, log_x):
        return shape * log_rate - gammaln(shape) + (shape - 1) * log_x - rate * x

    def gamma_entropy(law):
        a, b = float(np.squeeze(law.shape)), float(np.squeeze(law.rate))
        return a - np.log(b) + gammaln(a) + (1 - a) * digamma(a)

    eta_mean, eta_log = eta.mean.item(), eta.log_mean.item()
    phi_mean, phi_log = phi.mean.item(), phi.log_mean.item()
    top_mean, top_log = top.mean.item(), top.log_mean.item()

    def joint(xi):  # E[log N(a; 0, xi) Ga(xi; r, eta)] over a and eta
        normal = -0.5 * np.log(2 * np.pi * xi) - 0.5 * squares.item() / xi
        return normal + log_gamma_prior(0.7, eta_mean, eta_log, xi, np.log(xi))

    total = quad(lambda t: np.exp(joint(np.exp(t)) + t), -40, 20, limit=400)[0]
    expected = (
        np.log(total)  # E[log p] + entropy of xi at its optimum
        + log_gamma_prior(1.4, phi_mean, phi_log, eta_mean, eta_log)
        + log_gamma_prior(0.5, top_mean, top_log, phi_mean, phi_log)
        + log_gamma_prior(0.5, 1.0, 0.0, top_mean, top_log)
        + sum(gamma_entropy(law) for law in (eta, phi, top))
    )
    assert_allclose(prior.bound(scales, squares), expected, rtol=1e-8)


def test_empty_column_is_switched_off():
    rng = np.random.default_rng(0)
    squares = np.column_stack([rng.exponential(size=200), np.full(200, 1e-8)])
    prior = TPBN()
    scales = prior.start(200, 2)
    for _ in range(200):
        scales = prior.update(scales, squares)
    precision = prior.precision(scales)
    assert precision[:, 1].min() > 1e3 * np.median(precision[:, 0])


def test_rows_are_independent_when_the_scope_is_a_row():
    squares = np.random.default_rng(0).exponential(size=(3, 5))
    prior = TPBN(scope="row")

    def precision(part):
        scales = prior.start(*part.shape)
        for _ in range(10):
            scales = prior.update(scales, part)
        return prior.precision(scales)

    assert_allclose(precision(squares)[1:2], precision(squares[1:2]))
