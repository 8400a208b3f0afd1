import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import digamma, gammaln
from scipy.stats import kstest
from tests.laws.goodness import assert_fits, integrated_cdf
from tests.shrinkage.wrong import off_by_half, replace_settle

from rankfactor.errors import InputError
from rankfactor.kernels.rng import Stream
from rankfactor.laws.point import Point
from rankfactor.shrinkage import TPBN, tpbn
from rankfactor.shrinkage.tpbn import TPBNScales


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


# Draws of the scales. Their conditionals are held against the joint density itself, integrated in
# one variable at a time: an exact test of each law, at states of the bulk and of the far tails.

ROWS, FACTORS, DRAWS = 2, 2, 300  # 200 draws miss a phi that is off by 1/2
NAMES = ("xi", "eta", "phi", "top")

# Logarithms (base 10) of |a|, xi, eta, phi and top around which a state lies.
STATES = {
    "bulk": (0, 0, 0, 0, 0),
    "large": (4, 8, -8, 8, -8),
    "small": (-4, -8, 8, -8, 0),
    "large phi alone": (0, 0, 0, 7, 0),
    "small phi alone": (0, 0, 0, -7, 0),
    "loadings far above their scales": (3, -3, 2, -2, 0),
    "loadings far below their scales": (-6, 3, -2, 2, 0),
}


def log_joint(prior, a, scales):
    """Log of p(a, xi, eta, phi, top) up to a constant, summed over the last two dimensions."""
    xi, eta, phi, top = (scales[name] for name in ("xi", "eta", "phi", "top"))

    def log_gamma(x, shape, rate):
        return shape * np.log(rate) + (shape - 1) * np.log(x) - rate * x

    return sum(
        part.sum(axis=(-1, -2))
        for part in (
            -0.5 * np.log(xi) - 0.5 * a**2 / xi,
            log_gamma(xi, prior.r, eta),
            log_gamma(eta, prior.s, phi),
            log_gamma(phi, 0.5, top),
            log_gamma(top, 0.5, 1.0),
        )
    )


def log_without_eta(prior, a, scales):
    """The same with eta integrated out: Ga(r, eta) and Ga(s, phi) make a beta prime law."""
    xi, phi, top = (scales[name] for name in ("xi", "phi", "top"))
    r, s = prior.r, prior.s
    parts = (
        -0.5 * np.log(xi) - 0.5 * a**2 / xi,
        (r - 1) * np.log(xi) + s * np.log(phi) - (r + s) * np.log(xi + phi),
        0.5 * np.log(top) - 0.5 * np.log(phi) - top * phi,
        -0.5 * np.log(top) - top,
    )
    return sum(part.sum(axis=(-1, -2)) for part in parts)


@pytest.mark.parametrize("prior", [TPBN(), TPBN(1.3, 0.7)], ids=["horseshoe", "other shapes"])
@pytest.mark.parametrize("phi", [1e-3, 1.0, 40.0])
def test_density_without_eta_is_the_integral(phi, prior):
    """As functions of xi, the two densities are proportional."""

    def given(xi, **more):
        others = {"xi": xi, "phi": phi, "top": 1.0, **more}
        return {key: np.full((1, 1), value) for key, value in others.items()}

    def margin(xi):
        def at(t):
            return np.exp(log_joint(prior, 0.7, given(xi, eta=np.exp(t))) + t)

        return quad(at, -60, 12, limit=500, epsabs=0.0)[0]

    places = (1e-2, 0.3, 1.0, 20.0, 1e3)
    ratio = [np.exp(log_without_eta(prior, 0.7, given(xi))) / margin(xi) for xi in places]
    assert_allclose(ratio, np.full(len(places), ratio[0]), rtol=1e-6)


