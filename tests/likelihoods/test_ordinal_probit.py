import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr
from tests.simulate import simulate, with_holes

from rankfactor import InputError, RankFactorClassifier, load_model, save_model
from rankfactor.engine import vb
from rankfactor.engine.chain import Gibbs
from rankfactor.kernels.ordinal import interval, raise_cut_points
from rankfactor.kernels.rng import Stream
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import MarginRank, OrdinalProbit, Tile
from rankfactor.likelihoods.base import Chance
from rankfactor.likelihoods.ordinal_probit import Thresholds
from rankfactor.model import Model
from rankfactor.steps.workers import Workers, workers


def exact_interval(l, u):  # noqa: E741
    """Log mass, E[v] and E[v^2] of a standard normal on (l, u), with digits to spare."""
    # Below the mean both tails are nearly 1: their difference cancels 0.22 l^2 digits.
    with mpmath.workdps(100 + int(0.25 * min(l, 0.0) ** 2)):
        l, u = mpmath.mpf(l), mpmath.mpf(u)  # noqa: E741
        tail = [mpmath.erfc(x / mpmath.sqrt(2)) / 2 for x in (l, u)]
        density = [mpmath.exp(-x * x / 2) / mpmath.sqrt(2 * mpmath.pi) for x in (l, u)]
        mass, width = tail[0] - tail[1], u - l
        mean = (density[0] - density[1]) / mass
        square = 1 + (l * density[0] - u * density[1]) / mass
        v, v_sq = (mean - l) / width, (square - 2 * l * mean + l * l) / width**2
        return float(mpmath.log(mass)), float(v), float(v_sq)


@pytest.mark.parametrize("l", [-40.0, -8.0, -6.1, -2.0, -0.3, 0.0, 0.7, 4.9, 6.0, 6.5, 20.0, 60.0])
@pytest.mark.parametrize("width", [1e-9, 1e-4, 0.1, 1.0, 1.99, 2.01, 6.0, 50.0])
def test_interval_far_and_near(l, width):  # noqa: E741
    assert_allclose(interval(l, l + width), exact_interval(l, l + width), rtol=1e-11, atol=1e-15)


def little(rng, n=40, n_cuts=4):
    """Codes, loadings, scores and parameters: two features, one of fewer cuts, a missing entry."""
    codes = rng.integers(0, n_cuts + 1, (2, n)).astype(np.uint8)
    codes[1] = np.minimum(codes[1], 2)
    codes[0, 3] = 255
    h = np.sort(rng.standard_normal((2, n_cuts)), axis=1)
    h[1, 2:] = 0.0
    params = Thresholds(h, np.array([n_cuts, 2]))
    rows = Normal.isotropic(0.5 * rng.standard_normal((2, 3)), 0.02)
    return codes, params, rows, Normal.isotropic(rng.standard_normal((n, 3)), 0.1)


def plain_bound(part, codes, w, h, n_cuts):
    """log(Phi(h_c - w) - Phi(h_{c-1} - w)), summed, and the prior of the cut points."""
    total = 0.0
    for i in range(len(codes)):
        ends = np.concatenate([[-np.inf], h[i, : n_cuts[i]], [np.inf]])
        seen = codes[i] != 255
        c = codes[i, seen].astype(int)
        total += np.log(ndtr(ends[c + 1] - w[i, seen]) - ndtr(ends[c] - w[i, seen])).sum()
        total -= 0.5 * part.cut_precision * (h[i, : n_cuts[i]] ** 2).sum()
    return total


def statistics_of(part, codes, params, rows, z):
    w = rows.mean @ z.mean.T
    return part.statistics(Tile(codes, w, np.empty((0, 0)), params), z), w


def test_update_of_cut_points_raises_the_bound_to_its_maximum():
    rng = np.random.default_rng(0)
    part = OrdinalProbit()
    codes, params, rows, z = little(rng)
    bounds = []
    for _ in range(200):
        statistics, w = statistics_of(part, codes, params, rows, z)
        bounds.append(plain_bound(part, codes, w, params.h, params.n_cuts))
        params = part.update(statistics, rows, params)
        for i, n_cuts in enumerate(params.n_cuts):
            assert (np.diff(params.h[i, :n_cuts]) > 0).all()
    assert np.diff(bounds).min() > -1e-9
    for _ in range(20):
        nearby = params.h + 0.01 * rng.standard_normal(params.h.shape) * params.used
        assert plain_bound(part, codes, w, nearby, params.n_cuts) < bounds[-1]
    assert_array_equal(params.h[1, 2:], 0.0)


