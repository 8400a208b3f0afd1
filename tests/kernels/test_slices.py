"""Slice sampling: draws of scales and of angles have the densities that they should have.

A step is tested without waiting for a chain: where the variable has its law before the step, it has
it afterwards. Single steps from exact draws test that, and runs of many steps from one place, that
the step gets everywhere.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import ks_2samp, norm
from tests.laws.goodness import assert_fits, integrated_cdf

from rankfactor.engine.row_scales import draw_slices
from rankfactor.kernels.evidence import HINGE, PROBIT, log_evidence
from rankfactor.kernels.planes import fine_points, plane_log_density
from rankfactor.kernels.rng import Stream
from rankfactor.kernels.slices import (
    random_pairs,
    slice_columns,
    slice_planes,
    slice_scale,
    slice_shears,
)
from rankfactor.laws.horseshoe import log_exponential_integral

N, STEPS = 5000, 30
NOTHING = np.empty(0)
SIGNED = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
MEAN, VARIANCE = np.array([0.4, 1.0, -0.2, 2.0, -1.3]), np.array([0.5, 0.1, 2.0, 0.3, 1.0])

# Power, rate, inverse and slope; then kind, labels, means and variances of their decisions.
SCALES = {
    "gamma": (2.0, 1.3, 0.0, 0.0, PROBIT, NOTHING, NOTHING, NOTHING),
    "inverse gamma": (-0.5, 0.0, 0.7, 0.0, PROBIT, NOTHING, NOTHING, NOTHING),
    "narrow": (300.0, 200.0, 40.0, 0.0, PROBIT, NOTHING, NOTHING, NOTHING),
    "wide": (0.05, 0.05, 1e-9, 0.0, PROBIT, NOTHING, NOTHING, NOTHING),
    "slope": (0.5, 0.4, 0.0, 3.0, PROBIT, NOTHING, NOTHING, NOTHING),
    "two modes": (-1.0, 2.0, 1e-3, 9.0, PROBIT, NOTHING, NOTHING, NOTHING),
    "probit": (1.0, 0.3, 0.1, 0.0, PROBIT, SIGNED, MEAN, VARIANCE),
    "hinge": (1.0, 0.1, 0.1, 0.0, HINGE, 0.7 * SIGNED, MEAN, VARIANCE),
}
GRID = np.linspace(-70.0, 30.0, 40_001)


def log_scale_density(t, power, rate, inverse, slope, kind, signed, mean, variance):
    """Log density of t = log u (m,), written out."""
    u = np.exp(t)
    total = power * t - rate * u - inverse / u + slope * np.sqrt(u)
    for one in zip(signed, mean, variance, strict=True):
        terms = [log_evidence(kind, one[0], np.sqrt(x) * one[1], x * one[2]) for x in u]
        total = total + np.array(terms)
    return total


def at(t, power, rate, inverse, slope, kind, signed, mean, variance):
    """The same density seen from t."""
    u = np.exp(t)
    moved = np.sqrt(u) * mean, u * variance
    return power, rate * u, inverse / u, slope * np.sqrt(u), kind, signed, *moved


def exact_draws(cdf, grid, n, seed=0):
    """Independent draws by the inverse of a distribution function."""
    values = cdf(grid)
    inside = np.concatenate([[True], np.diff(values) > 0])
    uniform = np.random.default_rng(seed).uniform(size=n)
    return np.interp(uniform, values[inside], grid[inside])


def scale_cdf(case):
    given = SCALES[case]
    # Where labels are seen evaluation takes time, and the density is smooth.
    grid = GRID[::10] if len(given[5]) else GRID
    with np.errstate(over="ignore"):
        return integrated_cdf(lambda t: log_scale_density(t, *given), grid), grid


@pytest.mark.parametrize("case", SCALES)
def test_a_step_leaves_the_density_of_a_scale_alone(case):
    (cdf, grid), stream = scale_cdf(case), Stream.from_seed(1)
    before = exact_draws(cdf, grid, N)
    steps = np.array(
        [slice_scale(stream.child(i).word, *at(t, *SCALES[case])) for i, t in enumerate(before)]
    )
    assert (steps != 0).all()
    assert_fits(before + steps, cdf, 2 * len(SCALES))


@pytest.mark.parametrize("case", SCALES)
def test_steps_lead_from_one_place_to_the_density_of_a_scale(case):
    (cdf, _), stream = scale_cdf(case), Stream.from_seed(2)
    ends = []
    for run in range(600):
        t, source = 0.0, stream.child(run)
        for step in range(STEPS):
            t += slice_scale(source.child(step).word, *at(t, *SCALES[case]))
        ends.append(t)
    assert_fits(np.array(ends), cdf, 2 * len(SCALES))


def test_a_power_off_by_half_is_found():
    cdf, grid = scale_cdf("gamma")
    power, *others = SCALES["gamma"]
    stream, before = Stream.from_seed(1), exact_draws(cdf, grid, N)
    after = [
        t + slice_scale(stream.child(i).word, *at(t, power + 0.5, *others))
        for i, t in enumerate(before)
    ]
    with pytest.raises(AssertionError):
        assert_fits(np.array(after), cdf, 1)


DENSITIES = {
    "normal": (lambda t: norm.logpdf(t, 0.4, 0.8), np.linspace(-8, 8, 20_001)),
    "wide": (lambda t: norm.logpdf(t, -3.0, 25.0), np.linspace(-200, 200, 20_001)),
    "narrow": (lambda t: norm.logpdf(t, 0.1, 1e-3), np.linspace(0.09, 0.11, 20_001)),
    "exponential": (
        lambda t: np.where(t > 0.2, -t, -np.inf),
        np.concatenate([[0.1999999], np.linspace(0.2, 30, 20_001)]),
    ),
    "two modes": (
        lambda t: np.logaddexp(norm.logpdf(t, -1.0, 0.3), norm.logpdf(t, 1.5, 0.5)),
        np.linspace(-5, 6, 20_001),
    ),
}


@pytest.mark.parametrize("case", DENSITIES)
def test_slices_of_many_variables_at_once(case):
    density, grid = DENSITIES[case]
    cdf = integrated_cdf(density, grid)
    before = exact_draws(cdf, grid, 20_000, seed=3)
    steps = draw_slices(lambda t, some: density(before[some] + t), 20_000, Stream.from_seed(4))
    assert (steps != 0).all()
    assert_fits(before + steps, cdf, 2 * len(DENSITIES))
    # They are new: the normal's are nearly as good as independent ones.
    assert np.corrcoef(before, steps + before)[0, 1] < (0.5 if case == "normal" else 0.999)


def test_many_variables_have_densities_and_numbers_of_their_own():
    """What a variable becomes depends neither on the others nor on where the tile begins."""
    place, stream = np.linspace(-3, 3, 50), Stream.from_seed(5)

    def density(t, some, part=slice(None)):
        return -0.5 * (t - place[part][some]) ** 2

    whole = draw_slices(density, 50, stream)
    part = slice(20, 33)
    again = draw_slices(lambda t, some: density(t, some, part), 13, stream, first=20)
    assert_array_equal(again, whole[part])
    assert np.corrcoef(place, whole)[0, 1] > 0.5


def columns_problem():
    """Q, h, power, rate and inverse of two columns that hold each other."""
    Q = np.array([[3.0, 2.0], [2.0, 4.0]])
    return Q, np.array([4.0, 5.0]), 0.5, np.array([0.3, 0.6]), np.array([0.1, 0.02])


def test_columns_follow_their_joint_density():
    """One step of both from exact draws of the pair."""
    Q, h, power, rate, inverse = columns_problem()
    line = np.linspace(-12.0, 4.0, 801)
    t, s = np.meshgrid(line, line, indexing="ij")
    alpha = np.exp(0.5 * np.stack([t, s]))  # (2, grid, grid)
    log_density = np.einsum("k,kij->ij", h, alpha)
    log_density -= 0.5 * np.einsum("kij,kl,lij->ij", alpha, Q, alpha)
    for k, one in enumerate((t, s)):
        log_density += power * one - rate[k] * np.exp(one) - inverse[k] * np.exp(-one)
    mass = np.exp(log_density - log_density.max())
    rng = np.random.default_rng(6)
    chosen = rng.choice(mass.size, size=N, p=mass.ravel() / mass.sum())
    width = line[1] - line[0]
    pairs = np.column_stack([t.ravel()[chosen], s.ravel()[chosen]])
    pairs += width * rng.uniform(-0.5, 0.5, size=pairs.shape)
    stream, after = Stream.from_seed(7), np.empty_like(pairs)
    for i, pair in enumerate(pairs):
        unit = np.exp(0.5 * pair)
        held, pull = Q * np.outer(unit, unit), h * unit
        u = np.exp(pair)
        found = slice_columns(stream.child(i).word, held, pull, power, rate * u, inverse / u)
        after[i] = pair + found
        end = np.exp(0.5 * after[i])
        if i == 0:  # what follows the draws, in place
            assert_allclose(held, Q * np.outer(end, end), rtol=1e-12)
            assert_allclose(pull, h * end, rtol=1e-12)
    assert (after != pairs).all()
    for k in (0, 1):
        margin = np.cumsum(mass.sum(axis=1 - k))

        def cdf(x, margin=margin):
            return np.interp(x, line + 0.5 * width, margin / margin[-1])

        assert_fits(after[:, k], cdf, 2)
    # How the two go together: their sum has the law that it had.
    assert ks_2samp(pairs.sum(axis=1), after.sum(axis=1)).pvalue > 1e-4


def horseshoe_side(rng, n_rows, order):
    rows = rng.standard_t(2.0, size=(order, n_rows))
    unit = np.exp(rng.standard_normal((order, n_rows)))
    return rows, unit, log_exponential_integral(0.5 * fine_points()), 0.4


def normal_side(rng, n_rows, order):
    rows = rng.standard_normal((order, n_rows))
    unit = np.repeat(np.exp(rng.standard_normal((order, 1))), n_rows, axis=1)
    return rows, unit, -0.5 * fine_points(), 0.0


SIDES = {
    "horseshoe": (horseshoe_side,),
    "normal": (normal_side,),
    "both": (horseshoe_side, normal_side),
}


def turned(rows, angle):
    """Two rows (2, d) rotated by an angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, s], [-s, c]]) @ rows


