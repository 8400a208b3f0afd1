"""Coefficients of labels drawn with the scores integrated out, against numerical posteriors.

One factor, so that a row is a slope and an intercept, and the law of every score given the table is
held fixed. The posterior of the row is then a density on the plane.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr, logsumexp
from tests.engine.hand_built import FixedNormal, certain, failures, z_score
from tests.engine.test_expansion import K as FACTORS
from tests.engine.test_expansion import draw_scales, log_density, variables
from tests.kernels.test_evidence import log_likelihood
from tests.laws.goodness import assert_fits

from rankfactor.engine import label_rows
from rankfactor.engine.label_rows import LabelRows, draw_label_rows, integrates
from rankfactor.kernels.evidence import HINGE, PROBIT, log_evidence, total_evidence
from rankfactor.kernels.label_rows import (
    approximate_row,
    decision_means,
    decision_products,
)
from rankfactor.kernels.packed import pack
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Hinge, NoParameters, ObservedArray, Probit
from rankfactor.model import View, ViewState
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD
from rankfactor.steps.score import ObservedView

MEAN = np.array([-1.5, -0.9, -0.4, 0.1, 0.3, 0.8, 1.1, 1.9])
VARIANCE = np.array([0.3, 0.1, 0.5, 0.2, 0.9, 0.1, 0.4, 0.2])
LABELS = np.array([-1.0, -1.0, 1.0, -1.0, 0.0, 1.0, 1.0, 1.0])
SLOPE, INTERCEPT = 0.3, 0.5  # prior precisions
CASES = {
    "probit": (Probit(), PROBIT, LABELS),
    "hinge": (Hinge(), HINGE, LABELS),
    "weighted hinge": (Hinge(), HINGE, LABELS * np.where(LABELS > 0, 0.6, 2.0)),
}
LINE = np.linspace(-9.0, 11.0, 201)


def item_of(case, row, copies=1):
    likelihood, _, signed = CASES[case]
    state = ViewState(certain(np.tile(row, (copies, 1))), NoParameters(), (copies, 1))
    observed = ObservedArray(np.tile(signed, (copies, 1)))
    return ObservedView(View(likelihood, FixedNormal(SLOPE), INTERCEPT), observed, state)


def natural():
    """Natural parameters of the scores given the table, shapes (N, P) and (N, K)."""
    return (1.0 / VARIANCE)[:, None], (MEAN / VARIANCE)[:, None]


@cache
def posterior(case):
    """Points (cells, 2) on the plane of slope and intercept, and their probabilities."""
    _, kind, signed = CASES[case]
    seen = signed != 0
    points = np.stack(np.meshgrid(LINE, LINE, indexing="ij"), axis=-1).reshape(-1, 2)
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    values = -0.5 * (SLOPE * points[:, 0] ** 2 + INTERCEPT * points[:, 1] ** 2)
    for y, m, v in zip(signed[seen], MEAN[seen], VARIANCE[seen], strict=True):
        if kind == PROBIT:  # by quadrature over the score, as it stands in the model
            f = points[:, :1] * (m + np.sqrt(v) * nodes) + points[:, 1:]
            values += logsumexp(log_ndtr(y * f), axis=1, b=weights)
        else:  # the hinge's corner is nothing for a quadrature; `test_evidence` has the integral
            at = points[:, 0] * m + points[:, 1], np.maximum(points[:, 0] ** 2 * v, 1e-12)
            values += [log_evidence(kind, y, *one) for one in zip(*at, strict=True)]
    mass = np.exp(values - values.max())
    return points, mass / mass.sum()


def drawn_from(points, mass, n, seed):
    """Independent draws of a law on a grid, spread over its cells."""
    rng = np.random.default_rng(seed)
    chosen = points[rng.choice(len(points), size=n, p=mass)]
    return chosen + (LINE[1] - LINE[0]) * rng.uniform(-0.5, 0.5, size=chosen.shape)


def functions(x, centre):
    x = x - centre
    return {
        "slope": x[..., 0],
        "intercept": x[..., 1],
        "slope squared": x[..., 0] ** 2,
        "intercept squared": x[..., 1] ** 2,
        "both": x[..., 0] * x[..., 1],
        "tail": np.tanh(2 * x[..., 0] - 1),
        "other tail": np.tanh(2 * x[..., 1] + 1),
    }


def draw(item, precision, shift, z, stream):
    """Draw the labels' rows, in place: natural parameters with their sites, log likelihood."""
    (sums,), (terms,) = draw_label_rows([LabelRows.of(item)], precision, shift, z, stream)
    return precision + sums[0], shift + sums[1], terms


