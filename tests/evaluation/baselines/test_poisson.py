"""Poisson factor analysis: conditionals by Geweke's test, recovery, prediction, scores."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from rankfactor.errors import InputError
from rankfactor.evaluation.baselines import PoissonFactorAnalysis
from rankfactor.evaluation.baselines.count_draws import divide_counts
from rankfactor.evaluation.baselines.poisson import (
    Prior,
    State,
    encode,
    log_likelihood,
    start,
    sweep,
)
from rankfactor.kernels.rng import Stream
from rankfactor.laws.gamma import Gamma
from rankfactor.steps.workers import Workers


def simulated(n=120, d=30, seed=0, size=40.0):
    """Counts of three factors on ten features each, phi (d, 3) and theta (n, 3)."""
    rng = np.random.default_rng(seed)
    phi = np.full((d, 3), 0.1)
    for k in range(3):
        phi[10 * k : 10 * (k + 1), k] += rng.random(10) + 0.5
    phi /= phi.sum(axis=0)
    theta = rng.gamma(0.7, size / 0.7, (n, 3))
    return rng.poisson(theta @ phi.T).astype(float), phi, theta


def from_prior(rng, n, d, order, prior):
    p = rng.beta(prior.c / order, prior.c * (1 - 1 / order), order)
    r = rng.gamma(prior.g, 1 / prior.c_0, order)
    phi = rng.dirichlet(np.full(d, prior.a), order).T
    theta = rng.gamma(r, p / (1 - p), (n, order))
    return State(phi, theta, r, p, 1 - p)


def watched(state):
    return [
        np.log(state.r[0]),
        np.log(state.p[0] / state.rest[0]),
        state.r[0] * state.p[0],
        state.phi[0, 0],
        (state.phi**2).mean(),
        np.log1p(state.theta[0, 0]),
        np.log1p(state.theta).mean() * state.p[1],
        np.log1p(state.theta[1, 1]) * state.phi[1, 1],
    ]


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.slow
def test_conditionals_leave_the_joint_law_as_it_is(holes):
    """Geweke (2004): data drawn anew between sweeps give back the prior."""
    n, d, order = 3, 3, 2
    prior = Prior(a=0.8, c=6.0, c_0=1.0, g=2.0)
    rng = np.random.default_rng(0)
    direct = np.array([watched(from_prior(rng, n, d, order, prior)) for _ in range(20_000)])
    state = from_prior(rng, n, d, order, prior)
    chain = []
    for number in range(24_000):
        counts = rng.poisson(state.theta @ state.phi.T).astype(float)
        if holes:
            counts[0, 1] = counts[2, 0] = np.nan
        state = sweep(counts, state, prior, Stream(number), Workers())
        chain.append(watched(state))
    batches = np.array(chain).reshape(80, 300, -1).mean(axis=1)
    error = np.sqrt(batches.var(axis=0, ddof=1) / len(batches) + direct.var(axis=0) / len(direct))
    assert (np.abs(batches.mean(axis=0) - direct.mean(axis=0)) < 4.5 * error).all()
    # The check could see a difference of a quarter of a standard deviation.
    assert (error < 0.25 / 4.5 * direct.std(axis=0)).all()


def test_factors_are_recovered():
    counts, phi, theta = simulated()
    model = PoissonFactorAnalysis(3, burn_in=50, n_draws=50, n_threads=1).fit(counts)
    scores = model.transform(counts)
    found = np.corrcoef(model.loadings_.T, phi.T)[:3, 3:]
    match = found.argmax(axis=0)
    assert sorted(match) == [0, 1, 2]
    assert found.max(axis=0).min() > 0.97
    for k in range(3):
        assert np.corrcoef(scores[:, match[k]], theta[:, k])[0, 1] > 0.95
    np.testing.assert_allclose(model.loadings_.sum(axis=0), 1)
    np.testing.assert_allclose(model.shares_.sum(), 1)
    # Scale of the scores is that of the counts.
    assert scores.sum() == pytest.approx(counts.sum(), rel=0.02)


def test_factors_that_are_not_needed_have_small_shares():
    counts, _, _ = simulated()
    model = PoissonFactorAnalysis(8, burn_in=150, n_draws=50, n_threads=1).fit(counts)
    shares = np.sort(model.shares_)[::-1]
    assert shares[:3].sum() > 0.75


def test_prediction_of_held_out_counts_improves_along_the_chain():
    counts, _, _ = simulated()
    rng = np.random.default_rng(3)
    hidden = rng.random(counts.shape) < 0.1
    seen = np.where(hidden, np.nan, counts)
    held = np.where(hidden, counts, np.nan)
    stream = Stream(4)
    state = start(seen, 3, 1, stream.child("start"), Workers())
    found = []
    for number in range(80):
        state = sweep(seen, state, Prior(), stream.child(number), Workers())
        found.append(log_likelihood(held, state.phi, state.theta))
    parts = [np.mean(found[a:b]) for a, b in ((0, 5), (5, 20), (20, 80))]
    assert parts[0] < parts[1] < parts[2] + 1e-2
    assert parts[2] > parts[0] + 0.1
    # Three factors predict what one cannot.
    one = PoissonFactorAnalysis(1, burn_in=20, n_draws=20).fit(seen)
    assert log_likelihood(held, one.loadings_, one.transform(seen)) < parts[2] - 0.1


def test_multiplicative_steps_only_raise_the_likelihood():
    counts, _, _ = simulated(n=300)  # more than a block
    counts[5, 3] = counts[290, 7] = np.nan
    found = []
    for steps in (1, 2, 5, 20, 60):
        state = start(counts, 3, steps, Stream(1), Workers())
        found.append(log_likelihood(counts, state.phi, state.theta))
    assert (np.diff(found) > 0).all()


def test_the_number_of_threads_does_not_matter():
    counts, _, _ = simulated(n=600)
    fits = [PoissonFactorAnalysis(4, burn_in=3, n_draws=3, n_threads=t).fit(counts) for t in (1, 2)]
    np.testing.assert_array_equal(fits[0].loadings_, fits[1].loadings_)
    np.testing.assert_array_equal(fits[0].transform(counts), fits[1].transform(counts))
    other = PoissonFactorAnalysis(4, burn_in=3, n_draws=3, random_state=1).fit(counts)
    assert not np.array_equal(other.loadings_, fits[0].loadings_)


def test_scores_are_the_mean_of_the_conditional():
    """Against a long chain of theta at fixed phi, r and p."""
    counts, phi, _ = simulated(n=6)
    counts[0, :5] = np.nan
    r, rate = np.array([0.7, 1.0, 2.0]), np.array([0.02, 0.05, 0.1])
    known = ~np.isnan(counts)
    theta, total = np.ones((6, 3)), np.zeros((6, 3))
    zero = np.where(known, counts, 0.0)
    size = 4000
    for number in range(size + 200):
        _, divided = divide_counts(zero, phi, theta, np.uint64(number), 0)
        theta = Gamma(r + divided, rate + known @ phi).draw(Stream(number))
        if number >= 200:
            total += theta / size
    found = encode(counts, phi, r, rate)
    # Mean field takes the parts of a count for independent, which costs a little.
    np.testing.assert_allclose(found, total, rtol=0.08, atol=0.02 * total.max())
    assert spearmanr(found.ravel(), total.ravel()).statistic > 0.98


def test_a_score_does_not_depend_on_the_others():
    counts, _, _ = simulated()
    model = PoissonFactorAnalysis(3, burn_in=5, n_draws=5).fit(counts)
    whole = model.transform(counts)
    np.testing.assert_allclose(model.transform(counts[[7]]), whole[[7]], rtol=1e-9)
    np.testing.assert_allclose(model.transform(counts[::-1]), whole[::-1], rtol=1e-9)


def test_an_empty_sample_and_an_empty_feature():
    counts, _, _ = simulated()
    counts[:, 6] = 0
    counts[4] = 0
    counts[:, 8] = np.nan
    counts[3] = np.nan
    model = PoissonFactorAnalysis(3, burn_in=5, n_draws=5).fit(counts)
    scores = model.transform(counts)
    assert np.isfinite(model.loadings_).all()
    assert np.isfinite(scores).all()
    np.testing.assert_allclose(scores[3], model.r_ / model.rate_)
    assert scores[4].sum() < scores[5].sum()


def test_counts_in_the_hundreds_of_millions():
    counts, phi, _ = simulated(n=40)
    model = PoissonFactorAnalysis(3, burn_in=10, n_draws=10).fit(counts * 1e7)
    assert np.isfinite(model.log_likelihood_).all()
    found = np.corrcoef(model.loadings_.T, phi.T)[:3, 3:]
    assert found.max(axis=0).min() > 0.9


@pytest.mark.parametrize("value", [-1.0, 0.5])
def test_what_is_no_count_is_refused(value):
    counts = np.ones((4, 3))
    counts[2, 1] = value
    with pytest.raises(InputError, match=r"in row 3, column 2 is not a count: give whole numbers"):
        PoissonFactorAnalysis(2).fit(counts)


def test_a_table_of_other_width_is_refused():
    counts, _, _ = simulated(n=10)
    model = PoissonFactorAnalysis(2, burn_in=2, n_draws=2).fit(counts)
    with pytest.raises(InputError, match="has 4 features but the model has 30"):
        model.transform(counts[:, :4])