@pytest.mark.parametrize("case", SIDES)
@pytest.mark.parametrize("start", ["exact", "one place"])
def test_angles_follow_their_density(case, start):
    rng = np.random.default_rng(8)
    sides = [make(rng, n, 2) for make, n in zip(SIDES[case], (4, 3), strict=False)]
    grid = np.linspace(0.0, np.pi, 4001)
    values = np.array(
        [sum(plane_log_density(*a, *unit, table, t) for a, unit, table, _ in sides) for t in grid]
    )
    cdf = integrated_cdf(lambda _: values, grid)
    n = N if start == "exact" else 1000
    before = exact_draws(cdf, grid, n) if start == "exact" else np.zeros(n)
    stream, after, pairs = Stream.from_seed(9), [], np.array([[0, 1]])
    for i, angle in enumerate(before):
        now = tuple((turned(a, angle), *others) for a, *others in sides)
        turn = np.eye(2)
        for step in range(1 if start == "exact" else STEPS):
            slice_planes(stream.child(i, step).word, pairs, now, turn)
        after.append(angle + np.arctan2(turn[0, 1], turn[0, 0]))
        if i < 5:
            for (moved, *_), (a, *_) in zip(now, sides, strict=True):
                assert_allclose(moved, turned(a, after[-1]), atol=1e-12)
    assert_fits(np.mod(after, np.pi), cdf, 2 * len(SIDES))


