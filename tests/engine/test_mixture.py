"""The mixture in both engines: monotone bound, threads and blocks, and what it is for."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.engine.test_vb import DATA, labels_of, run
from tests.simulate import simulate, with_holes

from rankfactor.classifiers import fit_classifier
from rankfactor.classifiers.gated import GatedScores
from rankfactor.classifiers.labels import ComponentLabels, signed_of
from rankfactor.classifiers.per_component import gate_major, label_evidence
from rankfactor.engine import gibbs
from rankfactor.engine.on_disk import describe, open_on_disk
from rankfactor.kernels.packed import unpack
from rankfactor.kernels.rng import Stream
from rankfactor.latent import DPMixture, Mixture
from rankfactor.laws.products import product_moments
from rankfactor.likelihoods import Gaussian, Hinge, MarginRank, ObservedArray, Probit
from rankfactor.model import Model
from rankfactor.steps.encode import STEPS, TOL, encode, encode_samples
from rankfactor.steps.row import update_view
from rankfactor.steps.score import ObservedView, update_scores
from rankfactor.steps.workers import Workers, workers
from rankfactor.storage.archive import Format, kinds_of, read_tree, write_tree

LABEL = {"hinge": Hinge(), "probit": Probit()}


def mixed(model, T=4, **hyper):
    return replace(model, latent=DPMixture(T, **hyper))


@pytest.mark.usefixtures("without_momentum")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("data", "label", "kind", "holes"),
    list(itertools.product(DATA, LABEL, ["binary", "balanced", "tasks"], [False, True])),
)
def test_elbo_never_decreases(data, label, kind, holes):
    simulated = simulate(n=60, d=20, seed=3)
    X = with_holes(simulated.X) if holes else simulated.X
    model = mixed(Model(4, DATA[data], LABEL[label]))
    elbo = run(model, X, labels_of(simulated, kind), max_iter=40, tol=0.0).history.elbo
    assert (np.diff(elbo) / np.abs(elbo[1:])).min() > -1e-10
    assert elbo[-1] > elbo[0]


@pytest.mark.usefixtures("without_momentum")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("data", DATA)
def test_elbo_never_decreases_without_labels(data):
    model = mixed(Model(3, DATA[data]), T=5)
    elbo = run(model, simulate(n=60, d=20, seed=3).X, None, max_iter=40, tol=0.0).history.elbo
    assert (np.diff(elbo) / np.abs(elbo[1:])).min() > -1e-10


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("data", DATA)
def test_threads_leave_every_bit_alone(data):
    simulated = simulate(n=600, d=150, seed=2)
    model, labels = mixed(Model(3, DATA[data], Hinge())), labels_of(simulated, "binary")
    one = run(model, simulated.X, labels, n_threads=1, max_iter=5, tol=0.0)
    two = run(model, simulated.X, labels, n_threads=2, max_iter=5, tol=0.0)
    assert one.history.elbo == two.history.elbo
    assert_array_equal(one.z.mean, two.z.mean)
    assert_array_equal(one.prior.responsibilities, two.prior.responsibilities)
    with workers(2) as pool:
        apart = classifier_of(model, two, pool)
    together = classifier_of(model, one, Workers())
    assert_array_equal(apart.rows.mean, together.rows.mean)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_block_size_does_not_matter():
    simulated = simulate(n=150, d=30, seed=2)
    model, labels = mixed(Model(3, Gaussian(), Hinge())), labels_of(simulated, "tasks")
    one = run(model, simulated.X, labels, max_iter=20, tol=0.0)
    other = run(model, simulated.X, labels, max_iter=20, tol=0.0, block=17)
    assert_allclose(one.history.elbo, other.history.elbo, rtol=1e-10)
    assert_allclose(one.prior.responsibilities, other.prior.responsibilities, atol=1e-6)


# --- the labels' rows ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def fitted():
    simulated = simulate(n=90, d=20, seed=3)
    model, labels = mixed(Model(3, Gaussian(), Hinge())), labels_of(simulated, "tasks")
    return model, run(model, with_holes(simulated.X), labels, tol=1e-4), labels


def test_labels_are_shared_out_by_responsibilities(fitted):
    _, fit, labels = fitted
    observed, R = fit.labels.observed, fit.prior.responsibilities
    n_rows = labels.shape[0]
    assert observed.shape == (4 * n_rows, 90)
    whole = observed.tile(slice(0, 4 * n_rows), slice(0, 90))
    for row, t in ((0, 0), (2, 3), (3, 1)):
        assert_allclose(whole[row * 4 + t], labels.array[row] * R[:, t])
    some = np.array([3, 50, 7])
    assert_array_equal(observed.tile(slice(2, 9), some), whole[2:9, some])
    assert_array_equal(signed_of(observed), labels.array)


def test_evidence_is_the_labels_bound_in_the_responsibilities(fitted):
    """Its average over components is the labels' part of the ELBO."""
    _, fit, labels = fitted
    evidence = label_evidence(fit.labels, fit.z, slice(0, 90))
    at = ObservedView(fit.labels.view, fit.labels.observed, fit.labels.state.copy())
    bound = update_view(at, fit.z, Workers())
    assert_allclose((evidence * fit.prior.responsibilities).sum(), bound, rtol=1e-10)
    missing = (labels.array == 0).all(axis=0)
    assert_allclose(evidence[missing], 0.0)


