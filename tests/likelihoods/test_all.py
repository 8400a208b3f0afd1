"""Properties of every likelihood: sites are gradients of the bound, missing entries add nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from rankfactor.laws.normal import Normal
from rankfactor.laws.products import BareColumns
from rankfactor.likelihoods import (
    Gaussian,
    Hinge,
    MarginRank,
    NeighbourRank,
    NoParameters,
    OrdinalProbit,
    OrdinaryRank,
    Probit,
    Tile,
)
from rankfactor.likelihoods.gaussian import Noise
from rankfactor.likelihoods.margin_rank import CutPoints
from rankfactor.likelihoods.neighbour_rank import NeighbourBounds
from rankfactor.likelihoods.ordinal_probit import Thresholds
from rankfactor.likelihoods.ordinary_rank import Boundaries

N_ROWS, N_SAMPLES = 4, 7


def observations(name, rng):
    """Observations with a missing entry at [0, 0], and parameters."""
    if name == "gaussian":
        x = rng.standard_normal((N_ROWS, N_SAMPLES))
        x[0, 0] = np.nan
        return x, Noise.of(np.full(N_ROWS, 3.0), np.linspace(0.5, 2.0, N_ROWS))
    if name in ("margin_rank", "ordinal_probit", "neighbour_rank"):
        codes = rng.integers(0, 4, (N_ROWS, N_SAMPLES)).astype(np.uint8)
        codes[0, 0] = 255
        codes[2] = np.minimum(codes[2], 2)  # a row of two cuts
        cuts = np.sort(rng.standard_normal((N_ROWS, 3)), axis=1)
        n_cuts = np.array([3, 3, 2, 3])
        if name == "ordinal_probit":
            return codes, Thresholds(cuts, n_cuts)
        if name == "neighbour_rank":
            end, one = np.full((N_ROWS, 1), np.inf), np.ones(N_ROWS)
            low, high = np.column_stack([-end, cuts]), np.column_stack([cuts, end])
            high[2, 2] = np.inf
            return codes, NeighbourBounds(low, high, one, one, one, one > 1)
        variance, margin = rng.random((N_ROWS, 3)), np.full(N_ROWS, 0.3)
        return codes, CutPoints(cuts, variance, n_cuts, margin, np.ones(N_ROWS))
    if name == "ordinary_rank":  # what a fit reads: latent values
        latent = rng.standard_normal((N_ROWS, N_SAMPLES)).astype(np.float32)
        latent[0, 0] = np.nan
        return latent, Boundaries(np.zeros((N_ROWS, 1)), np.ones(N_ROWS, np.int64), latent)
    weights = rng.choice([-1.0, 1.0, 2.5, -0.5], (N_ROWS, N_SAMPLES))
    weights[0, 0] = 0.0
    return weights, NoParameters()


LIKELIHOODS = {
    "gaussian": Gaussian(),
    "margin_rank": MarginRank(margin=0.3, max_cuts=3),
    "neighbour_rank": NeighbourRank(margin=0.3, table_cuts=3),
    "ordinal_probit": OrdinalProbit(max_cuts=3),
    "ordinary_rank": OrdinaryRank(),
    "hinge": Hinge(),
    "probit": Probit(),
}


@pytest.fixture(params=LIKELIHOODS)
def case(request):
    rng = np.random.default_rng(0)
    observed, params = observations(request.param, rng)
    w, var_w = rng.standard_normal((N_ROWS, N_SAMPLES)), 0.1 + rng.random((N_ROWS, N_SAMPLES))
    return LIKELIHOODS[request.param], observed, params, w, var_w


def entry_bound(likelihood, observed, params, w, var_w):
    """Bound of every entry, by rows that reproduce (w, var_w) one sample at a time."""
    terms = np.zeros(w.shape)
    for n in range(w.shape[1]):
        # A one-factor design with unit score: w is the row's mean, var_w its variance.
        rows = Normal(w[:, n : n + 1], var_w[:, n : n + 1], np.log(var_w[:, n]))
        design = BareColumns(np.ones((1, 1)), np.zeros((1, 1)))
        for i in range(len(w)):
            one = slice(i, i + 1)
            statistics = likelihood.statistics(
                Tile(
                    observed[one, n : n + 1],
                    w[one, n : n + 1],
                    var_w[one, n : n + 1],
                    params.take(one),
                ),
                design,
            )
            terms[i, n] = likelihood.bound(statistics, rows.take(one), params.take(one))
    return terms


def test_sites_are_the_gradient_of_the_bound(case):
    likelihood, observed, params, w, var_w = case
    sites = likelihood.sites(Tile(observed, w, var_w, params))
    step = 1e-5

    def bound(w, var_w):
        return entry_bound(likelihood, observed, params, w, var_w)

    by_mean = (bound(w + step, var_w) - bound(w - step, var_w)) / (2 * step)
    by_variance = (bound(w, var_w + step) - bound(w, var_w - step)) / (2 * step)
    assert_allclose(sites.rho - sites.tau * w, by_mean, rtol=1e-5, atol=1e-7)
    assert_allclose(-0.5 * sites.tau, by_variance, rtol=1e-5, atol=1e-7)


def test_missing_entry_is_the_zero_site(case):
    likelihood, observed, params, w, var_w = case
    sites = likelihood.sites(Tile(observed, w, var_w, params))
    assert sites.tau[0, 0] == 0
    assert sites.rho[0, 0] == 0
    assert (sites.tau.ravel()[1:] > 0).all()
    assert entry_bound(likelihood, observed, params, w, var_w)[0, 0] == 0


def test_statistics_are_additive_over_samples(case):
    likelihood, observed, params, w, var_w = case
    order = 3 + likelihood.has_intercept
    rng = np.random.default_rng(1)
    scores = Normal.isotropic(rng.standard_normal((N_SAMPLES, order)), 0.5)

    def part(samples):
        design = BareColumns(scores.mean[samples], scores.cov[samples])
        some = (np.ascontiguousarray(one[:, samples]) for one in (observed, w, var_w))
        return likelihood.statistics(Tile(*some, params), design)

    whole, left, right = part(slice(0, 7)), part(slice(0, 3)), part(slice(3, 7))
    for key, value in whole.items():
        assert_allclose(value, left[key] + right[key], err_msg=key, atol=1e-12)


@pytest.mark.parametrize("label", [Hinge(), Probit()])
def test_weight_multiplies_site_and_bound(label):
    f, var_f = np.array([[0.3, -2.0]]), np.array([[0.2, 1.0]])
    one, terms = label.label_sites(np.array([[1.0, -1.0]]), f, var_f)
    three, terms3 = label.label_sites(np.array([[3.0, -3.0]]), f, var_f)
    assert_allclose(three.tau, 3 * one.tau)
    assert_allclose(three.rho, 3 * one.rho)
    assert_allclose(terms3, 3 * terms)


@pytest.mark.parametrize("label", [Hinge(), Probit()])
def test_probability_is_odd_around_a_half_and_increases(label):
    f = np.linspace(-6, 6, 41)
    p = label.probability(f, np.full(41, 0.7))
    assert_allclose(p + p[::-1], 1.0)
    assert (np.diff(p) > 0).all()
    assert label.probability(np.zeros(1), np.ones(1)) == pytest.approx(0.5, abs=1e-12)
    # More uncertainty pulls towards a half.
    assert label.probability(np.array([1.0]), np.array([9.0])) < p[np.argmin(abs(f - 1.0))]


def test_hinge_probability_is_the_normalised_pseudo_likelihood():
    f = np.array([-2.0, -0.5, 0.0, 0.7, 3.0])
    plus, minus = np.exp(-2 * np.maximum(0, 1 - f)), np.exp(-2 * np.maximum(0, 1 + f))
    assert_allclose(Hinge().probability(f, np.zeros(5)), plus / (plus + minus))


def test_label_sites_of_a_missing_label_do_not_touch_others():
    signed = np.array([[1.0, 0.0, -1.0]])
    f, var_f = np.array([[0.2, 5.0, 0.1]]), np.ones((1, 3))
    whole, _ = Hinge().label_sites(signed, f, var_f)
    alone, _ = Hinge().label_sites(signed[:, [0, 2]], f[:, [0, 2]], var_f[:, [0, 2]])
    assert_array_equal(whole.rho[:, [0, 2]], alone.rho)
