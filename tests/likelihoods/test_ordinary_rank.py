import zipfile

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.kernels.test_rank_draws import exact
from tests.simulate import simulate, with_holes

from rankfactor import InputError, RankFactorClassifier, load_model, save_model
from rankfactor.engine import vb
from rankfactor.engine.chain import Gibbs
from rankfactor.kernels.rank_draws import sweep_ranks
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import OrdinalProbit, OrdinaryRank, Tile
from rankfactor.likelihoods.ordinal_probit import Thresholds
from rankfactor.likelihoods.ordinary_rank import Boundaries
from rankfactor.model import Model
from rankfactor.steps.workers import Workers, workers

RANKS = np.array([[1, 0, -1, 3, 1, 2, 3], [0, 1, 2, 3, 4, 5, 6]], np.int16)


def start_values(ranks, rng):
    """Values in the order of the ranks, apart within a tie."""
    values = ranks + 0.5 * rng.random(ranks.shape)
    return np.where(ranks >= 0, 0.7 * values - 1.5, np.nan).astype(np.float32)


def assert_in_order(ranks, values):
    for row, one in zip(ranks, values, strict=True):
        for rank in range(1, row.max() + 1):
            assert one[row == rank - 1].max() < one[row == rank].min()


def test_means_are_those_of_a_plain_sweep():
    rng = np.random.default_rng(0)
    values, w = start_values(RANKS, rng), rng.standard_normal(RANKS.shape)
    expected = values.astype(float)
    for i, ranks in enumerate(RANKS):
        x = expected[i]
        for rank in range(ranks.max() + 1):
            low = x[ranks == rank - 1].max() if rank else -np.inf
            high = x[ranks == rank + 1].min() if rank < ranks.max() else np.inf
            for n in np.flatnonzero(ranks == rank):
                x[n] = exact(w[i, n], low, high)
        seen = ranks >= 0
        x[seen] += (w[i, seen] - x[seen]).mean()
        # The scale that maximises s^(n-1) exp(-|s x - w|^2 / 2).
        s = np.linspace(0.2, 5, 480_001)
        log_density = (seen.sum() - 1) * np.log(s) - 0.5 * s**2 * (x[seen] ** 2).sum()
        x *= s[np.argmax(log_density + s * (x[seen] * w[i, seen]).sum())]
    means = sweep_ranks(RANKS, w, values)
    assert means.dtype == np.float32
    assert_allclose(means, expected, rtol=3e-5, atol=1e-5)
    assert_in_order(RANKS, means)


def test_draws_keep_the_order_and_belong_to_row_and_sample():
    rng = np.random.default_rng(1)
    ranks = np.stack([np.argsort(rng.random(500)) for _ in range(3)]).astype(np.int16)
    ranks[1] //= 50  # ties
    values, w = start_values(ranks, rng), 30.0 * rng.standard_normal(ranks.shape)
    key = Stream.from_seed(0).word
    drawn = sweep_ranks(ranks, w, values, key, 0)
    assert_array_equal(drawn[1:], sweep_ranks(ranks[1:], w[1:], values[1:], key, 1))
    for sweep in range(20):
        drawn = sweep_ranks(ranks, w, drawn, Stream.from_seed(sweep).word, 0)
    assert np.isfinite(drawn).all()
    assert_in_order(ranks, drawn)


def test_ranks_of_a_table():
    table = np.array([[3.0, 7.0], [1.0, 7.0], [np.nan, 7.0], [3.0, 7.0], [-np.pi, 8.0]])
    observed = OrdinaryRank().learn(table[:, [0, 0, 1]]).observe(table[:, [0, 0, 1]])
    assert_array_equal(observed.ranks[0], [2, 1, -1, 2, 0])
    assert_array_equal(observed.ranks[2], [0, 0, 0, 0, 1])
    assert observed.ranks.itemsize == 2


def test_boundaries_lie_halfway_between_levels():
    table = with_holes(np.round(simulate(n=40, d=5).X, 1))
    table[:, 2] = np.arange(40) % 3  # a feature of fewer levels
    part = OrdinaryRank(table_cuts=6)
    coding = part.learn(table)
    observed, rows = coding.observe(table), Normal.isotropic(np.zeros((5, 1)), 0.1)
    params = part.prepare(observed, rows, part.start(coding, observed, rows.mean))
    params = part.refresh(
        observed,
        slice(0, 5),
        Tile(observed.tile(slice(0, 5), slice(None)), np.zeros((5, 40)), np.empty((0, 0)), params),
    )
    for i, n_cuts in enumerate(coding.n_cuts):
        for j in range(n_cuts):
            below = params.latent[i, observed.array[i] <= j].max()
            above = params.latent[i, (observed.array[i] > j) & (observed.array[i] < 255)].min()
            assert params.h[i, j] == pytest.approx(0.5 * (float(below) + float(above)))
    assert_array_equal(params.h[2, 2:], 0.0)


def test_a_new_sample_is_that_of_an_ordinal_probit():
    rng = np.random.default_rng(2)
    codes = rng.integers(0, 4, (2, 9)).astype(np.uint8)
    codes[0, 0] = 255
    h, n_cuts = np.sort(rng.standard_normal((2, 3)), axis=1), np.array([3, 3])
    w, nothing = rng.standard_normal((2, 9)), np.empty((0, 0))
    sites = OrdinaryRank().sites(
        Tile(codes, w, nothing, Boundaries(h, n_cuts, np.empty((2, 0), "f4")))
    )
    expected = OrdinalProbit().sites(Tile(codes, w, nothing, Thresholds(h, n_cuts)))
    assert_array_equal(sites.rho, expected.rho)
    assert_array_equal(sites.tau, expected.tau)