def test_gate_major_rows_decide_as_the_components_do(fitted):
    model, fit, _ = fitted
    z = encode_samples(model, fit.data, Workers(), prior=fit.prior)
    rows, n_rows = fit.labels.state.rows, len(fit.labels.observed.signed)
    gates = fit.prior.gates(z)
    f, var_f = GatedScores.at(z, gates).decide(gate_major(rows, n_rows))
    R = gates.weights(z.mean)  # (N, T)
    local = product_moments(rows, z.with_one(), False)[0].reshape(n_rows, 4, -1)
    assert_allclose(f, (local * R.T).sum(axis=1), rtol=1e-9)
    n, row = 11, 2
    beta, cov = rows.mean.reshape(n_rows, 4, -1)[row], unpack(rows.cov).reshape(n_rows, 4, 4, 4)
    d, C = z.with_one().mean[n], unpack(z.with_one().cov)[n]
    own = R[n] @ beta
    second = np.outer(d, d) + C
    expected = own @ C @ own + sum(R[n, t] ** 2 * (cov[row, t] * second).sum() for t in range(4))
    assert_allclose(var_f[row, n], expected, rtol=1e-9)


# --- encoding -----------------------------------------------------------------------------------


def test_encoding_is_a_fixed_point_of_scores_and_responsibilities(fitted):
    model, fit, _ = fitted
    z = encode_samples(model, fit.data, Workers(), prior=fit.prior)
    again = update_scores([fit.data], fit.prior.assign(z), z, slice(0, 90))
    assert np.abs(again.mean - z.mean).max() < 2 * TOL


def test_encoding_knows_neither_labels_nor_company_nor_training(fitted):
    model, fit, _ = fitted
    z = encode_samples(model, fit.data, Workers(), prior=fit.prior)
    # The training samples' responsibilities, which have seen the labels, have no part in it.
    wrong = replace(fit.prior, responsibilities=fit.prior.responsibilities[::-1])
    assert_array_equal(encode_samples(model, fit.data, Workers(), prior=wrong).mean, z.mean)
    alone = encode([fit.data], fit.prior, slice(41, 42), 3, tol=TOL, max_steps=STEPS)
    assert_allclose(alone.mean[0], z.mean[41], rtol=1e-9, atol=1e-9)


def test_a_mixture_cannot_encode_without_its_state(fitted):
    model, fit, _ = fitted
    with pytest.raises(ValueError, match="give that of the fit"):
        encode_samples(model, fit.data, Workers())


def test_no_samples(fitted):
    model, fit, _ = fitted
    none = ObservedView(fit.data.view, ObservedArray(np.empty((20, 0))), fit.data.state)
    z = encode_samples(model, none, Workers(), prior=fit.prior)
    assert z.mean.shape == (0, 3)


# --- what it is for -----------------------------------------------------------------------------


def crossed(z):
    """Exclusive or: classes in opposite quarters."""
    return z[(np.abs(z) > 0.2).all(axis=1)], lambda z: np.sign(z[:, 0] * z[:, 1])


def concentric(z):
    """One class around the other; half of the samples in each."""
    radius = np.sqrt(2 * np.log(2))
    return (
        z[np.abs(np.linalg.norm(z, axis=1) - radius) > 0.1],
        lambda z: np.sign(np.linalg.norm(z, axis=1) - radius),
    )


def table(shape, n, rng, loadings):
    """Table (n, d) and labels (n,) of standard normal scores, but for a gap between classes."""
    kept, label = shape(rng.standard_normal((3 * n, 2)))
    z = kept[:n]
    return z @ loadings.T + 0.4 * rng.standard_normal((n, len(loadings))), label(z)


