"""R-hat and ESS against arviz-stats, the warning of an unconverged fit, export to ArviZ."""

from __future__ import annotations

import dataclasses
import re
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tests.simulate import simulate

from rankfactor import (
    Gibbs,
    InputError,
    RankFactorAnalysis,
    RankFactorClassifier,
    load_model,
    save_model,
)
from rankfactor.engine.probes import MOST as MOST_PROBES
from rankfactor.likelihoods import DATA_LIKELIHOODS
from rankfactor.likelihoods.row_arrays import RowArrays
from rankfactor.posterior import mixing
from rankfactor.posterior.diagnostics import (
    MOST,
    _parameters,
    by_chain,
    convergence,
    judged,
    to_arviz,
)
from rankfactor.posterior.draws import ScaleDraws
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.score import ObservedView
from rankfactor.steps.workers import Workers

N_DRAWS, N_CHAINS, N_FACTORS = 6, 2, 2


def autoregressive(rho, shape, seed=0):
    """Chains of unit variance and autocorrelation rho^lag, shape (chains, draws, quantities)."""
    draws = np.random.default_rng(seed).standard_normal(shape)
    for t in range(1, shape[1]):
        draws[:, t] = rho * draws[:, t - 1] + np.sqrt(1 - rho**2) * draws[:, t]
    return draws


def series():
    rng = np.random.default_rng(1)
    drifting = autoregressive(0.5, (3, 101, 4)) + np.linspace(0, 2, 101)[:, None]
    apart = autoregressive(0.2, (4, 50, 4)) + np.arange(4)[:, None, None]
    spread = rng.standard_normal((4, 60, 4)) * np.arange(1, 5)[:, None, None]
    return {
        "independent": rng.standard_normal((4, 200, 6)),
        "slow": autoregressive(0.95, (2, 501, 6)),
        "antithetic": autoregressive(-0.7, (2, 300, 6)),
        "heavy tails": rng.standard_cauchy((2, 151, 6)),
        "drifting": drifting,
        "apart": apart,
        "of different spread": spread,
        "ties": rng.integers(0, 3, (2, 80, 6)).astype(float),
        "four draws": rng.standard_normal((2, 4, 8)),
        "seven draws": rng.standard_normal((3, 7, 8)),
    }


@pytest.mark.parametrize("name", series())
def test_statistics_are_those_of_arviz(name):
    from arviz_stats.base import array_stats

    draws = series()[name]
    axes = {"chain_axis": 0, "draw_axis": 1}
    near = {"rtol": 1e-10}
    assert_allclose(mixing.r_hat(draws), array_stats.rhat(draws, **axes), **near)
    assert_allclose(mixing.ess_bulk(draws), array_stats.ess(draws, **axes), **near)
    tail = array_stats.ess(draws, **axes, method="tail", prob=(0.05, 0.95))
    assert_allclose(mixing.ess_tail(draws), tail, **near)
    assert_allclose(mixing.mcse_mean(draws), array_stats.mcse(draws, **axes), **near)


def test_single_chains_and_constants():
    still = autoregressive(0.3, (1, 400, 1))
    moving = still + np.linspace(0, 3, 400)[:, None]
    assert mixing.r_hat(still)[0] < 1.01
    assert mixing.r_hat(moving)[0] > 1.2
    constant = np.full((2, 10, 1), 3.0)
    assert np.isnan(mixing.r_hat(constant)[0])
    assert mixing.ess_bulk(constant)[0] == 20


def data():
    simulated = simulate(n=30, d=6)
    table = pd.DataFrame(simulated.X, columns=[f"gene{i}" for i in range(6)])
    table.insert(2, "constant", 1.0)
    table.index = [f"s{i}" for i in range(30)]
    labels = pd.DataFrame({"sick": simulated.y, "kind": ["a", "b", "c"] * 10}, index=table.index)
    return table, labels


def fit(supervised=True, **arguments):
    table, labels = data()
    settings = {"n_factors": N_FACTORS, "max_iter": 3, "random_state": 0, "n_threads": 1}
    settings |= {
        "engine": Gibbs(n_draws=N_DRAWS, burn_in=3, n_chains=N_CHAINS, n_predict=2, align="permute")
    }
    settings |= arguments
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "1 of 7 features are constant")
        warnings.simplefilter("ignore", ConvergenceWarning)
        if supervised:
            return RankFactorClassifier(**settings).fit(table, labels).posterior_
        return RankFactorAnalysis(**settings).fit(table).posterior_


