"""``rankfactor fit`` without labels: factors of the table alone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.running import QUICK, N, answer, fails, works

from rankfactor.storage.model_file import load_model


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fitted")


@pytest.fixture
def model(fitted: Path) -> str:
    """A model and its report, fitted once and copied into the folder of the test."""
    names = ("m.rankfactor", "r.html", "told.json")
    if not (fitted / names[0]).exists():
        told = works(
            *("fit", "table.csv", "--out", "m.rankfactor", "--report", "r.html", "--json"), *QUICK
        )
        Path("told.json").write_text(told.stdout)
        for name in names:
            shutil.copy(name, fitted / name)
    for name in names:
        shutil.copy(fitted / name, name)
    return "m.rankfactor"


def test_what_is_written(model: str) -> None:
    told = json.loads(Path("told.json").read_text())
    assert (told["n_samples"], told["n_features"], told["n_factors"]) == (N, 5, 2)
    assert told["tasks"] == {}
    assert told["settings"]["model"] == "Factor analysis"
    assert told["settings"]["likelihood"] == "margin_rank"
    for name in ("training", "label_weight", "calibration", "classifier", "experts"):
        assert name not in told["settings"]
    posterior = load_model(model)
    assert posterior.classifiers is None
    assert posterior.feature_names.tolist() == list("abcde")
    page = Path("r.html").read_text("utf-8")
    assert "<title>Factor analysis of table.csv</title>" in page
    for word in ("AUC", "Coefficients", "task"):
        assert word not in page.split("<script")[0].split("</style>")[1]


@pytest.mark.slow
def test_what_can_be_done_with_it(model: str) -> None:
    said = works("inspect", model).stdout
    assert "without labels" in said
    assert "training" not in said.replace("Training codes", "")
    fails("write its factor scores with --scores", "predict", model, "table.csv")
    told = works("predict", model, "table.csv", "--scores", "s.csv", "--threads", "1")
    assert told.stdout.startswith("24 samples encoded")
    assert list(pd.read_csv("s.csv")) == ["sample", "factor1", "factor2"]
    assert not Path("predictions.csv").exists()
    works("report", model, "--out", "again.html")
    assert "<title>Factor analysis of table.csv</title>" in Path("again.html").read_text("utf-8")
    files = answer("interpret", model, "--out", "said")["files"]
    assert "coefficients.csv" not in files


@pytest.mark.parametrize(
    "given",
    [
        ("--training", "bayes"),
        ("--label-weight", "auto"),
        ("--class-weight", "balanced"),
        ("--groups", "labels.csv:patient"),
        ("--classifier", "probit"),
        ("--calibration", "none"),
        ("--experts", "mixed"),
        ("--n-components", "3"),
    ],
)
def test_options_that_concern_labels(given: tuple[str, str]) -> None:
    fails(
        f"{given[0]} concerns labels, and there are none: add --labels", "fit", "table.csv", *given
    )


def test_settings() -> None:
    fails("chooses by predicting labels", "fit", "table.csv", "--n-factors", "1,2")
    fails("--model must be one of", "fit", "table.csv", "--model", "PCA")
    result = works(
        *("fit", "table.csv", "--model", "gaussian-nonlinear", "--covariates", "labels.csv:age"),
        *("--margin", "0.1", *QUICK),
    )
    assert (
        "note: without --labels, --model G-NL-BSVM (gaussian-nonlinear) sets the likelihood"
        in result.stderr
    )
    assert result.stdout.startswith("Factor analysis: 24 samples, 5 features")
    posterior = load_model("model.rankfactor")
    assert type(posterior.model.data).__name__ == "Gaussian"
    assert posterior.model.experts is None
    assert list(posterior.covariate_names) == ["age"]


def test_columns_of_words_are_features_and_said() -> None:
    result = works("fit", "both.csv", *QUICK)
    assert "columns of words become 0/1 features: 'status'" in result.stderr
