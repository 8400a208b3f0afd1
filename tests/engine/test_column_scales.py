"""The move that scales columns of loadings, against the joint density given the sites."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.hand_built import FixedNormal, certain
from tests.engine.test_expansion import K, draw_scales, log_density, variables

from rankfactor.engine import column_scales
from rankfactor.engine.column_scales import draw_column_scales
from rankfactor.kernels.packed import pack
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Gaussian, NoParameters, ObservedArray
from rankfactor.model import View, ViewState
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD
from rankfactor.steps.score import ObservedView

N, D = 6, 5
PRIORS = [
    TPBN(),
    TPBN(slab=0.9),
    TPBN(scope="row"),
    TPBN(1.3, 0.7),
    NormalARD(2.0, 3.0),
    NormalARD(2.0, 3.0, "row"),
    MultiplicativeGamma(),
    FixedNormal(0.7),
]


class Problem:
    """Rows with intercepts, scores and sites of all entries."""

    def __init__(self, prior):
        rng = np.random.default_rng(0)
        self.prior, self.rows = prior, rng.standard_normal((D, K + 1))
        self.scales, self.z = draw_scales(rng, prior, D), rng.standard_normal((N, K))
        self.tau, self.rho = rng.gamma(1.0, size=(D, N)), 2 * rng.standard_normal((D, N))
        self.tau[1, 2] = self.rho[1, 2] = 0.0

    def item(self):
        state = ViewState(certain(self.rows), NoParameters(), self.scales)
        return ObservedView(View(Gaussian(), self.prior), ObservedArray(np.empty((D, 0))), state)

    def sums(self):
        """Precision (N, P) and shift (N, K) that the sites give the scores."""
        a, c = self.rows[:, :K], self.rows[:, K:]
        precision = np.einsum("dn,dk,dl->nkl", self.tau, a, a)
        return pack(precision), (self.rho - self.tau * c).T @ a

    def density(self, item):
        """Log of sites, prior of loadings and scales."""
        rows = item.state.rows.mean
        w = rows[:, :K] @ self.z.T + rows[:, K:]
        sites = (self.rho * w - 0.5 * self.tau * w**2).sum()
        return sites + log_density(self.prior, rows[:, :K], item.state.scales)

    def sizes(self, item):
        """Logs of the sizes of loadings and scales, in one vector."""
        parts = [item.state.rows.mean, *variables(self.prior, item.state.scales)]
        return np.log(np.concatenate([np.abs(np.ravel(part)) for part in parts]))


def move(problem, t, monkeypatch):
    """The view with its columns scaled by given log u (K,), and what the law was made of."""
    found = []

    def record(key, *given):
        found.append([np.copy(one) for one in given])
        return np.asarray(t, float)

    item = problem.item()
    with monkeypatch.context() as patch:
        patch.setattr(column_scales, "slice_columns", record)
        draw_column_scales(item, certain(problem.z), *problem.sums(), Stream.from_seed(1))
    return item, found[0]


@pytest.mark.parametrize("prior", PRIORS, ids=repr)
def test_law_is_the_density_of_the_moved_state(prior, monkeypatch):
    """All columns at once, so that their interactions count."""
    problem = Problem(prior)
    start = problem.item()
    before = problem.density(start), problem.sizes(start)
    for t in ([0.5, 0.0, 0.0], [0.0, -2.0, 0.0], [1.0, 0.3, -0.8], [-3.0, 1.0, 2.0]):
        item, (Q, h, power, rate, inverse) = move(problem, t, monkeypatch)
        u = np.exp(t)
        alpha = np.sqrt(u)
        found = alpha @ h - 0.5 * alpha @ Q @ alpha + (power * np.array(t)).sum()
        found -= (rate * u + inverse / u).sum()
        found -= h.sum() - 0.5 * Q.sum() - (rate + inverse).sum()
        jacobian = (problem.sizes(item) - before[1]).sum()
        assert_allclose(found, problem.density(item) - before[0] + jacobian, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("prior", PRIORS[:3], ids=repr)
def test_columns_are_scaled_and_scores_stay(prior):
    problem = Problem(prior)
    item, z = problem.item(), certain(problem.z)
    draw_column_scales(item, z, *problem.sums(), Stream.from_seed(2))
    factor = item.state.rows.mean / problem.rows
    assert_array_equal(z.mean, problem.z)
    assert_array_equal(factor[:, K], 1.0)
    assert (factor[:, :K] != 1).all()
    assert (factor > 0).all()
    assert_allclose(factor, np.tile(factor[0], (D, 1)), rtol=1e-12)
