"""Spread, intervals and local false sign rates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy import stats
from tests.plots import models

from rankfactor.posterior import certainty
from rankfactor.storage.model_file import load_model

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_a_normal() -> None:
    mean, sd = np.array([1.3, -0.4, 0.0, 30.0]), np.array([0.7, 2.0, 1.0, 1.0])
    found = certainty.of_normal(mean, sd)
    np.testing.assert_allclose(found.lfsr, stats.norm.sf(np.abs(mean) / sd), rtol=1e-12)
    low, high = stats.norm.interval(0.9, mean, sd)
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=1e-12)
    assert 0 < found.lfsr[3] < 1e-100  # no digits are lost far out


def test_draws() -> None:
    draws = np.array([[-1.0, 3.0], [2.0, -4.0], [3.0, -5.0], [4.0, 0.0]])
    found = certainty.of_draws(draws)
    np.testing.assert_allclose(found.mean, [2.0, -1.5])
    np.testing.assert_allclose(found.lfsr, [0.25, 0.5])  # a zero is on no side
    np.testing.assert_allclose(found.low, np.quantile(draws, 0.05, axis=0))
    np.testing.assert_allclose(found.sd, draws.std(axis=0))


def test_a_mixture_is_what_its_draws_are() -> None:
    means = np.array([[0.5, -2.0], [1.5, -1.0], [-0.2, 0.4]])
    sds = np.array([[0.5, 1.0], [0.1, 0.3], [0.0, 0.0]])  # the last is a point
    found = certainty.of_mixture(means, sds)
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((200_000, 3, 2))
    draws = (means + sds * noise).reshape(-1, 2)
    for name in ("mean", "sd", "low", "high", "lfsr"):
        expected = getattr(certainty.of_draws(draws), name)
        np.testing.assert_allclose(getattr(found, name), expected, atol=0.01, err_msg=name)


def test_a_mixture_of_equal_normals_is_that_normal() -> None:
    mean, sd = np.array([0.3, -1.0]), np.array([1.0, 0.2])
    one = certainty.of_normal(mean, sd)
    same = certainty.of_mixture(np.stack([mean] * 4), np.stack([sd] * 4))
    np.testing.assert_allclose(np.array(same), np.array(one), rtol=1e-9, atol=1e-12)


def test_a_point_at_zero_is_on_no_side() -> None:
    assert certainty.of_normal(np.zeros(1), np.zeros(1)).lfsr == [1.0]
    assert certainty.of_normal(np.array([-2.0]), np.zeros(1)).lfsr == [0.0]


def test_rates_of_draws_are_taken_against_the_side_of_the_correlation() -> None:
    """Where factors correlate, that can be another side than the posterior mean's."""
    posterior = load_model(FIXTURES / "gibbs_v1.rankfactor")
    k = posterior.n_factors
    draws = posterior.draws.loadings[:, :, :k]
    whole = certainty.loading_certainty(posterior)
    rates = whole.lfsr
    structure = posterior.structure[posterior.coding.columns]
    side = np.sign(structure)
    assert (side != np.sign(posterior.rows.mean[:, :k])).any()
    np.testing.assert_allclose(rates, 1 - (draws * side > 0).mean(axis=0))
    rows = np.array([4, 0])
    found = whole.at((rows, 1))
    columns = posterior.coding.columns[rows]
    np.testing.assert_allclose(found.mean, structure[rows, 1])
    ratio = found.mean / posterior.standardised_loadings[columns, 1]
    assert ((ratio > 1 / certainty.ALIKE) & (ratio < certainty.ALIKE)).all()
    unit = found.mean / posterior.rows.mean[rows, 1]
    high = np.minimum(np.quantile(draws[:, rows, 1], 0.95, axis=0) * unit, 1.0)
    np.testing.assert_allclose(found.high, high)