def run(table, n_threads=1, **settings):
    model = Model(3, OrdinaryRank())
    coding = model.data.learn(table)
    observed, rng = coding.observe(table), np.random.default_rng(0)
    with workers(n_threads) as pool:
        return vb.ascend(model, coding, observed, None, vb.Settings(**settings), rng, pool)


def test_fit_finds_the_factors_and_drops_what_only_it_needs():
    simulated = simulate(n=150, d=30, k=2, seed=5)
    fit = run(with_holes(simulated.X))
    assert fit.convergence.converged
    assert fit.data.state.params.latent.shape == (30, 0)
    design = np.column_stack([fit.z.mean, np.ones(150)])
    left = simulated.scores - design @ np.linalg.lstsq(design, simulated.scores, rcond=None)[0]
    assert (left.var(axis=0) < 0.1 * simulated.scores.var(axis=0)).all()
    # Noise of standard deviation 0.4 beside loadings of mean square 1/2 in two factors.
    assert fit.history.sd_w[-1] == pytest.approx(1 / 0.4, rel=0.25)
    assert fit.history.n_active[-1] == 2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_only_ranks_count_and_not_threads_or_blocks():
    table = with_holes(simulate(n=90, d=12, seed=6).X)
    fit = run(table, max_iter=8, tol=0.0)
    moved = np.where(np.arange(12) % 2, np.arctan(table), 3.0 * table - 0.5)
    for other in (run(moved, max_iter=8, tol=0.0), run(table, 2, max_iter=8, tol=0.0)):
        assert_array_equal(other.data.state.rows.mean, fit.data.state.rows.mean)
    blocks = run(table, max_iter=8, tol=0.0, block=17)
    assert_allclose(blocks.data.state.rows.mean, fit.data.state.rows.mean, rtol=1e-4, atol=1e-5)


def test_boundaries_of_draws_are_averaged():
    nothing = np.empty((1, 0), np.float32)
    one, other = np.array([[0.0, 1.0]]), np.array([[1.0, 4.0]])
    pooled = Boundaries.pool([Boundaries(h, np.array([2]), nothing) for h in (one, other)])
    assert_array_equal(pooled.h, [[0.5, 2.5]])


@pytest.mark.parametrize("cuts", [0, 255, 2.5, True])
def test_hyper_parameters_out_of_range(cuts):
    with pytest.raises(InputError, match=r"table_cuts must be (a whole number|at most 254)"):
        OrdinaryRank(table_cuts=cuts)


def test_starting_values_follow_the_ranks_and_are_kept():
    table = with_holes(np.round(simulate(n=40, d=5).X, 1))
    part = OrdinaryRank()
    coding = part.learn(table)
    observed = coding.observe(table)
    rows = Normal.isotropic(np.full((5, 3), 0.5), 0.1)
    params = part.prepare(observed, rows, part.start(coding, observed, rows.mean))
    assert_array_equal(np.isnan(params.latent), np.isnan(table.T))
    assert_in_order(observed.ranks, params.latent)
    assert part.prepare(observed, rows, params) is params


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("preset", ["OR-L-BSVM", "OR-L-Probit"])
@pytest.mark.parametrize("engine", ["vb", Gibbs(n_draws=6, burn_in=5, n_predict=3, n_chains=2)])
@pytest.mark.quick_cases("vb-OR-L-BSVM")
def test_classifier_is_saved_without_training_data(tmp_path, preset, engine):
    n, d = 150, 15
    simulated = simulate(n=n, d=d, seed=3)
    table = with_holes(simulated.X, share=0.05)
    model = RankFactorClassifier(
        preset, likelihood=OrdinaryRank(table_cuts=9), n_factors=3, random_state=0, engine=engine
    ).fit(table, simulated.y)
    assert model.score(table, simulated.y) > 0.8
    # Training samples are encoded as new ones are.
    assert_allclose(model.transform(table), model.scores_, atol=1e-3)
    path = save_model(model.posterior_, tmp_path / "m")
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if "latent" in info.filename:
                assert info.file_size < 200  # a header
    loaded = load_model(path)
    assert loaded.model == model.posterior_.model
    decision = loaded.decide(table, Workers())
    assert_array_equal(loaded.probabilities(decision)[0], model.predict_proba(table))


def test_content_tells_tables_apart_that_have_the_same_codes():
    X = np.random.default_rng(0).standard_normal((300, 3))
    other = X.copy()
    first, second = np.argsort(X[:, 1])[:2]  # neighbours of the same code
    other[[first, second], 1] = other[[second, first], 1]
    one, two = (OrdinaryRank().learn(table).observe(table) for table in (X, other))
    assert_array_equal(one.array, two.array)
    assert one.content(slice(1, 2)) != two.content(slice(1, 2))
    assert one.content(slice(0, 1)) == two.content(slice(0, 1))
    cubes = OrdinaryRank().learn(X**3).observe(X**3)  # only the order counts
    assert cubes.content(slice(0, 3)) == one.content(slice(0, 3))
