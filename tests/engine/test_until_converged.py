"""Chains that run until they reach a target: when they stop, what they keep, what they report."""

from __future__ import annotations

from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tests.simulate import simulate

from rankfactor import Gibbs, InputError, RankFactorAnalysis, RankFactorClassifier
from rankfactor.engine import gibbs

SETTINGS = {"n_factors": 2, "max_iter": 200, "random_state": 0, "n_threads": 2}
FIRST = {"n_draws": 20, "burn_in": 10, "n_chains": 2}


@pytest.fixture(scope="module")
def data():
    made = simulate(n=60, d=12, k=2, seed=0)
    return made.X, made.y


def fit(data, **settings):
    engine = Gibbs(**FIRST | settings)
    return RankFactorClassifier("G-L-Probit", engine=engine, **SETTINGS).fit(*data).posterior_


def test_they_go_on_until_the_target(data):
    posterior = fit(data, target_ess=25, target_r_hat=1.3)
    assert posterior.convergence.converged
    assert "effective sample size" in posterior.convergence.criterion
    assert "(should be 25)" in posterior.convergence.criterion
    # Lengths are 20, 30, 45, ...: half as long again.
    lengths = np.bincount(posterior.draws.chain)
    assert lengths[0] == lengths[1]
    assert lengths[0] in (30, 45, 68, 102, 153, 230, 345)


def test_a_longer_chain_continues_a_shorter_one(data):
    """The same draws as chains that were asked for that length at once."""
    until = fit(data, target_ess=25, target_r_hat=1.3).draws
    length = int(np.bincount(until.chain)[0])
    with pytest.warns(ConvergenceWarning):
        fixed = fit(data, n_draws=length).draws
    assert_array_equal(until.loadings, fixed.loadings)
    assert_array_equal(until.decisions, fixed.decisions)


def test_the_time_limit_ends_them(data, monkeypatch):
    clock = count()  # a second between any two looks at it
    monkeypatch.setattr(gibbs, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    with pytest.warns(ConvergenceWarning, match=r"set max_minutes to more than 2\."):
        posterior = fit(data, target_ess=1e6, max_minutes=2)
    assert np.bincount(posterior.draws.chain).min() >= 4
    assert not posterior.convergence.converged
    assert not posterior.convergence.interrupted


def test_without_labels_it_is_the_likelihood(data):
    engine = Gibbs(**FIRST, target_ess=30, target_r_hat=1.3)
    posterior = RankFactorAnalysis(engine=engine, **SETTINGS).fit(data[0]).posterior_
    assert "log likelihood" in posterior.convergence.criterion
    assert posterior.convergence.converged


@pytest.mark.slow
def test_memory_holds_evenly_spaced_draws_of_a_chain_that_grew(data):
    draws = fit(data, target_ess=25, target_r_hat=1.3, memory=0.05).draws
    for number in range(2):
        gaps = np.diff(draws.sweep[draws.chain == number])
        assert len(set(gaps.tolist())) == 1


def test_progress_says_how_far(data):
    told = []

    def progress(iteration, elbo, change):
        pass

    progress.sampling = lambda *step: told.append(step)
    engine = Gibbs(**FIRST, target_ess=25, target_r_hat=1.3)
    RankFactorClassifier("G-L-Probit", engine=engine, progress=progress, **SETTINGS).fit(*data)
    notes = {note for _, _, note in told}
    assert any("effective draws" in note for note in notes)
    done, total, _ = told[-1]
    assert done == total
    assert all(done < total for done, total, _ in told[:-1])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target_ess": 0}, "target_ess must be a positive number"),
        ({"target_ess": 10, "max_minutes": -1}, "max_minutes must be a positive number"),
        ({"target_r_hat": 1.0}, "target_r_hat must be above 1"),
        ({"target_ess": 10, "store": "draws.zarr"}, "a store has room for n_draws draws"),
    ],
)
def test_bad_targets_get_one_sentence(wrong, message):
    with pytest.raises(InputError, match=message):
        Gibbs(**wrong)


@pytest.mark.slow
def test_resumed_chains_with_a_target_go_on(data, tmp_path):
    folder = tmp_path / "chains"
    whole = fit(data, target_ess=25, target_r_hat=1.3).draws
    with pytest.warns(ConvergenceWarning):
        fit(data, checkpoint=folder)
    resumed = fit(data, target_ess=25, target_r_hat=1.3, checkpoint=folder).draws
    assert_array_equal(whole.loadings, resumed.loadings)
    again = fit(data, target_ess=25, target_r_hat=1.3, checkpoint=folder).draws
    assert_array_equal(whole.loadings, again.loadings)
