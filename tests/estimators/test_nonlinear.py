"""Nonlinear classifiers through the estimator, in both forms."""

import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from tests.engine.test_mixture import concentric, crossed, table
from tests.engine.test_vb import labels_of, run
from tests.simulate import simulate, with_holes

from rankfactor import Gibbs, InputError, RankFactorClassifier, load_model, save_model
from rankfactor.latent import DPMixture, InBasis, MixedExperts, Mixture, StandardNormal
from rankfactor.laws.normal import dual
from rankfactor.likelihoods import Gaussian, Hinge
from rankfactor.model import Model
from rankfactor.posterior.diagnostics import convergence
from rankfactor.steps.encode import encode_samples
from rankfactor.steps.workers import Workers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FORMS = ("mixed", "per_component")


def nonlinear(experts, model="R-NL-BSVM", **settings):
    settings = {"n_factors": 3, "max_iter": 30, "max_cuts": 8, "random_state": 0} | settings
    return RankFactorClassifier(model, experts=experts, **settings)


def corners(n, rng, loadings):
    """Classes of four corners: three classes, the first in two of them, and a task of two."""
    places = np.array([[1.5, 1.5], [-1.5, -1.5], [1.5, -1.5], [-1.5, 1.5]])
    corner = rng.integers(4, size=n)
    z = places[corner] + 0.3 * rng.standard_normal((n, 2))
    X = z @ loadings.T + 0.4 * rng.standard_normal((n, len(loadings)))
    three = np.array(["a", "a", "b", "c"])[corner]
    return X, pd.DataFrame({"three": three, "two": np.where(corner < 2, "same", "other")})


@pytest.fixture(scope="module")
def small():
    """Two tasks with missing values and labels, some samples without any label."""
    rng = np.random.default_rng(0)
    X, labels = corners(120, rng, rng.standard_normal((15, 2)))
    labels.loc[::5, "three"] = None
    labels.loc[::4, "two"] = None
    return with_holes(X, 0.05), labels


@pytest.fixture(scope="module", params=FORMS)
def fitted(request, small):
    return nonlinear(request.param, n_components=6).fit(*small)


SHORT = Gibbs(n_draws=6, burn_in=4, n_predict=3, n_chains=2, align="permute")


@pytest.fixture(scope="module", params=FORMS)
def sampled(request, small):
    return nonlinear(request.param, n_components=6, engine=SHORT).fit(*small)


@pytest.fixture(
    scope="module",
    params=list(itertools.product(FORMS, ("vb", SHORT))),
    ids=lambda pair: f"{pair[0]} {'vb' if pair[1] == 'vb' else 'gibbs'}",
)
def either(request, small):
    form, engine = request.param
    return nonlinear(form, n_components=6, engine=engine).fit(*small)


@pytest.mark.parametrize("shape", [crossed, concentric])
@pytest.mark.slow
def test_classes_that_no_line_parts(shape):
    rng = np.random.default_rng(0)
    loadings = rng.standard_normal((40, 2))
    X, y = table(shape, 600, rng, loadings)
    new, truth = table(shape, 1000, rng, loadings)
    settings = {"n_factors": 5, "max_iter": 300}
    for form in FORMS:
        assert nonlinear(form, **settings).fit(X, y).score(new, truth) > 0.95
    linear = nonlinear("mixed", "R-L-BSVM", **settings).fit(X, y)
    assert linear.score(new, truth) < 0.7


