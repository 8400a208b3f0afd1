"""``rankfactor inspect``: what is in tables and models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import LABELS, N, answer, fails, fit, works

from rankfactor.cli.describe import kind_of
from rankfactor.interpret.sentences import EARLIER


@pytest.mark.parametrize(
    ("levels", "kind"),
    [
        ([], "constant"),
        ([3.0], "constant"),
        ([0.0, 1.0], "binary"),
        ([1.0, 2.0, 3.0, 4.0, 5.0], "ordinal"),
        ([0.0, 5.0, 900.0], "counts"),
        (np.arange(40.0), "counts"),
        (np.arange(40.0) - 5, "continuous"),
        ([0.1, 0.2, 0.5], "continuous"),
    ],
)
def test_kinds_of_features(levels: list[float], kind: str) -> None:
    assert kind_of(np.asarray(levels, float)) == kind


def test_a_table() -> None:
    frame = pd.read_csv("both.csv")
    frame["flag"] = np.arange(N) % 2
    frame["score"] = np.arange(N) % 4
    frame["reads"] = np.arange(N) * 100
    frame["same"] = 1
    frame["note"] = [f"text {i}" for i in range(N)]
    frame.loc[0, "a"] = np.nan
    frame.loc[1, "status"] = np.nan
    frame.to_csv("wide.csv", index=False)
    told = answer("inspect", "wide.csv")
    assert (told["kind"], told["n_samples"], told["n_features"]) == ("table", N, 9)
    counts = {kind: part["count"] for kind, part in told["features"].items()}
    assert counts == {"continuous": 5, "binary": 1, "ordinal": 1, "counts": 1, "constant": 1}
    assert told["features"]["counts"]["names"] == ["reads"]
    assert told["missing"] == pytest.approx(1 / (9 * N))
    assert told["features_with_missing"] == 1
    classes = told["label_columns"]["status"]
    assert classes == {"classes": {"ill": 11, "well": 12}, "missing": 1}
    assert "too many for classes" in told["other_columns"]["note"]
    assert told["ties"] == pytest.approx(3 * N / (9 * N - 1), abs=0.05)
    lines = works("inspect", "wide.csv").stdout
    assert "wide.csv: 24 samples, 9 features" in lines
    assert "label column status: 11 ill, 12 well, 1 unknown" in lines


def test_a_model() -> None:
    fit("table.csv", *LABELS)
    told = answer("inspect", "model.rankfactor")
    assert (told["kind"], told["format_version"], told["checksum"]) == ("model", 1, "agrees")
    assert told["parts"]["data"]["part"] == "margin_rank"
    assert told["feature_names"] == list("abcde")
    assert told["summary"]["tasks"]["status"]["classes"] == {"ill": 12, "well": 12}
    assert told["provenance"]["table"] == "table.csv"
    lines = works("inspect", "model.rankfactor").stdout
    assert "task status: 12 ill, 12 well" in lines
    assert told["codes_sha256"] in lines
    assert told["standard_form"] is True
    assert sum(told["shares"]) == pytest.approx(told["r2"])
    assert EARLIER not in lines
    Path("renamed").write_bytes(Path("model.rankfactor").read_bytes())
    assert answer("inspect", "renamed")["kind"] == "model"


def test_a_model_from_before_there_were_summaries() -> None:
    fixture = Path(__file__).parents[1] / "fixtures" / "linear_v1_without_checksum.rankfactor"
    told = answer("inspect", str(fixture))
    assert (told["checksum"], told["summary"]) == ("none", {})
    assert told["standard_form"] is False
    lines = works("inspect", str(fixture)).stdout
    assert "checksum none" in lines
    assert EARLIER in lines


def test_bad_files() -> None:
    fails("nothing.csv does not exist", "inspect", "nothing.csv")
    Path("bad.rankfactor").write_text("no model")
    fails("bad.rankfactor is not a rankfactor model", "inspect", "bad.rankfactor")
    Path("table.doc").write_text("x")
    fails("unknown extension", "inspect", "table.doc")
