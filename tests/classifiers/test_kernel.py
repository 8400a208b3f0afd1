"""Kernel classifiers: features, gradient, settings chosen by held-out labels, and whole fits."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from tests.simulate import with_holes

from rankfactor import Gibbs, InputError, RankFactorClassifier, load_model, save_model
from rankfactor.classifiers.kernel import (
    Kernel,
    RadialFeatures,
    fit_kernel,
    least_squares,
    table_basis,
)
from rankfactor.classifiers.kernel_choice import (
    MOST_SAMPLES,
    choose_kernel,
    choose_path,
    hidden_folds,
    place_landmarks,
)
from rankfactor.interpret import coefficient_table
from rankfactor.latent import DPMixture, KernelExperts
from rankfactor.laws.normal import Normal
from rankfactor.likelihoods import Hinge, MarginRank, ObservedArray, Probit
from rankfactor.model import Model
from rankfactor.storage.model_file import model_header

K = 3


def scores(n, seed=0):
    """Scores whose third factor is mostly noise."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, K)) * (1.0, 1.0, 0.3)
    law = Normal.isotropic(z, 1.0)
    variance = np.array([0.05, 0.05, 0.9])
    place = np.cumsum([0, *range(K, 1, -1)])
    cov = np.zeros((n, K * (K + 1) // 2))
    cov[:, place] = variance
    return Normal(law.mean, cov, np.full(n, np.log(variance).sum()))


def crossed(z):
    return np.where(z[:, 0] * z[:, 1] > 0, 1.0, -1.0)[None]


def model_of(label=None, **experts):
    return Model(K, MarginRank(), label or Hinge(), experts=KernelExperts(**experts))


def fitted_to(z, signed, **settings):
    model = model_of(**settings)
    return choose_kernel(model, ObservedArray(signed), z, tol=1e-3, max_steps=100)


@pytest.fixture(scope="module")
def fitted():
    z = scores(150)
    rows = np.concatenate([crossed(z.mean), np.sign(z.mean[:, :1].T)])
    rows[1, ::7] = 0.0
    return fitted_to(z, rows)


def test_features_against_plain_loops(fitted):
    z = scores(9, 1).mean
    features = fitted.features
    u = z @ features.basis
    values = np.empty((len(u), len(features.landmarks)))
    for n, one in enumerate(u):
        for place, mark in enumerate(features.landmarks):
            apart = (one - mark) @ features.metric
            values[n, place] = np.exp(-features.gamma[0] * (apart**2).sum())
    wanted = np.hstack([np.sqrt(features.linear[0]) * u, values @ features.root, np.ones((9, 1))])
    assert_allclose(features.of(z), wanted, rtol=1e-9, atol=1e-9)


def test_features_are_the_kernel_at_the_landmarks():
    u = np.random.default_rng(0).standard_normal((30, K))
    features = RadialFeatures.at(u, u[:10], np.eye(K), 1.0, np.array([[0.1, 1.0]]))
    phi = features.of(u[:10])[:, K:-1]
    assert_allclose(phi @ phi.T, features.kernel(u[:10]), atol=1e-6)


def test_gradient_against_finite_differences(fitted):
    z, step = scores(6, 2), 1e-5
    rng = np.random.default_rng(0)
    slope = rng.standard_normal((2, 6))
    found = fitted.gradient(z, slope)
    for k in range(K):
        moved = []
        for sign in (1, -1):
            mean = z.mean.copy()
            mean[:, k] += sign * step
            moved.append((fitted.decide(Normal(mean, z.cov, z.log_det))[0] * slope.T).sum(axis=1))
        assert_allclose(found[:, k], (moved[0] - moved[1]) / (2 * step), rtol=1e-5, atol=1e-7)


def test_average_is_the_mean_gradient_and_the_mean_decision(fitted):
    z = scores(40, 3)
    average = fitted.average(z)
    for row in range(2):
        slope = np.zeros((2, 40))
        slope[row] = 1.0
        assert_allclose(average.mean[row, :K], fitted.gradient(z, slope).mean(axis=0), atol=1e-9)
    mean = average.mean[:, :K] @ z.mean.mean(axis=0) + average.mean[:, K]
    assert_allclose(mean, fitted.decide(z)[0].mean(axis=0), atol=1e-9)


def test_transformed_and_flipped_keep_decisions(fitted):
    z = scores(20, 4)
    matrix = np.random.default_rng(1).standard_normal((K, K)) + 2 * np.eye(K)
    mean, variance = fitted.decide(z)
    again = fitted.transformed(matrix).decide(z.transformed(matrix))
    assert_allclose(again[0], mean, rtol=1e-8, atol=1e-8)
    assert_allclose(again[1], variance, rtol=1e-6, atol=1e-8)
    sign = np.array([-1.0, 1.0])
    turned = fitted.flipped(sign).decide(z)
    assert_allclose(turned[0], mean * sign)
    assert_allclose(turned[1], variance)


def test_basis_does_not_depend_on_the_axes_and_leaves_noise_behind():
    z = scores(2000)
    matrix = np.random.default_rng(2).standard_normal((K, K)) + 2 * np.eye(K)
    u = z.mean @ table_basis(z)
    again = z.transformed(matrix)
    v = again.mean @ table_basis(again)
    near = ((u[:50, None] - u[:50]) ** 2).sum(axis=2)
    assert_allclose(((v[:50, None] - v[:50]) ** 2).sum(axis=2), near, rtol=1e-3, atol=1e-6)
    assert_allclose(u.var(axis=0).sum(), 1.0, rtol=1e-6)
    weight = (table_basis(z) ** 2).sum(axis=1) * z.mean.var(axis=0)  # of each factor
    assert weight[2] < 0.1 * weight[:2].min()


def test_infinite_width_is_a_linear_classifier():
    z = scores(60)
    found = fit_kernel(
        Hinge(),
        ObservedArray(np.sign(z.mean[:, :1].T)),
        z,
        np.eye(K),
        z.mean[:10],
        1.0,
        np.array([[np.inf, 1.0]]),
        1e-3,
    )
    assert found.rows.mean.shape == (1, K + 1)
    beta = found.average(z).mean[0]
    assert_allclose(found.decide(z)[0][:, 0], z.mean @ beta[:K] + beta[K], atol=1e-9)


def test_least_squares_against_the_normal_equations():
    rng = np.random.default_rng(0)
    design = np.column_stack([rng.standard_normal((30, 4)), np.ones(30)])
    signed = np.sign(rng.standard_normal((3, 30))) * np.array([[1.0], [1.0], [2.0]])
    signed[2, :5] = 0.0
    found = least_squares(design, signed, np.array([0.5, 2.0]), 1e-3)
    for place, precision in enumerate((0.5, 2.0)):
        for row in range(3):
            weight = np.diag(np.abs(signed[row]))
            system = design.T @ weight @ design + np.diag([precision] * 4 + [1e-3])
            wanted = np.linalg.solve(system, design.T @ signed[row])
            assert_allclose(found[place, row], wanted, rtol=1e-8)


def test_metric_points_to_where_decisions_change():
    z = scores(200)
    found = fitted_to(z, np.where(z.mean[:, :1].T ** 2 > 0.5, 1.0, -1.0))
    assert len(found.features.path) > 1
    gram = found.features.basis @ found.features.metric
    weight = (gram**2).sum(axis=1)
    assert weight[0] > 3 * weight[1:].max()


@pytest.mark.parametrize("label", [Hinge(), Probit()])
def test_crossed_classes_that_a_line_cannot_part(label):
    z, new = scores(200), scores(300, 9)
    found = fitted_to(z, crossed(z.mean), label=label)
    right = np.sign(found.decide(new)[0][:, 0]) == crossed(new.mean)[0]
    assert right.mean() > 0.85


def test_missing_labels_have_no_part():
    z = scores(120)
    signed = crossed(z.mean)
    signed[0, 60:] = 0.0
    path = np.array([[1.0, 0.3], [1.0, 0.3]])

    def fit(labels):
        landmarks = z.mean[:20]
        return fit_kernel(Hinge(), ObservedArray(labels), z, np.eye(K), landmarks, 1.0, path, 1e-3)

    some = Normal(z.mean, z.cov, z.log_det)
    weighted = fit(signed)
    assert np.isfinite(weighted.decide(some)[0]).all()
    assert not np.allclose(weighted.rows.mean, fit(crossed(z.mean)).rows.mean)


def test_hidden_labels_keep_groups_together():
    rng = np.random.default_rng(0)
    signed = np.sign(rng.standard_normal((1, 90)))
    groups = np.repeat(np.arange(30), 3)
    some, folds = hidden_folds(signed, groups, 0)
    assert len(folds) == 5
    for train, test in folds:
        assert not set(groups[some[train]]) & set(groups[some[test]])


def test_groups_change_what_is_chosen():
    """Copies of a sample favour a narrow kernel, unless they are held out together."""
    rng = np.random.default_rng(0)
    u = np.repeat(rng.standard_normal((30, K)), 6, axis=0)
    signed = np.repeat(np.sign(rng.standard_normal(30)), 6)[None]
    groups = np.repeat(np.arange(30), 6)
    experts = KernelExperts(rounds=0)
    landmarks = np.unique(u, axis=0)

    def chosen(together):
        rng = np.random.default_rng(1)
        return choose_path(u, signed, landmarks, experts, 1e-3, together, rng).path[-1]

    alone, whole = chosen(None), chosen(groups)
    assert alone[0] < np.inf  # remembers the copies
    assert whole[1] > alone[1]  # has nothing to remember


def test_many_samples_are_represented_by_some():
    rng = np.random.default_rng(0)
    n = MOST_SAMPLES + 500
    signed = np.where(rng.random((1, n)) < 0.1, 1.0, -1.0)
    some, folds = hidden_folds(signed, None, 0)
    assert len(some) == MOST_SAMPLES == len(np.unique(some))
    assert abs((signed[0, some] > 0).mean() - (signed > 0).mean()) < 0.002
    assert sum(len(test) for _, test in folds) == MOST_SAMPLES


def test_too_few_labels_to_hide_any():
    signed = np.zeros((1, 10))
    signed[0, :4] = [1.0, -1.0, -1.0, -1.0]
    z = scores(10)
    found = fitted_to(z, signed)
    assert len(found.features.path) == 1
    assert np.isfinite(found.decide(z)[0]).all()


def test_landmarks_are_at_most_half_the_samples():
    u = np.random.default_rng(0).standard_normal((21, K))
    assert place_landmarks(u, 300, np.random.default_rng(0)).shape == (10, K)
    assert place_landmarks(u, 4, np.random.default_rng(0)).shape == (4, K)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_landmarks": 0}, "n_landmarks"),
        ({"linear": 0.0}, "linear"),
        ({"rounds": -1}, "rounds"),
    ],
)
def test_hyper_parameters_out_of_range(bad, message):
    with pytest.raises(InputError, match=message):
        KernelExperts(**bad)


