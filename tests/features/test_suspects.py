"""Columns that separate the classes by themselves, and classes that look the same."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csc_array

from rankfactor import RankFactorClassifier
from rankfactor.evaluation import cross_validate
from rankfactor.features.suspects import LabelWarning, suspects
from rankfactor.tasks import encode_labels

N = 40


@pytest.fixture
def table() -> pd.DataFrame:
    values = np.random.default_rng(0).standard_normal((N, 30))
    return pd.DataFrame(values, columns=[f"g{i}" for i in range(30)])


def found(table, labels) -> dict[str, list[str]]:
    tasks, class_index = encode_labels(labels, len(labels))
    return {
        str(one.task.classes[1 if one.positive is None else one.positive]): one.columns
        for one in suspects(table, tasks, class_index)
    }


@pytest.mark.parametrize("form", [pd.DataFrame, np.asarray, csc_array])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_copy_of_the_label_is_found_in_any_table(table, form, sign) -> None:
    y = np.arange(N) % 2
    assert found(form(table), y) == {}
    table["g3"] = sign * y
    table.loc[3, "g3"] = np.nan
    table["g5"] = sign * (table["g5"].rank() + 100 * y)
    names = ["g3", "g5"] if form is pd.DataFrame else ["x3", "x5"]
    assert found(form(table), y) == {"1": names}
    # One value on the wrong side is enough to clear it.
    table.loc[1, "g3"] = 0
    assert found(form(table), y) == {"1": names[1:]}


def test_one_class_of_many_and_unknown_labels(table) -> None:
    y = np.arange(N) % 4
    table["g0"] = np.array([1, 5, 2, 2])[y]
    labels = pd.Series(np.array(list("abcd"))[y])
    assert found(table, labels) == {"a": ["g0"], "b": ["g0"]}
    labels[labels == "b"] = None
    assert found(table, labels) == {"a": ["g0"]}


def test_small_tables_separate_by_chance(table) -> None:
    y = np.arange(N) % 2
    table["g0"] = y
    few = slice(0, 10)  # 2 / C(10, 5) x 30 columns: 0.24 of them are expected
    assert found(table[few], y[few]) == {}
    table.loc[10:, "g0"] = np.nan  # as few values in a larger table
    assert found(table, y) == {}


def test_words_that_tell_the_class(table) -> None:
    y = np.arange(N) % 2
    table["site"] = np.array(["p", "q", "r", "s"])[np.arange(N) % 4]
    assert found(table, y) == {"1": ["site"]}
    table.loc[0, "site"] = "q"
    assert found(table, y) == {}


def test_fit_and_cross_validation_warn_once(table) -> None:
    y = pd.DataFrame({"status": np.where(np.arange(N) % 2, "case", "well")})
    table["g0"] = np.arange(N) % 2
    model = RankFactorClassifier(n_factors=2, max_iter=3, tol=1, calibration="none", random_state=0)
    text = "the column 'g0' separates 'well' from 'case' \\('status'\\) perfectly, by itself"
    with pytest.warns(LabelWarning, match=text):
        model.fit(table, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cross_validate({"m": model}, table, y, n_folds=2)
    told = [str(one.message) for one in caught if one.category is LabelWarning]
    assert len(told) == 1
    assert told[0].endswith("derived from it, exclude it from X.")


def test_classes_that_differ_in_case_or_blanks(table) -> None:
    y = ["Case", "case ", "well", "well"] * (N // 4)
    model = RankFactorClassifier(n_factors=2, max_iter=3, tol=1, calibration="none", random_state=0)
    with pytest.warns(LabelWarning, match=r"'Case' \(10 samples\), 'case ' \(10 samples\)"):
        model.fit(table, y)
