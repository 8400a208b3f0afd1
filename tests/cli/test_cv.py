"""``rankfactor cv``: reproducible results, groups, chosen settings, missing values, Ctrl-C."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import LABELS, QUICK, N, answer, call, fails, fit, works
from tests.estimators.test_interruption import at

from rankfactor.estimators import RankFactorClassifier

FOLDS = ("--folds", "2", *QUICK)


def test_what_is_said_and_written() -> None:
    result = works(
        *("cv", "table.csv", *LABELS, "--labels", "labels.csv:kind", *FOLDS, "--repeats", "2"),
        *("--models", "gaussian,L-SVM,RBF-SVM"),
    )
    assert "2-fold cross-validation, 2 times" in result.stdout
    assert result.stdout.splitlines()[-1] == "Results: rankfactor-cv"
    assert "\x1b" not in result.output
    summary = pd.read_csv("rankfactor-cv/summary.csv")
    assert summary["task"].tolist() == ["status"] * 3 + ["kind"] * 3
    assert summary["model"].tolist() == ["G-L-BSVM", "L-SVM", "RBF-SVM"] * 2
    assert {"auc", "auc_sd", "accuracy", "balanced_accuracy", "seconds"} <= set(summary.columns)
    for value, low, high in summary[["auc", "auc_low", "auc_high"]].to_numpy():
        assert f"{value:.3f} [{low:.3f}, {high:.3f}]" in result.stdout
    assert "balanced accuracy" in result.stdout
    assert "\nstatus: AUC " in result.stdout
    assert "the best baseline, the " in result.stdout.lower()
    assert (summary["auc"][:3] > 0.8).all()
    folds = pd.read_csv("rankfactor-cv/folds.csv")
    assert len(folds) == 3 * 2 * 2 * 2
    made = pd.read_csv("rankfactor-cv/predictions.csv")
    one = made[(made["model"] == "L-SVM") & (made["task"] == "status") & (made["repeat"] == 1)]
    assert sorted(one["sample"]) == sorted(f"s{i}" for i in range(N))
    part = folds[(folds["model"] == "L-SVM") & (folds["task"] == "status") & (folds["repeat"] == 1)]
    right = (one["label"] == one["predicted"]).groupby(one["fold"]).mean()
    np.testing.assert_allclose(right, part["accuracy"])
    told = json.loads(Path("rankfactor-cv/result.json").read_text("utf-8"))
    assert told["complete"] is True
    assert len(told["summary"]) == 6
    assert [row["other"] for row in told["comparisons"]] == ["L-SVM", "RBF-SVM"] * 2


@pytest.mark.slow
def test_jobs_do_not_matter() -> None:
    arguments = ("cv", "table.csv", *LABELS, *FOLDS, "--models", "G-L-BSVM,RBF-SVM")
    one = answer(*arguments, "--out", "one")
    two = answer(*arguments, "--out", "two", "--n-jobs", "2")
    assert Path("one/predictions.csv").read_bytes() == Path("two/predictions.csv").read_bytes()
    assert [row["auc"] for row in one["summary"]] == [row["auc"] for row in two["summary"]]
    assert one["folder"] == "one"


@pytest.mark.slow
def test_the_number_of_factors_is_chosen_within_the_training_part() -> None:
    told = answer(
        *("cv", "table.csv", *LABELS, "--folds", "2", "--tol", "1e-2", "--threads", "1"),
        *("--models", "G-L-BSVM,L-SVM", "--n-factors", "1,2", "--groups", "labels.csv:patient"),
    )
    assert sum(told["chosen"]["G-L-BSVM"].values()) == 2
    assert set(told["chosen"]["G-L-BSVM"]) <= {"n_factors=1", "n_factors=2"}
    assert "L-SVM" not in told["chosen"]
    assert told["grouped"] is True
    made = pd.read_csv("rankfactor-cv/predictions.csv")
    patients = pd.read_csv("labels.csv", index_col=0)["patient"]
    folds = made.drop_duplicates(["sample", "fold"]).set_index("sample")["fold"]
    assert folds.groupby(patients[folds.index].to_numpy()).nunique().max() == 1


@pytest.mark.slow
def test_covariates_of_baselines_too() -> None:
    told = answer(
        *("cv", "table.csv", *LABELS, *FOLDS, "--models", "G-L-BSVM,L-SVM"),
        *("--covariates", "labels.csv:sex", "--covariates", "labels.csv:age"),
    )
    assert [row["model"] for row in told["summary"]] == ["G-L-BSVM", "L-SVM"]
    assert all(row["auc"] > 0.7 for row in told["summary"])
    # A covariate that is the label leaves nothing to find.
    frame = pd.read_csv("labels.csv").assign(batch=lambda one: one["status"])
    frame.to_csv("labels.csv", index=False)
    told = answer(
        *("cv", "table.csv", *LABELS, *FOLDS, "--models", "L-SVM"),
        *("--covariates", "labels.csv:batch"),
    )
    assert told["summary"][0]["auc"] < 0.7


def test_a_fold_that_loses_a_class_is_said() -> None:
    frame = pd.read_csv("labels.csv")
    frame["rare"] = ["yes" if i < 4 else "no" for i in range(N)]
    frame["clinic"] = ["first" if i < 4 else f"c{i % 4}" for i in range(N)]
    frame.to_csv("labels.csv", index=False)
    told = answer(
        *("cv", "table.csv", "--labels", "labels.csv:rare", *FOLDS, "--models", "L-SVM"),
        *("--groups", "labels.csv:clinic"),
    )
    assert any("the training part has no sample of class 'yes'" in one for one in told["warnings"])
    assert told["summary"][0]["auc"] is None


def test_ctrl_c_keeps_the_folds_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    at(monkeypatch, RankFactorClassifier, "fit", 3)
    arguments = ("cv", "table.csv", *LABELS, "--folds", "4", *QUICK, "--models", "G-L-BSVM")
    result = call(*arguments)
    assert result.exit_code == 130
    assert "interrupted: 2 of 4 folds were finished by all models" in result.stderr
    assert pd.read_csv("rankfactor-cv/folds.csv")["fold"].tolist() == [1, 2]
    assert json.loads(Path("rankfactor-cv/result.json").read_text())["complete"] is False
    at(monkeypatch, RankFactorClassifier, "fit")
    result = call(*arguments, "--out", "nothing")
    assert result.exit_code == 130
    assert "interrupted: nothing was written." in result.stderr
    assert not Path("nothing").exists()


def test_bad_input() -> None:
    cv = ("cv", "table.csv", *LABELS)
    fails("models must be one of", *cv, "--models", "R-L-BSVM,SVM")
    fails("is named twice", *cv, "--models", "L-SVM,L-SVM")
    fails("models is empty", *cv, "--models", ",")
    fails("too few for 20 folds", *cv, "--folds", "20", "--models", "L-SVM")
    fails("has no column 'nope' to use as group", *cv, "--groups", "labels.csv:nope")
    fails("cannot be made", *cv, "--out", "table.csv/x", "--models", "L-SVM")


@pytest.mark.slow
def test_the_report_of_a_model_and_its_cross_validation() -> None:
    fit("table.csv", *LABELS)
    works("cv", "table.csv", *LABELS, *FOLDS, "--models", "L-SVM,R-L-BSVM")
    told = answer("report", "model.rankfactor", "--cv", "rankfactor-cv", "--out", "r.html")
    assert told["report"] == "r.html"
    page = Path("r.html").read_text("utf-8")
    assert "L-SVM" in page
    summary = pd.read_csv("rankfactor-cv/summary.csv").set_index("model")
    # The model's own number comes first; the other is compared with it.
    auc, low, high = (summary.loc["R-L-BSVM", f"auc{end}"] for end in ("", "_low", "_high"))
    sentence = f"AUC {auc:.2f} [{low:.2f}, {high:.2f}] on "
    assert sentence in page
    assert re.search(
        "(Better than|Equal to) the linear SVM in |The linear SVM was better in ", page
    )
    # A folder of an earlier version: everything is computed from the predictions.
    summary.drop(columns=["auc_low", "auc_high"]).to_csv("rankfactor-cv/summary.csv")
    record = Path("rankfactor-cv/result.json")
    kept = json.loads(record.read_text("utf-8"))
    del kept["files"]
    record.write_text(json.dumps(kept), "utf-8")
    works("report", "model.rankfactor", "--cv", "rankfactor-cv", "--out", "old.html")
    assert sentence in Path("old.html").read_text("utf-8")
    works("report", "model.rankfactor", "--title", "A <title>")
    assert "A &lt;title&gt;" in Path("report.html").read_text("utf-8")
    fails("has no summary.csv", "report", "model.rankfactor", "--cv", ".")
    works("cv", "table.csv", *LABELS, *FOLDS, "--models", "L-SVM", "--out", "other")
    fails("has no results of R-L-BSVM", "report", "model.rankfactor", "--cv", "other")
    fails("is not a rankfactor model", "report", "table.csv")


def test_parallel_analysis_within_the_training_parts() -> None:
    common = ("cv", "table.csv", *LABELS, "--folds", "2", "--tol", "1e-2", "--threads", "1")
    told = answer(*common, "--models", "R-L-BSVM,L-SVM", "--n-factors", "auto")
    assert told["settings"]["n_factors"] == "auto"
    assert told["chosen"] == {"R-L-BSVM": {"n_factors=1": 2}}
    fails(
        "--n-factors auto is not available for NS-PCA-SVM",
        *(*common, "--models", "R-L-BSVM,NS-PCA-SVM", "--n-factors", "auto", "--out", "other"),
    )


def results(folder: str) -> list[Any]:
    """Numbers of a cross-validation, without the seconds."""
    frames = [pd.read_csv(Path(folder) / f"{name}.csv") for name in ("folds", "predictions")]
    return [frame.drop(columns="seconds", errors="ignore") for frame in frames]


@pytest.mark.slow
def test_resume_computes_the_rest_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("cv", "table.csv", *LABELS, "--folds", "3", *QUICK, "--models", "G-L-BSVM,L-SVM")
    works(*arguments, "--out", "whole")
    fits = at(monkeypatch, RankFactorClassifier, "fit", 2)
    assert call(*arguments).exit_code == 130
    assert len(list(Path("rankfactor-cv/folds").glob("fit-*.zip"))) == 2
    works(*arguments, "--resume")
    assert fits() == 4  # one of the first run was finished
    for one, other in zip(results("whole"), results("rankfactor-cv"), strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    works(*arguments, "--resume")
    assert fits() == 4
    changed = ("--resume", "--n-factors", "1")
    fails("(--n-factors of the model G-L-BSVM is 2 there and 1 here)", *arguments, *changed)
    fails("(--random-state differs)", *arguments, "--resume", "--seed", "1")
    fails("(--folds is 3 there and 2 here)", *arguments, "--resume", "--folds", "2")
    file = Path("rankfactor-cv/folds/fit-0001.zip")
    file.write_bytes(file.read_bytes()[:-20])
    damaged = call(*arguments, "--resume")
    assert damaged.exit_code == 2
    assert "fit-0001.zip is damaged" in damaged.stderr
    works(*arguments)  # from the beginning
    assert fits() == 7