def decide(model, fit, X, labels, new):
    """Decisions of new samples, shape (n, R)."""
    coding = model.data.learn(X)
    item = ObservedView(fit.data.view, coding.observe(new), fit.data.state)
    z = encode_samples(model, item, Workers(), prior=fit.prior)
    return classifier_of(model, fit, Workers(), labels).decide(z)[0]


def classifier_of(model, fit, pool, labels=None):
    """The classifier on the label-free scores of a fit's own samples."""
    z = encode_samples(model, fit.data, pool, prior=fit.prior)
    observed = fit.labels.observed if labels is None else labels
    return fit_classifier(model, observed, z, pool, prior=fit.prior)


@pytest.mark.parametrize("shape", [crossed, concentric])
@pytest.mark.parametrize("data", [Gaussian(), MarginRank(max_cuts=8)], ids=["gaussian", "rank"])
@pytest.mark.parametrize("label", LABEL)
@pytest.mark.quick_cases("hinge-rank-crossed")
def test_classes_that_no_line_parts(shape, data, label):
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((40, 2))
    X, y = table(shape, 600, rng, loadings)
    new, truth = table(shape, 1000, rng, loadings)
    labels, linear = ObservedArray(y[None]), Model(5, data, LABEL[label])
    found = {}
    for model in (linear, mixed(linear, T=10)):
        fit = run(model, X, labels, max_iter=300)
        f = decide(model, fit, X, labels, new)[:, 0]
        found[type(fit.prior)] = (np.sign(f) == truth).mean()
    assert found[Mixture] > 0.95
    assert min(found.values()) < 0.7


@pytest.mark.parametrize("data", [Gaussian(), MarginRank(max_cuts=8)], ids=["gaussian", "rank"])
@pytest.mark.parametrize("label", LABEL)
def test_one_component_is_the_linear_model(data, label):
    simulated, other = simulate(n=200, d=30, seed=1), simulate(n=200, d=30, seed=1)
    new = other.X + 0.1 * np.random.default_rng(5).standard_normal(other.X.shape)
    labels = labels_of(simulated, "binary")
    linear = Model(3, data, LABEL[label])
    fits = [
        (model, run(model, simulated.X, labels, tol=1e-5, max_iter=1000))
        for model in (linear, mixed(linear, T=1))
    ]
    f = [decide(model, fit, simulated.X, labels, new)[:, 0] for model, fit in fits]
    assert np.corrcoef(*f)[0, 1] > 0.99


@pytest.mark.slow
def test_three_classes_two_tasks_and_missing_labels():
    """Each row of labels has experts of its own; samples without labels count as data only."""
    rng = np.random.default_rng(1)
    loadings = rng.standard_normal((40, 2))
    corners = np.array([[1.5, 1.5], [-1.5, -1.5], [1.5, -1.5], [-1.5, 1.5]])

    def draw(n):
        corner = rng.integers(4, size=n)
        z = corners[corner] + 0.3 * rng.standard_normal((n, 2))
        signs = np.array([corner < 2, corner == 2, corner == 3, z[:, 0] > 0]) * 2.0 - 1.0
        return z @ loadings.T + 0.4 * rng.standard_normal((n, 40)), signs

    X, signed = draw(400)
    signed[:3, ::5] = 0.0
    signed[3, ::3] = 0.0
    new, truth = draw(500)
    labels, model = ObservedArray(signed), mixed(Model(3, Gaussian(), Hinge()), T=8)
    fit = run(model, X, labels, max_iter=300)
    f = decide(model, fit, X, labels, new)
    assert f.shape == (500, 4)
    assert (f[:, :3].argmax(axis=1) == truth[:3].argmax(axis=0)).mean() > 0.95
    assert (np.sign(f[:, 3]) == truth[3]).mean() > 0.95


def test_unneeded_components_empty():
    rng = np.random.default_rng(0)
    corners = np.array([[1.5, 1.5], [-1.5, -1.5], [1.5, -1.5]])
    z = corners[rng.integers(3, size=400)] + 0.3 * rng.standard_normal((400, 2))
    X = z @ rng.standard_normal((2, 40)) + 0.4 * rng.standard_normal((400, 40))
    fit = run(mixed(Model(2, Gaussian()), T=10), X, None, tol=1e-4, max_iter=500)
    assert fit.prior.n_used == 3


# --- Gibbs --------------------------------------------------------------------------------------


def chain_of(model, fit, n_sweeps=6, block=256, n_threads=1):
    settings = gibbs.Gibbs(n_draws=n_sweeps, burn_in=0, block=block, n_chains=2)
    stream = Stream.from_seed(3)
    chain = gibbs.start_chain(model, fit, stream)
    reference = fit.data.state.rows.mean[:, : fit.z.order]
    with workers(n_threads) as pool:
        return gibbs.run_chain(model, chain, reference, settings, stream, pool)