def swept(case, row, stream, n_sweeps):
    """Rows after every sweep, shape (n_sweeps, 2)."""
    item, z, rows = item_of(case, row), certain(MEAN[:, None]), []
    for sweep in range(n_sweeps):
        draw(item, *natural(), z, stream.child(sweep))
        rows.append(item.state.rows.mean[0].copy())
    return np.array(rows)


@pytest.mark.parametrize("case", CASES)
def test_a_draw_leaves_the_posterior_alone(case):
    points, mass = posterior(case)
    stream, after = Stream.from_seed(1), []
    before = drawn_from(points, mass, 1000, seed=2)
    for number, row in enumerate(before):
        after.append(swept(case, row, stream.child(number), 1)[0])
    after = np.array(after)
    for k in (0, 1):
        margin = np.cumsum(mass.reshape(len(LINE), -1).sum(axis=1 - k))
        ends = LINE + 0.5 * (LINE[1] - LINE[0])
        assert_fits(after[:, k], lambda x, m=margin, e=ends: np.interp(x, e, m), 2 * len(CASES))
    # Nearly independent of where it was.
    assert abs(np.corrcoef(before[:, 0], after[:, 0])[0, 1]) < 0.5


@pytest.mark.parametrize("case", CASES)
def test_chains_find_the_posterior_from_far_away(case):
    points, mass = posterior(case)
    centre = mass @ points
    expected = {name: mass @ value for name, value in functions(points, centre).items()}
    stream = Stream.from_seed(3)
    chains = np.array(
        [swept(case, np.array([-3.0, 4.0]), stream.child(i), 25)[10:] for i in range(80)]
    )
    found = functions(chains, centre)
    assert not failures({k: z_score(v.mean(axis=1), expected[k]) for k, v in found.items()})


def test_a_wrong_law_of_the_scores_is_found(monkeypatch):
    """Decisions that are certain: the evidence without their variance."""
    points, mass = posterior("probit")
    centre = mass @ points
    expected = {name: mass @ value for name, value in functions(points, centre).items()}
    right = label_rows.draw_label_row

    def certain_decisions(kind, signed, X, cov, *others):
        return right(kind, signed, X, 0.0 * cov, *others)

    monkeypatch.setattr(label_rows, "draw_label_row", certain_decisions)
    monkeypatch.setattr(label_rows, "_draw_scale", lambda *_: 1.0)
    stream = Stream.from_seed(3)
    chains = np.array([swept("probit", centre, stream.child(i), 25)[5:] for i in range(80)])
    found = functions(chains, centre)
    assert failures({k: z_score(v.mean(axis=1), expected[k]) for k, v in found.items()})


@pytest.mark.parametrize("step", ["row", "scale"])
@pytest.mark.parametrize("case", CASES)
def test_each_step_leaves_the_posterior_alone(case, step, monkeypatch):
    """Ellipses alone, and scales alone; the latter only along a ray, so from exact draws."""
    if step == "row":
        monkeypatch.setattr(label_rows, "_draw_scale", lambda *_: 1.0)
    else:
        monkeypatch.setattr(label_rows, "draw_label_row", lambda *given: given[5])
    points, mass = posterior(case)
    stream = Stream.from_seed(4)
    before = drawn_from(points, mass, 1000, seed=5)
    after = np.array([swept(case, x, stream.child(i), 1)[0] for i, x in enumerate(before)])
    assert (after != before).all()
    if step == "scale":
        ratio = after / before
        assert_allclose(ratio[:, 0], ratio[:, 1], rtol=1e-9)
        assert (ratio > 0).all()
    centre = mass @ points
    first, last = functions(before, centre), functions(after, centre)
    assert not failures({name: z_score(last[name] - first[name]) for name in first})


