"""Text columns on the command line, from the table to the prediction."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import QUICK, N, answer, call, fit, works

from rankfactor import load_model


@pytest.fixture
def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    table = pd.read_csv("table.csv", index_col=0)
    labels = pd.read_csv("labels.csv", index_col=0)
    table["sex"] = labels["sex"]
    table["grade"] = rng.choice(["low", "mid", "high"], N)
    table["site"] = [f"house {i}" for i in range(N)]
    table["status"] = labels["status"]
    table.to_csv("mixed.csv")
    return table


def test_columns_of_few_words_become_features(mixed: pd.DataFrame) -> None:
    result = fit("mixed.csv", "--labels", "status")
    assert "note: columns of words become 0/1 features: 'sex', 'grade'; exclude" in result.stderr
    assert "left out: 'site'" in result.stderr
    posterior = load_model("model.rankfactor")
    expected = [*"abcde", "sex=m", "grade=high", "grade=low", "grade=mid"]
    assert posterior.feature_names.tolist() == expected
    # A new table has them whatever words it has, and one word is enough.
    new = mixed.drop(columns=["status", "site"]).head(5).assign(sex="m")
    new.to_csv("new.csv")
    told = answer("predict", "model.rankfactor", "new.csv")
    assert (told["n_features"], told["n_features_missing"]) == (9, 0)
    first = pd.read_csv("predictions.csv")
    new.T.to_csv("turned.csv")
    works("predict", "model.rankfactor", "turned.csv")
    pd.testing.assert_frame_equal(pd.read_csv("predictions.csv"), first)
    new.drop(columns="grade").to_csv("new.csv")
    told = answer("predict", "model.rankfactor", "new.csv")
    assert told["missing_features"] == ["grade=high", "grade=low", "grade=mid"]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--labels", "status", "--exclude", "grade"], ["sex=m"]),
        (["--labels", "grade"], ["sex=m", "status=well"]),
        (["--labels", "status", "--groups", "sex", "--exclude", "grade"], []),
        (["--labels", "status", "--covariates", "grade"], ["sex=m"]),
        (["--labels", "labels.csv:status", "--exclude", "grade"], ["sex=m"]),
    ],
)
def test_what_is_asked_for_otherwise_is_no_feature(
    mixed: pd.DataFrame, options: list[str], expected: list[str]
) -> None:
    fit("mixed.csv", *options)
    assert load_model("model.rankfactor").feature_names.tolist()[5:] == expected


def test_a_column_that_tells_the_label_is_said(mixed: pd.DataFrame) -> None:
    mixed.assign(again=mixed["status"].map({"ill": "yes", "well": "no"})).to_csv("mixed.csv")
    result = fit("mixed.csv", "--labels", "status")
    assert "warning: the column 'again' separates the classes of 'status'" in result.stderr
    assert "exclude it with --exclude" in result.stderr
    assert result.stderr.count("'again' separates") == 1


@pytest.mark.slow
def test_cross_validation_and_inspection(mixed: pd.DataFrame) -> None:
    told = answer(
        *("cv", "mixed.csv", "--labels", "status", "--folds", "3"),
        *("--models", "R-L-BSVM,L-SVM", *QUICK),
    )
    assert {row["model"] for row in told["summary"]} == {"R-L-BSVM", "L-SVM"}
    told = answer("inspect", "mixed.csv")
    assert told["word_columns"] == ["sex", "grade", "status"]
    assert "turns into 0/1 features" in works("inspect", "mixed.csv").stdout


def test_numbers_with_decimal_commas_in_another_file_are_numbers() -> None:
    labels = pd.read_csv("labels.csv", index_col=0)
    labels["age"] = [f"{age},5" for age in labels["age"]]
    labels.to_csv("german.csv", sep=";")
    fit("table.csv", "--labels", "german.csv:status", "--covariates", "german.csv:age")
    adjustment = load_model("model.rankfactor").plan.covariates
    assert adjustment is not None
    (age,) = adjustment.design.columns
    assert age.levels is None
    plain = pd.read_csv("labels.csv")["age"].mean() + 0.5
    assert age.centre[0] == pytest.approx(plain)


def test_a_name_with_a_line_break_makes_one_line() -> None:
    table = pd.read_csv("table.csv", index_col=0).astype(object)
    table.iloc[2, 0] = "low"
    table.rename(columns={"a": "a\nb"}).to_csv("broken.csv")
    result = call("inspect", "broken.csv")
    assert result.exit_code == 2
    assert result.stderr.splitlines() == [
        "error: broken.csv, row 4, column 'a b': 'low' is not a number; correct it, or leave the "
        "cell empty if the value is missing."
    ]
    table.iloc[2, 0] = 1.0
    table.rename(columns={"a": "a\nb"}).to_csv("broken.csv")
    assert "5 continuous: a b, b, c" in works("inspect", "broken.csv").stdout
