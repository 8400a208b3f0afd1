"""``rankfactor explain``: output files, a single sample, errors for bad input."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from tests.cli.running import LABELS, N, answer, fails, fit, works

from rankfactor import RankFactorAnalysis, save_model
from rankfactor.storage.model_file import load_model


def test_a_line_for_every_sample_and_class() -> None:
    fit("table.csv", *LABELS, "--labels", "labels.csv:kind")
    result = works("explain", "model.rankfactor", "table.csv", "--threads", "1")
    assert result.stdout.splitlines() == [
        "24 samples explained; 5 of 5 features found.",
        "Explanations: explain.csv",
    ]
    found = pd.read_csv("explain.csv")
    assert found.columns.tolist() == ["sample", "task", "class", "decision", "base", *"abcde"]
    assert found.groupby(["task", "class"], sort=False).size().to_dict() == {
        ("status", "well"): N,
        ("kind", "x"): N,
        ("kind", "y"): N,
        ("kind", "z"): N,
    }
    sums = found["base"] + found[list("abcde")].sum(axis=1)
    np.testing.assert_allclose(sums, found["decision"], atol=1e-6)
    table = pd.read_csv("table.csv", index_col="sample")
    own = load_model("model.rankfactor").explain(table)["kind: y"].frame()
    np.testing.assert_allclose(found.loc[found["class"] == "y", list("abcde")], own, atol=1e-12)


def test_one_sample_alone() -> None:
    fit("table.csv", *LABELS)
    whole = answer("explain", "model.rankfactor", "table.csv", "--out", "all.csv")
    told = answer("explain", "model.rankfactor", "table.csv", "--sample", "s3")
    assert (whole["n_samples"], told["n_samples"], told["sample"]) == (N, 1, "s3")
    found = pd.read_csv("explain.csv")
    columns = ["sample", "task", "class", "decision", "base", "feature", "value", "contribution"]
    assert found.columns.tolist() == columns
    assert found["contribution"].abs().is_monotonic_decreasing
    row = pd.read_csv("all.csv").set_index("sample").loc["s3"]
    for feature, added in zip(found["feature"], found["contribution"], strict=True):
        np.testing.assert_allclose(row[feature], added, atol=1e-9)
    assert told["largest"][0][0]["feature"] == found["feature"][0]
    said = works("explain", "model.rankfactor", "table.csv", "--sample", "s3").stdout
    first = found["contribution"][0]
    assert f"largest contributions: {found['feature'][0]} {first:+.2f}, " in said


def test_missing_values_and_features_add_nothing() -> None:
    fit("table.csv", *LABELS)
    table = pd.read_csv("table.csv", index_col="sample").drop(columns="b")
    table.loc["s1", "a"] = np.nan
    table.to_csv("holes.csv")
    result = works("explain", "model.rankfactor", "holes.csv")
    assert "holes.csv lacks 1 of the model's 5 features" in result.stderr
    found = pd.read_csv("explain.csv").set_index("sample")
    assert (found["b"] == 0).all()
    assert found.loc["s1", "a"] == 0


def test_bad_input_is_told() -> None:
    fit("table.csv", *LABELS)
    model = "model.rankfactor"
    fails(
        "has no sample 's99' (--sample)",
        "explain",
        model,
        "table.csv",
        "--sample",
        "s99",
    )
    fails("--out", "explain", model, "table.csv", "--out", "table.csv")
    table = pd.read_csv("table.csv", index_col=0)
    posterior = RankFactorAnalysis(n_factors=2, tol=1e-2, random_state=0).fit(table).posterior_
    save_model(posterior, "plain.rankfactor")
    fails(
        "fitted without labels, so it has no decisions", "explain", "plain.rankfactor", "table.csv"
    )
    assert not Path("explain.csv").exists()
