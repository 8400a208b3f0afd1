"""Draws of the shrinkage scales: what is kept of every prior, and in which order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.simulate import simulate

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine.chain import kept_scales
from rankfactor.engine.course import History
from rankfactor.engine.vb import Fit
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Gaussian, NoParameters, ObservedArray, Probit
from rankfactor.model import Model, ViewState
from rankfactor.posterior.draws import ScaleDraws, scale_dims, scale_powers
from rankfactor.shrinkage import (
    SHRINKAGE,
    TPBN,
    MultiplicativeGamma,
    NormalARD,
    ShrinkageByBlock,
)
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


def precision_of(prior, values, prefix=""):
    """Precision of the loadings, shape (..., D, K), from the scales that are kept."""
    if isinstance(prior, TPBN):
        return 1 / values[f"{prefix}xi"]
    if isinstance(prior, MultiplicativeGamma):
        return values[f"{prefix}phi"] * values[f"{prefix}tau"][..., None, :]
    alpha = values[f"{prefix}alpha"]
    alpha = alpha[..., None, :] if prior.scope == "factor" else alpha[..., None]
    return np.broadcast_to(alpha, (*alpha.shape[:-2], D, K))


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_the_order_of_factors_is_that_asked_for(prior):
    """The precision of the reordered entries is the reordered precision."""
    model, scales, order = Model(K, Gaussian(), None, prior), drawn(prior, D), np.array([2, 0, 1])
    values = kept_scales(state_of(model, scales), order)
    expected = prior.precision(scales)[:, order]
    assert_allclose(precision_of(prior, values, "loading_"), expected, rtol=1e-6)


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
    engine = Gibbs(n_draws=30, burn_in=30, n_chains=2, align="permute")
    model = RankFactorAnalysis(
        likelihood="gaussian", shrinkage="normal", engine=engine, n_factors=K, random_state=1
    ).fit(X)
    draws = model.posterior_.draws
    alpha = draws.scales.values["loading_alpha"]
    assert alpha.shape == (60, K)
    mean_square = (draws.loadings[:, :, :K].astype(float) ** 2).mean(axis=1)
    # Given a draw, alpha is Gamma(6, 6 mean square) up to a vague prior: log-sd about 0.4.
    assert np.abs(np.log(alpha * mean_square).mean(axis=0)).max() < 0.3
    turned = draws.transformed(np.eye(K)[:, [2, 0, 1]] * [1.0, -1.0, 1.0])
    assert_array_equal(turned.scales.values["loading_alpha"], alpha[:, [2, 0, 1]])


def test_labels_have_theirs():
    simulated = simulate(n=40, d=6)
    engine = Gibbs(n_draws=3, burn_in=1, n_chains=1, n_predict=2, align="permute")
    model = RankFactorClassifier(engine=engine, n_factors=K, max_iter=3, random_state=0)
    draws = model.fit(simulated.X, simulated.y).posterior_.draws
    assert draws.scales.values["coefficient_xi"].shape == (3, 1, K)
    assert draws.scales.dims["coefficient_xi"] == ("row", "factor")
    turned = draws.transformed(np.eye(K)[:, [1, 2, 0]]).scales.values
    assert_array_equal(
        turned["coefficient_xi"], draws.scales.values["coefficient_xi"][..., [1, 2, 0]]
    )
    assert_array_equal(turned["coefficient_phi"], draws.scales.values["coefficient_phi"])


UNIT = np.array([0.5, 2.0, 3.0])  # what loadings are multiplied by
ROW_PRECISION = NormalARD(scope="row")  # belongs to all factors, whatever their units


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_precisions_change_by_the_inverse_square_of_the_unit(prior):
    scales = drawn(prior, D)
    kept, powers = prior.kept(scales), prior.kept_powers
    assert kept.keys() == powers.keys() == prior.kept_dims.keys()
    assert all("factor" in prior.kept_dims[name] for name, power in powers.items() if power)
    moved = {
        name: kept[name] * UNIT**power if power else kept[name] for name, power in powers.items()
    }
    expected = prior.precision(scales) / (1.0 if prior == ROW_PRECISION else UNIT**2)
    assert_allclose(precision_of(prior, moved), expected, rtol=1e-12)


@pytest.mark.parametrize("prior", [one for one in PRIORS if one != MultiplicativeGamma()], ids=repr)
def test_the_powers_are_those_of_a_prior_that_changes_its_unit(prior):
    """The Gibbs sampler's own change of unit, which multiplies squares of loadings by u."""
    scales = drawn(prior, D)
    stretched = prior.kept(prior.stretched(scales, UNIT**2))
    for name, value in prior.kept(scales).items():
        power = prior.kept_powers[name]
        assert_allclose(stretched[name], value * UNIT**power if power else value, rtol=1e-12)


