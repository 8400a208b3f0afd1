"""``rankfactor fit``: sources of labels, settings, and errors that name file and column."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import (
    LABELS,
    QUICK,
    N,
    answer,
    call,
    fails,
    fit,
    in_process_of_its_own,
    works,
)

from rankfactor.storage.model_file import load_model, model_header


def test_fit_says_what_it_did() -> None:
    result = fit("table.csv", *LABELS, "--labels", "labels.csv:kind")
    assert result.stdout.startswith("R-L-BSVM: 24 samples, 5 features, ")
    assert result.stdout.splitlines()[-1] == "Model: model.rankfactor"
    header = model_header("model.rankfactor")
    assert header["provenance"]["table"] == "table.csv"
    assert header["provenance"]["settings"]["n_factors"] == 2
    assert list(header["summary"]["tasks"]) == ["status", "kind"]
    assert len(header["codes_sha256"]) == 64


def test_json() -> None:
    quick = (*QUICK, "--max-iter", "2", "--training", "bayes")
    told = answer("fit", "table.csv", *LABELS, *quick, "--report", "r.html")
    assert told["model_file"] == "model.rankfactor"
    assert told["report"] == "r.html"
    assert (told["n_samples"], told["n_features"], told["n_factors"]) == (N, 5, 2)
    assert told["tasks"]["status"]["classes"] == {"ill": 12, "well": 12}
    assert told["interrupted"] is False
    assert not told["converged"]
    assert any("iterations" in text for text in told["warnings"])


@pytest.mark.parametrize("labels", ["status", "both.csv:status"])
def test_labels_within_the_table(labels: str) -> None:
    fit("both.csv", "--labels", labels, "--model", "gaussian", "--out", "within.rankfactor")
    header = model_header("within.rankfactor")
    assert header["provenance"]["settings"]["model"] == "G-L-BSVM"
    assert header["summary"]["model"] == "G-L-BSVM (gaussian)"
    posterior = load_model("within.rankfactor")
    assert posterior.feature_names.tolist() == list("abcde")
    assert posterior.classifiers is not None
    assert [task.name for task in posterior.classifiers.tasks] == ["status"]
    # The label column of a table with labels does no harm.
    works("predict", "within.rankfactor", "both.csv", "--threads", "1")
    assert len(pd.read_csv("predictions.csv")) == N


def test_a_column_with_a_colon_in_its_name() -> None:
    frame = pd.read_csv("both.csv").rename(columns={"status": "clinic:status"})
    frame.to_csv("colon.csv", index=False)
    fit("colon.csv", "--labels", "clinic:status")
    assert list(model_header("model.rankfactor")["summary"]["tasks"]) == ["clinic:status"]


def test_samples_without_a_label_are_kept_and_said() -> None:
    frame = pd.read_csv("labels.csv")
    frame.loc[3, "status"] = None
    frame = frame.drop(index=[0, 1])
    frame.loc[100] = ["stranger", "ill", "x", "p9", 50, "f"]
    frame.to_csv("some.csv", index=False)
    result = fit("table.csv", "--labels", "some.csv:status")
    assert "note: 3 of 24 samples have no label 'status'; they are kept" in result.stderr
    assert "note: 1 sample of some.csv is not in the table and left out: 'stranger'" in (
        result.stderr
    )
    counts = model_header("model.rankfactor")["summary"]["tasks"]["status"]
    assert counts["missing"] == 3
    assert sum(counts["classes"].values()) == N - 3


def test_the_seed_and_not_the_threads_decide() -> None:
    for out, threads in (("one.rankfactor", "1"), ("two.rankfactor", "2")):
        works("fit", "table.csv", *LABELS, *QUICK[:-1], threads, "--out", out)
    assert Path("one.rankfactor").read_bytes() == Path("two.rankfactor").read_bytes()


def test_settings_arrive() -> None:
    told = answer(
        *("fit", "table.csv", *LABELS, *QUICK, "--model", "R-NL-BSVM", "--training", "predictive"),
        *("--label-weight", "1", "--experts", "mixed", "--n-components", "3"),
        *("--calibration", "none", "--max-cuts", "4"),
        *("--margin", "0.1", "--shrinkage", "normal", "--class-weight", "ill=2"),
    )
    settings = told["settings"]
    assert settings["class_weight"] == {"ill": 2.0}
    assert (settings["training"], told["training"]) == ("predictive", "predictive")
    model = load_model("model.rankfactor").model
    assert (model.data.margin, model.data.max_cuts, model.n_components) == (0.1, 4, 3)
    assert model.to_dict()["loading_shrinkage"]["part"] == "normal"


def test_class_weights_change_the_fit() -> None:
    parts = []
    for weights in ((), ("--class-weight", "ill=5"), ("--class-weight", "balanced")):
        fit("table.csv", *LABELS, *weights)
        parts.append(load_model("model.rankfactor").classifiers.rows.mean)  # type: ignore[union-attr]
    assert not np.allclose(parts[0], parts[1])
    np.testing.assert_allclose(parts[0], parts[2])  # both classes are equally large


def test_class_weights_of_several_tasks() -> None:
    both = (*LABELS, "--labels", "labels.csv:kind")
    fails("does not name a task", "fit", "table.csv", *both, "--class-weight", "ill=2")
    fit("table.csv", *both, "--class-weight", "status:ill=2", "--class-weight", "kind:x=3")
    settings = model_header("model.rankfactor")["provenance"]["settings"]
    assert settings["class_weight"] == {"status": {"ill": 2.0}, "kind": {"x": 3.0}}


@pytest.mark.slow
def test_the_number_of_factors_is_chosen() -> None:
    result = works(
        *("fit", "table.csv", *LABELS, "--n-factors", "1,2", "--tol", "1e-2", "--threads", "1"),
        *("--groups", "labels.csv:patient"),
    )
    (line,) = (line for line in result.stderr.splitlines() if "was chosen" in line)
    assert line.startswith("note: --n-factors ")
    chosen = int(line.split()[2])
    assert load_model("model.rankfactor").n_factors == chosen
    areas = {
        int(p.split(":")[0]): float(p.split(":")[1])
        for p in line.split("(")[1].split(")")[0].split(", ")
    }
    assert set(areas) == {1, 2}
    assert areas[chosen] == max(areas.values())


def test_covariates() -> None:
    ages = ("--covariates", "labels.csv:age", "--covariates", "labels.csv:sex")
    fit("table.csv", *LABELS, *ages)
    posterior = load_model("model.rankfactor")
    assert posterior.covariate_names == ["age", "sex"]
    assert posterior.feature_names.tolist() == list("abcde")
    told = answer("predict", "model.rankfactor", "table.csv", *ages)
    assert told["n_features_missing"] == 0
    with_them = pd.read_csv("predictions.csv")
    # Without them the training mean stands in, which is said, and the answer is another.
    told = answer("predict", "model.rankfactor", "table.csv")
    assert any("covariate 'age'" in text for text in told["warnings"])
    assert not np.allclose(
        pd.read_csv("predictions.csv")["status_decision"], with_them["status_decision"]
    )
    fails(
        "is not a covariate of the model",
        "predict",
        "model.rankfactor",
        "table.csv",
        "--covariates",
        "labels.csv:kind",
    )
    fit("table.csv", *LABELS, *ages, "--covariate-use", "block")
    posterior = load_model("model.rankfactor")
    assert posterior.feature_names.tolist() == [*"abcde", "age", "sex=m"]
    assert posterior.blocks is not None
    assert posterior.blocks.tolist()[-2:] == ["covariates"] * 2


def test_a_feature_as_covariate() -> None:
    fit("table.csv", *LABELS, "--covariates", "e")
    assert load_model("model.rankfactor").feature_names.tolist() == list("abcd")
    fails(
        "has no column 'nope' to use as covariate",
        "fit",
        "table.csv",
        *LABELS,
        "--covariates",
        "nope",
    )


def test_exclude() -> None:
    frame = pd.read_csv("table.csv").assign(qc_1=1.0, qc_2="much text", f=0.5)
    frame.loc[0, "f"] = 0.6
    frame.to_csv("more.csv", index=False)
    fit("more.csv", *LABELS, "--exclude", "qc_*", "--exclude", "f", "--exclude", "s3")
    posterior = load_model("model.rankfactor")
    assert posterior.feature_names.tolist() == list("abcde")
    assert "s3" not in posterior.sample_names.tolist()
    fails("--exclude zz* matches no column", "fit", "more.csv", *LABELS, "--exclude", "zz*")


def test_gibbs_gives_intervals() -> None:
    chain = ("--engine", "gibbs", "--n-draws", "4", "--burn-in", "2", "--n-chains", "1")
    fit("table.csv", *LABELS, *chain, "--n-predict", "3")
    posterior = load_model("model.rankfactor")
    assert posterior.draws is not None
    assert len(posterior.draws.chain) == 4
    assert model_header("model.rankfactor")["provenance"]["settings"]["n_draws"] == 4
    works("predict", "model.rankfactor", "table.csv", "--threads", "1")
    wide = pd.read_csv("predictions.csv")
    assert (wide["status_lower"] < wide["status_decision"]).all()
    assert (wide["status_upper"] > wide["status_decision"]).all()
    works("predict", "model.rankfactor", "table.csv", "--threads", "1", "--level", "0.5")
    narrow = pd.read_csv("predictions.csv")
    assert (narrow["status_upper"] < wide["status_upper"]).all()


def test_fit_with_a_report() -> None:
    result = fit("table.csv", *LABELS, "--report", "page.html")
    assert result.stdout.splitlines()[-2:] == ["Model: model.rankfactor", "Report: page.html"]
    assert "table.csv" in Path("page.html").read_text(encoding="utf-8")


def test_a_feature_of_the_label_s_name_is_told() -> None:
    frame = pd.read_csv("table.csv").rename(columns={"e": "status"})
    frame.to_csv("table.csv", index=False)
    result = fit("table.csv", *LABELS)
    lines = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert any("table.csv has a feature called 'status', like the label" in line for line in lines)
    assert "UserWarning" not in result.stderr


def test_bad_files() -> None:
    fails("nothing.csv", "fit", "nothing.csv", *LABELS)
    fails("none.csv", "fit", "table.csv", "--labels", "none.csv:status")
    words = pd.read_csv("table.csv").astype({"a": object})
    words.loc[1, "a"] = "high"
    words.to_csv("words.csv", index=False)
    fails("words.csv, row 3, column 'a'", "fit", "words.csv", *LABELS)
    Path("empty.csv").write_text("")
    fails("empty.csv", "fit", "empty.csv", *LABELS)
    Path("binary.csv").write_bytes(bytes(range(256)) * 20)
    fails("binary.csv", "fit", "binary.csv", *LABELS)
    pd.read_csv("table.csv").rename(columns={"b": "a"}).to_csv("twice.csv", index=False)
    fails("twice.csv", "fit", "twice.csv", *LABELS)
    fails("table.doc has an unknown extension", "fit", "table.doc", *LABELS)


def test_bad_labels() -> None:
    fails("table.csv has no column 'nope'", "fit", "table.csv", "--labels", "nope")
    fails("labels.csv has no column 'nope'", "fit", "table.csv", "--labels", "labels.csv:nope")
    fails("does not name a column", "fit", "table.csv", "--labels", "labels.csv:")
    fails("given more than once", "fit", "table.csv", *LABELS, *LABELS)
    frame = pd.read_csv("labels.csv")
    frame.assign(sample=[f"other{i}" for i in range(N)]).to_csv("strange.csv", index=False)
    fails("has no sample in common", "fit", "table.csv", "--labels", "strange.csv:status")
    frame.assign(status="ill").to_csv("one.csv", index=False)
    fails("only the class 'ill'", "fit", "table.csv", "--labels", "one.csv:status")
    frame.assign(status=np.arange(N)).to_csv("many.csv", index=False)
    fails("it looks like a measurement", "fit", "table.csv", "--labels", "many.csv:status")
    pd.read_csv("both.csv").assign(status="ill").to_csv("both.csv", index=False)
    fails("only the class 'ill'", "fit", "both.csv", "--labels", "status")


def test_bad_settings() -> None:
    fails("--n-factors 50 needs", "fit", "table.csv", *LABELS, "--n-factors", "50")
    fails("--n-factors must be whole numbers", "fit", "table.csv", *LABELS, "--n-factors", "2,x")
    fails("--n-factors must be whole numbers", "fit", "table.csv", *LABELS, "--n-factors", "0")
    fails("model must be one of", "fit", "table.csv", *LABELS, "--model", "X-L-BSVM")
    fails("shrinkage must be one of", "fit", "table.csv", *LABELS, "--shrinkage", "much")
    fails("--label-weight must be", "fit", "table.csv", *LABELS, "--label-weight", "much")
    fails("--margin must be", "fit", "table.csv", *LABELS, "--margin", "wide")
    fails("--class-weight must be", "fit", "table.csv", *LABELS, "--class-weight", "ill=-1")
    fails("which is not a class of", "fit", "table.csv", *LABELS, "--class-weight", "nobody=2")
    fails("--n-draws is for Gibbs sampling", "fit", "table.csv", *LABELS, "--n-draws", "5")
    fails("the folder no does not exist", "fit", "table.csv", *LABELS, "--out", "no/model")
    Path("folder").mkdir()
    fails("folder is a folder", "fit", "table.csv", *LABELS, "--report", "folder")


def test_ctrl_c_during_a_fit_keeps_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    import rankfactor.engine.vb as vb

    record = vb.record

    def interrupt_at_the_third(fit: vb.Fit, elbo: float) -> None:
        record(fit, elbo)
        if len(fit.history.elbo) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(vb, "record", interrupt_at_the_third)
    result = call("fit", "table.csv", *LABELS, "--n-factors", "2")
    assert result.exit_code == 130
    assert "warning: interrupted after 2 iterations; the fit so far is kept." in result.stderr
    assert len(load_model("model.rankfactor").elbo) == 3


@pytest.mark.slow
def test_the_program_from_table_to_predictions() -> None:
    run = in_process_of_its_own("fit", "table.csv", *LABELS, *QUICK)
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "Model: model.rankfactor"
    assert "\x1b" not in run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    one = in_process_of_its_own("predict", "model.rankfactor", "table.csv", "--threads", "1")
    assert one.returncode == 0, one.stderr
    first = Path("predictions.csv").read_bytes()
    works("predict", "model.rankfactor", "table.csv", "--threads", "2")
    assert Path("predictions.csv").read_bytes() == first


def test_the_number_of_factors_by_parallel_analysis() -> None:
    quick = ("--n-factors", "auto", "--tol", "1e-2", "--threads", "1")
    told = works("fit", "table.csv", *quick, "--report", "r.html").stdout
    posterior = load_model("model.rankfactor")
    assert posterior.factor_count is not None
    assert posterior.n_factors == posterior.factor_count.n_factors == 1
    assert "of 1 factor (parallel analysis) in use." in told
    assert model_header("model.rankfactor")["provenance"]["settings"]["n_factors"] == "auto"
    assert "fig-scree" in Path("r.html").read_text("utf-8")
    assert "of 1 factor (parallel analysis) in use" in works("inspect", "model.rankfactor").stdout
    works("fit", "table.csv", *LABELS, *quick, "--calibration", "none")
    assert load_model("model.rankfactor").factor_count is not None
    fails("or auto, not 'auto,5'", "fit", "table.csv", *LABELS, "--n-factors", "auto,5")
