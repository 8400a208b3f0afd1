"""The engine: monotone bound, agreement with slow references, threads and blocks."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from tests import reference
from tests.simulate import simulate, with_holes

from rankfactor.engine import vb
from rankfactor.kernels.packed import unpack
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import (
    Gaussian,
    Hinge,
    MarginRank,
    ObservedArray,
    OrdinalProbit,
    Probit,
    Tile,
)
from rankfactor.model import Model
from rankfactor.shrinkage import TPBN, MultiplicativeGamma, NormalARD
from rankfactor.steps import acceleration
from rankfactor.steps.fused import update_fused
from rankfactor.steps.row import update_view, view_bound
from rankfactor.steps.score import ObservedView, update_scores
from rankfactor.steps.workers import Workers, workers
from rankfactor.tasks import encode_labels, signed_labels

DATA = {
    "rank": MarginRank(max_cuts=6, double=True),
    "gaussian": Gaussian(),
    "ordinal": OrdinalProbit(max_cuts=6),
}
LABEL = {"hinge": Hinge(), "probit": Probit(), "none": None}


def labels_of(data, kind):
    """Signed labels: one task, three classes with a second task and holes, or balanced weights."""
    if kind == "binary":
        y, weight = data.y, None
    elif kind == "balanced":
        y, weight = data.y, "balanced"
    else:
        three = np.digitize(data.scores[:, 1], [-0.5, 0.5]).astype(object)
        three[::7] = None
        y, weight = np.column_stack([data.y.astype(object), three]), None
    tasks, class_index = encode_labels(y, len(data.X))
    return ObservedArray(signed_labels(tasks, class_index, weight))


def run(model, X, labels, n_threads=1, seed=0, **settings):
    coding = model.data.learn(X)
    with workers(n_threads) as pool:
        return vb.ascend(
            model,
            coding,
            coding.observe(X),
            labels,
            vb.Settings(**settings),
            np.random.default_rng(seed),
            pool,
        )


@pytest.mark.usefixtures("without_momentum")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("data", "label", "kind", "holes"),
    [
        case
        for case in itertools.product(DATA, LABEL, ["binary", "balanced", "tasks"], [False, True])
        if case[1] != "none" or case[2] == "binary"
    ],
)
def test_elbo_never_decreases(data, label, kind, holes):
    simulated = simulate(n=60, d=20, seed=3)
    X = with_holes(simulated.X) if holes else simulated.X
    model = Model(4, DATA[data], LABEL[label])
    labels = None if label == "none" else labels_of(simulated, kind)
    elbo = run(model, X, labels, max_iter=40, tol=0.0).history.elbo
    change = np.diff(elbo) / np.abs(elbo[1:])
    assert change.min() > -1e-10
    assert elbo[-1] > elbo[0]


@pytest.mark.usefixtures("without_momentum")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "shrinkage",
    [
        TPBN(1.0, 0.5),
        TPBN(0.5, 0.5, "row"),
        TPBN(0.8, 1.2),
        NormalARD(),
        NormalARD(2.0, 0.5, "row"),
        MultiplicativeGamma(),
        MultiplicativeGamma(1.0, 0.5, 6.0),
    ],
    ids=repr,
)
def test_elbo_never_decreases_for_other_shrinkage(shrinkage):
    simulated = simulate(n=60, d=20, seed=3)
    model = Model(4, MarginRank(max_cuts=6), Hinge(), loading_shrinkage=shrinkage)
    elbo = run(
        model, simulated.X, labels_of(simulated, "binary"), max_iter=40, tol=0.0
    ).history.elbo
    assert (np.diff(elbo) / np.abs(elbo[1:])).min() > -1e-10


def prepared(model, n=30, d=9, seed=1):
    """A start with correlated posteriors: two iterations in."""
    simulated = simulate(n=n, d=d, seed=seed)
    X = with_holes(simulated.X)
    with pytest.warns(ConvergenceWarning):
        return run(model, X, labels_of(simulated, "tasks"), max_iter=2, tol=0.0)


def dense_sites(item, z):
    """Sites of a view by the slow reference (rank) or the likelihood itself, with dense moments."""
    rows = item.state.rows
    design = z.with_one() if item.view.has_intercept else z
    w, var_w = reference.product_moments(
        rows.mean, unpack(rows.cov), design.mean, unpack(design.cov)
    )
    everything = (slice(None), slice(None))
    observed = item.observed.tile(*everything)
    likelihood = item.view.likelihood
    if isinstance(likelihood, MarginRank):
        params = item.state.params
        tau, rho, *_ = reference.margin_rank_sites(
            observed, w, var_w, params.mean, params.variance, params.n_cuts, params.margin
        )
        return tau, rho
    return likelihood.sites(Tile(observed, w, var_w, item.state.params))


@pytest.mark.parametrize("data", DATA)
def test_local_step_agrees_with_the_slow_twin(data):
    model = Model(3, DATA[data], Hinge())
    fit = prepared(model)
    views = [fit.data, fit.labels]
    n, k = fit.z.mean.shape
    expected_mean = np.zeros((n, k))
    for sample in range(n):
        precision, shift = np.eye(k), np.zeros(k)
        for item in views:
            tau, rho = dense_sites(item, fit.z)
            mean, cov = item.state.rows.mean, unpack(item.state.rows.cov)
            for i in range(len(mean)):
                moment = np.outer(mean[i], mean[i]) + cov[i]
                precision += tau[i, sample] * moment[:k, :k]
                shift += rho[i, sample] * mean[i, :k]
                if item.view.has_intercept:
                    shift -= tau[i, sample] * moment[:k, k]
        expected_mean[sample] = np.linalg.solve(precision, shift)
    updated = update_scores(views, model.latent, fit.z, slice(0, n))
    assert_allclose(updated.mean, expected_mean, rtol=1e-8, atol=1e-10)


def test_global_step_agrees_with_the_slow_twin():
    model = Model(3, MarginRank(max_cuts=6, double=True), Hinge())
    fit = prepared(model)
    item, likelihood = fit.data, model.data
    params, rows = item.state.params, item.state.rows
    tau, _ = dense_sites(item, fit.z)
    w, var_w = reference.product_moments(rows.mean, unpack(rows.cov), fit.z.mean, unpack(fit.z.cov))
    codes = item.observed.array
    inv_lam = reference.margin_rank_sites(
        codes, w, var_w, params.mean, params.variance, params.n_cuts, params.margin
    )[2]
    s = np.where(codes[:, None, :] > np.arange(inv_lam.shape[1])[:, None], 1.0, -1.0)
    s *= inv_lam > 0
    eps = params.margin[:, None, None]

    def cut_points(w):
        precision = likelihood.cut_precision + inv_lam.sum(axis=2)
        return (inv_lam * (w[:, None, :] - s * eps) - s).sum(axis=2) / precision

    b = cut_points(w)
    rho = (inv_lam * (b[:, :, None] + s * eps) + s).sum(axis=1)
    prior = model.loading_shrinkage.precision(item.state.scales)
    moment = reference.second(fit.z.mean, unpack(fit.z.cov))
    mean, cov = reference.gaussian_rows(tau, rho, fit.z.mean, moment, prior)
    update_view(item, fit.z, Workers())
    assert_allclose(item.state.rows.mean, mean, rtol=1e-8, atol=1e-10)
    assert_allclose(unpack(item.state.rows.cov), cov, rtol=1e-8, atol=1e-10)
    used = item.state.params.used
    assert_allclose(item.state.params.mean[used], cut_points(mean @ fit.z.mean.T)[used], rtol=1e-8)


def test_joint_step_agrees_with_the_slow_twin():
    """One lam for all: cut points at the old w, rows at the old scores, scores at the new rows."""
    model = Model(3, MarginRank(max_cuts=6, double=True), Hinge())
    fit = prepared(model)
    item, params, z = fit.data, fit.data.state.params, fit.z.copy()
    w, var_w = reference.product_moments(
        item.state.rows.mean, unpack(item.state.rows.cov), z.mean, unpack(z.cov)
    )
    codes, eps = item.observed.array, params.margin[:, None, None]
    found = reference.margin_rank_sites(
        codes, w, var_w, params.mean, params.variance, params.n_cuts, params.margin
    )
    tau, inv_lam = found[0], found[2]
    s = np.where(codes[:, None, :] > np.arange(inv_lam.shape[1])[:, None], 1.0, -1.0)
    s *= inv_lam > 0
    precision = model.data.cut_precision + inv_lam.sum(axis=2)
    b = (inv_lam * (w[:, None, :] - s * eps) - s).sum(axis=2) / precision
    rho = (inv_lam * (b[:, :, None] + s * eps) + s).sum(axis=1)
    prior = model.loading_shrinkage.precision(item.state.scales)
    moment = reference.second(z.mean, unpack(z.cov))
    mean, cov = reference.gaussian_rows(tau, rho, z.mean, moment, prior)
    ones = np.ones(z.mean.shape)
    scores, _ = reference.gaussian_rows(tau.T, rho.T, mean, reference.second(mean, cov), ones)

    bound, _ = update_fused(
        [item], model.latent, fit.z, Workers(), 7, lambda prior, z, samples: prior
    )
    assert_allclose(bound, found[5].sum(), rtol=1e-10)
    used = item.state.params.used
    assert_allclose(item.state.params.mean[used], b[used], rtol=1e-8)
    assert_allclose(item.state.rows.mean, mean, rtol=1e-8, atol=1e-10)
    assert_allclose(unpack(item.state.rows.cov), cov, rtol=1e-8, atol=1e-10)
    assert_allclose(fit.z.mean, scores, rtol=1e-8, atol=1e-10)


def test_a_missing_entry_equals_a_row_left_out():
    """NaN is the zero site: the sample's scores are those of a model without that feature."""
    model = Model(2, MarginRank(max_cuts=6, double=True))
    simulated = simulate(n=30, d=8, seed=1)
    with pytest.warns(ConvergenceWarning):
        fit = run(model, simulated.X, None, max_iter=3, tol=0.0)
    codes = fit.data.observed.array.copy()
    codes[5, 4] = 255
    holed = ObservedView(fit.data.view, ObservedArray(codes), fit.data.state)
    with_hole = update_scores([holed], model.latent, fit.z.take(slice(4, 5)), slice(4, 5))
    keep = np.delete(np.arange(8), 5)
    state = type(fit.data.state)(
        fit.data.state.rows.take(keep), fit.data.state.params.take(keep), None
    )
    reduced = ObservedView(fit.data.view, ObservedArray(fit.data.observed.array[keep]), state)
    without = update_scores([reduced], model.latent, fit.z.take(slice(4, 5)), slice(4, 5))
    assert_allclose(with_hole.mean, without.mean, rtol=1e-12)
    assert_allclose(with_hole.cov, without.cov, rtol=1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("data", DATA)
def test_threads_leave_every_bit_alone(data):
    simulated = simulate(n=300, d=300, seed=2)
    model, labels = Model(3, DATA[data], Hinge()), labels_of(simulated, "binary")
    one = run(model, simulated.X, labels, n_threads=1, max_iter=5, tol=0.0)
    two = run(model, simulated.X, labels, n_threads=2, max_iter=5, tol=0.0)
    assert one.history.elbo == two.history.elbo
    assert_array_equal(one.data.state.rows.mean, two.data.state.rows.mean)
    assert_array_equal(one.z.mean, two.z.mean)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("data", DATA)
def test_block_size_does_not_matter(data):
    simulated = simulate(n=150, d=30, seed=2)
    model, labels = Model(3, DATA[data], Hinge()), labels_of(simulated, "tasks")
    one = run(model, simulated.X, labels, max_iter=20, tol=0.0)
    other = run(model, simulated.X, labels, max_iter=20, tol=0.0, block=17)
    assert_allclose(one.history.elbo, other.history.elbo, rtol=1e-10)
    assert_allclose(one.data.state.rows.mean, other.data.state.rows.mean, atol=1e-7)


def test_unneeded_factors_switch_off():
    simulated = simulate(n=300, d=60, k=3, noise=0.3, seed=0)
    fit = run(Model(10, MarginRank()), simulated.X, None, max_iter=500, tol=1e-5)
    assert fit.history.n_active[-1] == 3
    assert fit.history.n_active[0] > 3


def test_restarts_keep_the_best():
    simulated = simulate(n=80, d=20, seed=5)
    model, labels = Model(3, MarginRank(max_cuts=6), Hinge()), labels_of(simulated, "binary")
    single = run(model, simulated.X, labels, tol=1e-4, max_iter=300)
    several = run(model, simulated.X, labels, tol=1e-4, max_iter=300, n_restarts=3)
    assert several.history.elbo[-1] >= single.history.elbo[-1]


def test_convergence_warning_gives_advice():
    simulated = simulate(n=40, d=10)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        fit = run(Model(2, MarginRank()), simulated.X, None, max_iter=2, tol=1e-9)
    assert not fit.convergence.converged


def test_interrupt_keeps_the_fit(monkeypatch):
    simulated = simulate(n=40, d=10)
    calls = []

    def progress(iteration, elbo, change):
        calls.append(iteration)
        if iteration == 3:
            raise KeyboardInterrupt

    model = Model(2, MarginRank())
    coding = model.data.learn(simulated.X)
    with pytest.warns(ConvergenceWarning, match="interrupted after 3 iterations"):
        fit = vb.ascend(
            model,
            coding,
            coding.observe(simulated.X),
            None,
            vb.Settings(tol=0.0),
            np.random.default_rng(0),
            Workers(),
            progress,
        )
    assert calls == [1, 2, 3]
    assert len(fit.history.elbo) == 4


def test_bound_of_labels_refit_counts_rows_only():
    """The label rows' own bound rises under repeated updates at fixed scores."""
    simulated = simulate(n=80, d=10)
    model, labels = Model(3, MarginRank(), Hinge()), labels_of(simulated, "binary")
    z = Normal.isotropic(simulated.scores, 0.01)
    fit = vb._start(
        model,
        model.data.learn(simulated.X),
        model.data.learn(simulated.X).observe(simulated.X),
        labels,
        np.ones((10, 3)),
        simulated.scores,
        np.random.default_rng(0),
    )
    bounds = []
    for _ in range(30):
        before = view_bound(fit.labels, 3)
        bounds.append(before + update_view(fit.labels, z, Workers()))
    assert np.diff(bounds).min() > -1e-9


@pytest.mark.slow
def test_a_fit_that_begins_small(monkeypatch):
    """Some samples first, then all: the bound still rises, and ends where it would have."""
    simulated = simulate(n=150, d=30, seed=2)
    model = Model(3, MarginRank(max_cuts=6), Hinge())
    labels = ObservedArray(np.where(simulated.y > 0, 1.0, -1.0)[None])
    at_once = run(model, simulated.X, labels, max_iter=300, tol=1e-7)
    monkeypatch.setattr(vb, "LARGE", 100)
    monkeypatch.setattr(vb, "SMALL", 60)
    one, two = (
        run(model, simulated.X, labels, threads, max_iter=300, tol=1e-7) for threads in (1, 2)
    )
    elbo = np.array(one.history.elbo)
    assert (np.diff(elbo) / np.abs(elbo[1:])).min() > -1e-6  # single precision
    assert elbo[3] > at_once.history.elbo[3]
    assert elbo[-1] == pytest.approx(at_once.history.elbo[-1], rel=1e-3)
    assert one.z.mean.shape == (150, 3)
    assert_array_equal(one.z.mean, two.z.mean)
    assert one.history.elbo == two.history.elbo


def test_means_carried_too_far_are_carried_less(monkeypatch):
    simulated = simulate(n=80, d=20, seed=2)
    model = Model(3, MarginRank(max_cuts=6, double=True), Hinge())
    labels = ObservedArray(np.where(simulated.y > 0, 1.0, -1.0)[None])
    usual = run(model, simulated.X, labels, max_iter=400, tol=1e-5)
    monkeypatch.setattr(acceleration, "MOMENTUM", 8.0)
    monkeypatch.setattr(acceleration, "nesterov", lambda step: 8.0 * (step > 1))
    far = run(model, simulated.X, labels, max_iter=400, tol=1e-5)
    change = np.diff(far.history.elbo)
    falls = np.flatnonzero(change < 0)
    assert 1 <= len(falls) <= 5  # each time half as far, which soon is no more too far
    assert far.convergence.converged
    assert far.history.elbo[-1] == pytest.approx(usual.history.elbo[-1], rel=1e-2)
