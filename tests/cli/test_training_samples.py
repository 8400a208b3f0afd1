"""``--no-training-samples``, and when ``--groups`` matters to a fit."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import LABELS, answer, fit, works

from rankfactor import RankFactorClassifier
from rankfactor.cli.fit import _divides
from rankfactor.data.streams import open_stream
from rankfactor.estimators import large


def test_a_fit_without_training_samples() -> None:
    table = pd.read_csv("table.csv")
    table["sample"] = [f"person{i}" for i in range(len(table))]
    table.to_csv("named.csv", index=False)
    labels = pd.read_csv("labels.csv")
    labels["sample"] = table["sample"]
    # Notes name samples of the file that the table does not have.
    extra = labels.iloc[:1].assign(sample="person99")
    pd.concat([labels, extra]).to_csv("names.csv", index=False)
    given = ("named.csv", "--labels", "names.csv:status", "--max-iter", "5")
    fit(*given, "--out", "all.rankfactor")
    fit(*given, "--out", "m.rankfactor", "--report", "r.html", "--no-training-samples")
    for path, inside in (("all.rankfactor", True), ("m.rankfactor", False)):
        with zipfile.ZipFile(path) as archive:
            content = b"".join(archive.read(name) for name in archive.namelist())
        assert ("person7".encode("utf-32-le") in content) == inside
        assert (b"person99" in content) == inside
        assert answer("inspect", path)["training_samples"] == inside
    assert "person" not in Path("r.html").read_text("utf-8")
    told = works("inspect", "m.rankfactor").stdout
    assert "Names, scores and labels of the training samples are not in the file." in told
    assert "12 ill, 12 well" in told
    found = []
    for model in ("all", "m"):
        works("predict", f"{model}.rankfactor", "table.csv", "--out", f"{model}.csv")
        found.append(Path(f"{model}.csv").read_bytes())
    assert found[0] == found[1]
    works("report", "m.rankfactor", "--out", "again.html")
    works("interpret", "m.rankfactor")


@pytest.mark.parametrize(
    ("n_samples", "arguments", "divides"),
    [
        (300, {}, True),
        (300, {"calibration": "none"}, False),
        (301, {"calibration": "none"}, True),  # labels end predictive training by shards
        (301, {"calibration": "none", "training": "bayes"}, False),
        (301, {"calibration": "none", "label_weight": 0}, False),
    ],
)
def test_fits_that_hold_out_labels(
    n_samples: int, arguments: dict[str, Any], divides: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(large, "LARGE", 300)
    table = np.zeros((n_samples, 2))
    for one in (table, open_stream(table)):
        assert _divides(RankFactorClassifier(**arguments), one) == divides


def test_groups_matter_to_calibration_and_are_said_not_to_only_where_they_do_not() -> None:
    given = ("table.csv", *LABELS, "--max-iter", "5", "--training", "bayes")
    grouped = (*given, "--groups", "labels.csv:patient")
    assert "no effect" not in fit(*grouped, "--out", "g.rankfactor").stderr
    fit(*given, "--out", "p.rankfactor")
    probabilities = []
    for model in ("g", "p"):
        works("predict", f"{model}.rankfactor", "table.csv", "--out", f"{model}.csv")
        probabilities.append(pd.read_csv(f"{model}.csv")["status_probability_ill"].tolist())
    assert probabilities[0] != probabilities[1]
    told = fit(*grouped, "--calibration", "none", "--out", "n.rankfactor").stderr
    assert "note: --groups has no effect: with --calibration none" in told
    fit(*given, "--calibration", "none", "--out", "q.rankfactor")
    for model in ("n", "q"):
        works("predict", f"{model}.rankfactor", "table.csv", "--out", f"{model}.csv")
    assert Path("n.csv").read_bytes() == Path("q.csv").read_bytes()
    chosen = (*grouped, "--calibration", "none", "--n-factors", "1,2")
    assert "no effect" not in works("fit", *chosen, "--threads", "1").stderr
