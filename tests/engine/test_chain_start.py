"""Chains start at a fully converged variational fit."""

import pytest
from tests.simulate import simulate

from rankfactor import Gibbs, RankFactorClassifier
from rankfactor.engine.fitting import CHAIN_TOL, chain_start
from rankfactor.engine.vb import Settings


def elbo_of(engine, **settings):
    data = simulate(n=60, d=12, k=3)
    model = RankFactorClassifier(
        "G-L-Probit", n_factors=3, training="bayes", engine=engine, random_state=0, **settings
    )
    return model.fit(data.X, data.y > 0).posterior_.elbo


@pytest.mark.filterwarnings("ignore:.*R-hat")
@pytest.mark.filterwarnings("ignore:.*draws")
def test_chains_start_at_a_tighter_fit():
    plain, start = elbo_of("vb"), elbo_of(Gibbs(n_draws=4, burn_in=2, n_chains=2))
    assert len(start) > len(plain)
    assert start[-1] > plain[-1]
    change = (start[-1] - start[-2]) / abs(start[-1])
    assert abs(change) < CHAIN_TOL


def test_what_the_user_asks_for_is_kept():
    """A still smaller tolerance, and the largest number of iterations."""
    found = chain_start(Settings(max_iter=7, tol=1e-9))
    assert (found.max_iter, found.tol) == (7, 1e-9)
    assert chain_start(Settings()).tol == CHAIN_TOL
    assert not chain_start(Settings()).warns