def test_rows_and_cut_points_in_turn_raise_the_bound():
    """What the global step does at one set of statistics: cut points, rows, cut points again."""
    rng = np.random.default_rng(1)
    part = OrdinalProbit()
    codes, params, rows, z = little(rng)
    prior = 0.3

    def objective(rows, params):
        """Bound, prior and entropy of the rows, prior of the cut points."""
        statistics, _ = statistics_of(part, codes, params, rows, z)
        squares = prior * (rows.mean**2 + rows.variance).sum()
        bound = part.bound(statistics, rows, params) + part.params_bound(params)
        return bound + rows.entropy() - 0.5 * squares

    values = [objective(rows, params)]
    for _ in range(30):
        statistics, _ = statistics_of(part, codes, params, rows, z)
        params = part.update(statistics, rows, params)
        precision, shift = part.system(statistics, params)
        precision[:, [0, 3, 5]] += prior
        rows = Normal.from_natural(precision, shift)
        params = part.update(statistics, rows, params)
        values.append(objective(rows, params))
    assert np.diff(values).min() > -1e-9
    assert values[-1] > values[0]


def test_steps_from_afar_stay_ordered():
    """Cut points nearly on top of one another, pulled to the far side: no step may cross."""
    rng = np.random.default_rng(2)
    h = np.sort(1e-6 * rng.standard_normal((1, 12)), axis=1)
    within = rng.integers(1, 50, (1, 12)).astype(float)
    target = 100.0 * rng.standard_normal((1, 12))
    moved = raise_cut_points(
        h, np.array([12]), np.full((1, 12), 30.0), np.full((1, 12), 5.0), 30 * target, within
    )
    assert np.isfinite(moved).all()
    assert (np.diff(moved) > 0).all()


def test_bound_is_that_of_the_truncated_normals():
    rng = np.random.default_rng(3)
    part = OrdinalProbit()
    codes, params, rows, z = little(rng)
    statistics, w = statistics_of(part, codes, params, rows, z)
    seen = codes != 255
    spread = 0.1 * (rows.mean**2).sum(axis=1)[:, None] + 0.02 * ((z.mean**2).sum(axis=1) + 3 * 0.1)
    log_prior = -0.5 * part.cut_precision * (params.h[params.used] ** 2).sum()
    expected = plain_bound(part, codes, w, params.h, params.n_cuts) - log_prior
    expected -= 0.5 * (spread * seen).sum()
    assert_allclose(part.bound(statistics, rows, params), expected, rtol=1e-10)


def test_slopes_are_derivatives_of_the_bound():
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 6, (3, 200)).astype(np.uint8)
    codes[0] = np.minimum(codes[0], 1)  # a single cut
    codes[1, :20] = 255
    h, n_cuts = np.sort(2.0 * rng.standard_normal((3, 5)), axis=1), np.array([1, 5, 5])
    w = 2.0 * rng.standard_normal((3, 200))

    def bound(w):
        beyond = np.full((3, 1), np.inf)
        above = np.hstack([np.where(np.arange(5) < n_cuts[:, None], h, np.inf), beyond])
        ends = np.hstack([-beyond, above])
        c, row = np.where(codes == 255, 0, codes), np.arange(3)[:, None]
        log_mass = np.log(ndtr(ends[row, c + 1] - w) - ndtr(ends[row, c] - w))
        return np.where(codes == 255, 0.0, log_mass)

    def slopes(w):
        return OrdinalProbit().slopes(Tile(codes, w, np.empty((0, 0)), Thresholds(h, n_cuts)))

    step, (tau, push, curvature) = 1e-4, slopes(w)
    assert_allclose(push, (bound(w + step) - bound(w - step)) / (2 * step), atol=1e-6)
    fall = slopes(w - step).push - slopes(w + step).push
    assert_allclose(curvature, fall / (2 * step), atol=1e-6)
    sites = OrdinalProbit().sites(Tile(codes, w, np.empty((0, 0)), Thresholds(h, n_cuts)))
    assert_allclose(push, sites.rho - sites.tau * w, atol=1e-12)
    assert_array_equal(tau, codes != 255)
    assert_array_equal(sites.tau, tau)


def test_prior_of_ordered_cut_points_is_normalised():
    part = OrdinalProbit(cut_precision=1.0)
    h = np.linspace(-7, 7, 281)
    params = Thresholds(np.stack(np.meshgrid(h, h), axis=-1).reshape(-1, 2), np.full(281**2, 2))
    ordered = params.take(np.flatnonzero(params.h[:, 0] < params.h[:, 1]))
    density = [np.exp(part.params_bound(ordered.take(slice(i, i + 1)))) for i in range(0, 39000, 7)]
    assert 7 * np.sum(density) * 0.05**2 == pytest.approx(1.0, abs=0.05)


def test_a_feature_of_rare_levels_starts_ordered():
    table = np.concatenate([np.zeros(5000), np.arange(1.0, 9.0), np.full(3000, 9.0)])[:, None]
    part = OrdinalProbit()
    coding = part.learn(table)
    params = part.start(coding, coding.observe(table), np.ones((1, 2)))
    assert (np.diff(params.h) > 0).all()


def test_coding_is_that_of_the_rank_likelihood():
    table = with_holes(simulate(n=50, d=6).X)
    one, other = OrdinalProbit(max_cuts=5), MarginRank(max_cuts=5)
    codes = one.learn(table).observe(table).array
    assert_array_equal(codes, other.learn(table).observe(table).array)


