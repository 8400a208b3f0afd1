"""Models by name, and baselines with covariates."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from rankfactor.errors import InputError
from rankfactor.estimators import PRESETS
from rankfactor.evaluation import ChooseFactors, named_models
from rankfactor.evaluation.adjusted import Adjusted
from rankfactor.evaluation.baselines import (
    RBFSVM,
    LinearSVM,
    NormalScoresPCASVM,
    PFAClassifier,
    RandomForest,
)


def test_every_name() -> None:
    names = [*PRESETS, "L-SVM", "RBF-SVM", "PFA-L-BSVM", "NS-PCA-SVM", "RF"]
    models = named_models(names, n_factors=[7], random_state=3, settings={"margin": 0.1})
    assert list(models) == names
    assert all(models[name].model == name for name in PRESETS)
    assert all(models[name].n_factors == 7 for name in PRESETS)
    assert all(models[name].margin == 0.1 for name in PRESETS)
    assert isinstance(models["L-SVM"], LinearSVM)
    assert isinstance(models["RBF-SVM"], RBFSVM)
    assert isinstance(models["RF"], RandomForest)
    assert isinstance(models["PFA-L-BSVM"], PFAClassifier)
    assert isinstance(models["NS-PCA-SVM"], NormalScoresPCASVM)
    assert models["PFA-L-BSVM"].n_factors == models["NS-PCA-SVM"].n_factors == 7
    assert all(model.random_state == 3 for model in models.values())


def test_plain_names_are_kept_as_codes() -> None:
    models = named_models(["rank", "L-SVM", "gaussian-nonlinear"])
    assert list(models) == ["R-L-BSVM", "L-SVM", "G-NL-BSVM"]
    assert models["G-NL-BSVM"].model == "G-NL-BSVM"


def test_several_numbers_are_chosen_from() -> None:
    models = named_models(["R-L-BSVM", "L-SVM", "NS-PCA-SVM"], n_factors=[5, 10])
    assert isinstance(models["NS-PCA-SVM"], ChooseFactors)
    assert isinstance(models["R-L-BSVM"], ChooseFactors)
    assert models["R-L-BSVM"].n_factors == (5, 10)
    assert isinstance(models["L-SVM"], LinearSVM)


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        (["SVM"], r"models must be one of .*R-L-BSVM \(rank\).*, RF, not 'SVM'. Did you mean"),
        (["L-SVM", "L-SVM"], "named twice"),
        (["rank", "R-L-BSVM"], "R-L-BSVM is named twice"),
        ([], "models is empty"),
    ],
)
def test_bad_names(names: list[str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        named_models(names)


def confounded(n: int = 80) -> tuple[pd.DataFrame, pd.Series[int]]:
    """Features and labels that depend on the batch, and on nothing else."""
    rng = np.random.default_rng(0)
    batch = rng.random(n) < 0.5
    y = pd.Series(np.where(rng.random(n) < 0.9, batch, ~batch).astype(int))
    table = pd.DataFrame(rng.standard_normal((n, 6)) + 2.0 * batch[:, None], columns=list("abcdef"))
    return table.assign(batch=np.where(batch, "new", "old")), y


def test_what_is_regressed_out_is_gone_and_a_block_keeps_it() -> None:
    table, y = confounded()
    new, truth = table.iloc[50:], y.iloc[50:]
    areas = {}
    for use in ("regress", "block"):
        model = Adjusted(LinearSVM(), ["batch"], use).fit(table.iloc[:50], y.iloc[:50])
        areas[use] = roc_auc_score(truth, model.decision_function(new))
        assert set(model.predict(new)) <= {0, 1}
        assert model.chosen_[0].startswith("C=")
    assert areas["block"] > 0.8
    assert areas["regress"] < 0.75


def test_columns_are_matched_by_name() -> None:
    table, y = confounded()
    model = Adjusted(LinearSVM(), ["batch"]).fit(table, y)
    np.testing.assert_array_equal(
        model.decision_function(table), model.decision_function(table[table.columns[::-1]])
    )


def test_parallel_analysis_is_for_factor_models() -> None:
    models = named_models(["R-L-BSVM", "L-SVM"], n_factors=["auto"])
    assert models["R-L-BSVM"].n_factors == "auto"
    with pytest.raises(InputError, match="n_factors='auto' is not available for PFA-L-BSVM"):
        named_models(["PFA-L-BSVM"], n_factors=["auto"])
    with pytest.raises(InputError, match="n_factors must be a whole number"):
        named_models(["R-L-BSVM"], n_factors=["auto", 5])