def ranks_within_conditional(density, prior, a, scales, name, drawn):
    """P(x < drawn) under a density as a function of the first entry of a variable; all (DRAWS,).

    ``scales`` are the others' values, each (DRAWS, rows or 1, factors or 1).
    """

    def log_density(t):  # of log x, (DRAWS, grid)
        spread = {key: value[:, None] for key, value in scales.items()}
        value = np.broadcast_to(spread[name], (*t.shape, *scales[name].shape[1:])).copy()
        value[..., 0, 0] = np.exp(t)
        return density(prior, a, spread | {name: value}) + t

    low, high = np.full(DRAWS, -60.0), np.full(DRAWS, 60.0)
    for _ in range(3):  # to where the mass is
        grid = np.linspace(low, high, 240, axis=1)
        values = log_density(grid)
        inside = values > values.max(axis=1, keepdims=True) - 40.0
        first, last = inside.argmax(axis=1), 239 - inside[:, ::-1].argmax(axis=1)
        rows = np.arange(DRAWS)
        low = grid[rows, np.maximum(first - 1, 0)]
        high = grid[rows, np.minimum(last + 1, 239)]
    grid = np.linspace(low, high, 600, axis=1)
    values = log_density(grid)
    mass = np.exp(values - values.max(axis=1, keepdims=True))
    steps = np.cumsum(0.5 * (mass[:, 1:] + mass[:, :-1]), axis=1)
    return np.array(
        [
            np.interp(np.log(x), points, np.append(0.0, one) / one[-1])
            for x, points, one in zip(drawn, grid, steps, strict=True)
        ]
    )


def p_values(prior, place, seed):
    """By variable: are its draws those of its conditional?"""
    rng = np.random.default_rng(seed)
    by_factor = prior.scope == "factor"
    shapes = {
        "xi": (ROWS, FACTORS),
        "eta": (ROWS, FACTORS),
        "phi": (1, FACTORS) if by_factor else (ROWS, 1),
        "top": (1, 1) if by_factor else (ROWS, 1),
    }

    def some(shape, level):
        return np.exp(0.5 * rng.standard_normal(shape)) * 10.0**level

    a = some((ROWS, FACTORS), place[0])
    start = {
        name: some(shapes[name], level)
        for name, level in zip(("xi", "eta", "phi", "top"), place[1:], strict=True)
    }
    points = (Point(start[name]) for name in ("eta", "phi", "top"))
    old = TPBNScales(start["xi"], 1.0 / start["xi"], *points)
    stream = Stream.from_seed(seed)
    steps = {}  # draws of every step of an update, in its order
    inner = tpbn.settle
    with pytest.MonkeyPatch.context() as patch:
        for number in range(DRAWS):
            names = []

            def record(law, source, name, names=names):
                names.append(name)
                result = inner(law, source, name)
                # Of xi the horseshoe draws t = phi / xi.
                ratio = name == "xi" and prior.is_horseshoe
                value = start["phi"] / result.mean if ratio else result.mean
                steps.setdefault((len(names), name), []).append(value)
                return result

            replace_settle(patch, tpbn, record)
            new = prior.update(old, a**2, stream.child(number))
            last = {name: steps[step, name][-1] for step, name in sorted(steps)}
            for name in ("eta", "phi", "top"):
                assert_array_equal(getattr(new, name).mean, last[name])
            assert_allclose(new.xi, last["xi"], rtol=1e-12)
            assert_allclose(new.inv_xi, 1.0 / last["xi"], rtol=1e-12)
    now = {name: np.tile(value, (DRAWS, 1, 1)) for name, value in start.items()}
    result = {}
    for (_, name), values in sorted(steps.items()):
        drawn = np.array(values)
        density = log_without_eta if name == "xi" and prior.is_horseshoe else log_joint
        ranks = ranks_within_conditional(density, prior, a, now, name, drawn[:, 0, 0])
        result[name] = min(kstest(ranks, "uniform").pvalue, result.get(name, 1.0))
        now[name] = drawn
    return result


CASES = [TPBN(), TPBN(scope="row"), TPBN(0.8, 1.5, "row")]
LEVEL = 1e-4 / (len(CASES) * len(STATES) * 7)  # steps of an update, at the most


@pytest.mark.parametrize("place", STATES.values(), ids=STATES.keys())
@pytest.mark.parametrize("prior", CASES, ids=["horseshoe", "by row", "other shapes"])
@pytest.mark.quick_cases("horseshoe-bulk", "by row-small", "other shapes-large")
def test_draws_follow_the_joint_density(prior, place):
    found = p_values(prior, place, seed=1)
    assert {name: p for name, p in found.items() if p < LEVEL} == {}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.slow
def test_a_wrong_conditional_is_found(name, monkeypatch):
    replace_settle(monkeypatch, tpbn, off_by_half(name))
    found = p_values(TPBN(), STATES["bulk"], seed=1)
    assert [key for key, p in found.items() if p < LEVEL] == [name]


