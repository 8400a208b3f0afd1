"""Margins that are inferred: a monotone bound, the posterior by quadrature, what must not change.

The law itself is tested in tests/laws, its conditional in tests/likelihoods/test_margin_rank.py.
"""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.hand_built import FixedNormal, certain, failures, z_score
from tests.engine.test_vb import run as run_model
from tests.simulate import simulate, with_holes

from rankfactor import Gibbs, RankFactorAnalysis, RankFactorClassifier, load_model, save_model
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Hinge, MarginRank, ObservedArray
from rankfactor.likelihoods.margin_rank import CutPoints
from rankfactor.model import Model, View, ViewState
from rankfactor.steps.row import update_view
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers
from rankfactor.tasks import encode_labels, signed_labels

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def run(likelihood, X, y=None, n_threads=1, **settings):
    model = Model(4, likelihood, None if y is None else Hinge())
    labels = None
    if y is not None:
        tasks, class_index = encode_labels(y, len(X))
        labels = ObservedArray(signed_labels(tasks, class_index, None))
    return run_model(model, X, labels, n_threads, **settings)


@pytest.mark.usefixtures("without_momentum")
@pytest.mark.parametrize("supervised", [False, True])
@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize("shape", [1.0, 30.0, 1000.0])
def test_elbo_never_decreases(shape, holes, supervised):
    simulated = simulate(n=60, d=20, seed=3)
    X = with_holes(simulated.X) if holes else simulated.X
    y = simulated.y if supervised else None
    fit = run(MarginRank(max_cuts=6, margin_shape=shape), X, y, max_iter=60, tol=0.0)
    elbo = np.array(fit.history.elbo)
    assert (np.diff(elbo) / np.abs(elbo[1:])).min() > -1e-10
    assert elbo[-1] > elbo[0]
    assert (fit.data.state.params.margin_variance > 0).all()


def test_a_prior_of_no_spread_is_the_fixed_margin(monkeypatch):
    simulated = simulate(n=60, d=20, seed=3)
    X = with_holes(simulated.X)
    # In two passes, as with an inferred margin: one pass takes the updates in another order.
    monkeypatch.setattr(MarginRank, "has_fused_step", False)
    fixed = run(MarginRank(max_cuts=6), X, simulated.y, max_iter=20, tol=0.0)
    tight = MarginRank(max_cuts=6, margin_shape=1e10)
    inferred = run(tight, X, simulated.y, max_iter=20, tol=0.0)
    assert_allclose(inferred.data.state.params.margin, fixed.data.state.params.margin, rtol=1e-5)
    assert_allclose(inferred.data.state.rows.mean, fixed.data.state.rows.mean, atol=1e-4)
    assert_allclose(inferred.history.elbo, fixed.history.elbo, rtol=1e-5)


def test_the_margin_falls_as_far_as_its_prior_lets_it():
    """Nothing in the pseudo-likelihood rewards a margin (measured in docs/notes/decisions.md)."""
    simulated = simulate(n=100, d=20, seed=3)
    means = []
    for shape in (1.0, 100.0, 10_000.0):
        fit = run(MarginRank(margin_shape=shape), simulated.X, max_iter=100, tol=1e-6)
        means.append(np.mean(fit.data.state.params.margin * fit.data.state.params.n_cuts / 32))
    assert means[0] < means[1] < means[2] < 0.05
    assert means[0] < 0.002


