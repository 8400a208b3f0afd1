"""Tables larger than --memory: predicting and explaining chunk by chunk gives the same bytes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.cli.running import LABELS, N, answer, call, fails, fit, works

from rankfactor.data.textblocks import EXACT
from rankfactor.posterior import Posterior

ROWS = 8700  # two chunks of samples
SMALL = ("--memory", "1MB", "--threads", "1")
ANOTHER = "read chunk by chunk"


@pytest.fixture
def large() -> pd.DataFrame:
    """Many samples like those of the training table."""
    table = pd.read_csv("table.csv", index_col="sample")
    rng = np.random.default_rng(4)
    large = table.iloc[rng.integers(0, N, ROWS)] + rng.normal(size=(ROWS, table.shape[1])).round(3)
    large.index = pd.Index([f"n{i}" for i in range(ROWS)], name="sample")
    large.iloc[5, 1] = np.nan
    return large


def same_bytes(command: str, table: str, *more: str) -> None:
    more = (*more, "--force")
    whole = works(command, "model.rankfactor", table, "--out", "whole.csv", "--threads", "1", *more)
    parts = works(command, "model.rankfactor", table, "--out", "parts.csv", *SMALL, *more)
    assert ANOTHER not in whole.stderr
    assert ANOTHER in parts.stderr
    assert parts.stdout == whole.stdout.replace("whole.csv", "parts.csv")
    assert Path("parts.csv").read_bytes() == Path("whole.csv").read_bytes()


@pytest.mark.slow
def test_text_and_parquet(large: pd.DataFrame) -> None:
    fit("table.csv", *LABELS, "--labels", "labels.csv:kind")
    large.assign(note="some words", e=large["e"].astype(object)).to_csv("large.csv")
    large.to_csv("large.tsv.gz", sep="\t")
    large.to_parquet("large.parquet")
    Path("parts").mkdir()
    for number, part in enumerate(np.array_split(np.arange(ROWS), 3)):
        large.iloc[part].to_parquet(f"parts/part{number}.parquet")
    for table in ("large.csv", "large.tsv.gz", "large.parquet", "parts"):
        same_bytes("predict", table)
    same_bytes("explain", "large.csv")
    same_bytes("explain", "large.parquet", "--sample", "n8650")
    assert len(pd.read_csv("parts.csv")) == 4 * 5
    fails(
        "has no sample 's99'", "explain", "model.rankfactor", "large.csv", *SMALL, "--sample", "s99"
    )
    told = answer("predict", "model.rankfactor", "large.csv", *SMALL)
    assert told["n_samples"] == ROWS
    assert sum(told["predicted"]["kind"].values()) == ROWS


def test_lines_of_a_sample_stand_together(large: pd.DataFrame) -> None:
    fit("table.csv", *LABELS, "--labels", "labels.csv:kind")
    large.to_csv("large.csv")
    works("explain", "model.rankfactor", "large.csv", *SMALL)
    found = pd.read_csv("explain.csv")
    assert found["sample"].tolist() == np.repeat(large.index, 4).tolist()
    assert found["class"].tolist() == ["well", "x", "y", "z"] * ROWS


@pytest.mark.slow
def test_arrays_and_annotated(large: pd.DataFrame) -> None:
    anndata = pytest.importorskip("anndata")
    table = pd.read_csv("table.csv", index_col="sample")
    fit("table.csv", *LABELS)
    for matrix in (large.to_numpy(), sparse.csr_matrix(large.to_numpy(np.float32))):
        obs, var = pd.DataFrame(index=large.index), pd.DataFrame(index=large.columns)
        anndata.AnnData(matrix, obs=obs, var=var).write_h5ad("large.h5ad")
        same_bytes("predict", "large.h5ad")
    np.save("table.npy", table)
    labels = pd.read_csv("labels.csv").set_axis(np.arange(1, N + 1), axis=0)[["status"]]
    labels.to_csv("numbered.csv", index_label="sample")
    fit("table.npy", "--labels", "numbered.csv:status")
    np.save("large.npy", large)
    same_bytes("predict", "large.npy", "--scores", "scores.csv")
    zarr = pytest.importorskip("zarr")
    zarr.create_array("large.zarr", data=large.to_numpy(), chunks=(1000, 5))
    same_bytes("predict", "large.zarr")


@pytest.mark.slow
def test_covariates_and_words(large: pd.DataFrame) -> None:
    rng = np.random.default_rng(0)
    table = pd.read_csv("table.csv", index_col="sample")
    for frame, name in ((table, "small"), (large, "large")):
        n = len(frame)
        frame = frame.assign(sex=rng.choice(["f", "m"], n), batch=rng.choice(["p", "q"], n))
        frame.to_csv(f"{name}.csv")
        ages = pd.DataFrame({"age": rng.integers(20, 80, n)}, frame.index)
        ages.sample(frac=1, random_state=0).to_csv(f"{name}-ages.csv")
    covariates = ("--covariates", "batch", "--covariates")
    fit("small.csv", *LABELS, *covariates, "small-ages.csv:age")
    same_bytes("predict", "large.csv", "--covariates", "large-ages.csv:age")
    ages = pd.read_csv("large-ages.csv").iloc[50:]
    ages.to_csv("some-ages.csv", index=False)
    result = works(
        *("predict", "model.rankfactor", "large.csv", *SMALL),
        *("--covariates", "some-ages.csv:age"),
    )
    # Once, and not for every chunk with its own numbers.
    assert result.stderr.count("samples have no value of the covariate 'age'") == 1
    fails(
        "large-ages.csv has no column 'batch' to use as covariate",
        *("predict", "model.rankfactor", "large.csv", *SMALL),
        *("--covariates", "large-ages.csv:batch"),
    )


@pytest.mark.slow
def test_parquet_and_zarr_hold_the_same(large: pd.DataFrame) -> None:
    zarr = pytest.importorskip("zarr")
    fit("table.csv", *LABELS)
    large.to_parquet("large.parquet")
    for command in ("predict", "explain"):
        for out in ("found.csv", "found.parquet", "found.zarr"):
            for _ in range(2):  # a second time replaces the first
                works(command, "model.rankfactor", "large.parquet", "--out", out, *SMALL)
        found = pd.read_csv("found.csv", **EXACT)
        pd.testing.assert_frame_equal(pd.read_parquet("found.parquet"), found, check_exact=True)
        group = zarr.open_group("found.zarr", mode="r")
        assert group.attrs["columns"] == found.columns.tolist()
        numbers = group["values"].attrs["columns"]
        np.testing.assert_array_equal(group["values"][:], found[numbers])
        for name in found.columns.drop(numbers):
            assert group[name][:].tolist() == found[name].tolist()
        for out in ("found.parquet", "found.zarr"):
            other = "explain" if command == "predict" else "predict"
            arguments = (other, "model.rankfactor", "table.csv", "--out", out)
            fails(f"--out would replace {out}, which is not a table of", *arguments)
            works(*arguments, "--force")
        Path("found.csv").unlink()
    Path("mine.zarr").mkdir()
    Path("mine.zarr/notes.txt").write_text("keep me")
    fails(
        "--out would replace mine.zarr",
        "predict",
        "model.rankfactor",
        "table.csv",
        "--out",
        "mine.zarr",
    )
    assert not [one for one in Path().iterdir() if one.name.startswith(".")]


@pytest.mark.parametrize("out", ["found.csv", "found.parquet", "found.zarr"])
def test_interrupted(out: str, large: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    fit("table.csv", *LABELS)
    large.to_parquet("large.parquet")
    before = sorted(Path().iterdir())
    decide, seen = Posterior.decide, []

    def interrupted(self: Posterior, values: Any, pool: Any) -> Any:
        if len(values) > 1:  # a model that is opened predicts one empty sample
            seen.append(len(values))
        if len(seen) == 2:
            raise KeyboardInterrupt
        return decide(self, values, pool)

    monkeypatch.setattr(Posterior, "decide", interrupted)
    result = call("predict", "model.rankfactor", "large.parquet", "--out", out, *SMALL)
    assert result.exit_code == 130
    assert "interrupted: nothing was written." in result.stderr
    assert seen == [8192, ROWS - 8192]
    assert sorted(Path().iterdir()) == before


def test_bad_input(large: pd.DataFrame) -> None:
    fit("table.csv", *LABELS)
    predict = ("predict", "model.rankfactor", "large.csv", *SMALL)
    wrong = large.astype(object)
    wrong.iloc[8690, 2] = "seven"
    wrong.to_csv("large.csv")
    fails("large.csv, row 8692, column 'c': 'seven' is not a number", *predict)
    assert not Path("predictions.csv").exists()
    large.assign(c="word").to_csv("large.csv")
    fails("large.csv, column 'c' is a feature of the model but contains text", *predict)
    large.drop(columns="b").to_csv("large.csv")
    told = json.loads(works(*predict, "--json").stdout)
    assert told["missing_features"] == ["b"]
    assert len(told["warnings"]) == 1
    fails("lacks 1 of the model's 5 features", *predict, "--missing-features", "error")
    large[["a"]].to_csv("large.csv")
    large[["a"]].assign(**{f"x{i}": 0.0 for i in range(9)}).to_csv("large.csv")
    fails("too many to predict from", *predict)
    large.T.to_csv("large.csv", index_label="gene")
    fails("large.csv has features in rows (the first column is headed 'gene')", *predict)
    fails("--memory must be an amount", *predict[:3], "--memory", "much")


@pytest.mark.slow
def test_inspect_reads_the_first_rows(large: pd.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    anndata = pytest.importorskip("anndata")
    monkeypatch.setattr("rankfactor.cli.first_rows.WHOLE_CELLS", 10_000)
    monkeypatch.setattr("rankfactor.data.streams.grids.HEAD_ROWS", 2000)
    status = np.where(np.arange(ROWS) % 4, "ill", "well")
    both = large.assign(status=status)
    both.to_csv("large.csv")
    both.to_csv("large.csv.gz")
    both.to_parquet("large.parquet")
    np.save("large.npy", large)
    obs = pd.DataFrame({"status": status}, large.index)
    var = pd.DataFrame(index=large.columns)
    anndata.AnnData(sparse.csr_matrix(large.to_numpy()), obs=obs, var=var).write_h5ad("large.h5ad")
    for table in ("large.csv", "large.csv.gz", "large.parquet", "large.npy", "large.h5ad"):
        told = answer("inspect", table)
        exact = "csv" not in table
        assert told["n_samples_exact"] is exact
        assert told["n_samples_read"] == 2000
        assert told["n_features"] == 5
        assert abs(told["n_samples"] / ROWS - 1) < (1e-9 if exact else 0.2)
        said = works("inspect", table).stdout.splitlines()
        assert said[0].startswith(f"{table}: {'8,700' if exact else 'about '}")
        assert said[1].startswith("  the following is from the first 2,000 of ")
        if table != "large.npy":
            assert told["label_columns"]["status"]["classes"] == {"ill": 1500, "well": 500}
    pd.DataFrame({"kind": status}, large.index).to_csv("kinds.csv")
    result = works("inspect", "large.parquet", "--labels", "kinds.csv:kind")
    assert "left out" not in result.stderr
    # The whole table, where it is small or features are its rows.
    assert "n_samples_read" not in answer("inspect", "table.csv")
    large.T.to_csv("turned.csv", index_label="gene")
    told = answer("inspect", "turned.csv")
    assert (told["n_samples"], told["n_features"]) == (ROWS, 5)