@pytest.mark.parametrize("ratio", [1e-4, 1.0, 1e4])
def test_the_horseshoe_s_draws_leave_its_law_as_it_is(ratio):
    """Draws of p(xi, eta | a, phi), updated once, are draws of it again."""
    n, phi, square = 20_000, 0.3, 0.3 * ratio
    grid = np.linspace(-40.0, 60.0, 200_001) + np.log(phi)  # of log xi
    cdf = integrated_cdf(lambda t: -np.log(np.exp(t) + phi) - 0.5 * square * np.exp(-t), grid)
    uniform = np.random.default_rng(3).uniform(size=n)
    values = cdf(grid)
    inside = np.flatnonzero((values > 0) & (values < 1))
    xi = np.exp(np.interp(uniform, values[inside], grid[inside]))[:, None]
    points = (Point(np.full(shape, value)) for shape, value in (((n, 1), 1.0), ((1, 1), phi)))
    old = TPBNScales(xi, 1.0 / xi, *points, Point(np.ones((1, 1))))
    new = TPBN().update(old, np.full((n, 1), square), Stream.from_seed(5))
    assert_fits(np.log(new.xi), cdf, 6)
    unit = new.eta.mean * (new.xi + phi)  # exponential, whatever xi is
    assert_fits(unit, "expon", 6)
    assert abs(np.corrcoef(unit.ravel(), np.log(new.xi).ravel())[0, 1]) < 5 / np.sqrt(n)
    # They are new draws: whatever the old ones were does not matter.
    assert abs(np.corrcoef(np.log(xi).ravel(), np.log(new.xi).ravel())[0, 1]) < 5 / np.sqrt(n)


# The slab: a further factor exp(-a^2 / (2 slab^2)) for every entry.


@pytest.mark.parametrize("scope", ["factor", "row"])
def test_a_slab_adds_its_precision_and_leaves_the_scales_alone(scope):
    squares = np.random.default_rng(0).gamma(0.5, size=(4, 3))
    plain, slab = TPBN(scope=scope), TPBN(scope=scope, slab=0.5)
    for stream in (None, Stream.from_seed(1)):
        one, other = (prior.update(prior.start(4, 3), squares, stream) for prior in (plain, slab))
        assert_array_equal(one.xi, other.xi)
        assert_array_equal(one.phi.mean, other.phi.mean)
        assert_allclose(slab.precision(other), plain.precision(one) + 4.0, rtol=1e-12)
    one, other = (prior.update(prior.start(4, 3), squares) for prior in (plain, slab))
    loss = plain.bound(one, squares) - slab.bound(other, squares)
    assert_allclose(loss, 2.0 * squares.sum(), rtol=1e-9)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("scope", ["factor", "row"])
def test_a_slab_holds_back_a_stretch(scope, axis):
    squares = np.random.default_rng(0).gamma(0.5, size=(4, 3))
    plain, slab = TPBN(scope=scope), TPBN(scope=scope, slab=0.5)
    scales = plain.update(plain.start(4, 3), squares, Stream.from_seed(1))
    one, other = (prior.stretch(scales, squares, axis) for prior in (plain, slab))
    assert one.power == other.power
    assert_allclose(other.rate - one.rate, 2.0 * squares.sum(axis=axis), rtol=1e-9)
    assert_array_equal(other.inverse, one.inverse)


def test_a_slab_limits_large_entries_and_not_small_ones():
    """Of an entry that is seen with an error of 1, at a settled scale."""

    def kept(prior, x):
        """Share of x that is left, with xi at its optimum for phi = 0.01."""
        a, scales = np.full((1, 1), x), prior.start(1, 1)
        points = Point(np.full((1, 1), 0.01)), Point(np.ones((1, 1)))
        for _ in range(200):
            scales = prior.update(TPBNScales(scales.xi, scales.inv_xi, scales.eta, *points), a**2)
            a = np.full((1, 1), x) / (1.0 + prior.precision(scales))
        return (a / x).item()

    plain, slab = TPBN(), TPBN(slab=2.0)
    assert kept(plain, 50.0) > 0.99
    assert_allclose(kept(slab, 50.0), 0.8, atol=0.01)
    assert abs(kept(slab, 1.0) - kept(plain, 1.0)) < 0.1


@pytest.mark.parametrize("slab", [0.0, -1.0, np.nan])
def test_a_slab_is_positive(slab):
    with pytest.raises(InputError, match="slab"):
        TPBN(slab=slab)


def test_slabs_by_default():
    assert TPBN().slab is None
    assert TPBN.for_loadings().slab > 0
    assert TPBN.for_coefficients().slab > 0
    assert TPBN.for_coefficients().scope == "row"
    assert TPBN.for_loadings().is_horseshoe
