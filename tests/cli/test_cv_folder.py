"""``rankfactor report --cv``: numbers of another table, other labels or other settings."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tests.cli.running import LABELS, QUICK, N, answer, call, fails, works
from tests.estimators.test_interruption import at
from tests.report.page import read

from rankfactor.estimators import RankFactorClassifier
from rankfactor.storage.model_file import model_header

MODEL = ("--models", "G-L-BSVM")
REPORT = ("report", "model.rankfactor", "--cv", "rankfactor-cv")


def fit_it(*arguments: str) -> None:
    works("fit", "table.csv", *LABELS, "--model", "G-L-BSVM", *QUICK, *arguments)


def validate(*arguments: str, table: str = "table.csv", labels: tuple[str, ...] = LABELS) -> None:
    works("cv", table, *labels, "--folds", "2", *QUICK, *MODEL, *arguments)


def page(*more: str) -> str:
    works(*REPORT, *more)
    # Not from the cache: a test writes several.
    return read.__wrapped__(Path("report.html")).text


@pytest.mark.slow
def test_the_report_says_what_was_cross_validated() -> None:
    fit_it()
    validate("--repeats", "2", "--groups", "labels.csv:patient")
    told = answer(*REPORT)
    said = (
        f"Cross-validation of table.csv: {N} samples, 2 folds × 2 repeats, groups kept together, "
        "factors: 2, seed 0."
    )
    assert told["cross_validation"] == said
    assert told["convergence"]["state"] == "converged"
    assert told["warnings"] == []
    text = Path("report.html").read_text("utf-8")
    assert text.count(said) == 2  # on the card, and beside the table
    assert "Settings of the cross-validation" in text
    assert "Read this number with care" not in text


@pytest.mark.slow
def test_another_table_or_other_labels_are_refused() -> None:
    fit_it()
    frame = pd.read_csv("table.csv", index_col=0)
    labels = pd.read_csv("labels.csv", index_col=0)

    def refused(sentence: str, *arguments: str, **changes: Any) -> None:
        validate(*arguments, **changes)
        fails(f"in rankfactor-cv does not belong to model.rankfactor: {sentence}", *REPORT)

    frame.assign(a=frame["a"] + 0.001).to_csv("other.csv")
    refused("a different table, or different columns", table="other.csv")
    refused("a different table", "--exclude", "e")
    frame.iloc[:-2].to_csv("fewer.csv")
    refused(f"different samples ({N - 2} there, {N} in the model)", table="fewer.csv")
    refused(
        "different label columns ('kind' there, 'status'", labels=("--labels", "labels.csv:kind")
    )
    swapped = labels.assign(status=labels["status"].sample(frac=1, random_state=1).to_numpy())
    swapped.to_csv("swapped.csv")
    refused("different labels 'status'", labels=("--labels", "swapped.csv:status"))


@pytest.mark.slow
def test_settings_that_differ_are_flagged() -> None:
    fit_it("--max-cuts", "8")
    validate("--n-factors", "3")
    told = answer(*REPORT)
    (flaw,) = told["warnings"]
    assert "--n-factors: 2 in the model, 3 in the cross-validation" in flaw
    assert "--max-cuts: 8 in the model, 16 in the cross-validation" in flaw
    assert "tol" not in flaw
    text = read.__wrapped__(Path("report.html")).text
    assert "--n-factors: 2 in the model, 3 in the cross-validation" in text
    assert "Read this number with care" in text


@pytest.mark.slow
def test_a_chosen_number_of_factors_is_compared_by_what_it_was_chosen_from() -> None:
    fit_it("--n-factors", "1,2")
    validate("--n-factors", "2,1")
    assert answer(*REPORT)["warnings"] == []
    validate("--n-factors", "2")
    (flaw,) = answer(*REPORT)["warnings"]
    assert "--n-factors: chosen among 1, 2 in the model, 2 in the cross-validation" in flaw


def forget(model: bool) -> None:
    """Turn the model file or the folder into one of an older version, with editable files."""
    path = Path("rankfactor-cv/result.json")
    kept = json.loads(path.read_text("utf-8"))
    del kept["files"]
    if not model:
        for name in ("data", "library", "folds_done", "folds_planned", "models", "convergence"):
            del kept[name]
    path.write_text(json.dumps(kept), "utf-8")
    if not model:
        return
    with zipfile.ZipFile("model.rankfactor") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    header = json.loads(members["header.json"])
    del members["checksum.txt"], header["checksum"], header["convergence"]
    del header["provenance"]["data"]
    members["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile("model.rankfactor", "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.mark.parametrize("model", [True, False])
@pytest.mark.slow
def test_older_files_are_compared_by_what_they_have(model: bool) -> None:
    fit_it()
    validate()
    forget(model)
    (flaw,) = answer(*REPORT)["warnings"]
    old = "model.rankfactor" if model else "rankfactor-cv"
    assert f"could not be checked: {old} was written by an older version" in flaw
    predictions = Path("rankfactor-cv/predictions.csv")
    frame = pd.read_csv(predictions)
    frame.assign(sample="x" + frame["sample"]).to_csv(predictions, index=False)
    fails("different samples", *REPORT)
    frame.assign(label=frame["label"].iloc[0]).to_csv(predictions, index=False)
    fails("different labels 'status' (sample", *REPORT)
    frame.assign(task="other").to_csv(predictions, index=False)
    fails("different label columns ('other' there, 'status' in the model)", *REPORT)


@pytest.mark.slow
def test_warnings_of_folds_and_unfinished_folds_are_in_the_report(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fit_it()
    at(monkeypatch, RankFactorClassifier, "fit", 3)
    result = call(
        *("cv", "table.csv", *LABELS, "--folds", "4", *QUICK, *MODEL),
        *("--max-iter", "1", "--tol", "1e-9", "--training", "bayes"),
    )
    assert result.exit_code == 130
    assert "2 of 4 folds done" in " ".join(result.stdout.split())
    told = json.loads(Path("rankfactor-cv/result.json").read_text("utf-8"))
    assert (told["folds_done"], told["folds_planned"]) == (2, 4)
    assert told["convergence"] == {"G-L-BSVM": {"not converged": 2}}
    assert told["summary"][0]["folds_planned"] == 4
    assert pd.read_csv("rankfactor-cv/folds.csv")["convergence"].tolist() == ["not converged"] * 2
    text = page()
    assert "The cross-validation was interrupted: 2 of 4 folds done." in text
    assert "In the cross-validation: G-L-BSVM, in 2 of 2 folds: not converged after 1 it" in text


def test_the_model_has_the_fingerprint_of_its_table() -> None:
    fit_it()
    validate()
    told = json.loads(Path("rankfactor-cv/result.json").read_text("utf-8"))
    assert model_header("model.rankfactor")["provenance"]["data"] == told["data"]
    assert told["data"]["labels"]["status"]["classes"] == {"ill": N // 2, "well": N // 2}
    shutil.rmtree("rankfactor-cv")
    fails("has no summary.csv", *REPORT)


@pytest.mark.slow
def test_files_of_two_runs_are_refused() -> None:
    fit_it()
    validate()
    earlier = Path("rankfactor-cv/predictions.csv").read_bytes()
    validate("--seed", "1")
    works(*REPORT)
    Path("rankfactor-cv/predictions.csv").write_bytes(earlier)
    fails("predictions.csv does not belong to the result.json beside it", *REPORT)
