import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tests.simulate import simulate, with_holes

from rankfactor import InputError, RankFactorClassifier, load_model, save_model
from rankfactor.engine import vb
from rankfactor.engine.chain import Gibbs
from rankfactor.likelihoods import NeighbourRank, Tile
from rankfactor.model import Model
from rankfactor.steps.workers import Workers, workers


def refreshed(bounds, table, w):
    part = NeighbourRank(bounds=bounds)
    coding = part.learn(table)
    observed = coding.observe(table)
    params = part.start(coding, observed, np.ones((len(coding.columns), 2)))
    return (
        part,
        observed,
        part.refresh(
            observed,
            slice(0, len(w)),
            Tile(observed.tile(slice(0, len(w)), slice(None)), w, np.empty((0, 0)), params),
        ),
    )


@pytest.mark.parametrize("bounds", ["extremum", "nearest"])
def test_bounds_are_those_of_the_other_samples(bounds):
    rng = np.random.default_rng(0)
    table = with_holes(rng.integers(0, 5, (40, 3)).astype(float))
    table[:, 1] = np.where(np.isnan(table[:, 1]), np.nan, table[:, 1] > 1)  # two levels
    w = rng.standard_normal((3, 40))
    part, observed, params = refreshed(bounds, table, w)
    codes = observed.array
    sites = part.sites(Tile(codes, w, np.full(w.shape, 0.3), params))
    for i in range(3):
        x = table[:, i]
        for n in range(40):
            if np.isnan(x[n]):
                assert sites.tau[i, n] == 0
                continue
            lower, higher = x < x[n], x > x[n]
            if bounds == "nearest":
                lower = lower & (x == x[lower].max(initial=-np.inf))
                higher = higher & (x == x[higher].min(initial=np.inf))
            low, high = w[i, lower].max(initial=-np.inf), w[i, higher].min(initial=np.inf)
            assert params.low[i, codes[i, n]] == low
            assert params.high[i, codes[i, n]] == high
            tau = rho = 0.0
            if np.isfinite(low):
                inv = 1 / np.sqrt((part.margin + low - w[i, n]) ** 2 + 0.3)
                tau, rho = tau + inv, rho + inv * (low + part.margin) + 1
            if np.isfinite(high):
                inv = 1 / np.sqrt((w[i, n] + part.margin - high) ** 2 + 0.3)
                tau, rho = tau + inv, rho + inv * (high - part.margin) - 1
            assert_allclose([sites.tau[i, n], sites.rho[i, n]], [tau, rho], rtol=1e-8)


def run(table, bounds, n_threads=1, **settings):
    model = Model(3, NeighbourRank(bounds=bounds))
    coding = model.data.learn(table)
    observed, rng = coding.observe(table), np.random.default_rng(0)
    with workers(n_threads) as pool:
        return vb.ascend(model, coding, observed, None, vb.Settings(**settings), rng, pool)


# Samples that share an end are driven out; where they do not, all are drawn together.
FAULTS = {
    "grown without end": lambda X: np.sign(np.round(X)),
    "collapsed": lambda X: X,
}


@pytest.mark.parametrize("bounds", ["extremum", "nearest"])
@pytest.mark.parametrize("fault", FAULTS)
def test_divergence_and_collapse_are_reported_once(fault, bounds):
    simulated = simulate(n=120, d=40, seed=1)
    noise = 0.4 * np.random.default_rng(0).standard_normal((120, 40))
    table = FAULTS[fault](simulated.scores @ simulated.loadings.T + noise)
    table = table[:, table.std(axis=0) > 0.3]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = run(table, bounds, max_iter=80, tol=0.0)
    told = [one for one in caught if "sd(w)" in str(one.message)]
    assert len(told) == 1
    assert told[0].category is ConvergenceWarning
    assert fault in str(told[0].message)
    assert "use MarginRank" in str(told[0].message)
    sd_w = fit.history.sd_w
    assert sd_w[-1] > 10 * sd_w[0] if fault == "grown without end" else sd_w[-1] < 0.1 * sd_w[0]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_threads_and_blocks_change_nothing():
    table = with_holes(simulate(n=90, d=12, seed=6).X)
    fit = run(table, "nearest", max_iter=4, tol=0.0)
    other = run(table, "nearest", 2, max_iter=4, tol=0.0)
    assert_array_equal(other.data.state.rows.mean, fit.data.state.rows.mean)
    blocks = run(table, "nearest", max_iter=4, tol=0.0, block=17)
    assert_allclose(blocks.data.state.rows.mean, fit.data.state.rows.mean, rtol=1e-7)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("engine", ["vb", Gibbs(n_draws=4, burn_in=2, n_predict=2, n_chains=2)])
def test_classifier_is_saved_and_loaded(tmp_path, engine):
    simulated = simulate(n=100, d=15, seed=3)
    table = with_holes(simulated.X, share=0.05)
    part = NeighbourRank(bounds="nearest")
    model = RankFactorClassifier(
        likelihood=part, n_factors=3, max_iter=5, random_state=0, engine=engine
    ).fit(table, simulated.y)
    assert_allclose(model.transform(table), model.scores_, atol=1e-3)
    loaded = load_model(save_model(model.posterior_, tmp_path / "m"))
    assert loaded.model.data == part
    decision = loaded.decide(table, Workers())
    assert_array_equal(loaded.probabilities(decision)[0], model.predict_proba(table))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"bounds": "all"}, "bounds must be 'extremum' or 'nearest'"),
        ({"margin": 0.0}, "margin must be a positive number"),
        ({"table_cuts": 255}, "table_cuts must be at most 254"),
    ],
)
def test_hyper_parameters_out_of_range(bad, words):
    with pytest.raises(InputError, match=words):
        NeighbourRank(**bad)