@pytest.fixture(scope="module")
def posterior():
    return fit()


def with_draws(posterior, coefficients):
    """The posterior with other draws of the coefficients, (chains, draws, rows, K + 1).

    Without decisions at probes, as in files of earlier versions.
    """
    n_chains, n_draws = coefficients.shape[:2]
    size = n_chains * n_draws
    draws = dataclasses.replace(
        posterior.draws,
        chain=np.repeat(np.arange(n_chains), n_draws),
        coefficients=coefficients.reshape(size, *coefficients.shape[2:]).astype(np.float32),
        loadings=np.random.default_rng(0)
        .standard_normal((size, *posterior.draws.loadings.shape[1:]))
        .astype(np.float32),
        log_likelihood=np.random.default_rng(2).standard_normal((n_chains, n_draws)),
        sweep=np.tile(np.arange(1, n_draws + 1), n_chains),
        scales=ScaleDraws(),
        decisions=np.zeros((size, 0, 0), np.float32),
    )
    return dataclasses.replace(posterior, draws=draws)


def test_the_decision_is_that_of_the_probes(posterior):
    """By hand: a draw's own rows encode the probes, and its coefficients decide."""
    table, _ = data()
    draws, probes = posterior.draws, np.linspace(0, len(table) - 1, MOST_PROBES).round().astype(int)
    observed = posterior.coding.observe(posterior.match(table.iloc[probes]))
    pool = Workers()
    for number in (0, len(draws.chain) - 1):
        item = ObservedView(posterior.model.data_view, observed, draws.state(number))
        z = encode_samples(posterior.model, item, pool, prior=draws.prior(number)).mean
        rows = draws.coefficients[number].astype(float)
        expected = rows[:, :-1] @ z.T + rows[:, -1:]
        assert_allclose(draws.decisions[number], expected, atol=0.02 * np.abs(expected).max())
    frame = convergence(posterior)
    assert frame.loc["decision function", "quantities"] == 4 * MOST_PROBES
    f = draws.decisions.reshape(N_CHAINS, N_DRAWS, -1)
    assert_allclose(frame.loc["decision function", "r_hat"], np.nanmax(mixing.r_hat(f)))


def coefficients(rho, n_draws, n_rows=4):
    flat = autoregressive(rho, (2, n_draws, n_rows * (N_FACTORS + 1)))
    return flat.reshape(2, n_draws, n_rows, N_FACTORS + 1)


def test_convergence_finds_the_worst(posterior):
    values = coefficients(0.0, 400)
    good = convergence(with_draws(posterior, values))
    kinds = ["decision function", "coefficients", "loadings", "log likelihood"]
    assert list(good.index) == kinds
    assert (good["r_hat"] < 1.02).all()
    assert (good["ess_bulk"] > 500).all()
    assert list(good["quantities"]) == [4 * 30, 4 * 3, 6 * 2, 1]
    # The intercept of the class b of the second task sits elsewhere in the second chain.
    values[1, :, 2, -1] += 1.5
    bad = convergence(with_draws(posterior, values))
    assert bad.loc["coefficients", "r_hat"] > 1.2
    assert bad.loc["coefficients", "r_hat_at"] == "kind: b, intercept"
    assert bad.loc["coefficients", "ess_bulk_at"] == "kind: b, intercept"
    assert bad.loc["decision function", "r_hat_at"].startswith("kind: b, s")
    assert bad.loc["decision function", "mcse"] > 3 * good.loc["decision function", "mcse"]
    assert_array_equal(bad.loc["loadings":, "r_hat"], good.loc["loadings":, "r_hat"])


def test_without_probes_the_decision_is_that_of_the_mean_scores(posterior):
    """By hand, at one sample: the sample whose R-hat is the worst."""
    values = coefficients(0.9, 100)
    found = convergence(with_draws(posterior, values)).loc["decision function"]
    row, sample = re.fullmatch(r"(.*), s(\d+)", found["r_hat_at"]).groups()
    scores = np.append(posterior.scores.mean[int(sample)], 1.0)
    number = posterior.classifiers.row_names().index(row)
    f = (values[:, :, number].astype(np.float32) @ scores)[..., None]
    assert_allclose(found["r_hat"], mixing.r_hat(f)[0])