def test_spreads_between_samples_are_compared_with_students_t() -> None:
    mean, sd = np.array([[2.0, -0.3, 1.0], [0.0, 5.0, -5.0]]), np.array([[1.0, 0.1, 2.0]] * 2)
    found = certainty.of_spread(mean, sd, 12, axis=1)
    p = 2 * stats.t.sf(np.abs(mean) / sd, 12)
    np.testing.assert_allclose(2 * found.lfsr, p, rtol=1e-9)
    low, high = stats.t.interval(0.9, 12, mean, sd)
    np.testing.assert_allclose([found.low, found.high], [low, high], rtol=1e-9)
    q = stats.false_discovery_control(p, axis=1)
    np.testing.assert_array_equal(found.clear, q < certainty.CLEAR)
    assert found.clear.any()
    assert certainty.of_spread(np.zeros((1, 2)), np.zeros((1, 2)), 12, 1).clear.sum() == 0


def test_q_values_are_those_of_scipy() -> None:
    rng = np.random.default_rng(0)
    p = rng.random((7, 40)) ** 3
    for axis in (0, 1):
        np.testing.assert_allclose(
            certainty.adjusted(p, axis), stats.false_discovery_control(p, axis=axis), rtol=1e-12
        )


def test_loadings_effects_and_coefficients_by_refits() -> None:
    posterior = models.with_stability(models.two_tasks())
    stability = posterior.stability
    assert stability is not None
    loadings = certainty.loading_certainty(posterior)
    np.testing.assert_array_equal(loadings.mean, posterior.structure[posterior.coding.columns])
    np.testing.assert_array_equal(loadings.sd, stability.loading_sd)
    assert loadings.low.min() >= -1
    assert loadings.high.max() <= 1
    # Even entries have a tenth of their size as spread, odd ones that of the largest.
    even = np.arange(loadings.mean.size).reshape(loadings.mean.shape) % 2 == 0
    np.testing.assert_array_equal(loadings.clear, even)
    np.testing.assert_array_equal(certainty.supported_loadings(posterior), even)
    effects = certainty.effect_certainty(posterior)
    np.testing.assert_array_equal(effects.mean, posterior.effects.decision)
    np.testing.assert_array_equal(effects.sd, stability.effect_sd)
    assert effects.clear.any()
    assert not effects.clear.all()


def test_without_refits_or_draws_nothing_is_assessed() -> None:
    posterior = models.two_tasks()
    for found in (
        certainty.loading_certainty(posterior),
        certainty.effect_certainty(posterior),
        certainty.coefficient_certainty(posterior),
    ):
        assert not found.clear.any()
        for values in (found.sd, found.low, found.high, found.lfsr):
            assert np.isnan(values).all()
    # Leading features are then those whose correlation chance does not explain.
    loading = posterior.structure[posterior.coding.columns]
    n = posterior.samples.n_samples
    p = 2 * stats.norm.sf(np.abs(np.arctanh(loading)) * np.sqrt(n - 3))
    expected = stats.false_discovery_control(p, axis=0) < certainty.CLEAR
    np.testing.assert_array_equal(certainty.supported_loadings(posterior), expected)


def test_coefficients_after_gibbs_sampling_are_those_of_the_draws() -> None:
    posterior = load_model(FIXTURES / "gibbs_v1.rankfactor")
    k, sd = posterior.n_factors, posterior.scores.mean.std(axis=0)
    means = np.array([one.mean[:, :k] for one in posterior.draws.classifiers])
    found = certainty.coefficient_certainty(posterior)
    np.testing.assert_allclose(found.mean, means.mean(axis=0) * sd)
    assert (found.sd > means.std(axis=0) * sd).all()  # they were fitted anew: uncertain within, too

    own = tuple(
        replace(one, cov=np.zeros_like(one.cov)) for one in posterior.draws.classifiers
    )  # as those of probit labels are
    certain = replace(posterior, draws=replace(posterior.draws, classifiers=own))
    chain = posterior.draws.coefficients[..., :k]
    found = certainty.coefficient_certainty(certain)
    np.testing.assert_allclose(found.mean, chain.mean(axis=0, dtype=float) * sd, rtol=1e-5)
    np.testing.assert_allclose(found.sd, chain.std(axis=0, dtype=float) * sd, rtol=1e-5)
