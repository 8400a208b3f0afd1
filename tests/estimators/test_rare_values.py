"""Counts that are nearly all zero: max-margin ranks find no factors without labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from rankfactor import RankFactorClassifier
from rankfactor.engine.large import fit, placement
from rankfactor.estimators import large


def rare_counts(n, seed):
    """Counts, about 6 % of them above zero, and labels that depend on their ten factors."""
    shared = np.random.default_rng(7)
    loadings, weights = 0.3 * shared.standard_normal((300, 10)), shared.standard_normal(10)
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 10))
    noise = 0.5 * np.linalg.norm(weights) * rng.standard_normal(n)
    return rng.poisson(0.04 * np.exp(z @ loadings.T)).astype(float), z @ weights + noise > 0


@pytest.fixture(scope="module")
def counts():
    return rare_counts(400, 1)


def check_predictions(model):
    """Ten standard errors above chance, by rank and by class."""
    new, labels = rare_counts(1000, 2)
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


def test_without_a_second_part_the_fit_is_joint(counts, tmp_path):
    model = RankFactorClassifier(n_factors=5, residual=False, random_state=0, checkpoint=tmp_path)
    with pytest.warns(UserWarning, match="jointly with the labels"):
        once = model.fit(*counts).decision_function(counts[0])
    assert model.posterior_.training == "bayes"
    with pytest.warns(UserWarning, match="jointly with the labels"):
        again = model.fit(*counts).decision_function(counts[0])
    np.testing.assert_allclose(again, once, rtol=1e-3, atol=1e-3)
    names = [path.name for path in tmp_path.iterdir()]
    assert any("joint" in name for name in names), names


def test_tables_of_many_samples_fall_back_as_well(monkeypatch):
    monkeypatch.setattr(placement, "SHARD", 128)
    monkeypatch.setattr(large, "LARGE", 300)
    for module in (large, fit):
        monkeypatch.setattr(module, "CORE", 400)
    monkeypatch.setattr(fit, "WITHHELD", 100)
    model = RankFactorClassifier(n_factors=5, random_state=0)
    with pytest.warns(UserWarning, match="jointly with the labels"):
        model.fit(*rare_counts(1000, 1))
    new, labels = rare_counts(1000, 2)
    assert roc_auc_score(labels, model.decision_function(new)) > 0.7
    assert model.posterior_.training == "bayes"