def test_large_models_are_looked_at_in_part(posterior, monkeypatch):
    monkeypatch.setattr("rankfactor.posterior.diagnostics.MOST", 8)
    assert MOST == 2000
    part = convergence(with_draws(posterior, coefficients(0.0, 50)))
    assert list(part["quantities"]) == [8, 8, 8, 1]


@pytest.mark.slow
def test_advice_asks_for_the_draws_that_do(posterior):
    """The autocorrelation time is 19: 100 independent draws a chain take about 1,900.

    More for R-hat, which is noisier and the worst of many.
    """
    message = judged(with_draws(posterior, coefficients(0.9, 600)), 600).warning
    found = re.search(r"about ([\d,]+) draws would suffice, so set n_draws=(\d+)\.$", message)
    needed = int(found[2])
    assert found[1].replace(",", "") == found[2]
    assert 1900 < needed < 12000
    # What it asks for is enough.
    assert judged(with_draws(posterior, coefficients(0.9, needed)), needed).converged
    # Half of the draws were not kept: the chain has to be twice as long.
    doubled = judged(with_draws(posterior, coefficients(0.9, 600)), 1200).advice
    assert int(re.search(r"n_draws=(\d+)", doubled)[1]) == pytest.approx(2 * needed, rel=0.05)


def test_advice_names_what_is_wrong(posterior):
    values = coefficients(0.0, 500)
    good = judged(with_draws(posterior, values), 500)
    assert good.converged
    assert re.match(r"converged after 2 chains of 500 draws: R-hat of the decision", str(good))
    few = judged(with_draws(posterior, values[:, :90]), 90).criterion
    assert re.match(r"(the bulk effective sample size|R-hat) of the decision function is", few)
    values[1, :, :, -1] += 0.5
    message = judged(with_draws(posterior, values), 500).criterion
    assert re.match(r"R-hat of the decision function is 1\.\d\d \(should be below 1\.01\)", message)
    unlabelled = dataclasses.replace(with_draws(posterior, values), classifiers=None)
    assert judged(unlabelled, 500).converged  # it is the log likelihood then, which is fine
    draws = unlabelled.draws
    draws.log_likelihood[0] += 1.0
    assert "R-hat of the log likelihood is" in str(judged(unlabelled, 500))
    short = with_draws(posterior, values[:, :3])
    assert judged(short, 3).criterion.startswith(
        "3 draws per chain are too few to judge convergence"
    )
    with pytest.raises(InputError, match="3 draws per chain are too few"):
        convergence(short)


@pytest.mark.filterwarnings("ignore:1 of 7 features are constant")
def test_estimators_warn():
    table, labels = data()
    settings = {"n_factors": 2, "random_state": 0, "n_threads": 1}
    engine = Gibbs(n_draws=20, burn_in=0, n_chains=1, n_predict=2)
    with pytest.warns(
        ConvergenceWarning, match=r"the decision function is .* set n_draws"
    ) as caught:
        RankFactorClassifier(engine=engine, **settings).fit(table, labels)
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.warns(ConvergenceWarning, match=r"of the log likelihood is .* set n_draws"):
        RankFactorAnalysis(engine=engine, **settings).fit(table)


def test_tree_has_names_and_values(posterior, tmp_path):
    tree = posterior.to_arviz()
    found, draws = tree["posterior"], posterior.draws
    features = [f"gene{i}" for i in range(6)]
    assert found["loadings"].dims == ("chain", "draw", "feature", "factor")
    assert found["coefficients"].dims == ("chain", "draw", "row", "factor")
    assert found["intercept"].dims == ("chain", "draw", "row")
    assert found["cut_points"].dims == ("chain", "draw", "feature", "cut")
    assert list(found["feature"].values) == features  # not the constant one
    assert list(found["factor"].values) == ["Factor 1", "Factor 2"]
    assert list(found["row"].values) == ["sick: 1", "kind: a", "kind: b", "kind: c"]
    one = {"chain": 1, "draw": 2}
    number = N_DRAWS + 2
    gene = found["loadings"].sel(**one, feature="gene4", factor="Factor 2")
    assert float(gene) == draws.loadings[number, 4, 1]
    intercept = found["intercept"].sel(**one, row="kind: b")
    assert float(intercept) == draws.coefficients[number, 2, -1]
    scales = {
        "loading_xi": ("feature", "factor"),
        "loading_phi": ("factor",),
        "loading_top": (),
        "coefficient_xi": ("row", "factor"),
        "coefficient_phi": ("row",),
        "coefficient_top": ("row",),
    }
    for name, dims in scales.items():
        assert found[name].dims == ("chain", "draw", *dims)
        assert_array_equal(found[name].sel(**one), draws.scales.values[name][number])
    params = draws.params[number]
    expected = np.where(params.used, params.mean, np.nan)
    assert_array_equal(found["cut_points"].sel(**one), expected)
    # Three sweeps of burn-in are left out.
    assert_array_equal(tree["sample_stats"]["lp"], draws.log_likelihood[:, 3:])
    loaded = load_model(save_model(posterior, tmp_path / "model")).to_arviz()
    assert loaded["posterior"].equals(found)
    assert loaded["sample_stats"].equals(tree["sample_stats"])


