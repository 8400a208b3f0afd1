"""`rankfactor fit --memory`: tables that are read chunk by chunk, to the same model."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.cli.running import call, environment, fails, works

from rankfactor.cli.belonging import data_difference
from rankfactor.engine.large import fit as large_fit
from rankfactor.engine.large import held_out, placement
from rankfactor.estimators import large
from rankfactor.storage.model_file import load_model, model_header

ROWS, D = 700, 8
QUICK = ("--n-factors", "2", "--threads", "1", "--tol", "1e-2")
SMALL = ("--memory", "1MB")
CHUNKWISE = "read chunk by chunk"
SIZES = {"LARGE": 300, "SAMPLE": 400, "CORE": 256, "WITHHELD": 100, "ENOUGH": 50, "SHARD": 64}


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit tables of more than 300 samples by shards of 64."""
    for module in (large, large_fit, held_out, placement):
        for name, size in SIZES.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, size)


@pytest.fixture
def table() -> pd.DataFrame:
    """Counts of many samples in table.csv, with their labels and covariates in patients.csv."""
    rng = np.random.default_rng(3)
    z, a = rng.standard_normal((ROWS, 2)), rng.standard_normal((D, 2))
    index = pd.Index([f"n{i}" for i in range(ROWS)], name="sample")
    counts = rng.poisson(np.exp(1 + 0.6 * z @ a.T)).astype(float)
    table = pd.DataFrame(counts, index, [f"gene{i}" for i in range(D)])
    patients = pd.DataFrame(
        {
            "status": np.where(z[:, 0] + 0.5 * rng.standard_normal(ROWS) > 0, "ill", "well"),
            "kind": rng.choice(["x", "y", "z"], ROWS),
            "family": np.arange(ROWS) // 4,
            "age": rng.integers(20, 80, ROWS),
        },
        index,
    )
    patients.loc[patients.index[::9], "status"] = None
    patients.sample(frac=1, random_state=0).to_csv("patients.csv")
    return table


def arrays(path: str) -> dict[str, Any]:
    model = load_model(path)
    found = {"loadings": model.loadings, "levels": model.coding.n_cuts}
    if model.classifiers is not None:
        found |= {"rows": model.classifiers.rows.mean, "scale": model.classifiers.scale}
    return found


def same_model(*arguments: str, memory: tuple[str, ...] = SMALL) -> tuple[Any, Any]:
    """Outputs of a model that must agree between both kinds of fit."""
    whole = works("fit", *arguments, *QUICK, "--out", "whole.rankfactor", "--json")
    parts = works("fit", *arguments, *QUICK, "--out", "parts.rankfactor", "--json", *memory)
    assert CHUNKWISE not in whole.stderr
    assert CHUNKWISE in parts.stderr
    one, two = arrays("whole.rankfactor"), arrays("parts.rankfactor")
    for name, values in one.items():
        np.testing.assert_array_equal(values, two[name])
    told = [json.loads(result.stdout) for result in (whole, parts)]
    for key in ("n_samples", "n_features", "settings", "classes", "elbo", "warnings"):
        assert told[0].get(key) == told[1].get(key), key
    ours, theirs = (
        model_header(path)["provenance"]["data"]
        for path in ("whole.rankfactor", "parts.rankfactor")
    )
    assert ours["samples_sha256"] == theirs["samples_sha256"]
    assert ours["labels"] == theirs["labels"]
    assert "rows_sha256" in theirs
    assert data_difference(theirs, ours) is None
    assert "1 there" in str(data_difference(theirs, {**ours, "n_features": 1}))
    return told[0], told[1]


def test_rare_values_are_fitted_by_ordinal_probit_and_the_headings_say_so(
    table: pd.DataFrame,
) -> None:
    (table > table.quantile(0.9)).astype(int).to_csv("large.csv")
    labels = "--labels", "patients.csv:status"
    outputs = "--out", "model.rankfactor", "--report", "report.html"
    result = works("fit", "large.csv", *labels, *QUICK, *SMALL, *outputs)
    name = "R-L-BSVM with ordinal probit"
    assert result.stdout.startswith(f"{name}: {ROWS} samples")
    assert "have the same value, so ordinal probit replaces" in result.stderr
    assert f"<title>{name} of large.csv</title>" in Path("report.html").read_text("utf-8")
    works("report", "model.rankfactor", "--out", "again.html")
    assert f"<title>{name} of large.csv</title>" in Path("again.html").read_text("utf-8")
    given = "--likelihood", "margin_rank"
    result = works("fit", "large.csv", *labels, *QUICK, *SMALL, *given, "--out", "asked.rankfactor")
    assert "ordinal probit is used" not in result.stderr
    assert load_model("asked.rankfactor").model.data.name == "margin_rank"


