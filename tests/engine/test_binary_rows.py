"""Binary features drawn as labels are: they are the same rows, seen in another way.

That the rows of labels have their law is in `tests.engine.test_label_rows`, and that sweeps leave
the posterior alone in `tests.engine.test_exact_hinges` and `tests.engine.test_exact_start`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.hand_built import certain
from tests.engine.moved import log_likelihoods, state_of
from tests.engine.test_expansion import draw_scales

from rankfactor.engine import binary_rows
from rankfactor.engine.binary_rows import as_label_rows, choose_binary_rows, put_back
from rankfactor.kernels.codes import MISSING
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Hinge, MarginRank, ObservedArray, OrdinalProbit
from rankfactor.likelihoods.margin_rank import CutPoints
from rankfactor.likelihoods.ordinal_probit import Thresholds
from rankfactor.model import View, ViewState
from rankfactor.shrinkage import TPBN
from rankfactor.steps.fused import update_rows
from rankfactor.steps.row import row_prior
from rankfactor.steps.score import ObservedView, view_sums
from rankfactor.steps.workers import Workers

D, K, N = 5, 3, 12
N_CUTS = np.array([1, 2, 1, 2, 1])
BINARY = np.array([0, 2, 4])
LIKELIHOODS = [MarginRank(0.03, 2, 0.2, double=True), OrdinalProbit(2, 0.2)]


def item_of(likelihood):
    rng = np.random.default_rng(0)
    cuts = np.sort(rng.standard_normal((D, 2)), axis=1)
    cuts[BINARY, 1] = 0.0
    params = Thresholds(cuts, N_CUTS)
    if isinstance(likelihood, MarginRank):
        margin = rng.uniform(0.3, 1.5, D)
        params = CutPoints(cuts, np.zeros_like(cuts), N_CUTS, margin, np.ones(D))
    codes = rng.integers(0, N_CUTS[:, None] + 1, (D, N)).astype(np.uint8)
    codes[0, 3] = codes[1, 2] = MISSING
    prior = TPBN(slab=2.0)
    rows = certain(rng.standard_normal((D, K)))
    state = ViewState(rows, params, draw_scales(rng, prior, D))
    z = certain(rng.standard_normal((N, K)))
    return ObservedView(View(likelihood, prior), ObservedArray(codes), state), z


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=["margin rank", "ordinal probit"])
def test_the_label_likelihood_is_the_features_own(likelihood):
    item, z = item_of(likelihood)
    part = as_label_rows(item, BINARY)
    w = item.state.rows.mean @ z.mean.T
    expected = log_likelihoods(likelihood, item.observed, item.state.params, w)[BINARY]
    f = part.rows @ np.column_stack([z.mean, np.ones(N)]).T
    observed = ObservedArray(part.signed)
    assert_allclose(log_likelihoods(part.label, observed, None, f), expected, rtol=1e-12)
    assert_array_equal(part.signed == 0, item.observed.array[BINARY] == MISSING)
    # Loadings and cut points have the same prior.
    precision = row_prior(item)[BINARY] * item.state.rows.mean[BINARY] ** 2
    cuts = getattr(item.state.params, "h", getattr(item.state.params, "mean", None))
    expected = np.column_stack([precision, 0.2 * cuts[BINARY, 0] ** 2])
    assert_allclose(part.prior * part.rows**2, expected, rtol=1e-12)
    assert part.label.evidence_kind(part.signed) is not None


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=["margin rank", "ordinal probit"])
def test_rows_and_cut_points_go_back_where_they_came_from(likelihood):
    item, _ = item_of(likelihood)
    same, _ = item_of(likelihood)
    part = as_label_rows(item, BINARY)
    put_back(part)
    assert_allclose(item.state.rows.mean, same.state.rows.mean, rtol=1e-14)
    name = "h" if isinstance(likelihood, OrdinalProbit) else "mean"
    cuts, before = (getattr(one.state.params, name) for one in (item, same))
    assert_allclose(cuts, before, rtol=1e-14)
    part.rows[1] *= 2.0
    put_back(part)
    assert_allclose(item.state.rows.mean[2], 2.0 * same.state.rows.mean[2], rtol=1e-14)
    assert_allclose(getattr(item.state.params, name)[2, 0], 2.0 * before[2, 0], rtol=1e-14)


@pytest.mark.parametrize("likelihood", LIKELIHOODS, ids=["margin rank", "ordinal probit"])
def test_rows_that_are_left_out_say_nothing(likelihood):
    """The sums of the other features equal those with these features missing."""
    item, z = item_of(likelihood)
    _, left_out = choose_binary_rows(item, Stream.from_seed(1))
    assert_array_equal(np.flatnonzero(left_out), BINARY)
    without, _ = item_of(likelihood)
    without.observed.array[BINARY] = MISSING
    everyone, stream = slice(0, N), Stream.from_seed(2)
    found = [
        view_sums(one, one.rows(variance=False), z, everyone, stream, left_out=skipped)
        for one, skipped in ((item, left_out), (without, None))
    ]
    assert_allclose(found[0].precision, found[1].precision, rtol=1e-12)
    assert_allclose(found[0].shift, found[1].shift, rtol=1e-12)
    if likelihood.has_fused_step:
        _, *sums = update_rows(item, z, Workers(), stream, left_out)
        _, *expected = update_rows(without, z, Workers(), stream)
        assert_allclose(sums[0], expected[0], rtol=1e-10)
        assert_allclose(sums[1], expected[1], rtol=1e-10)


def test_a_sweep_takes_a_few_at_random(monkeypatch):
    monkeypatch.setattr(binary_rows, "MOST", 2)
    item, _ = item_of(LIKELIHOODS[0])
    found = [choose_binary_rows(item, Stream.from_seed(seed))[0] for seed in range(60)]
    assert all(len(rows) == 2 for rows in found)
    assert {tuple(rows) for rows in found} == {(0, 2), (0, 4), (2, 4)}


@pytest.mark.parametrize("case", ["gaussian", "ordinary rank", "blocks"])
def test_other_likelihoods_have_none(case):
    rows, left_out = choose_binary_rows(state_of(case).data, Stream.from_seed(1))
    assert len(rows) == 0
    assert left_out is None


def test_units_are_margins():
    part = as_label_rows(item_of(LIKELIHOODS[0])[0], BINARY)
    assert isinstance(part.label, Hinge)
    assert_allclose(np.abs(part.signed).max(axis=1), part.unit)
