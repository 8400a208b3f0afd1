"""Sites of probit labels with any weight, as the Gibbs sampler draws them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr
from scipy.stats import norm
from tests.simulate import simulate

from rankfactor import Gibbs, RankFactorClassifier
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Probit
from rankfactor.likelihoods.base import Chance

N = 60_000


def drawn(weight, f, n=N, seed=0):
    signed = np.full((1, n), float(weight))
    chance = Chance(Stream.from_seed(seed), 0, 0)
    return Probit().label_sites(signed, np.full((1, n), f), np.zeros((1, n)), chance)


@pytest.mark.parametrize("f", [-1.7, 0.2, 1.5])
@pytest.mark.parametrize("weight", [0.3, 0.95, 1.6, -0.4, -2.5, 2.0])
def test_sites_have_the_slope_of_the_likelihood(weight, f):
    """E[rho - tau f] given f is the derivative of c log Phi(y f): Fisher's identity."""
    sites, terms = drawn(weight, f)
    c, y = abs(weight), np.sign(weight)
    slope = c * y * np.exp(norm.logpdf(f) - log_ndtr(y * f))
    found = sites.rho - sites.tau * f
    error = found.std() / np.sqrt(N)
    assert abs(found.mean() - slope) < 4.5 * error
    assert_allclose(terms, c * log_ndtr(y * f))
    assert (sites.tau >= np.ceil(c)).all()
    assert_array_equal(sites.tau, np.round(sites.tau))


def test_a_whole_weight_has_no_other_side():
    for weight in (1.0, -2.0, 3.0):
        sites, _ = drawn(weight, -1.0, n=100)
        assert_array_equal(sites.tau, abs(weight))
        assert (sites.rho * weight > 0).all()


def test_no_weight_is_the_zero_site():
    sites, terms = drawn(0.0, 0.7, n=5)
    assert_array_equal([*sites.tau, *sites.rho, *terms], np.zeros((3, 5)))


def test_far_on_the_wrong_side_sites_are_finite():
    """Where Phi itself underflows."""
    for f in (-9.0, -40.0, -1e4):
        sites, _ = drawn(0.5, f, n=50)
        assert np.isfinite(sites.tau).all()
        assert np.isfinite(sites.rho).all()


def test_tiles_do_not_matter():
    signed = np.array([[0.6, -1.3, 2.0, 0.0, -0.2]])
    f = np.array([[-1.0, 0.4, 0.1, 2.0, 1.8]])
    stream = Stream.from_seed(3)
    whole, _ = Probit().label_sites(signed, f, f, Chance(stream, 0, 0))
    part, _ = Probit().label_sites(signed[:, 2:], f[:, 2:], f[:, 2:], Chance(stream, 0, 2))
    assert_array_equal(whole.tau[:, 2:], part.tau)
    assert_array_equal(whole.rho[:, 2:], part.rho)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.slow
def test_balanced_classes_under_gibbs():
    """Weights are those of variational Bayes, and so is what they do."""
    simulated = simulate(n=120, d=12, noise=1.0)
    rare = simulated.y * (np.arange(120) % 3 == 0)
    found = {}
    for weight in (None, "balanced"):
        for engine in ("vb", Gibbs(n_draws=150, burn_in=100, n_chains=2)):
            model = RankFactorClassifier(
                likelihood="gaussian",
                classifier="probit",
                class_weight=weight,
                engine=engine,
                n_factors=2,
                random_state=0,
                n_threads=1,
            ).fit(simulated.X, rare)
            kind = "vb" if engine == "vb" else "gibbs"
            found[kind, weight] = model.predict_proba(simulated.X)[:, 1].mean()
    for kind in ("vb", "gibbs"):
        assert found[kind, None] < 0.3
        assert 0.4 < found[kind, "balanced"] < 0.6
