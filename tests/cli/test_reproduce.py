"""``rankfactor reproduce``: what is printed and written, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from tests.cli.running import call, fails, works
from tests.experiments.sets import archives, split

from rankfactor.experiments import suite, usps

QUICK = ("--n-factors", "2", "--threads", "1", "--settings", "paper")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(archives(tmp_path / "sets").relative_to(tmp_path))


def test_a_table_is_printed_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usps, "load", lambda name: split())
    result = works(
        *("reproduce", "usps", "--models", "G-L-BSVM,L-SVM", "--repeats", "2", *QUICK),
        *("--json", "all.json", "--out", "results"),
    )
    assert "USPS 3 vs. 5: test error (paper: Table 2)" in result.stdout
    assert "5.86" in result.stdout  # the paper's
    assert "\x1b" not in result.output
    rows = pd.read_csv("results/usps.csv")
    assert rows["model"].tolist() == ["G-L-BSVM", "L-SVM"]
    assert f"{rows['error'][0]:.2f}" in result.stdout
    assert len(pd.read_csv("results/usps-fits.csv")) == 4
    assert Path("results/usps.md").read_text("utf-8").startswith("## USPS")
    told = json.loads(Path("all.json").read_text("utf-8"))
    assert told == json.loads(Path("results/usps.json").read_text("utf-8"))
    assert told["settings"] == {"settings": "paper", "repeats": 2, "n_factors": 2, "seed": 0}
    assert told["rows"][1]["paper_error"] is None
    assert [row["model"] for row in told["fits"]] == ["G-L-BSVM"] * 2 + ["L-SVM"] * 2


def test_the_suite_and_json_on_stdout(folder: str) -> None:
    arguments = ("reproduce", "suite", "--folder", folder, "--models", "NS-PCA-SVM,L-SVM,G-L-BSVM")
    more = ("--folds", "2", "--repeats", "1", *QUICK)
    result = works(*arguments, *more)
    assert "Mean ranks over data sets" in result.stdout
    assert "Friedman" in result.stdout
    told = json.loads(works(*arguments, *more, "--json", "-").stdout)
    assert told["experiment"] == "suite"
    assert len(told["summary"]) == 3
    assert len(told["rows"]) == 9
    assert not list(Path().glob("*.json"))


def test_an_interruption_is_told_by_the_exit_code(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(suite, "run_folds", stopped)
    result = call("reproduce", "suite", "--folder", folder, "--out", "results")
    assert result.exit_code == 130
    assert "interrupted: nothing was written." in result.stderr
    assert not Path("results").exists()


def test_bad_input(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RANKFACTOR_DATA", raising=False)
    monkeypatch.delenv("RANKFACTOR_DATA_URL", raising=False)
    fails("models must be among", "reproduce", "usps", "--models", "SVM")
    fails("usps_3v5.npz is not bundled", "reproduce", "usps")
    fails("mnist_3v5.npz is not bundled", "reproduce", "mnist", "--out", "new")
    assert not Path("new").exists()
    fails("tb_gse19491.npz is not bundled", "reproduce", "tb")
    fails("tb_suscept_counts.npz is not bundled", "reproduce", "rnaseq")
    fails("nope", "reproduce", "tb", "--series", "nope.txt")
    fails("give --series as well", "reproduce", "rnaseq", "--groups", "patient")
    fails("is no folder", "reproduce", "suite", "--folder", "nope")
    fails("has no nope.npz", "reproduce", "suite", "--folder", folder, "--sets", "nope")
    fails("does not exist", "reproduce", "suite", "--folder", folder, "--json", "no/a.json")
    fails("cannot be made", "reproduce", "suite", "--folder", folder, "--out", "table.csv/x")