@pytest.mark.parametrize("case", CASES)
def test_scores_given_the_sites_have_their_posterior(case):
    """Row, sites and scores are one block: the scores' means are those of the joint posterior."""
    _, kind, signed = CASES[case]
    points, mass = posterior(case)
    stream, rng, z = Stream.from_seed(6), np.random.default_rng(7), certain(MEAN[:, None])
    found = []
    for number, row in enumerate(drawn_from(points, mass, 1000, seed=8)):
        item, source = item_of(case, row), stream.child(number)
        precision, shift, _ = draw(item, *natural(), z, source)
        noise = rng.standard_normal(len(MEAN)) / np.sqrt(precision[:, 0])
        found.append(shift[:, 0] / precision[:, 0] + noise)
    found = np.array(found)
    # E[z_n | y] by quadrature over z_n and the row: the row's law times what the label says.
    x, weight = np.polynomial.hermite_e.hermegauss(80)
    some = mass > 1e-9 * mass.max()
    points, mass = points[some][::3], mass[some][::3]
    scores = {}
    for n, y in enumerate(signed):
        z_n = MEAN[n] + np.sqrt(VARIANCE[n]) * x
        given = np.broadcast_to(weight, (len(points), len(x)))
        if y:
            f = points[:, :1] * z_n + points[:, 1:]
            given = given * np.exp(log_likelihood(kind, y, f))
        given = given / given.sum(axis=1, keepdims=True)
        for power in (1, 2):
            exact = mass @ (given @ z_n**power) / mass.sum()
            scores[f"z{n} to the power {power}"] = z_score(found[:, n] ** power, exact)
    assert not failures(scores)


def test_labels_of_several_rows_share_the_scores():
    """Two equal rows carry more information on the scores than one; missing labels carry none."""
    precision, shift = natural()
    z, stream = certain(MEAN[:, None]), Stream.from_seed(9)
    one = draw(item_of("probit", [1.0, 0.2]), precision, shift, z, stream)
    two = draw(item_of("probit", [1.0, 0.2], copies=2), precision, shift, z, stream)
    seen = LABELS != 0
    for more in (one, two):
        assert_array_equal(more[0][~seen], precision[~seen])
        assert_array_equal(more[1][~seen], shift[~seen])
        assert (more[0][seen] > precision[seen]).all()
    expected = log_ndtr(LABELS * (MEAN + 0.2))[seen].sum()
    assert_allclose([one[2], two[2]], [expected, 2 * expected], rtol=1e-12)


def test_without_labels_a_row_has_its_prior():
    item, z, draws = item_of("probit", [1.0, 0.2]), certain(MEAN[:, None]), []
    item.observed = ObservedArray(np.zeros((1, len(MEAN))))
    for number in range(1500):
        item.state.rows.mean[:] = np.random.default_rng(number).standard_normal(2)
        item.state.rows.mean[:] /= np.sqrt([SLOPE, INTERCEPT])
        draw(item, *natural(), z, Stream.from_seed(10).child(number))
        draws.append(item.state.rows.mean[0].copy())
    for k, p in enumerate((SLOPE, INTERCEPT)):
        assert_fits(np.array(draws)[:, k] * np.sqrt(p), "norm", 2)


PRIORS = [
    TPBN(scope="row"),
    TPBN(scope="row", slab=0.8),
    TPBN(),
    NormalARD(2.0, 3.0, "row"),
    NormalARD(2.0, 3.0),
    MultiplicativeGamma(),
]


