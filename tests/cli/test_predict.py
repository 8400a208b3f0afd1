"""``rankfactor predict``: output files, features matched by name, errors for bad models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from tests.cli.running import LABELS, N, answer, fails, fit, works

from rankfactor import RankFactorAnalysis, save_model
from rankfactor.data.textblocks import EXACT
from rankfactor.steps.workers import Workers
from rankfactor.storage.model_file import load_model


def test_what_is_written() -> None:
    fit("table.csv", *LABELS, "--labels", "labels.csv:kind")
    result = works(
        *("predict", "model.rankfactor", "table.csv", "--out", "new.csv", "--threads", "1"),
        *("--scores", "scores.csv"),
    )
    assert result.stdout.splitlines() == [
        "24 samples predicted; 5 of 5 features found.",
        "Predictions: new.csv",
        "Scores: scores.csv",
    ]
    found = pd.read_csv("new.csv")
    assert found.columns.tolist() == [
        "sample",
        "status_predicted",
        "status_probability_ill",
        "status_probability_well",
        "status_decision",
        "kind_predicted",
        "kind_probability_x",
        "kind_probability_y",
        "kind_probability_z",
        "kind_decision_x",
        "kind_decision_y",
        "kind_decision_z",
    ]
    assert found["sample"].tolist() == [f"s{i}" for i in range(N)]
    truth = pd.read_csv("labels.csv")["status"]
    assert (found["status_predicted"] == truth).mean() > 0.8
    well = found["status_decision"] > 0
    assert (found["status_predicted"] == np.where(well, "well", "ill")).all()
    assert (well == (found["status_probability_well"] > 0.5)).all()
    np.testing.assert_allclose(found.filter(like="kind_probability").sum(axis=1), 1.0)
    best = found.filter(like="kind_decision").to_numpy().argmax(axis=1)
    assert (found["kind_predicted"] == np.array(["x", "y", "z"])[best]).all()
    posterior = load_model("model.rankfactor")
    values = posterior.match(pd.read_csv("table.csv", index_col=0), "error")
    scores = pd.read_csv("scores.csv", index_col="sample", **EXACT)
    assert scores.columns.tolist() == ["factor1", "factor2"]
    np.testing.assert_array_equal(scores, posterior.encode(values, Workers()).mean)


def test_the_numbers_are_those_of_the_loaded_model() -> None:
    gibbs = ("--engine", "gibbs", "--n-draws", "4", "--burn-in", "2", "--n-chains", "1")
    fit("table.csv", *LABELS, *gibbs)
    works(
        *("predict", "model.rankfactor", "table.csv", "--threads", "1", "--level", "0.8"),
        *("--scores", "scores.csv"),
    )
    told = pd.read_csv("predictions.csv", index_col=0, **EXACT)
    scores = pd.read_csv("scores.csv", index_col=0, **EXACT)
    model, table = load_model("model.rankfactor"), pd.read_csv("table.csv", index_col=0)
    np.testing.assert_array_equal(told["status_predicted"], model.predict(table))
    np.testing.assert_array_equal(told.filter(like="probability"), model.predict_proba(table))
    np.testing.assert_array_equal(told["status_decision"], model.decision_function(table))
    ends = told[["status_lower", "status_upper"]]
    np.testing.assert_array_equal(ends, model.predict_interval(table, 0.8))
    np.testing.assert_array_equal(scores, model.transform(table))


def test_missing_features() -> None:
    fit("table.csv", *LABELS)
    pd.read_csv("table.csv").drop(columns="c").to_csv("less.csv", index=False)
    strict = ("predict", "model.rankfactor", "less.csv", "--missing-features", "error")
    fails("lacks 1 of the model's 5 features: 'c'", *strict)
    told = answer("predict", "model.rankfactor", "less.csv")
    assert (told["n_features_found"], told["n_features_missing"]) == (4, 1)
    assert told["missing_features"] == ["c"]
    assert told["warnings"] == [
        "less.csv lacks 1 of the model's 5 features (20.0%), which are treated as missing values: "
        "'c'."
    ]
    assert pd.read_csv("predictions.csv").notna().all(axis=None)
    assert sum(told["predicted"]["status"].values()) == N
    pd.read_csv("table.csv")[["sample", "a", "e"]].to_csv("two.csv", index=False)
    fails("(60%), too many to predict from", "predict", "model.rankfactor", "two.csv")
    pd.read_csv("table.csv").add_prefix("x").to_csv("none.csv", index=False)
    fails("has none of the 5 features", "predict", "model.rankfactor", "none.csv")


def test_a_feature_that_is_missing_is_as_good_as_an_empty_column() -> None:
    fit("table.csv", *LABELS)
    frame = pd.read_csv("table.csv")
    frame.drop(columns="c").to_csv("less.csv", index=False)
    frame.assign(c=np.nan).to_csv("empty.csv", index=False)
    for name in ("less", "empty"):
        works("predict", "model.rankfactor", f"{name}.csv", "--out", f"{name}_p.csv")
    assert Path("less_p.csv").read_bytes() == Path("empty_p.csv").read_bytes()


def test_a_new_table_on_its_side_and_in_another_order() -> None:
    fit("table.csv", *LABELS)
    works("predict", "model.rankfactor", "table.csv")
    expected = Path("predictions.csv").read_bytes()
    frame = pd.read_csv("table.csv", index_col=0)
    frame[list("ecbda")].T.to_csv("side.csv")
    result = works("predict", "model.rankfactor", "side.csv")
    assert "note: features in rows (by the names of the model's features)" in result.stderr
    assert Path("predictions.csv").read_bytes() == expected


def test_text_in_a_feature_is_no_missing_feature() -> None:
    fit("table.csv", *LABELS)
    pd.read_csv("table.csv").assign(c="high").to_csv("text.csv", index=False)
    fails(
        "column 'c' is a feature of the model but contains text",
        "predict",
        "model.rankfactor",
        "text.csv",
    )


def test_bad_models() -> None:
    fails("there is no model file", "predict", "no.rankfactor", "table.csv")
    fails("table.csv is not a rankfactor model", "predict", "table.csv", "table.csv")
    fit("table.csv", *LABELS)
    whole = Path("model.rankfactor").read_bytes()
    Path("half.rankfactor").write_bytes(whole[: len(whole) // 2])
    fails("half.rankfactor is damaged", "predict", "half.rankfactor", "table.csv")
    fails(
        "the folder no does not exist",
        "predict",
        "model.rankfactor",
        "table.csv",
        "--scores",
        "no/s.csv",
    )


def test_a_model_without_labels() -> None:
    table = pd.read_csv("table.csv", index_col=0)
    analysis = RankFactorAnalysis(n_factors=2, tol=1e-2, random_state=0, n_threads=1).fit(table)
    save_model(analysis.posterior_, "free.rankfactor")
    fails("was fitted without labels", "predict", "free.rankfactor", "table.csv")
    told = answer("predict", "free.rankfactor", "table.csv", "--scores", "s.csv")
    assert told["predictions"] is None
    assert len(pd.read_csv("s.csv")) == N
    assert not Path("predictions.csv").exists()