EXTRA = {
    "margin_rank": {"cut_points"},
    "gaussian": {"noise_precision"},
    "ordinal_probit": {"cut_points"},
}


SCALES = {"loading_xi", "loading_phi", "loading_top"}


@pytest.mark.parametrize("likelihood", DATA_LIKELIHOODS)
def test_tree_of_every_likelihood(likelihood):
    tree = fit(supervised=False, likelihood=likelihood).to_arviz()
    names = set(tree["posterior"].data_vars) - {"feature_mean"}
    assert "loadings" in names
    assert "coefficients" not in names
    if likelihood in EXTRA:
        assert names == {"loadings", *SCALES} | EXTRA[likelihood]
    for name in names - {"loading_phi", "loading_top"}:
        assert tree["posterior"][name].dims[:3] == ("chain", "draw", "feature")


def test_tree_is_what_arviz_stats_reads(posterior):
    from arviz_stats import rhat

    filled = with_draws(posterior, coefficients(0.5, 50))
    filled = dataclasses.replace(
        filled, draws=dataclasses.replace(filled.draws, params=posterior.draws.params[:1] * 100)
    )
    found = rhat(filled.to_arviz(), var_names=["loadings"])["loadings"]
    worst = convergence(filled).loc["loadings"]
    assert_allclose(float(found.max()), worst["r_hat"])
    feature, factor = worst["r_hat_at"].split(", ")
    assert float(found.sel(feature=feature, factor=factor)) == float(found.max())


def test_unequal_chains_are_cut_to_the_shortest(posterior):
    draws = posterior.draws
    kept = np.r_[:4, N_DRAWS : 2 * N_DRAWS]
    shorter = dataclasses.replace(
        draws,
        chain=draws.chain[kept],
        loadings=draws.loadings[kept],
        coefficients=draws.coefficients[kept],
        params=tuple(draws.params[i] for i in kept),
        sweep=draws.sweep[kept],
        scales=ScaleDraws(
            {name: values[kept] for name, values in draws.scales.values.items()}, draws.scales.dims
        ),
    )
    tree = dataclasses.replace(posterior, draws=shorter).to_arviz()
    whole = posterior.to_arviz()
    assert tree["posterior"].sizes["draw"] == 4
    assert tree["posterior"].equals(whole["posterior"].isel(draw=slice(4)))
    assert tree["sample_stats"].equals(whole["sample_stats"].isel(draw=slice(4)))
    assert by_chain(shorter, shorter.loadings).shape[:2] == (2, 4)


def test_what_is_missing_is_said(posterior, monkeypatch):
    variational = fit(engine="vb")
    for ask in (to_arviz, convergence):
        with pytest.raises(InputError, match=r'no draws.* fit it with engine="gibbs"'):
            ask(variational)
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    with pytest.raises(InputError, match=r"pip install rankfactor\[arviz\]"):
        posterior.to_arviz()


def test_parameters_without_public_names_are_those_that_differ_between_draws():
    @dataclasses.dataclass(frozen=True)
    class Unnamed(RowArrays):
        drawn: np.ndarray
        fixed: np.ndarray

    params = [Unnamed(np.full(3, float(s)), np.array([1.0, np.nan, 2.0])) for s in range(4)]
    found = _parameters(SimpleNamespace(params=params))
    assert list(found) == ["drawn"]
    assert_array_equal(found["drawn"], np.repeat(np.arange(4.0)[:, None], 3, axis=1))