@pytest.mark.parametrize("kind", [PROBIT, HINGE])
@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_law_of_a_scale_is_the_density_of_the_moved_row(prior, kind, monkeypatch):
    """Priors of rows and scales, intercept, evidence and Jacobian, for the second of three rows."""
    rng, r, n = np.random.default_rng(11), 1, 9
    rows = rng.standard_normal((3, FACTORS + 1))
    start = draw_scales(rng, prior, 3)
    signed, mean = np.sign(rng.standard_normal(n)), rng.standard_normal(n)
    variance = rng.gamma(1.0, size=n)
    label = Probit() if kind == PROBIT else Hinge()

    def item():
        state = ViewState(certain(rows), NoParameters(), start)
        return ObservedView(View(label, prior, 0.4), ObservedArray(np.zeros((3, 0))), state)

    def density(one, u):
        a, scales = one.state.rows.mean, one.state.scales
        total = log_density(prior, a[:, :FACTORS], scales) - 0.2 * (a[:, FACTORS] ** 2).sum()
        return total + total_evidence(kind, signed, np.sqrt(u) * mean, u * variance)

    def sizes(one):
        parts = [one.state.rows.mean, *variables(prior, one.state.scales)]
        return np.log(np.concatenate([np.abs(np.ravel(part)) for part in parts]))

    before = item()
    for t in (-2.0, 0.4, 1.3):
        found, moved = [], item()

        def record(key, *given, t=t, found=found):
            found.extend(given)
            return t

        monkeypatch.setattr(label_rows, "slice_scale", record)
        part = replace(LabelRows.of(moved), prior=np.full(rows.shape, 0.4))
        u = label_rows._draw_scale(part, r, (kind, signed, mean, variance), Stream.from_seed(12))
        assert_allclose(u, np.exp(t), rtol=1e-12)
        power, rate, inverse, slope = found[:4]
        assert slope == 0.0
        value = power * t - rate * (u - 1) - inverse * (1 / u - 1)
        value += total_evidence(kind, signed, np.sqrt(u) * mean, u * variance)
        value -= total_evidence(kind, signed, mean, variance)
        jacobian = (sizes(moved) - sizes(before)).sum()
        assert_allclose(value, density(moved, u) - density(before, 1.0) + jacobian, rtol=1e-9)
        assert_array_equal(np.delete(moved.state.rows.mean, r, axis=0), np.delete(rows, r, axis=0))
        assert_allclose(moved.state.rows.mean[r], np.sqrt(u) * rows[r], rtol=1e-12)


def some_scores(n=30, order=3):
    """Means with a constant (K + 1, n), covariances (n, K, K) and packed (P, n)."""
    rng = np.random.default_rng(13)
    factor = 0.4 * rng.standard_normal((n, order, order))
    cov = factor @ factor.transpose(0, 2, 1)
    X = np.vstack([rng.standard_normal((order, n)), np.ones(n)])
    return X, cov, np.ascontiguousarray(pack(cov).T)


def test_decisions_are_plain_products():
    X, cov, packed = some_scores()
    rng = np.random.default_rng(14)
    one, other = rng.standard_normal((2, 4))
    assert_allclose(decision_means(X, one), one @ X, rtol=1e-12)
    expected = np.einsum("k,nkm,m->n", one[:3], cov, other[:3])
    assert_allclose(decision_products(packed, one, other), expected, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("kind", [PROBIT, HINGE])
def test_the_approximation_overlaps_with_the_law(kind):
    """Its weighted draws are worth at least a twentieth as many draws of the law itself."""
    X, _, packed = some_scores()
    signed, prior = np.sign(X[0] + 0.3), np.array([0.5, 0.5, 0.5, 0.1])
    centre, factor = approximate_row(kind, signed, X, packed, prior)

    def value(b):
        means, variances = decision_means(X, b), decision_products(packed, b, b)
        return total_evidence(kind, signed, means, variances + 1e-12) - 0.5 * (prior * b**2).sum()

    precision = factor @ factor.T
    rng = np.random.default_rng(15)
    draws = centre + np.linalg.solve(factor.T, rng.standard_normal((4, 4000))).T
    weights = np.array([value(b) for b in draws])
    weights += 0.5 * np.einsum("ni,ij,nj->n", draws - centre, precision, draws - centre)
    share = np.exp(weights - weights.max())
    assert share.sum() ** 2 / (share**2).sum() > 0.05 * len(draws)  # 0.13 and 0.17


def test_a_row_that_is_hopeless_comes_back():
    """Far in the tail the ellipse hardly moves a row; the scale does."""
    for case in CASES:
        rows = swept(case, np.array([-300.0, 200.0]), Stream.from_seed(16), 60)
        assert np.isfinite(rows).all()
        assert (np.abs(rows[-1]) < 30.0).all()
        assert rows[-30:, 0].max() > 0


def test_which_views_are_integrated():
    assert integrates(item_of("probit", [1.0, 0.2]))
    assert integrates(item_of("weighted hinge", [1.0, 0.2]))
    item = item_of("probit", [1.0, 0.2])
    item.observed = ObservedArray(0.5 * LABELS[None])
    assert not integrates(item)
