"""Draws of the shrinkage scales: what is kept of every prior, and in which order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.simulate import simulate

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine.chain import kept_scales
from rankfactor.engine.vb import Fit, History
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Gaussian, NoParameters, ObservedArray, Probit
from rankfactor.model import Model, ViewState
from rankfactor.posterior.draws import scale_dims
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD
from rankfactor.steps.score import ObservedView

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

PRIORS = [TPBN(), TPBN(scope="row"), NormalARD(), NormalARD(scope="row"), MultiplicativeGamma()]
D, R, K = 5, 2, 3
SIZES = {"feature": D, "row": R, "factor": K}


def state_of(model, data_scales, label_scales=None):
    """A fit with nothing in it but scales."""

    def view(part, rows, scales):
        nothing = Normal.isotropic(np.zeros((rows, K)), 1.0)
        state = ViewState(nothing, NoParameters(), scales)
        return ObservedView(part, ObservedArray(np.zeros((rows, 4))), state)

    labels = None if label_scales is None else view(model.label_view, R, label_scales)
    z = Normal.isotropic(np.zeros((4, K)), 1.0)
    return Fit(view(model.data_view, D, data_scales), labels, z, History())


def drawn(prior, rows):
    squares = np.random.default_rng(0).random((rows, K))
    return prior.update(prior.start(rows, K), squares, Stream.from_seed(1))


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_what_is_kept_has_its_dimensions(prior):
    model = Model(K, Gaussian(), Probit(), prior, TPBN(scope="row"))
    fit = state_of(model, drawn(prior, D), drawn(TPBN(scope="row"), R))
    dims, values = scale_dims(model), kept_scales(fit)
    assert dims.keys() == values.keys()
    for name, value in values.items():
        assert value.shape == tuple(SIZES[one] for one in dims[name])
        assert value.dtype == np.float32
        assert (value > 0).all()
    assert {name.split("_")[0] for name in values} == {"loading", "coefficient"}


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_the_order_of_factors_is_that_asked_for(prior):
    """The precision of the reordered entries is the reordered precision."""
    model, scales, order = Model(K, Gaussian(), None, prior), drawn(prior, D), np.array([2, 0, 1])
    values = kept_scales(state_of(model, scales), order)
    if isinstance(prior, TPBN):
        precision = 1 / values["loading_xi"]
    elif isinstance(prior, MultiplicativeGamma):
        precision = values["loading_phi"] * values["loading_tau"]
    else:
        alpha = values["loading_alpha"]
        precision = np.broadcast_to(alpha if prior.scope == "factor" else alpha[:, None], (D, K))
    assert_allclose(precision, prior.precision(scales)[:, order], rtol=1e-6)


def test_values_out_of_the_range_of_32_bits_stay_finite():
    prior = NormalARD(rate=1e-300, scope="row")
    scales = prior.update(prior.start(2, K), np.array([[1e-300] * K, [1e300] * K]))
    assert scales.alpha.mean.max() > 1e290
    alpha = kept_scales(state_of(Model(K, Gaussian(), None, prior), scales))["loading_alpha"]
    assert np.isfinite(alpha).all()
    assert (alpha > 0).all()


def test_draws_follow_their_loadings_to_the_end():
    """Scales belong to the factor whose loadings they shrink, after matching and reordering."""
    rng = np.random.default_rng(0)
    strength = np.array([0.5, 3.0, 1.2])  # the last order is not the first
    scores = rng.standard_normal((120, K))
    X = scores @ (rng.standard_normal((K, 12)) * strength[:, None]) + rng.standard_normal((120, 12))
    engine = Gibbs(n_draws=30, burn_in=30, n_chains=2)
    model = RankFactorAnalysis(
        likelihood="gaussian", shrinkage="normal", engine=engine, n_factors=K, random_state=1
    ).fit(X)
    draws = model.posterior_.draws
    alpha = draws.scales.values["loading_alpha"]
    assert alpha.shape == (60, K)
    mean_square = (draws.loadings[:, :, :K].astype(float) ** 2).mean(axis=1)
    # Given a draw, alpha is Gamma(6, 6 mean square) up to a vague prior: log-sd about 0.4.
    assert np.abs(np.log(alpha * mean_square).mean(axis=0)).max() < 0.3
    turned = draws.reordered(np.array([2, 0, 1]), np.array([1.0, -1.0, 1.0]))
    assert_array_equal(turned.scales.values["loading_alpha"], alpha[:, [2, 0, 1]])


def test_labels_have_theirs():
    simulated = simulate(n=40, d=6)
    engine = Gibbs(n_draws=3, burn_in=1, n_chains=1, n_predict=2)
    model = RankFactorClassifier(engine=engine, n_factors=K, max_iter=3, random_state=0)
    draws = model.fit(simulated.X, simulated.y).posterior_.draws
    assert draws.scales.values["coefficient_xi"].shape == (3, 1, K)
    assert draws.scales.dims["coefficient_xi"] == ("row", "factor")
    turned = draws.reordered(np.array([1, 2, 0]), np.ones(K)).scales.values
    assert_array_equal(
        turned["coefficient_xi"], draws.scales.values["coefficient_xi"][..., [1, 2, 0]]
    )
    assert_array_equal(turned["coefficient_phi"], draws.scales.values["coefficient_phi"])