@pytest.mark.parametrize("name", SHRINKAGE)
def test_blocks_have_the_powers_of_their_base(name):
    base = SHRINKAGE[name]()
    prior = ShrinkageByBlock.of(base, [0, 1, 0, 1, 1])
    kept = prior.kept(drawn(prior, D))
    assert kept.keys() == prior.kept_powers.keys() == prior.kept_dims.keys()
    for own, power in prior.kept_powers.items():
        assert power == base.kept_powers[own.removesuffix("_0").removesuffix("_1")]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_draws_of_scales_follow_the_scores_unit(prior):
    """Scores are multiplied by the entries of the matrix, so that loadings are divided by them."""
    model = Model(K, Gaussian(), None, prior)
    values = kept_scales(state_of(model, drawn(prior, D)))
    values = {name: np.stack([value, 2 * value]) for name, value in values.items()}
    scales = ScaleDraws.of(model, values)
    assert scales.powers == {name: scale_powers(model)[name] for name in values}
    order, sign = np.array([2, 0, 1]), np.array([1.0, -1.0, 1.0])
    moved = scales.transformed(np.eye(K)[:, order] * sign / UNIT)
    unit = 1.0 if prior == ROW_PRECISION else UNIT**2
    expected = precision_of(prior, values, "loading_")[..., order] / unit
    assert_allclose(precision_of(prior, moved.values, "loading_"), expected, rtol=1e-6)
    assert all(value.dtype == np.float32 for value in moved.values.values())
    # Back again.
    back = moved.transformed(np.linalg.inv(np.eye(K)[:, order] * sign / UNIT))
    for name, value in values.items():
        assert_allclose(back.values[name], value, rtol=1e-6)
    # Mixed factors have no scales of their own.
    assert scales.transformed(np.eye(K) + 0.1).values == {}


EXPECTED_POWERS = {
    "tpbn": {"loading_xi": 2, "loading_phi": 2, "loading_top": 0, "coefficient_xi": 2},
    "normal": {"loading_alpha": -2, "coefficient_xi": 2},
    "multiplicative_gamma": {"loading_phi": 0, "loading_tau": -2, "coefficient_xi": 2},
}


@pytest.mark.parametrize("name", EXPECTED_POWERS)
def test_draws_in_another_unit(name):
    simulated = simulate(n=40, d=6)
    engine = Gibbs(n_draws=3, burn_in=1, n_chains=1, n_predict=2, align="permute")
    settings = {"shrinkage": name, "engine": engine, "n_factors": K, "max_iter": 3}
    model = RankFactorClassifier(random_state=0, **settings).fit(simulated.X, simulated.y)
    draws = model.posterior_.draws
    moved = draws.transformed(np.diag(1 / UNIT))
    assert_allclose(moved.loadings[..., :K], draws.loadings[..., :K] * UNIT, rtol=1e-6)
    assert_array_equal(moved.loadings[..., K:], draws.loadings[..., K:])
    assert_allclose(moved.coefficients[..., :K], draws.coefficients[..., :K] * UNIT, rtol=1e-6)
    assert_array_equal(moved.coefficients[..., K], draws.coefficients[..., K])
    for own, power in EXPECTED_POWERS[name].items():
        value = draws.scales.values[own]
        expected = value * UNIT**power if power else value
        assert_allclose(moved.scales.values[own], expected, rtol=1e-6)