@pytest.mark.slow
def test_labels_groups_and_covariates_of_another_file(table: pd.DataFrame) -> None:
    table.assign(sex=np.where(np.arange(ROWS) % 2, "f", "m"), note=table.index).to_csv("large.csv")
    whole, parts = same_model(
        *("large.csv", "--labels", "patients.csv:status", "--labels", "patients.csv:kind"),
        *("--groups", "patients.csv:family", "--covariates", "patients.csv:age"),
        *("--drop-class", "kind:z", "--positive", "status:ill", "--exclude", "gene7"),
    )
    assert sorted(one for one in parts["notes"] if CHUNKWISE not in one) == sorted(whole["notes"])
    assert load_model("parts.rankfactor").left_out is not None
    assert load_model("parts.rankfactor").classifiers.tasks[0].classes[-1] == "ill"


@pytest.mark.slow
def test_labels_of_the_table_itself(table: pd.DataFrame) -> None:
    patients = pd.read_csv("patients.csv", index_col="sample").loc[table.index]
    both = table.join(patients[["status", "kind", "family"]])
    both.to_csv("large.csv")
    both.to_parquet("large.parquet")
    for name in ("large.csv", "large.parquet"):
        same_model(
            *(name, "--labels", "status", "--groups", "family", "--exclude", "kind"),
            *("--exclude", "n5"),
        )
    same_model(
        "large.csv",
        "--labels",
        "kind",
        "--drop-class",
        "x",
        "--exclude",
        "[s]tat*",
        "--exclude",
        "fam*",
    )


@pytest.mark.slow
def test_arrays_and_annotated(table: pd.DataFrame) -> None:
    anndata = pytest.importorskip("anndata")
    obs = pd.read_csv("patients.csv", index_col="sample").loc[table.index]
    for matrix in (table.to_numpy(), sparse.csr_matrix(table.to_numpy(np.float32))):
        var = pd.DataFrame(index=table.columns)
        anndata.AnnData(matrix, obs=obs, var=var).write_h5ad("large.h5ad")
        same_model("large.h5ad", "--labels", "status", "--covariates", "age", "--groups", "family")
    np.save("large.npy", table.to_numpy())
    obs.set_axis(np.arange(1, ROWS + 1), axis=0).to_csv("numbered.csv", index_label="sample")
    same_model("large.npy", "--labels", "numbered.csv:status", "--exclude", "feature_2")
    same_model("large.npy")


@pytest.mark.slow
def test_the_report_says_how_many_samples_there_were(table: pd.DataFrame) -> None:
    table.to_csv("large.csv")
    labels = ("--labels", "patients.csv:status")
    result = works("fit", "large.csv", *labels, *QUICK, *SMALL, "--report", "report.html")
    assert f"R-L-BSVM: {ROWS} samples, {D} features" in result.stdout
    for step in ("Reading the table", "Coding samples", "Pass over all samples"):
        assert f"{step}: done ({ROWS})" in result.stderr
    page = Path("report.html").read_text("utf-8")
    assert f"{ROWS} samples" in page
    assert model_header("model.rankfactor")["summary"]["n_samples"] == ROWS
    works("predict", "model.rankfactor", "large.csv", *SMALL)
    assert len(pd.read_csv("predictions.csv")) == ROWS


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (("--stability", "4"), "or leave out --memory, if the table fits"),
        (("--annotated", "new.h5ad"), "--annotated needs the table in memory"),
        (("--n-factors", "2,3"), "--n-factors with several numbers needs the table in memory"),
        (("--engine", "gibbs"), "Gibbs sampling needs the table in memory: use --engine vb"),
        (("--model", "R-NL-BSVM"), "nonlinear classifiers need the table in memory"),
        (("--residual", "yes"), "decisions of two parts need the table in memory: use --residual"),
        (("--memory", "much"), "--memory must be an amount of at least 1 MB"),
        (("--scratch", "nowhere"), "the scratch folder nowhere does not exist"),
        (("--exclude", "n99999"), "has nothing called 'n99999' to exclude"),
        (("--exclude", "q*"), "--exclude q* matches no column of large.csv"),
        (("--labels", "other"), "large.csv has no column 'other' to use as label"),
        (("--labels", "patients.csv:other"), "patients.csv has no column 'other' to use as label"),
        (("--covariates", "patients.csv:other"), "has no column 'other' to use as covariate"),
        (("--drop-class", "status:q"), "--drop-class q is not a class of 'status'"),
        (("--positive", "status:q"), "q"),
    ],
)
def test_what_is_refused(more: tuple[str, ...], sentence: str, table: pd.DataFrame) -> None:
    if "--annotated" in more:
        anndata = pytest.importorskip("anndata")
        anndata.AnnData(table).write_h5ad("large.h5ad")
    table.to_csv("large.csv")
    name = "large.h5ad" if "--annotated" in more else "large.csv"
    fails(sentence, "fit", name, "--labels", "patients.csv:status", *QUICK, *SMALL, *more)


