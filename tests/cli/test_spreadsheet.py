"""Names that a spreadsheet would run as formulas are escaped in every CSV file and read back."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from tests.cli.running import QUICK, fit, works
from tests.report.page import read

from rankfactor.storage.model_file import load_model


@pytest.mark.slow
def test_names_come_back_from_our_own_files() -> None:
    names = [f"-s{i}" for i in range(24)]
    table = pd.read_csv("table.csv").assign(sample=names).rename(columns={"a": "=a", "b": "-b"})
    table.to_csv("table.csv", index=False)
    labels = pd.read_csv("labels.csv").assign(sample=names)[["sample", "status"]]
    labels["status"] = labels["status"].map({"ill": "@ill", "well": "-1"})
    labels.rename(columns={"status": "-status"}).to_csv("labels.csv", index=False)
    given = ("table.csv", "--labels", "labels.csv:-status")
    fit(*given, "--max-iter", "5")
    assert load_model("model.rankfactor").feature_names.tolist() == ["=a", "-b", "c", "d", "e"]
    works("predict", "model.rankfactor", "table.csv", "--scores", "scores.csv")
    head, first, *_ = Path("predictions.csv").read_text("utf-8").splitlines()
    assert head.startswith("sample,'-status_predicted,'-status_probability_-1,'-status_prob")
    assert first.startswith(("'-s0,'@ill,", "'-s0,-1,"))
    assert Path("scores.csv").read_text("utf-8").splitlines()[1].startswith("'-s0,")

    # Predictions as labels, scores as a table: samples match by name.
    of_scores = ("scores.csv", "--labels", "predictions.csv:-status_predicted")
    fit(*of_scores, "--max-iter", "3", "--out", "again.rankfactor")
    again = load_model("again.rankfactor")
    assert again.sample_names.tolist() == names
    assert set(again.classifiers.tasks[0].classes) <= {"@ill", "-1"}

    works("interpret", "model.rankfactor")
    written = Path("rankfactor-interpretation/top_features.csv").read_text("utf-8")
    assert ",'=a," in written
    assert ",=a," not in written

    works("cv", *given, "--models", "R-L-BSVM", "--folds", "2", "--max-iter", "5", *QUICK)
    assert "\n'-s" in Path("rankfactor-cv/predictions.csv").read_text("utf-8")
    works("report", "model.rankfactor", "--cv", "rankfactor-cv", "--out", "r.html")
    page = read(Path("r.html").absolute()).text
    assert "-status: AUC" in page
    assert "'-status:" not in page
