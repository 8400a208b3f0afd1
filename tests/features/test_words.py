"""Text columns: the same 0/1 features for every table and after saving."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from rankfactor import (
    InputError,
    RankFactorAnalysis,
    RankFactorClassifier,
    load_model,
    save_model,
)
from rankfactor.evaluation import cross_validate, named_models
from rankfactor.evaluation.baselines import LinearSVM
from rankfactor.features.words import MOST_LEVELS, find_words, is_of_words, with_indicators
from rankfactor.steps.workers import Workers

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

QUICK = {"n_factors": 2, "max_iter": 5, "random_state": 0}


def people(n=60, seed=0):
    """Numbers, a column of two words, one of three with a gap, and labels."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    table = pd.DataFrame(
        {
            "sex": rng.choice(["m", "f"], n),
            "a": rng.standard_normal(n) + y,
            "pain": rng.choice(["none", "some", "much"], n),
            "b": rng.standard_normal(n) - y,
        },
        index=[f"s{i}" for i in range(n)],
    )
    table.loc["s1", "pain"] = None
    return table, pd.Series(np.where(y, "ill", "well"), table.index, name="status")


NAMES = ["a", "b", "sex=m", "pain=much", "pain=none", "pain=some"]


def test_two_words_are_one_feature_and_three_are_three():
    table, _ = people()
    found = with_indicators(find_words(table), table)
    assert list(found.columns) == NAMES
    assert_array_equal(found["sex=m"], (table["sex"] == "m").astype(float))
    assert_array_equal(found["pain=some"].drop("s1"), (table["pain"].drop("s1") == "some") * 1.0)
    assert found.loc["s1"].isna().tolist() == [False] * 3 + [True] * 3


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["x", "y", None], True),
        (["x", "x"], True),
        ([None, None], True),  # so that a part without the words has no feature of their name
        (["1", "2"], False),
        (["1", "x"], False),
        ([1.0, 2.0], False),
        (["x", 2.0], False),
        ([f"w{i}" for i in range(MOST_LEVELS)], True),
        ([f"w{i}" for i in range(MOST_LEVELS + 1)], False),
    ],
)
def test_what_is_a_column_of_words(cells, expected):
    assert is_of_words(pd.Series(cells)) is expected
    if isinstance(cells[0], str):
        assert is_of_words(pd.Series(cells, dtype="category")) is (
            expected and all(isinstance(one, str | None) for one in cells)
        )


def test_a_model_keeps_them(tmp_path):
    table, y = people()
    model = RankFactorClassifier(**QUICK).fit(table, y)
    assert model.posterior_.feature_names.tolist() == NAMES
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == list(table.columns)
    new, _ = people(12, seed=1)
    new = new.assign(sex="m")  # one word only: by itself it would make no feature
    expected = model.decision_function(new)
    assert_array_equal(expected, model.decision_function(new[["b", "pain", "a", "sex"]]))
    loaded = load_model(save_model(model.posterior_, tmp_path / "m"))
    assert loaded.plan.words == model.posterior_.plan.words
    assert loaded.word_columns == ["sex", "pain"]
    values = loaded.match(new, "error")
    assert_array_equal(loaded.decide(values, Workers())[0][:, 0], expected)
    with pytest.raises(InputError, match="lacks 1 of the model's 6 features: 'sex=m'"):
        model.predict(new.drop(columns="sex"))
    with pytest.raises(InputError, match=r"matched by name .'sex', 'pain'.: give X as a DataFrame"):
        model.predict(new.to_numpy())


def test_words_that_training_did_not_have_are_missing():
    table, _ = people()
    model = RankFactorAnalysis(**QUICK).fit(table)
    new, _ = people(6, seed=1)
    other, none = new.assign(pain="terrible"), new.assign(pain=np.nan)
    with pytest.warns(UserWarning, match="column 'pain' has values .* such as 'terrible'"):
        found = model.transform(other)
    assert_array_equal(found, model.transform(none))


@pytest.mark.slow
def test_views_go_with_their_columns():
    table, y = people()
    for views in ({"sex": "p", "a": "q", "pain": "p", "b": "q"}, ["p", "q", "p", "q"]):
        model = RankFactorClassifier(blocks=views, **QUICK).fit(table, y)
        assert model.blocks_.tolist() == ["q", "q", "p", "p", "p", "p"]


def test_a_name_that_exists_is_refused():
    table, y = people()
    with pytest.raises(InputError, match="duplicate feature names: 'sex=m'"):
        RankFactorClassifier(**QUICK).fit(table.assign(**{"sex=m": 1.0}), y)


def test_a_column_of_many_words_is_refused_with_its_place():
    table, y = people()
    with pytest.raises(InputError, match=r"row 's0', column 'id' holds 'p0'.*at most 10 values"):
        RankFactorClassifier(**QUICK).fit(table.assign(id=[f"p{i}" for i in range(60)]), y)


@pytest.mark.parametrize("covariates", [None, ["sex"]])
@pytest.mark.filterwarnings("ignore:.*values that it did not have in training")
@pytest.mark.filterwarnings("ignore:.*does not vary among the training samples")
@pytest.mark.slow
def test_all_models_have_them_in_cross_validation(covariates):
    table, y = people()
    table["rare"] = ["once"] + ["often"] * 59  # in one fold there is one word to learn
    table["told"] = np.where(np.arange(60) % 10 == 0, "yes", np.where(y == "ill", "yes", "no"))
    models = named_models(
        ["R-L-BSVM", "L-SVM"],
        n_factors=[2],
        settings={"max_iter": 5, "tol": 1e-2, "covariates": covariates},
    )
    found = cross_validate(models, table, y.to_frame(), n_folds=3).summary()
    assert (found["auc"] > 0.8).all()


def test_the_baseline_matches_them_by_name():
    table, y = people()
    model = LinearSVM().fit(table, y)
    assert model.n_features_in_ == 4
    expected = model.decision_function(table)
    assert_array_equal(model.decision_function(table[["b", "pain", "a", "sex"]]), expected)
    assert not np.allclose(model.decision_function(table.assign(sex="f")), expected)
