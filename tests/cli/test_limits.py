"""Cells beyond a detection limit: rank models need only the order of a column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import LABELS, QUICK, answer, call, fails, fit, works

from rankfactor import load_model
from rankfactor.data import read_table
from rankfactor.data.numbers import Style, parse_limit


@pytest.fixture
def limited() -> pd.DataFrame:
    """The table with the lowest values of a below detection limits and the highest above."""
    table = pd.read_csv("table.csv", index_col=0)
    order = table["a"].argsort().to_numpy()
    cells = table["a"].astype(object)
    cells.iloc[order[:3]] = "<0.05"
    cells.iloc[order[3]] = "< 0.1"
    cells.iloc[order[-1]] = ">100"
    table.assign(a=cells).to_csv("limited.csv")
    numbers = table["a"].copy()
    numbers.iloc[order[:3]], numbers.iloc[order[3]], numbers.iloc[order[-1]] = -99, -98, 99
    table["a"] = numbers
    table.to_csv("numbers.csv")
    return table


@pytest.mark.parametrize("suffix", ["csv", "turned", "xlsx", "parquet"])
def test_limits_keep_the_order(limited: pd.DataFrame, suffix: str) -> None:
    table = pd.read_csv("limited.csv", index_col=0, dtype={"a": str})
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
        table.to_excel("limited.xlsx")
    elif suffix == "parquet":
        pytest.importorskip("pyarrow")
        table.to_parquet("limited.parquet")
    elif suffix == "turned":
        table.T.to_csv("turned.csv")
    path = "turned.csv" if suffix == "turned" else f"limited.{suffix}"
    orient = "features-in-rows" if suffix == "turned" else None
    read = read_table(path, orient=orient)
    assert (read.values["a"].rank() == limited["a"].rank()).all()
    assert read.annotations.shape[1] == 0
    assert any("5 in 'a' ('" in text and "below (<)" in text for text in read.notes)


def test_a_fit_is_that_of_the_ranks(limited: pd.DataFrame) -> None:
    predicted = []
    for name in ("limited", "numbers"):
        result = fit(f"{name}.csv", *LABELS)
        works("predict", "model.rankfactor", f"{name}.csv")
        predicted.append(pd.read_csv("predictions.csv")["status_decision"])
        assert ("note: cells beyond a limit" in result.stderr) == (name == "limited")
    np.testing.assert_allclose(predicted[0], predicted[1])


def test_new_samples_lie_beyond_every_cut() -> None:
    fit("table.csv", *LABELS)
    posterior = load_model("model.rankfactor")
    table = pd.read_csv("table.csv", index_col=0).head(3).astype(object)
    table.iloc[:2, 0] = ["<5", ">-5"]
    table.to_csv("new.csv")
    works("predict", "model.rankfactor", "new.csv")
    values = read_table("new.csv").values.to_numpy()
    codes = posterior.coding.observe(values).tile(slice(None), slice(None))
    assert codes[0, 0] == 0
    assert codes[0, 1] == posterior.coding.n_cuts[0]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("limited")
@pytest.mark.slow
def test_what_needs_numbers_refuses() -> None:
    sentence = "the column 'a' has cells beyond a limit of detection"
    fails(sentence, "fit", "limited.csv", *LABELS, "--model", "G-L-BSVM", *QUICK)
    result = call("cv", "limited.csv", *LABELS, "--models", "L-SVM", "--folds", "2", "--json")
    assert result.exit_code == 2
    assert sentence in result.stderr
    models = ("--models", "R-L-BSVM,OR-L-BSVM,NS-PCA-SVM", "--folds", "2")
    answer("cv", "limited.csv", *LABELS, *models, *QUICK)
    fit("table.csv", *LABELS, "--model", "G-L-BSVM")
    fails(sentence, "predict", "model.rankfactor", "limited.csv")


def test_only_among_numbers() -> None:
    Path("words.csv").write_text("id,a,age,group\nx,1,<50,p\ny,2,>50,q\nz,3,<50,p\n", "utf-8")
    table = read_table("words.csv")
    assert table.annotations["age"].tolist() == ["<50", ">50", "<50"]
    Path("mixed.csv").write_text("id,a,b\nx,1,<5\ny,2,7\nz,3,8\nv,4,low\nw,4,9\n", "utf-8")
    fails("row 2, column 'b': '<5' is not a number", "inspect", "mixed.csv")


def test_limits_in_their_order() -> None:
    cells = ["<-3", "<0", "< 0,05", "≤0,1", "<=2000", ">-1", ">=0,5", "> 1.000,5"]
    numbers = [parse_limit(cell, Style(",", ".")) for cell in cells]
    assert all(number is not None for number in numbers)
    assert (np.diff(np.array(numbers, np.float32)) > 0).all()
    assert np.isfinite(np.array(numbers, np.float32)).all()
    for cell in ("<", "<x", "0.05", "<<5", "<NA", "-", ""):
        assert parse_limit(cell, Style()) is None