COPIES, BURN_IN, KEPT = 300, 60, 150  # independent chains, and sweeps of each
SCORES = np.array([-1.5, -0.9, -0.4, 0.1, 0.3, 0.8, 1.1, 1.9])
CODES = np.array([0, 0, 1, 0, MISSING, 1, 0, 1], np.uint8)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [1.0, 3.0])
def test_draws_follow_the_posterior_of_loading_cut_point_and_margin(shape):
    """One feature with one cut at known scores, by quadrature."""
    mean, precision = 0.8, 0.5
    likelihood = MarginRank(margin=mean / 32, cut_precision=1.0, margin_shape=shape)
    rng, one = np.random.default_rng(0), np.ones(COPIES)
    # A second column that no row uses, as in a table whose features differ in their levels.
    cuts = np.column_stack([rng.standard_normal(COPIES), np.zeros(COPIES)])
    n_cuts = np.ones(COPIES, np.int64)
    params = CutPoints(cuts, np.zeros_like(cuts), n_cuts, mean * one, one)
    state = ViewState(certain(rng.standard_normal((COPIES, 1))), params, (COPIES, 1))
    observed = ObservedArray(np.tile(CODES, (COPIES, 1)))
    item = ObservedView(View(likelihood, FixedNormal(precision)), observed, state)
    z, stream, draws = certain(SCORES[:, None]), Stream.from_seed(2), []
    for sweep in range(BURN_IN + KEPT):
        update_view(item, z, Workers(), block=5, stream=stream.child("sweep", sweep))
        if sweep >= BURN_IN:
            params = item.state.params
            draws.append([item.state.rows.mean[:, 0], params.mean[:, 0], params.margin])
    assert_array_equal(item.state.params.margin_variance, 0.0)

    # Middles of cells, so that the edge at a margin of zero is met to second order.
    width = 0.02
    grids = np.linspace(-4, 6, 151), np.linspace(-4.5, 4.5, 136), np.arange(width / 2, 2.6, width)
    a, b, eps = np.meshgrid(*grids, indexing="ij")
    log_density = -0.5 * (precision * a**2 + b**2) + (shape - 1) * np.log(eps) - shape / mean * eps
    for code, score in zip(CODES, SCORES, strict=True):
        if code != MISSING:
            s = 1.0 if code > 0 else -1.0
            log_density -= 2.0 * np.maximum(0.0, eps - s * (a * score - b))
    mass = np.exp(log_density - log_density.max())
    mass /= mass.sum()

    def functions(a, b, eps):
        return {
            "a": a,
            "b": b,
            "eps": eps,
            "eps^2": eps**2,
            "log eps": np.log(eps + 0.05),
            "a^2": a**2,
            "b^2": b**2,
            "a eps": a * eps,
            "b eps": b * eps,
        }

    drawn = functions(*np.array(draws).transpose(1, 0, 2))  # (sweeps, copies) each
    exact = functions(a, b, eps)
    scores = {
        name: z_score(drawn[name].mean(axis=0), float((mass * exact[name]).sum())) for name in exact
    }
    assert not failures(scores)


def table(seed=0):
    simulated = simulate(n=60, d=12, seed=seed)
    return np.round(np.clip(simulated.X, -4, 4), 2), simulated.y


@pytest.mark.quick_cases("vb")
@pytest.mark.parametrize("engine", ["vb", "gibbs"])
def test_increasing_transforms_leave_every_bit_alone(engine):
    X, y = table()
    new = table(seed=9)[0]
    settings = {
        "likelihood": MarginRank(margin_shape=500.0),
        "n_factors": 3,
        "max_iter": 15,
        "random_state": 0,
        "engine": engine
        if engine == "vb"
        else Gibbs(n_draws=4, burn_in=2, n_predict=3, n_chains=2),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few draws are no sample, as the sampler says
        one = RankFactorClassifier(**settings).fit(X, y)
        other = RankFactorClassifier(**settings).fit(np.sinh(X), y)
    assert_array_equal(one.loadings_, other.loadings_)
    assert_array_equal(one.posterior_.params.margin, other.posterior_.params.margin)
    assert_array_equal(one.predict_proba(new), other.predict_proba(np.sinh(new)))


def test_threads_and_blocks():
    simulated = simulate(n=300, d=150, seed=2)
    part = MarginRank(max_cuts=6, margin_shape=300.0, double=True)
    one = run(part, simulated.X, simulated.y, max_iter=4, tol=0.0)
    two = run(part, simulated.X, simulated.y, n_threads=2, max_iter=4, tol=0.0)
    assert one.history.elbo == two.history.elbo
    assert_array_equal(one.data.state.params.margin, two.data.state.params.margin)
    other = run(part, simulated.X, simulated.y, max_iter=4, tol=0.0, block=17)
    assert_allclose(one.history.elbo, other.history.elbo, rtol=1e-10)
    assert_allclose(one.data.state.params.margin, other.data.state.params.margin, rtol=1e-8)


@pytest.mark.slow
def test_engines_agree_and_files_keep_the_margins(tmp_path):
    X = simulate(n=150, d=15, noise=0.5, seed=5).X
    settings = {
        "likelihood": MarginRank(max_cuts=4, margin_shape=300.0),
        "n_factors": 2,
        "random_state": 0,
    }
    mean_field = RankFactorAnalysis(**settings, tol=1e-6).fit(X).posterior_.params
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # slow scales need more draws than margins do
        sampled = RankFactorAnalysis(
            **settings, engine=Gibbs(n_draws=150, burn_in=100, n_chains=1)
        ).fit(X)
    params = sampled.posterior_.params
    sd = np.sqrt(params.margin_variance)
    assert (np.abs(params.margin - mean_field.margin) < 2 * sd).all()
    # A product of laws ignores dependence, so its spread is too small if anything.
    assert (np.sqrt(mean_field.margin_variance) / sd).mean() < 1.1
    loaded = load_model(save_model(sampled.posterior_, tmp_path / "model"))
    assert loaded.model == sampled.posterior_.model
    assert_array_equal(loaded.params.margin_variance, params.margin_variance)
    assert_array_equal(loaded.draws.params[3].margin, sampled.posterior_.draws.params[3].margin)