@pytest.mark.parametrize(
    "bad", [{"max_cuts": 0}, {"max_cuts": 255}, {"max_cuts": 2.5}, {"cut_precision": 0.0}]
)
def test_hyper_parameters_out_of_range(bad):
    with pytest.raises(InputError, match="must be a"):
        OrdinalProbit(**bad)


@pytest.mark.slow
def test_draws_of_w_stay_in_their_intervals_and_average_to_their_expectation():
    codes, params, rows, z = little(np.random.default_rng(0))
    w, nothing = rows.mean @ z.mean.T, np.empty((0, 0))
    part, stream = OrdinalProbit(), Stream.from_seed(0)
    drawn = []
    for number in range(2000):
        sites = part.sites(Tile(codes, w, nothing, params, Chance(stream.child(number), 0, 0)))
        drawn.append(sites.rho)
    expected = part.sites(Tile(codes, w, nothing, params))
    assert_array_equal(sites.tau, expected.tau)
    assert sites.rho[0, 3] == 0.0  # missing
    level = np.where(codes == 255, 0, codes).astype(int)
    for i, n_cuts in enumerate(params.n_cuts):
        ends = np.concatenate([[-np.inf], params.h[i, :n_cuts], [np.inf]])
        inside = (ends[level[i]] < drawn) & (np.array(drawn) < ends[level[i] + 1])
        assert inside[:, i, codes[i] != 255].all()
    error = np.std(drawn, axis=0) / np.sqrt(2000) + 1e-12
    assert (np.abs(np.mean(drawn, axis=0) - expected.rho) / error).max() < 4.5


def test_statistics_of_draws_are_those_of_the_drawn_sites():
    """Sites and statistics of one stream draw the same w*, however samples are cut into blocks."""
    codes, params, rows, z = little(np.random.default_rng(0))
    w, nothing = rows.mean @ z.mean.T, np.empty((0, 0))
    part, stream = OrdinalProbit(), Stream.from_seed(5)
    sites = part.sites(Tile(codes, w, nothing, params, Chance(stream, 7, 0)))
    total = {}
    for samples in (slice(0, 13), slice(13, 40)):
        some = (np.ascontiguousarray(one[:, samples]) for one in (codes, w))
        chance = Chance(stream, 7, samples.start)
        statistics = part.statistics(Tile(*some, nothing, params, chance), z.take(samples))
        total = {key: total.get(key, 0.0) + value for key, value in statistics.items()}
    assert_allclose(part.system(total, params)[1], sites.rho @ z.mean, atol=1e-12)


def ordinal_table(n=400, d=60, n_factors=3, n_levels=5, seed=0):
    """Table of levels with cut points that differ by feature, and the true scores."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal((n, n_factors))
    w = scores @ rng.standard_normal((d, n_factors)).T + rng.standard_normal((n, d))
    table = np.empty((n, d))
    for i in range(d):
        ends = np.quantile(w[:, i], np.sort(rng.uniform(0.05, 0.95, n_levels - 1)))
        table[:, i] = np.digitize(w[:, i], ends)
    return table, scores


def explained(scores, fitted):
    """Share of each true score's variance that the fitted scores span."""
    left = scores - scores.mean(axis=0)
    design = fitted - fitted.mean(axis=0)
    residual = left - design @ np.linalg.lstsq(design, left, rcond=None)[0]
    return 1.0 - residual.var(axis=0) / left.var(axis=0)


@pytest.mark.slow
def test_recovers_the_factors_of_ordinal_data():
    table, scores = ordinal_table()
    model = Model(8, OrdinalProbit())
    coding = model.data.learn(table)
    observed = coding.observe(table)
    with workers(1) as pool:
        fit = vb.ascend(
            model,
            coding,
            observed,
            None,
            vb.Settings(tol=1e-5),
            np.random.default_rng(0),
            pool,
        )
    assert explained(scores, fit.z.mean).min() > 0.9
    assert fit.history.n_active[-1] == 3


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.quick_cases("vb")
@pytest.mark.parametrize("engine", ["vb", Gibbs(n_draws=6, burn_in=5, n_predict=3, n_chains=2)])
def test_classifier_is_saved_and_loaded(tmp_path, engine):
    table, scores = ordinal_table(n=120, d=15)
    table[::9, 2] = np.nan
    y = (scores[:, 0] > 0).astype(int)
    model = RankFactorClassifier(
        likelihood="ordinal_probit", n_factors=4, max_iter=60, random_state=0, engine=engine
    ).fit(table, y)
    assert model.score(table, y) > 0.85
    loaded = load_model(save_model(model.posterior_, tmp_path / "m"))
    assert loaded.model == model.posterior_.model
    decision = loaded.decide(table, Workers())
    assert_array_equal(loaded.probabilities(decision)[0], model.predict_proba(table))