def test_a_mixture_has_no_kernel():
    with pytest.raises(InputError, match="standard normal scores"):
        Model(K, MarginRank(), Hinge(), latent=DPMixture(3), experts=KernelExperts())


def corners(n, seed=0):
    """Samples around four corners: a task of three classes, one of two, and missing values."""
    rng = np.random.default_rng(seed)
    loadings = np.random.default_rng(5).standard_normal((15, 2))
    places = np.array([[1.5, 1.5], [-1.5, -1.5], [1.5, -1.5], [-1.5, 1.5]])
    corner = rng.integers(4, size=n)
    z = places[corner] + 0.3 * rng.standard_normal((n, 2))
    X = z @ loadings.T + 0.4 * rng.standard_normal((n, 15))
    three = np.array(["a", "a", "b", "c"])[corner]
    return X, pd.DataFrame({"three": three, "two": np.where(corner < 2, "same", "other")})


def nonlinear(**settings):
    settings = {"n_factors": 3, "max_cuts": 8, "random_state": 0, "n_threads": 1} | settings
    return RankFactorClassifier("R-NL-BSVM", **settings)


@pytest.fixture(scope="module")
def whole():
    X, labels = corners(150)
    labels.loc[::5, "three"] = None
    labels.loc[::4, "two"] = None
    return nonlinear().fit(with_holes(X, 0.05), labels)