def test_bad_input_is_refused_and_leaves_nothing(
    table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ("fit", "large.csv", "--labels", "patients.csv:status", *QUICK, *SMALL)
    monkeypatch.setattr("rankfactor.data.streams.grids.HEAD_ROWS", 200)
    monkeypatch.setattr("rankfactor.data.streams.grids._HEAD_CELLS", 200)
    wrong = table.astype(object)
    wrong.iloc[650, 2] = "seven"
    wrong.to_csv("large.csv")
    Path("scratch").mkdir()
    fails("large.csv, row 652, column 'gene2': 'seven'", *arguments, "--scratch", "scratch")
    # What is left out may be anything.
    works(*arguments, "--exclude", "gene2", "--out", "other.rankfactor")
    table.to_csv("large.csv")
    patients = pd.read_csv("patients.csv", index_col="sample")
    patients.iloc[:5].rename(lambda name: f"x{name}").to_csv("patients.csv")
    fails("patients.csv has no sample in common with the table", *arguments)
    patients.assign(status="ill").to_csv("patients.csv")
    fails("has only the class 'ill'", *arguments)
    table.iloc[[*range(ROWS), 3]].to_csv("large.csv")
    patients.to_csv("patients.csv")
    fails("large.csv has a repeated sample name: 'n3'", *arguments)


@pytest.mark.parametrize("problem", ["full", "read-only"])
def test_scratch_folders(
    problem: str, table: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.to_csv("large.csv")
    folder = Path("scratch")
    folder.mkdir()
    arguments = ("fit", "large.csv", "--labels", "patients.csv:status", *QUICK, *SMALL)
    monkeypatch.setattr(large, "bytes_of", lambda _: 2**10)

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC if problem == "full" else errno.EROFS, "cannot")

    if problem == "full":
        monkeypatch.setattr(os, "posix_fallocate", fail)
        sentence = "has no room for another 0 MB: free some space, or set --scratch to another"
    else:
        monkeypatch.setattr(tempfile, "TemporaryFile", fail)
        sentence = "scratch cannot be written to (cannot): set --scratch to another folder"
    before = sorted(Path().rglob("*"))
    result = call(*arguments, "--scratch", "scratch")
    assert result.exit_code == 2
    assert sentence in result.stderr.splitlines()[-1]
    assert sorted(Path().rglob("*")) == before


def test_samples_without_labels_are_counted(table: pd.DataFrame) -> None:
    table.to_csv("large.csv")
    pd.read_csv("patients.csv").iloc[:300].to_csv("patients.csv", index=False)
    result = works("fit", "large.csv", "--labels", "patients.csv:kind", *QUICK, *SMALL)
    assert "400 of 700 samples have no label 'kind'; they are kept" in result.stderr


# The program with small shards; Ctrl-C comes when a stage is told for the second time.
PRESSING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
wanted, sizes = sys.argv.pop(1), eval(sys.argv.pop(1))
from rankfactor.engine.large import fit, held_out, placement, shards
from rankfactor.estimators import large
for module in (fit, held_out, placement, large):
    for name, size in sizes.items():
        if hasattr(module, name):
            setattr(module, name, size)
from rankfactor.features import survey
survey.CHUNK_BYTES = 2**13
seen, found = [], shards.stage_of
def stage_of(progress):
    stage = found(progress)
    def told(name, done, total):
        stage(name, done, total)
        seen.append(name)
        if seen.count(name) == 2 and name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
    return told
large.stage_of = stage_of
from rankfactor.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stage", "kept"),
    [
        ("Reading the table", False),
        ("Coding samples", False),
        ("Finding scores", True),
        ("Pass over all samples", True),
    ],
)
def test_ctrl_c(stage: str, kept: bool, table: pd.DataFrame) -> None:
    table.to_csv("large.csv")
    Path("scratch").mkdir()
    before = sorted(Path().rglob("*"))
    arguments = ("fit", "large.csv", "--labels", "patients.csv:status", *QUICK, *SMALL)
    run = subprocess.run(
        [sys.executable, "-c", PRESSING, stage, repr(SIZES), *arguments, "--scratch", "scratch"],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert run.returncode == 130, run.stderr
    assert "Traceback" not in run.stderr
    if kept:
        assert "Convergence: interrupted" in run.stdout
        assert load_model("model.rankfactor").samples.n_samples == ROWS
    else:
        assert run.stderr.splitlines()[-1] == "interrupted: nothing was written."
        assert run.stdout == ""
        assert sorted(Path().rglob("*")) == before