@pytest.mark.parametrize("label", LABEL)
def test_chain_does_not_depend_on_threads_or_blocks(label):
    simulated = simulate(n=300, d=20, seed=3)
    model = mixed(Model(3, Gaussian(), LABEL[label]))
    fit = run(model, simulated.X, labels_of(simulated, "tasks"), tol=1e-3)
    one = chain_of(model, fit)
    two = chain_of(model, fit, n_threads=2)
    assert_array_equal(one.state.z.mean, two.state.z.mean)
    assert_array_equal(one.state.prior.centres.mean, two.state.prior.centres.mean)
    blocks = chain_of(model, fit, block=37)
    assert_array_equal(one.state.prior.responsibilities, blocks.state.prior.responsibilities)
    assert_allclose(one.state.z.mean, blocks.state.z.mean, atol=1e-6)


def test_a_sweep_leaves_the_old_state_alone(fitted):
    model, fit, _ = fitted
    state = gibbs.start_chain(model, fit, Stream.from_seed(1)).state
    before = state.prior.responsibilities.copy(), state.labels.observed.responsibilities.copy()
    settings = gibbs.Gibbs(block=40, n_chains=2)
    new, _ = gibbs._sweep(model, state, settings, Stream.from_seed(2), Workers())
    assert_array_equal(state.prior.responsibilities, before[0])
    assert_array_equal(state.labels.observed.responsibilities, before[1])
    assert new.labels.observed.responsibilities is new.prior.responsibilities
    assert_array_equal(np.unique(new.prior.responsibilities), [0.0, 1.0])


def test_a_drawn_mixture_goes_into_an_archive_and_comes_back(fitted, tmp_path):
    model, fit, _ = fitted
    for prior in (fit.prior, gibbs.start_chain(model, fit, Stream.from_seed(1)).state.prior):
        form = Format("test", "file", "write it again")
        write_tree(tmp_path / "one.zip", form, prior)
        back = read_tree(tmp_path / "one.zip", form, kinds_of(fit.prior))
        assert back.hyper == prior.hyper
        assert_array_equal(back.responsibilities, prior.responsibilities)
        assert_array_equal(back.log_share, prior.log_share)
        assert_array_equal(back.psi.mean, prior.psi.mean)


def test_a_chain_that_was_stopped_goes_on_as_if_it_had_not_been(fitted, tmp_path):
    model, fit, labels = fitted
    stream = Stream.from_seed(5)

    def sampled(n_draws, folder):
        settings = gibbs.Gibbs(n_draws=n_draws, burn_in=2, n_chains=1, checkpoint=folder)
        problem = describe(model, fit.data.observed, labels, stream)
        store, _ = open_on_disk(settings, model, problem)
        return gibbs.sample(model, fit, settings, stream, 1, store=store)[0]

    sampled(4, tmp_path / "one")
    resumed = sampled(9, tmp_path / "one")
    whole = sampled(9, tmp_path / "other")
    for one, other in zip(resumed.draws, whole.draws, strict=True):
        assert_array_equal(one.coefficients, other.coefficients)
    assert_array_equal(resumed.state.z.mean, whole.state.z.mean)
    one, other = resumed.state.prior, whole.state.prior
    assert_array_equal(one.responsibilities, other.responsibilities)
    assert_array_equal(one.alpha.mean, other.alpha.mean)


@pytest.mark.parametrize("label", LABEL)
@pytest.mark.slow
def test_experts_of_draws_part_crossed_classes(label):
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((30, 2))
    X, y = table(crossed, 300, rng, loadings)
    new, truth = table(crossed, 500, rng, loadings)
    model, labels = mixed(Model(3, Gaussian(), LABEL[label]), T=8), ObservedArray(y[None])
    fit = run(model, X, labels, max_iter=300)
    settings = gibbs.Gibbs(n_draws=10, burn_in=0, n_chains=2)
    stream = Stream.from_seed(0)
    state, total = gibbs.start_chain(model, fit, stream).state, np.zeros(500)
    for sweep in range(60):
        state, _ = gibbs._sweep(model, state, settings, stream.child("sweep", sweep), Workers())
        if sweep % 10 == 9:
            total += np.tanh(decide(model, state, X, labels, new)[:, 0])
    assert (np.sign(total) == truth).mean() > 0.95
    assert isinstance(state.labels.observed, ComponentLabels)