def test_default_form_is_a_kernel_on_label_free_scores(whole):
    posterior = whole.posterior_
    assert posterior.training == "label-free"
    assert isinstance(posterior.classifiers.experts, Kernel)
    alone = nonlinear(experts="kernel").fit(*corners(60))
    assert_array_equal(
        alone.posterior_.loadings,
        nonlinear(experts="kernel").fit(corners(60)[0], corners(60)[1]["two"]).posterior_.loadings,
    )


def test_several_tasks_and_classes_are_told(whole):
    X, labels = corners(200, seed=1)
    assert whole.score(X, labels) > 0.95
    for part in whole.predict_proba(X):
        assert_allclose(part.sum(axis=1), 1.0)


def test_contributions_add_up_to_decisions(whole):
    X, _ = corners(8, seed=2)
    explained = whole.explain(X)
    decisions = np.column_stack([np.atleast_2d(one.T).T for one in whole.decision_function(X)])
    for number, one in enumerate(explained.values()):
        total = one.base_values + one.values.sum(axis=1)
        assert_allclose(total, decisions[:, number], atol=1e-6)


def test_saved_and_loaded_predicts_the_same_bits(whole, tmp_path):
    X, _ = corners(30, seed=3)
    for number, kept in enumerate((True, False)):
        path = save_model(whole, tmp_path / f"{number}.rankfactor", training_samples=kept)
        assert "kernel" in model_header(path)["needs"]
        again = RankFactorClassifier.from_posterior(load_model(path))
        for one, other in zip(whole.predict_proba(X), again.predict_proba(X), strict=True):
            assert_array_equal(one, other)
        assert again.posterior_.model == whole.posterior_.model


