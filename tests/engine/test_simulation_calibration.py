"""Simulation-based calibration: ranks of true values among the draws of chains are uniform.

`benchmarks.simulation_calibration` has the method, and docs/results/calibration.md more
replications of more models. Unlike in `tests.engine.test_exact_start`, chains start as in a fit and
not at exact draws, so that chains that do not reach the posterior are found as well.
"""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import simulation_calibration
from benchmarks.simulation_calibration import LEVEL, MODELS, study, uniformity

from rankfactor.engine import expansion, gibbs
from rankfactor.likelihoods import OrdinaryRank

REPLICATIONS = 64
LENGTHS = {"draws": 15, "thin": 9, "burn_in": 80}


def not_uniform(name, replications=REPLICATIONS):
    """p-values of the quantities whose ranks are not uniform."""
    found = study(MODELS[name], replications, seed=7, **LENGTHS)
    return {key: p for key, p in found["p_values"].items() if not p > LEVEL}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["Gaussian, TPBN", "ordinary rank, ARD", "ordinal probit, multiplicative gamma"]
)
def test_ranks_of_the_truth_are_uniform(name):
    assert not_uniform(name) == {}


def wrong_units(views, z, stream):
    """The power of u too large by 3, where the scores give -15."""
    law = expansion.unit_law(views, z)
    expansion.change_units(views, z, type(law)(law.p + 3.0, law.a, law.b).draw(stream))


@pytest.mark.slow
def test_a_wrong_move_is_found(monkeypatch):
    monkeypatch.setattr(gibbs, "draw_units", wrong_units)
    assert not_uniform("Gaussian, TPBN")


refresh = OrdinaryRank.refresh


def short_of_w(self, observed, rows, tile):
    """Latent values around 0.5 w."""
    return refresh(self, observed, rows, tile._replace(w=0.5 * tile.w))


@pytest.mark.slow
def test_wrong_latent_values_are_found(monkeypatch):
    monkeypatch.setattr(OrdinaryRank, "refresh", short_of_w)
    assert not_uniform("ordinary rank, ARD")


def test_uniformity_of_ranks():
    rng = np.random.default_rng(0)
    even, other = rng.integers(16, size=(2, 400))
    assert uniformity(np.bincount(even, minlength=16)) > 0.01
    for wrong in (np.minimum(even, other), np.where(even < 8, even // 2, 15 - (15 - even) // 2)):
        assert uniformity(np.bincount(wrong, minlength=16)) < LEVEL


def test_quantities_depend_on_no_order_or_sign_of_the_factors():
    for name in ("Gaussian, TPBN", "ordinal probit, ARD", "ordinary rank, TPBN, mixture"):
        fit = simulation_calibration.simulate(np.random.default_rng(1), MODELS[name]).truth
        before = simulation_calibration.quantities(fit)
        turn = np.array([[0.0, -1.0], [1.0, 0.0]])
        for item in fit.views:
            item.state.rows.mean[:, :2] = item.state.rows.mean[:, :2] @ turn
        fit.z.mean[:] = fit.z.mean @ turn
        fit.prior = fit.prior.turned(turn)
        after = simulation_calibration.quantities(fit)
        assert after == pytest.approx(before, rel=1e-9)
