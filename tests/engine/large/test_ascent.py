"""Passes over shards against the same steps on the whole table."""

import numpy as np
import pytest

from rankfactor.engine import vb
from rankfactor.engine.large.ascent import ascend_shards, shared_of
from rankfactor.engine.large.placement import LocalPlacement
from rankfactor.engine.large.shard import find_scores, settle_shard
from rankfactor.likelihoods import Gaussian, Hinge, MarginRank, ObservedArray, OrdinalProbit, Probit
from rankfactor.likelihoods.by_block import LikelihoodByBlock
from rankfactor.model import Model, with_blocks
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.workers import Workers, workers

POOL = Workers()
BLOCKS = np.array(["counts"] * 9 + ["values"] * 7)
CASES = {
    "margin rank": (MarginRank(margin=0.05), Hinge()),
    "inferred margin": (MarginRank(margin=0.05, margin_shape=50.0), Hinge()),
    "gaussian": (Gaussian(), Probit()),
    "ordinal probit": (OrdinalProbit(), Probit()),
    "blocks": (
        LikelihoodByBlock(("counts", "values"), (MarginRank(margin=0.05), Gaussian())),
        Hinge(),
    ),
}


def _begun(name, X, signed):
    """A fit that has begun, its coding, and its shards with the same scores."""
    data, label = CASES[name]
    model = Model(4, data, label if signed is not None else None).for_blocks(BLOCKS)
    coding = model.data.learn(X)
    observed = coding.observe(X)
    model = with_blocks(model.for_coding(coding), BLOCKS, coding.columns)
    rows = None if signed is None else ObservedArray(signed)
    settings = vb.Settings(max_iter=3, warns=False)
    fit = vb.ascend(model, coding, observed, rows, settings, np.random.default_rng(0), POOL)
    return model, fit, coding


def _shards(coding, fit, X, signed, pool=POOL, **options):
    n = len(X)
    given = np.zeros((0, n)) if signed is None else signed

    def chunks(rows):
        return ((first, X[first : first + rows]) for first in range(0, n, rows))

    shards = LocalPlacement(chunks, **options)(coding, 4, given, np.zeros(n, bool), pool)
    for shard in shards.shards:
        shard.z.put(slice(0, shard.size), fit.z.take(slice(shard.first, shard.first + shard.size)))
    return shards


def _signed(labels):
    return np.where(labels[:, 0] == "case", 1.0, -1.0)[None]


@pytest.mark.usefixtures("small_shards", "without_momentum")
@pytest.mark.parametrize("with_labels", [True, False])
@pytest.mark.parametrize("name", CASES)
def test_a_pass_is_an_iteration_on_the_whole_table(name, with_labels, counts):
    X, labels = counts
    signed = _signed(labels) if with_labels else None
    _, fit, coding = _begun(name, X, signed)
    _, whole, _ = _begun(name, X, signed)
    elbo = vb._iterate(whole, 256, POOL)
    before = len(fit.history.elbo)
    ascend_shards(fit, _shards(coding, fit, X, signed), vb.Settings(max_iter=0), None)
    assert fit.history.elbo[before:] == pytest.approx([elbo], rel=2e-6)
    # In single precision sums of blocks round differently.
    for one, other in zip(fit.views, whole.views, strict=True):
        np.testing.assert_allclose(one.state.rows.mean, other.state.rows.mean, atol=2e-4)
    precision = [
        item.view.shrinkage.precision(item.state.scales) for item in (fit.data, whole.data)
    ]
    np.testing.assert_allclose(*precision, rtol=1e-2)


@pytest.mark.usefixtures("small_shards", "without_momentum")
@pytest.mark.parametrize("name", CASES)
def test_the_elbo_never_falls(name, counts):
    X, labels = counts
    _, fit, coding = _begun(name, X, _signed(labels))
    before = len(fit.history.elbo)
    shards = _shards(coding, fit, X, _signed(labels))
    ascend_shards(fit, shards, vb.Settings(max_iter=12, tol=0.0), None)
    elbo = np.array(fit.history.elbo[before:])
    assert len(elbo) == 13
    assert (np.diff(elbo) > -1e-7 * np.abs(elbo[1:])).all()
    assert elbo[-1] > elbo[0]


@pytest.mark.usefixtures("small_shards", "threads_for_all")
def test_threads_and_files_do_not_change_a_bit(counts, tmp_path):
    X, labels = counts
    found = []
    for threads, memory in ((1, None), (3, None), (2, 1000)):
        _, fit, coding = _begun("margin rank", X, _signed(labels))
        with workers(threads) as pool:
            options = {"memory": memory, "scratch": str(tmp_path)}
            shards = _shards(coding, fit, X, _signed(labels), pool, **options)
            ascend_shards(fit, shards, vb.Settings(max_iter=5, tol=0.0), None)
        found.append((fit.history.elbo, fit.data.state.rows.mean))
    for elbo, rows in found[1:]:
        assert elbo == found[0][0]
        np.testing.assert_array_equal(rows, found[0][1])
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("small_shards")
def test_scores_of_new_shards_reach_their_fixed_point(counts):
    X, _ = counts
    model, fit, coding = _begun("margin rank", X, None)
    shards = _shards(coding, fit, X, None)
    for shard in shards.shards:
        shard.z.mean[:] = 9.0
    shards.run(find_scores, shared_of(fit))
    shards.sum(settle_shard, shared_of(fit))
    wanted = encode_samples(model, fit.data, POOL).mean
    found = np.concatenate([shard.z.mean for shard in shards.shards])
    np.testing.assert_allclose(found, wanted, atol=5e-3)


@pytest.mark.usefixtures("small_shards")
def test_ctrl_c_keeps_the_last_complete_pass(counts):
    X, labels = counts
    _, fit, coding = _begun("margin rank", X, _signed(labels))
    shards, kept = _shards(coding, fit, X, _signed(labels)), []

    def progress(iteration, elbo, change):
        kept.append(fit.data.state.rows.mean.copy())
        if iteration == 3:
            raise KeyboardInterrupt

    ascend_shards(fit, shards, vb.Settings(tol=0.0), progress)
    assert fit.convergence.interrupted
    assert "4 passes over all samples" in str(fit.convergence)
    np.testing.assert_array_equal(fit.data.state.rows.mean, kept[-1])
