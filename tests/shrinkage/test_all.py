"""What holds for every shrinkage prior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.simulate import simulate

from rankfactor import RankFactorClassifier, load_model, save_model
from rankfactor.engine import vb
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import MarginRank
from rankfactor.model import Model
from rankfactor.shrinkage import SHRINKAGE, TPBN, MultiplicativeGamma, NormalARD
from rankfactor.steps.workers import Workers, workers


@pytest.mark.parametrize("name", SHRINKAGE)
def test_precision_is_positive_for_any_shape(name):
    prior = SHRINKAGE[name]()
    for shape in [(1, 1), (1, 5), (7, 1), (7, 5)]:
        scales = prior.start(*shape)
        for squares in (np.zeros(shape), np.full(shape, 1e6), np.ones(shape)):
            scales = prior.update(scales, squares)
            assert prior.precision(scales).shape == shape
            assert (prior.precision(scales) > 0).all()
            assert np.isfinite(prior.precision(scales)).all()
            assert np.isfinite(prior.bound(scales, squares))


@pytest.mark.parametrize("name", ["multiplicative_gamma", "normal"])
@pytest.mark.quick_cases("normal")
def test_draws_keep_the_prior(name):
    """Geweke: loadings and scales drawn in turn from their conditionals have the prior's law.

    The prior's median of a loading's absolute value is known from direct draws.
    """
    prior = {
        "normal": NormalARD(3.0, 2.0),
        "multiplicative_gamma": MultiplicativeGamma(4.0, 3.0, 4.0),
    }[name]
    rng, n = np.random.default_rng(0), 20_000
    if name == "normal":
        precision = np.broadcast_to(rng.gamma(3.0, 1 / 2.0, (n, 1, 3)), (n, 2, 3))
    else:
        delta = rng.gamma(np.array([3.0, 4.0, 4.0]), 1.0, (n, 1, 3))
        precision = rng.gamma(2.0, 1 / 2.0, (n, 2, 3)) * np.cumprod(delta, axis=2)
    expected = np.abs(rng.standard_normal((n, 2, 3))) / np.sqrt(precision)

    stream, scales, draws = Stream.from_seed(0), prior.start(2, 3), []
    for step in range(n):
        a = rng.standard_normal((2, 3)) / np.sqrt(prior.precision(scales))
        scales = prior.update(scales, a**2, stream.child(step))
        draws.append(np.abs(a))
    for quantile in (0.25, 0.5, 0.75):
        assert_allclose(
            np.quantile(draws, quantile, axis=0), np.quantile(expected, quantile, axis=0), rtol=0.15
        )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", SHRINKAGE)
def test_classifier_is_saved_and_loaded(name, tmp_path):
    data = simulate(n=60, d=12)
    model = RankFactorClassifier(shrinkage=name, n_factors=3, max_iter=10, random_state=0)
    model.fit(data.X, data.y)
    loaded = load_model(save_model(model.posterior_, tmp_path / "m"))
    assert loaded.model == model.posterior_.model
    assert isinstance(loaded.model.loading_shrinkage, SHRINKAGE[name])
    assert_array_equal(loaded.loadings, model.loadings_)
    decision = loaded.decide(data.X, Workers())
    assert_array_equal(loaded.probabilities(decision)[0], model.predict_proba(data.X))


@pytest.mark.parametrize("name", SHRINKAGE)
def test_unneeded_factors_switch_off(name):
    data = simulate(n=300, d=60, k=3, noise=0.3, seed=0)
    model = Model(10, MarginRank(), loading_shrinkage=SHRINKAGE[name]())
    coding = model.data.learn(data.X)
    with workers(1) as pool:
        fit = vb.ascend(
            model,
            coding,
            coding.observe(data.X),
            None,
            vb.Settings(tol=1e-5),
            np.random.default_rng(0),
            pool,
        )
    assert fit.history.n_active[-1] == 3


PROFILED = [TPBN(), TPBN(1.0, 0.7), TPBN(scope="row"), NormalARD(), MultiplicativeGamma()]


@pytest.mark.parametrize("prior", PROFILED, ids=repr)
def test_the_slope_of_the_profile_is_the_settled_precision(prior):
    """Envelope theorem: where an entry's own scales are best, d bound / d E[a^2] = -E[1/xi] / 2."""
    squares = np.random.default_rng(0).gamma(0.3, 1.0, (8, 3))
    scales = prior.start(8, 3)
    for _ in range(400):  # until all scales are at their optimum, the entries' own among them
        scales = prior.update(scales, squares)
    unit, step = prior.unit(scales), 1e-5
    ends = [prior.profile(unit * squares * (1 + sign * step)) for sign in (1, -1)]
    slope = (ends[0] - ends[1]) / (2 * step * squares)
    assert_allclose(slope, -0.5 * prior.precision(scales), rtol=1e-4)
