"""Typical user files, from the table to the predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import (
    LABELS,
    QUICK,
    N,
    answer,
    fails,
    fit,
    in_process_of_its_own,
    works,
)

from rankfactor.storage.model_file import load_model


@pytest.fixture
def expected() -> bytes:
    """Predictions by the plain table."""
    fit("table.csv", *LABELS, "--out", "plain.rankfactor")
    works("predict", "plain.rankfactor", "table.csv", "--out", "plain.csv")
    return Path("plain.csv").read_bytes()


def same_answer(table: str, expected: bytes) -> None:
    told = answer("fit", table, *LABELS, *QUICK)
    assert (told["n_samples"], told["n_features"]) == (N, 5)
    works("predict", "model.rankfactor", table)
    assert Path("predictions.csv").read_bytes() == expected


@pytest.mark.slow
def test_exported_from_r_with_row_names(expected: bytes) -> None:
    frame = pd.read_csv("table.csv", index_col=0)
    # write.table: everything quoted, and no heading of the row names.
    lines = [",".join(f'"{name}"' for name in frame.columns)]
    lines += [
        ",".join([f'"{name}"', *map(str, row)])
        for name, row in zip(frame.index, frame.to_numpy().tolist(), strict=True)
    ]
    Path("r.csv").write_text("\n".join(lines) + "\n")
    same_answer("r.csv", expected)
    frame.to_csv("r2.csv", index_label="")  # write.csv: an empty heading
    same_answer("r2.csv", expected)


def test_made_by_excel_with_semicolons_and_decimal_commas(expected: bytes) -> None:
    frame = pd.read_csv("table.csv")
    frame.to_csv("excel.csv", sep=";", decimal=",", index=False, encoding="utf-8-sig")
    same_answer("excel.csv", expected)


def test_samples_in_columns(expected: bytes) -> None:
    pd.read_csv("table.csv", index_col=0).T.to_csv("side.csv", index_label="gene")
    same_answer("side.csv", expected)
    told = answer("fit", "side.csv", *LABELS, *QUICK)
    assert any("features in rows" in text for text in told["notes"])
    # Without a telling heading, the names of the labels' samples tell.
    pd.read_csv("table.csv", index_col=0).T.to_csv("side2.csv", index_label="")
    same_answer("side2.csv", expected)


def test_a_sheet_of_excel_and_an_archive_of_numpy(expected: bytes) -> None:
    pytest.importorskip("openpyxl")
    frame = pd.read_csv("table.csv", index_col=0)
    frame.to_excel("book.xlsx")
    same_answer("book.xlsx", expected)
    np.savez(
        "arrays.npz",
        X=frame.to_numpy(),
        feature_names=np.array(frame.columns.tolist()),
        sample_ids=np.array(frame.index.tolist()),
    )
    same_answer("arrays.npz", expected)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_anndata_with_a_label_in_obs_and_the_factors_written_back(expected: bytes) -> None:
    anndata = pytest.importorskip("anndata")
    frame = pd.read_csv("table.csv", index_col=0)
    labels = pd.read_csv("labels.csv", index_col=0)[["status"]]
    anndata.AnnData(frame.to_numpy(), obs=labels, var=pd.DataFrame(index=frame.columns)).write(
        "cells.h5ad"
    )
    told = answer("fit", "cells.h5ad", "--labels", "status", *QUICK, "--annotated", "with.h5ad")
    assert told["annotated"] == "with.h5ad"
    works("predict", "model.rankfactor", "cells.h5ad")
    assert Path("predictions.csv").read_bytes() == expected
    written, posterior = anndata.read_h5ad("with.h5ad"), load_model("model.rankfactor")
    np.testing.assert_array_equal(written.obsm["X_rankfactor"], posterior.scores.mean)
    np.testing.assert_array_equal(written.varm["rankfactor_loadings"], posterior.structure)
    effects = posterior.feature_effects()["effect"]
    np.testing.assert_array_equal(written.varm["rankfactor_effects"], effects)
    said = written.uns["rankfactor"]
    assert said["model"] == "R-L-BSVM"
    assert list(said["effect_columns"]) == list(effects.columns)
    fails(
        "--annotated is for tables in .h5ad", "fit", "table.csv", *LABELS, "--annotated", "x.h5ad"
    )
    fails("must end in .h5ad", "fit", "cells.h5ad", "--labels", "status", "--annotated", "x.csv")


@pytest.mark.slow
def test_the_whole_way_through_the_real_program() -> None:
    """Semicolons, labels in another file with missing values, and 5 % of the genes absent."""
    rng = np.random.default_rng(1)
    n, d = 40, 60
    y = np.arange(n) % 2
    counts = rng.poisson(np.exp(1.5 + 0.8 * np.outer(2 * y - 1, np.arange(d) < 20)))
    names = [f"patient {i:02d}" for i in range(n)]
    frame = pd.DataFrame(counts, index=names, columns=[f"GENE{i}" for i in range(d)])
    frame.iloc[:30].to_csv("training.csv", sep=";", index_label="name")
    frame.iloc[30:].drop(columns=["GENE3", "GENE30", "GENE59"]).to_csv(
        "new.csv", index_label="name"
    )
    clinic = pd.DataFrame({"id": names, "outcome": np.where(y, "bad", "good")})
    clinic.drop(index=[2, 7]).to_csv("clinic.tsv", sep="\t", index=False)
    run = in_process_of_its_own("fit", "training.csv", "--labels", "clinic.tsv:outcome", *QUICK)
    assert run.returncode == 0, run.stderr
    assert "note: 2 of 30 samples have no label 'outcome'" in run.stderr
    run = in_process_of_its_own("predict", "model.rankfactor", "new.csv", "--threads", "1")
    assert run.returncode == 0, run.stderr
    assert "lacks 3 of the model's 60 features (5.0%)" in run.stderr
    assert "57 of 60 features found" in run.stdout
    found = pd.read_csv("predictions.csv")
    assert found["sample"].tolist() == names[30:]
    assert (found["outcome_predicted"] == np.where(y[30:], "bad", "good")).mean() > 0.8
    assert load_model("model.rankfactor").sample_names.tolist() == names[:30]
