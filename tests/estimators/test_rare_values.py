"""Counts that are nearly all zero: max-margin ranks find no factors without labels."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.metrics import roc_auc_score

from rankfactor import RankFactorAnalysis, RankFactorClassifier, load_model, save_model
from rankfactor.engine.large import fit, held_out, placement
from rankfactor.estimators import large
from rankfactor.likelihoods import OrdinalProbit


def rare_counts(n, seed, n_features=300):
    """Counts, about 6 % of them above zero, and labels that depend on their ten factors."""
    shared = np.random.default_rng(7)
    loadings, weights = 0.3 * shared.standard_normal((n_features, 10)), shared.standard_normal(10)
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 10))
    noise = 0.5 * np.linalg.norm(weights) * rng.standard_normal(n)
    return rng.poisson(0.04 * np.exp(z @ loadings.T)).astype(float), z @ weights + noise > 0


@pytest.fixture(scope="module")
def counts():
    return rare_counts(400, 1)


def check_predictions(model, n_features=300):
    """Ten standard errors above chance, by rank and by class."""
    new, labels = rare_counts(1000, 2, n_features)
    assert roc_auc_score(labels, model.predict_proba(new)[:, 1]) > 0.7
    assert (model.predict(new) == labels).mean() > 0.65


def test_labels_are_predicted_where_label_free_factors_switch_off(counts):
    model = RankFactorClassifier(n_factors=5, random_state=0)
    with pytest.warns(UserWarning, match="explain less than 0.1% of the table, so decisions use"):
        model.fit(*counts)
    check_predictions(model)
    assert model.posterior_.training == "label-free"
    assert model.posterior_.classifiers.residual.share == 1.0


def test_enough_samples_for_predictive_training_do_not_keep_it(tmp_path):
    # Factors without loadings have no gradient.
    counts = rare_counts(550, 1)
    model = RankFactorClassifier(n_factors=5, random_state=0, checkpoint=tmp_path)
    with pytest.warns(UserWarning, match="decisions use the features"):
        once = model.fit(*counts).decision_function(counts[0])
    check_predictions(model)
    assert model.posterior_.training == "label-free"
    with pytest.warns(UserWarning, match="decisions use the features"):
        again = model.fit(*counts).decision_function(counts[0])
    np.testing.assert_allclose(again, once, rtol=1e-3, atol=1e-3)
    assert any("label-free" in path.name for path in tmp_path.iterdir())


def test_a_training_that_was_asked_for_is_kept(counts):
    model = RankFactorClassifier(n_factors=5, training="predictive", random_state=0)
    assert model.fit(*counts).posterior_.training == "predictive"


def resumed(model, folder, counts, expected, tol=1e-3):
    """Fit twice with checkpoints in a folder, the second time from them; names of the files."""
    model.set_params(checkpoint=folder)
    with pytest.warns(UserWarning, match=expected):
        once = model.fit(*counts).decision_function(counts[0])
    with pytest.warns(UserWarning, match=expected):
        again = model.fit(*counts).decision_function(counts[0])
    np.testing.assert_allclose(again, once, rtol=tol, atol=tol)
    return [path.name for path in folder.iterdir()]


def test_without_a_second_part_the_fit_is_joint(counts, tmp_path):
    model = RankFactorClassifier(n_factors=5, residual=False, random_state=0)
    names = resumed(model, tmp_path, counts, "jointly with the labels")
    assert model.posterior_.training == "bayes"
    assert any("joint" in name for name in names), names


@pytest.fixture
def few_are_many(monkeypatch):
    """Tables of more than 300 samples are fitted by shards."""
    monkeypatch.setattr(placement, "SHARD", 128)
    monkeypatch.setattr(large, "LARGE", 300)
    for module in (large, fit):
        monkeypatch.setattr(module, "CORE", 600)
    monkeypatch.setattr(held_out, "WITHHELD", 100)


def test_tables_of_many_samples_are_fitted_by_ordinal_probit(few_are_many, tmp_path):
    model = RankFactorClassifier(n_factors=10, random_state=0)
    counts = rare_counts(1000, 1, 1000)
    expected = "9[3-5]% of the samples have the same value, so ordinal probit replaces"
    # A resumed fit encodes the samples again, to within the tolerance of their scores.
    names = resumed(model, tmp_path, counts, expected, tol=0.01)
    assert "stage-passes.zip" in names
    check_predictions(model, 1000)
    assert model.posterior_.training == "predictive"
    assert model.posterior_.model.data == OrdinalProbit()
    save_model(model, tmp_path / "model.rankfactor")
    again = load_model(tmp_path / "model.rankfactor")
    assert_array_equal(again.predict_proba(counts[0]), model.predict_proba(counts[0]))


def test_they_are_fitted_jointly_if_ordinal_probit_finds_no_factors(few_are_many):
    model = RankFactorClassifier(n_factors=10, random_state=0)
    with pytest.warns(UserWarning, match="ordinal probit replaces|jointly with") as said:
        model.fit(*rare_counts(1000, 1))
    (joint,) = (str(one.message) for one in said if "jointly with" in str(one.message))
    assert "hardly differ" not in joint  # that is so for max-margin ranks
    check_predictions(model)
    assert model.posterior_.training == "bayes"
    assert model.posterior_.model.data == OrdinalProbit()


def test_a_likelihood_that_was_asked_for_is_kept(few_are_many):
    model = RankFactorClassifier(n_factors=10, likelihood="margin_rank", random_state=0)
    with pytest.warns(UserWarning, match=r"jointly with the labels .*may hardly differ"):
        model.fit(*rare_counts(1000, 1))
    new, labels = rare_counts(1000, 2)
    assert roc_auc_score(labels, model.decision_function(new)) > 0.7
    assert model.posterior_.training == "bayes"
    assert model.posterior_.model.data.name == "margin_rank"


def test_a_margin_that_was_asked_for_is_that_of_max_margin_ranks(few_are_many):
    model = RankFactorClassifier(n_factors=5, margin=0.2, training="label-free", random_state=0)
    model.fit(*rare_counts(1000, 1))
    assert model.posterior_.model.data.name == "margin_rank"
    assert model.posterior_.model.data.margin == 0.2


def test_the_label_weight_is_chosen_for_ordinal_probit(few_are_many, monkeypatch):
    seen = []

    def choose(estimator, *given):
        seen.append(estimator.likelihood)
        return 3.0

    monkeypatch.setattr("rankfactor.estimators.label_weight.choose_label_weight", choose)
    model = RankFactorClassifier(n_factors=5, label_weight="auto", random_state=0)
    with pytest.warns(UserWarning, match="ordinal probit replaces"):
        model.fit(*rare_counts(1000, 1, 1000))
    assert seen == [OrdinalProbit()]
    assert model.likelihood is None  # the argument stays as given
    assert model.label_weight_ == 3.0


def test_factors_without_labels_are_those_of_ordinal_probit(few_are_many):
    counts = rare_counts(1000, 1, 1000)[0]
    model = RankFactorAnalysis(n_factors=10, random_state=0)
    with pytest.warns(UserWarning, match="ordinal probit replaces"):
        model.fit(counts)
    assert model.posterior_.model.data == OrdinalProbit()
    assert model.n_active_ > 0


def test_a_table_in_which_no_factors_are_found_is_named(counts):
    with pytest.warns(UserWarning, match=r"less than 0.1% of the table\. .*'ordinal_probit'"):
        model = RankFactorAnalysis(n_factors=5, random_state=0).fit(counts[0])
    assert model.n_active_ == 0
