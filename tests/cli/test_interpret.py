"""``rankfactor interpret``: tables and a network from a saved model."""

from __future__ import annotations

import io
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
from tests.cli.running import LABELS, answer, fails, fit, works

from rankfactor import RankFactorAnalysis, save_model
from rankfactor.interpret import (
    coefficient_table,
    effect_table,
    factor_correlations,
    factor_table,
    top_features,
)
from rankfactor.interpret.wording import percent
from rankfactor.storage.model_file import load_model

GMT = "rising\tthe first three\ta\tb\tc\nothers\t\td\te\n"


@pytest.fixture
def model() -> str:
    fit("table.csv", *LABELS)
    return "model.rankfactor"


def test_the_files(model: str) -> None:
    told = answer("interpret", model, "--out", "deep/said", "--top", "2")
    folder = Path("deep/said")
    files = sorted(path.name for path in folder.iterdir())
    assert files == sorted(
        [
            "coefficients.csv",
            "edges.csv",
            "effects.csv",
            "factor_correlations.csv",
            "factors.csv",
            "modules.csv",
            "network.graphml",
            "top_features.csv",
        ]
    )
    assert (told["folder"], told["files"]) == ("deep/said", files)
    posterior = load_model(model)
    for name, expected in (
        ("factors", factor_table(posterior)),
        ("top_features", top_features(posterior, 2)),
        ("coefficients", coefficient_table(posterior)),
        ("effects", effect_table(posterior)),
    ):
        found = pd.read_csv(folder / f"{name}.csv")
        same = pd.read_csv(io.StringIO(expected.to_csv(index=False)))
        pd.testing.assert_frame_equal(found, same)
    correlations = pd.read_csv(folder / "factor_correlations.csv", index_col="factor")
    pd.testing.assert_frame_equal(
        correlations, factor_correlations(posterior).rename_axis("factor")
    )
    assert told["r2"] == posterior.r2
    graph = nx.read_graphml(folder / "network.graphml")
    assert len(pd.read_csv(folder / "edges.csv")) == graph.number_of_edges()
    assert set(pd.read_csv(folder / "modules.csv")["feature"]) == set(graph.nodes)
    assert told["network"]["rule"] == graph.graph["network_rule"]
    assert told["network"]["n_edges"] == graph.number_of_edges()
    lines = works("interpret", model).stdout
    assert Path("rankfactor-interpretation/factors.csv").exists()
    assert "Factor 1 (" in lines
    assert f"The factors explain {percent(posterior.r2)} of the variance" in lines
    for _, row in factor_table(posterior).iterrows():
        assert f" of the variance): {row['meaning']}." in lines
    assert "Results: rankfactor-interpretation" in lines


def test_gene_sets(model: str) -> None:
    Path("sets.gmt").write_text(GMT)
    fails("no gene set has 5 to 500 of the 5 names", "interpret", model, "--gmt", "sets.gmt")
    Path("sets.gmt").write_text("all\t\ta\tb\tc\td\te\n")
    told = answer("interpret", model, "--gmt", "sets.gmt")
    found = pd.read_csv("rankfactor-interpretation/enrichment.csv")
    assert told["enrichment"]["background"] == "the 5 features of the table that vary"
    assert set(found["set"]) == {"all"}
    assert (found["p"] == 1).all()
    said = works("interpret", model, "--gmt", "sets.gmt").stdout
    assert "Gene sets: 0 with q < 0.05, against a background of the 5 features" in said


def test_case_of_names(model: str) -> None:
    Path("sets.gmt").write_text("all\t\tA\tB\tC\tD\tE\n")
    fails("set ignore_case (--ignore-case)", "interpret", model, "--gmt", "sets.gmt")
    works("interpret", model, "--gmt", "sets.gmt", "--ignore-case")


def test_a_model_without_labels() -> None:
    table = pd.read_csv("table.csv", index_col=0)
    posterior = RankFactorAnalysis(n_factors=2, tol=1e-2, random_state=0).fit(table).posterior_
    save_model(posterior, "plain.rankfactor")
    told = answer("interpret", "plain.rankfactor", "--out", "said")
    assert "coefficients.csv" not in told["files"]
    assert not Path("said/coefficients.csv").exists()


def test_bad_input(model: str) -> None:
    fails("nothing.rankfactor", "interpret", "nothing.rankfactor")
    fails("nothing.gmt does not exist", "interpret", model, "--gmt", "nothing.gmt", "--out", "x")
    fails("table.csv is a file: give a folder", "interpret", model, "--out", "table.csv")
    Path("bad.gmt").write_text("no tabs here\n")
    fails("bad.gmt, line 1 is not a gene set", "interpret", model, "--gmt", "bad.gmt", "--out", "x")
    assert not Path("x").exists()