def test_log_density_of_a_plane_is_that_of_rotated_entries():
    rng = np.random.default_rng(10)
    rows, unit, table, _ = horseshoe_side(rng, 6, 2)
    for angle in (-1.2, 0.0, 0.4, 2.0):
        ratio = unit * turned(rows, angle) ** 2
        expected = log_exponential_integral(0.5 * ratio).sum()
        found = plane_log_density(*rows, *unit, table, angle)
        assert_allclose(found, expected, atol=12 * 5e-7)
        around = plane_log_density(*rows, *unit, table, angle + np.pi)
        assert_allclose(around, found, rtol=1e-9)


def test_several_planes_are_turned_together():
    rng = np.random.default_rng(11)
    sides = tuple(make(rng, n, 5) for make, n in ((horseshoe_side, 4), (normal_side, 2)))
    before = [rows.copy() for rows, *_ in sides]
    turn = np.eye(5)
    slice_planes(Stream.from_seed(12).word, np.array([[3, 0], [1, 4]]), sides, turn)
    assert_allclose(turn @ turn.T, np.eye(5), atol=1e-12)
    assert_array_equal(turn[2], np.eye(5)[2])
    assert turn[3, 0] != 0
    assert turn[1, 4] != 0
    assert_array_equal(turn[[3, 0]][:, [1, 4]], 0.0)
    for (rows, *_), old in zip(sides, before, strict=True):
        assert_allclose(rows, turn @ old, atol=1e-12)


