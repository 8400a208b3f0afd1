import numpy as np
import pytest
from numpy.testing import assert_allclose
from tests.engine.test_vb import run
from tests.simulate import simulate, with_holes

from rankfactor.classifiers.linear import fit_linear
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Gaussian, Hinge, MarginRank, ObservedArray, Probit
from rankfactor.model import Model
from rankfactor.steps.encode import STEPS, TOL, encode, encode_samples
from rankfactor.steps.score import ObservedView, update_scores
from rankfactor.steps.workers import Workers


@pytest.fixture(params=["rank", "gaussian"])
def fitted(request):
    model = Model(3, MarginRank() if request.param == "rank" else Gaussian())
    simulated = simulate(n=80, d=30)
    X = with_holes(simulated.X)
    return model, run(model, X, None, tol=1e-4), X


def test_encoding_is_a_fixed_point(fitted):
    model, fit, _ = fitted
    z = encode_samples(model, fit.data, Workers())
    again = update_scores([fit.data], model.latent, z, slice(0, 80))
    assert np.abs(again.mean - z.mean).max() < 2 * TOL


def test_encoding_does_not_depend_on_the_company(fitted):
    model, fit, _ = fitted
    z = encode_samples(model, fit.data, Workers())
    for sample in (0, 41, 79):
        alone = encode(
            [fit.data],
            model.latent,
            slice(sample, sample + 1),
            3,
            tol=TOL,
            max_steps=STEPS,
        )
        assert_allclose(alone.mean[0], z.mean[sample], rtol=1e-9, atol=1e-9)


def test_a_sample_of_nothing_but_holes_gets_the_prior(fitted):
    model, fit, X = fitted
    empty = fit.data.view.likelihood.learn(X).observe(np.full((2, 30), np.nan))
    z = encode_samples(model, ObservedView(fit.data.view, empty, fit.data.state), Workers())
    assert_allclose(z.mean, 0, atol=1e-12)
    assert_allclose(z.variance, 1)


def test_no_samples():
    model = Model(2, MarginRank())
    fit = run(model, simulate(n=40, d=10).X, None, tol=1e-3)
    none = ObservedArray(np.empty((10, 0), np.uint8))
    z = encode_samples(model, ObservedView(fit.data.view, none, fit.data.state), Workers())
    assert z.mean.shape == (0, 2)


@pytest.mark.parametrize("label", [Hinge(), Probit()])
def test_refit_finds_the_separating_direction(label):
    rng = np.random.default_rng(0)
    scores = rng.standard_normal((200, 4))
    signed = np.sign(scores[:, 1] - 0.5 * scores[:, 2] + 0.3)[None]
    z = Normal.isotropic(scores, 0.01)
    linear = fit_linear(Model(4, MarginRank(), label), ObservedArray(signed), z, Workers())
    direction = linear.rows.mean[0] / np.linalg.norm(linear.rows.mean[0])
    expected = np.array([0, 1, -0.5, 0, 0.3]) / np.sqrt(1.34)
    assert direction @ expected > 0.98
    f, var_f = linear.decide(z)
    assert (np.sign(f[:, 0]) == signed[0]).mean() > 0.95
    assert (var_f > 0).all()


def test_encoding_ends_at_the_same_place_wherever_it_starts(fitted):
    model, fit, _ = fitted
    z = encode_samples(model, fit.data, Workers())
    rng = np.random.default_rng(0)
    start = Normal.isotropic(z.mean + 2 * rng.standard_normal(z.mean.shape), 0.5)
    for _ in range(300):
        start = update_scores([fit.data], model.latent, start, slice(0, 80))
    assert_allclose(z.mean, start.mean, atol=10 * TOL)
    assert_allclose(z.cov, start.cov, atol=10 * TOL)