@pytest.mark.parametrize("form", FORMS)
def test_one_component_decides_like_the_linear_model(form):
    """Not the same: the priors of coefficients (mixed) or of the scores differ."""
    simulated = simulate(n=200, d=30, seed=1)
    new = simulated.X + 0.1 * np.random.default_rng(5).standard_normal(simulated.X.shape)
    settings = {"max_iter": 1000, "tol": 1e-5}
    linear = nonlinear("mixed", "R-L-BSVM", **settings).fit(simulated.X, simulated.y)
    local = nonlinear(form, n_components=1, **settings).fit(simulated.X, simulated.y)
    found = linear.decision_function(new), local.decision_function(new)
    assert np.corrcoef(*found)[0, 1] > 0.99
    assert local.n_components_used_ == 1
    assert_allclose(local.responsibilities(new), 1.0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.slow
def test_classes_tasks_and_missing_labels(form):
    rng = np.random.default_rng(1)
    loadings = rng.standard_normal((40, 2))
    X, labels = corners(400, rng, loadings)
    labels.loc[::5, "three"] = None
    labels.loc[::3, "two"] = None
    new, truth = corners(500, rng, loadings)
    model = nonlinear(form, "G-NL-BSVM", max_iter=300, n_components=8).fit(X, labels)
    predicted = model.predict(new)
    assert (predicted[:, 0] == truth["three"]).mean() > 0.95
    assert (predicted[:, 1] == truth["two"]).mean() > 0.95
    three, two = model.decision_function(new)
    assert three.shape == (500, 3)
    assert two.shape == (500,)


def test_parts_of_the_model(fitted):
    model, posterior = fitted.posterior_.model, fitted.posterior_
    # The prior stays that of the fit; scores have other coordinates.
    assert isinstance(posterior.prior, InBasis)
    prior = posterior.prior.inner
    if fitted.experts == "mixed":
        assert model.experts == MixedExperts(6)
        assert prior == StandardNormal()
    else:
        assert model.latent == DPMixture(6)
        assert isinstance(prior, Mixture)
        # Nothing of a training sample is kept.
        assert prior.responsibilities.shape == (0, 6)
    assert fitted.coef_.shape == fitted.joint_coef_.shape == (4, 3)


def test_responsibilities_and_components_used(fitted, small):
    X, _ = small
    R = fitted.responsibilities(X)
    assert R.shape == (120, 6)
    assert_allclose(R.sum(axis=1), 1.0)
    assert 1 < fitted.n_components_used_ <= 6
    # They are the weights of the decisions.
    experts = fitted.posterior_.classifiers.experts
    z = np.column_stack([fitted.transform(X), np.ones(120)])
    rows = experts.rows.mean.reshape(4, -1, 4)  # rows by gates
    weights = np.column_stack([np.ones(120), R]) if fitted.experts == "mixed" else R
    expected = np.einsum("ng,rgk,nk->nr", weights, rows, z)
    three, two = fitted.decision_function(X)
    assert_allclose(np.column_stack([three, two]), expected, rtol=1e-8)


def test_scores_are_what_transform_gives(fitted, small):
    assert_allclose(fitted.transform(small[0]), fitted.scores_, atol=1e-10)


def test_centres_take_the_order_and_the_signs_of_the_factors():
    simulated = simulate(n=90, d=20, seed=3)
    model = Model(3, Gaussian(), Hinge(), latent=DPMixture(4))
    fit = run(model, simulated.X, labels_of(simulated, "binary"), max_iter=20)
    before = encode_samples(model, fit.data, Workers(), prior=fit.prior)
    turn = np.eye(3)[:, [1, 2, 0]] * [-1.0, 1.0, -1.0]
    fit.data.state.rows = fit.data.state.rows.transformed(dual(turn, fit.data.state.rows.order))
    fit.prior = fit.prior.transformed(turn)
    after = encode_samples(model, fit.data, Workers(), prior=fit.prior)
    assert_allclose(after.mean, before.mean @ turn, atol=1e-9)
    assert np.abs(after.mean - before.mean).max() > 0.1


@pytest.mark.slow
def test_unneeded_components_are_not_counted():
    rng = np.random.default_rng(0)
    X, labels = corners(300, rng, rng.standard_normal((30, 2)))
    model = nonlinear("per_component", "G-NL-BSVM", n_factors=2, max_iter=300, n_components=12)
    assert model.fit(X, labels["two"]).n_components_used_ <= 6


@pytest.mark.quick_cases("mixed vb", "per_component vb")
def test_probabilities_agree_with_predictions(either, small):
    model, (X, _) = either, small
    predicted = model.predict(X)
    for number, (classes, chances) in enumerate(
        zip(model.classes_, model.predict_proba(X), strict=True)
    ):
        assert_allclose(chances.sum(axis=1), 1.0)
        assert_array_equal(classes[chances.argmax(axis=1)], predicted[:, number])


@pytest.mark.quick_cases("mixed vb", "per_component vb", "mixed gibbs")
def test_a_loaded_model_predicts_the_same_bits(either, small, tmp_path):
    posterior, (X, _) = either.posterior_, small
    loaded = load_model(save_model(posterior, tmp_path / "m"))
    assert loaded.model == posterior.model
    for one, other in zip(loaded.decide(X, Workers()), posterior.decide(X, Workers()), strict=True):
        assert_array_equal(one, other)
    assert_array_equal(loaded.encode(X, Workers()).mean, posterior.encode(X, Workers()).mean)
    ours, theirs = (one.component_weights(X, Workers()) for one in (loaded, posterior))
    assert_array_equal(ours, theirs)
    assert loaded.n_components_used == posterior.n_components_used
    again = save_model(loaded, tmp_path / "again")
    assert again.read_bytes() == (tmp_path / "m").read_bytes()


def test_counts_of_numpy_can_be_saved(small, tmp_path):
    X, labels = small
    for form in FORMS:
        model = nonlinear(form, n_components=np.int64(4), max_iter=3).fit(X, labels["two"])
        loaded = load_model(save_model(model.posterior_, tmp_path / form))
        assert loaded.model == model.posterior_.model


@pytest.mark.usefixtures("threads_for_all")
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.quick_cases("per_component")
def test_threads_do_not_matter(form, small):
    X, labels = small
    one, two = (
        nonlinear(form, n_components=6, max_iter=5, n_threads=n).fit(X, labels) for n in (1, 2)
    )
    assert_array_equal(one.scores_, two.scores_)
    assert_array_equal(one.decision_function(X)[0], two.decision_function(X)[0])
    assert_array_equal(one.predict_proba(X)[1], two.predict_proba(X)[1])


def test_clone(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert copy.experts == fitted.experts


@pytest.mark.parametrize("calibration", ["refit", "cross-validation"])
def test_probabilities_of_a_mixture_are_calibrated(calibration, small):
    X, labels = small
    settings = {"n_components": 4, "max_iter": 5, "calibration": calibration}
    model = nonlinear("per_component", **settings).fit(X, labels)
    assert (model.posterior_.classifiers.scale != 1.0).all()


# --- what is refused ----------------------------------------------------------------------------

BAD = {
    "experts": (
        {"experts": "many"},
        "experts must be one of auto, kernel, mixed, per_component, not 'many'",
    ),
    "count": ({"n_components": 0}, "n_components must be a whole number of at least 1, not 0"),
    "mixture": (
        {"experts": "per_component", "n_components": 2.5},
        "n_components must be a whole number of at least 1, not 2.5",
    ),
    "too many": ({"n_components": 121}, "at least as many samples, but the table has 120"),
    "too many in a mixture": (
        {"experts": "per_component", "n_components": 121},
        "at least as many samples, but the table has 120",
    ),
    "linear": (
        {"experts": "per_component", "model": "R-L-BSVM"},
        r"is for nonlinear models: set model to G-NL-BSVM \(gaussian-nonlinear\) or R-NL-BSVM",
    ),
    "predictive": (
        {"experts": "per_component", "training": "predictive"},
        "use experts='mixed' or training='bayes'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_get_one_sentence(case, small):
    arguments, message = BAD[case]
    X, labels = small
    with pytest.raises(InputError, match=message) as caught:
        nonlinear(**{"experts": "mixed"} | arguments).fit(X, labels["two"])
    assert "\n" not in str(caught.value)


def test_linear_models_have_no_components(small):
    X, labels = small
    model = nonlinear("mixed", "G-L-BSVM", max_iter=3).fit(X, labels["two"])
    assert not hasattr(model, "n_components_used_")
    with pytest.raises(InputError, match="a linear model has no components"):
        model.responsibilities(X)


# --- Gibbs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("classifier", ["hinge", "probit"])
@pytest.mark.slow
def test_draws_of_a_mixture_part_crossed_classes(classifier):
    rng = np.random.default_rng(1)
    loadings = rng.standard_normal((30, 2))
    X, y = table(crossed, 300, rng, loadings)
    new, truth = table(crossed, 500, rng, loadings)
    settings = {"classifier": classifier, "n_components": 8, "max_iter": 300}
    engine = Gibbs(n_draws=30, burn_in=30, n_predict=6, n_chains=2)
    model = nonlinear("per_component", "G-NL-BSVM", engine=engine, **settings).fit(X, y)
    assert model.score(new, truth) > 0.95
    # The mean draw's own classifiers decide, too: scores and mixture have one unit.
    posterior = model.posterior_
    mean, _ = posterior.classifiers.decide(posterior.encode(new, Workers()))
    assert (np.sign(mean[:, 0]) == truth).mean() > 0.95


@pytest.mark.slow
def test_diagnostics_of_both_forms(sampled):
    posterior = sampled.posterior_
    mixture = sampled.experts == "per_component"
    frame = convergence(posterior)
    assert ("coefficients" in frame.index) != mixture
    assert frame.loc["decision function", "quantities"] == 4 * 20
    tree = posterior.to_arviz()["posterior"]
    components = (6,) if mixture else ()
    names = ("component",) if mixture else ()
    assert tree["coefficients"].dims == ("chain", "draw", "row", *names, "factor")
    assert tree["coefficients"].shape == (2, 6, 4, *components, 3)
    assert tree["intercept"].dims == ("chain", "draw", "row", *names)
    assert tree["coefficient_xi"].dims == ("chain", "draw", "row", *names, "factor")
    assert tree["coefficient_phi"].shape == (2, 6, 4, *components)
    assert list(tree["row"].values) == posterior.classifiers.row_names()


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_sampler_that_goes_on_predicts_as_if_it_had_not_stopped(form, small, tmp_path):
    X, labels = small

    def run(n_draws, folder):
        engine = Gibbs(
            n_draws=n_draws, burn_in=2, n_predict=3, checkpoint=tmp_path / folder, n_chains=2
        )
        settings = {"n_components": 5, "engine": engine, "max_iter": 10}
        return nonlinear(form, "G-NL-BSVM", **settings).fit(X, labels)

    run(3, "one")
    resumed, whole = run(6, "one"), run(6, "other")
    assert_array_equal(resumed.decision_function(X)[0], whole.decision_function(X)[0])


@pytest.mark.slow
def test_all_draws_of_a_mixture_on_disk(small, tmp_path):
    pytest.importorskip("zarr")
    from rankfactor import open_draws

    X, labels = small
    engine = Gibbs(
        5, burn_in=1, n_predict=2, store=tmp_path / "draws.zarr", n_chains=2, align="permute"
    )
    settings = {"n_components": 5, "engine": engine, "max_iter": 5}
    model = nonlinear("per_component", "G-NL-BSVM", **settings).fit(X, labels)
    stored = open_draws(tmp_path / "draws.zarr")["posterior"]
    tree = model.posterior_.to_arviz()["posterior"]
    for name in ("coefficients", "intercept", "coefficient_xi"):
        assert stored[name].dims == tree[name].dims
        # A store multiplies by the unit in single precision.
        assert_allclose(stored[name].values, tree[name].values, rtol=1e-6)
    assert list(stored["row"].values) == list(tree["row"].values)