def sheared(rows, by):
    """Two rows (2, d), the first of them added to the second."""
    return np.array([rows[0], rows[1] + by * rows[0]])


def log_shear_density(by, sides, moment):
    """Log density of a shear, written out."""
    total = by * moment[0, 1] - 0.5 * by**2 * moment[1, 1]
    for rows, unit, table, ridge in sides:
        entries = sheared(rows, by)[1]
        ratio = unit[1] * entries**2
        normal = table[-1] == -0.5 * fine_points()[-1]
        terms = -0.5 * ratio if normal else log_exponential_integral(0.5 * ratio)
        total += terms.sum() - 0.5 * ridge * (entries**2).sum()
    return total


def shear_problem(case):
    """Sides, the scores' moment, and the distribution function of a shear on a grid."""
    rng = np.random.default_rng(13)
    sides = [make(rng, n, 2) for make, n in zip(SIDES[case], (4, 3), strict=False)]
    moment = np.array([[3.0, 1.1], [1.1, 1.5]])
    grid = np.linspace(-8.0, 8.0, 8001)
    values = np.array([log_shear_density(by, sides, moment) for by in grid])
    return sides, moment, integrated_cdf(lambda _: values, grid), grid


def shear_from(by, sides, moment, key, n_steps):
    """Shears after some steps from one that is given; sides, moment and matrix at the end."""
    matrix, turn = np.array([[1.0, -by], [0.0, 1.0]]), np.eye(2)
    now = tuple((sheared(rows, by), *others) for rows, *others in sides)
    moment = matrix @ moment @ matrix.T
    for step in range(n_steps):
        slice_shears(key.child(step).word, np.array([[0, 1]]), now, moment, turn)
    return by - turn[0, 1], now, moment, turn @ matrix


@pytest.mark.slow
@pytest.mark.parametrize("case", SIDES)
@pytest.mark.parametrize("start", ["exact", "one place"])
def test_shears_follow_their_density(case, start):
    sides, moment, cdf, grid = shear_problem(case)
    exact = start == "exact"
    before = exact_draws(cdf, grid, N) if exact else np.full(500, 1.5)
    stream, after = Stream.from_seed(14), []
    for i, by in enumerate(before):
        given = by, sides, moment, stream.child(i), 1 if exact else 5 * STEPS
        end, now, follows, matrix = shear_from(*given)
        after.append(end)
        if i < 5:
            assert_allclose(matrix, [[1.0, -end], [0.0, 1.0]], atol=1e-12)
            assert_allclose(follows, matrix @ moment @ matrix.T, rtol=1e-9)
            for (rows, *_), (old, *_) in zip(now, sides, strict=True):
                assert_allclose(rows, sheared(old, end), atol=1e-12)
    assert (np.array(after) != before).all()
    assert_fits(np.array(after), cdf, 2 * len(SIDES))


def test_a_shear_that_hardly_looks_at_the_scores_is_found():
    sides, moment, cdf, grid = shear_problem("normal")
    stream = Stream.from_seed(15)
    before = exact_draws(cdf, grid, N)
    after = [
        shear_from(by, sides, 0.1 * moment, stream.child(i), 3)[0] for i, by in enumerate(before)
    ]
    with pytest.raises(AssertionError):
        assert_fits(np.array(after), cdf, 1)


@pytest.mark.parametrize("order", [1, 2, 5, 6])
def test_pairs_are_divisions_at_random(order):
    half, counts = order // 2, np.zeros((order, order))
    for number in range(2000):
        pairs = random_pairs(Stream.from_seed(20).child(number).word, order)
        assert pairs.shape == (half * (order - 1), 2)
        for division in pairs.reshape(order - 1, half, 2):
            assert len(np.unique(division)) == 2 * half
        np.add.at(counts, (pairs[:, 0], pairs[:, 1]), 1)
    if order > 1:
        apart = counts[~np.eye(order, dtype=bool)]
        mean = 2000 * half / order
        assert_allclose(apart, mean, atol=5 * np.sqrt(mean))