def test_there_are_no_components(whole):
    X, _ = corners(5)
    with pytest.raises(InputError, match="kernel classifier has no components"):
        whole.responsibilities(X)
    with pytest.raises(InputError, match="kernel classifier has no components"):
        _ = whole.posterior_.n_components_used
    assert not hasattr(whole, "n_components_used_")
    with pytest.raises(InputError, match="no local classifiers"):
        coefficient_table(whole.posterior_, by_component=True)


def test_gibbs_sampling_has_no_kernel():
    X, labels = corners(30)
    with pytest.raises(InputError, match="Gibbs sampling fits factors jointly"):
        nonlinear(experts="kernel", engine=Gibbs(n_draws=4, burn_in=2, n_chains=2)).fit(X, labels)
    with pytest.raises(InputError, match="Gibbs sampling fits factors jointly"):
        nonlinear(training="label-free", engine="gibbs").fit(X, labels)


def test_without_a_gain_on_hidden_labels_the_model_is_linear():
    X, labels = corners(150)
    rng = np.random.default_rng(0)
    straight = np.where(X @ rng.standard_normal(15) > 0, "yes", "no")
    settings = {"calibration": "none", "n_threads": 1, "n_factors": 3, "random_state": 0}
    found = RankFactorClassifier("R-NL-BSVM", **settings).fit(X, straight)
    linear = RankFactorClassifier("R-L-BSVM", **settings).fit(X, straight)
    assert found.posterior_.model.linear
    assert found.posterior_.training == linear.posterior_.training
    assert_array_equal(found.decision_function(X), linear.decision_function(X))
    crossed = RankFactorClassifier("R-NL-BSVM", **settings).fit(X, labels["two"])
    assert isinstance(crossed.posterior_.classifiers.experts, Kernel)


def test_a_linear_model_has_no_kernel():
    X, labels = corners(30)
    with pytest.raises(InputError, match="experts='kernel' is for nonlinear models"):
        RankFactorClassifier(experts="kernel").fit(X, labels)
