"""``rankfactor reproduce``: output on the screen and in files, and errors."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import call, fails, works
from tests.experiments.sets import archives, series, signal, split

from rankfactor.experiments import crossvalidated, recovery, stress, suite, usps
from rankfactor.experiments.pictures import DIGIT_MODELS
from rankfactor.experiments.simulated import Size

QUICK = ("--n-factors", "2", "--threads", "1", "--settings", "paper")


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(archives(tmp_path / "sets").relative_to(tmp_path))


def test_a_table_is_printed_and_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usps, "load", lambda name: split())
    result = works(
        *("reproduce", "usps", "--models", "gaussian,L-SVM", "--repeats", "2", *QUICK),
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_files_hold_what_is_finished_if_the_program_dies(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, seen = crossvalidated.cross_validate, []

    def dies(*arguments: Any, **settings: Any) -> Any:
        seen.append(1)
        if len(seen) == 3:
            raise MemoryError
        return real(*arguments, **settings)

    monkeypatch.setattr(crossvalidated, "cross_validate", dies)
    arguments = ("reproduce", "suite", "--folder", folder, "--models", "NS-PCA-SVM,L-SVM")
    result = call(
        *(*arguments, "--folds", "2", "--repeats", "1", *QUICK),
        *("--json", "all.json", "--out", "results"),
    )
    assert isinstance(result.exception, MemoryError)
    told = json.loads(Path("all.json").read_text("utf-8"))
    assert not told["complete"]
    assert {row["data"] for row in told["rows"]} == {"counts", "grouped"}
    assert told["notes"][-1] == "Not finished: plain."
    assert set(pd.read_csv("results/suite.csv")["data"]) == {"counts", "grouped"}
    assert not list(Path().rglob(".*"))  # nothing half written


@pytest.mark.slow
def test_a_run_that_died_is_gone_on_with(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = crossvalidated.cross_validate, []

    def counts(*arguments: Any, **settings: Any) -> Any:
        seen.append(1)
        if len(seen) == 2:
            raise MemoryError
        return real(*arguments, **settings)

    arguments = ("reproduce", "suite", "--folder", folder, "--models", "NS-PCA-SVM,L-SVM")
    more = ("--folds", "2", "--repeats", "1", *QUICK)
    works(*arguments, *more, "--out", "whole", "--resume")  # nothing to go on with
    monkeypatch.setattr(crossvalidated, "cross_validate", counts)
    call(*arguments, *more, "--out", "parts")
    works(*arguments, *more, "--out", "parts", "--resume")
    assert len(seen) == 4  # one set, one that died, then that one and the last
    whole, parts = (
        json.loads(Path(f"{name}/suite.json").read_text("utf-8")) for name in ("whole", "parts")
    )
    for table in ("rows", "fits", "summary"):
        for one in (*whole[table], *parts[table]):
            one.pop("seconds")
    assert whole == parts
    assert parts["complete"]
    works(*arguments, *more, "--out", "parts", "--resume")
    assert len(seen) == 4
    again = ("--out", "parts", "--resume")
    fails("had folds 2, not 3", *arguments, "--folds", "3", *QUICK, *again)
    fails("had max_samples 1000, not 10", *arguments, *more, "--max-samples", "10", *again)
    fails("give --out", *arguments, "--resume")
    Path("parts/suite.json").write_text("{}")
    fails("cannot be read as a result", *arguments, *more, *again)


@pytest.mark.slow
def test_figures_of_digits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(usps, "load", lambda name: split())
    monkeypatch.setattr(usps, "IMAGE", (2, 4))
    both = works(
        *("reproduce", "usps", "--models", "L-SVM", "--repeats", "1", *QUICK),
        *("--figures", "drawn"),
    )
    assert "USPS 3 vs. 5: test error" in both.stdout
    names = {f"usps-loadings{end}" for end in ("", *(f"-{model}" for model in DIGIT_MODELS))}
    assert {path.stem for path in Path("drawn").iterdir()} == names
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in Path("drawn").iterdir())
    alone = works("reproduce", "usps", "--no-table", "--figures", "again", *QUICK)
    assert "test error" not in alone.stdout
    assert f"Written: {Path('again') / 'usps-loadings.png'}" in alone.stdout
    told = works(
        *("reproduce", "usps", "--models", "L-SVM", "--repeats", "1", *QUICK),
        *("--figures", "third", "--json", "-"),
    )
    assert json.loads(told.stdout)["complete"]
    assert len(list(Path("third").iterdir())) == 5


def test_figures_and_tables_of_joint_tasks() -> None:
    kinds = ["active tuberculosis", "latent TB infection", "other disease"]
    described = {
        "disease": [kinds[i % 3] for i in range(48)],
        "hiv status": ["HIV positive" if i % 2 else "HIV negative" for i in range(48)],
    }
    series(Path("GSE_series_matrix.txt"), described, np.exp(signal(48)[0] + 6))
    Path("sets.gmt").write_text("odd\t\t" + "\t".join(f"gene{i}" for i in (1, 3, 5, 7, 0)), "utf-8")
    arguments = ("reproduce", "tb", "--series", "GSE_series_matrix.txt", "--no-table", *QUICK)
    result = works(*arguments, "--figures", "drawn", "--gmt", "sets.gmt")
    ends = ("coefficients.png", "coefficients.csv", "network.png", "network.csv", "network.graphml")
    expected = {*ends, "top-200.csv", "enrichment.csv"}
    found = {path.name for path in Path("drawn").iterdir()}
    assert found == {f"GSE_series_matrix-{end}" for end in expected}
    table = pd.read_csv("drawn/GSE_series_matrix-coefficients.csv")
    assert table["task"].nunique() == 4
    assert "network as drawn" in result.stderr


@pytest.mark.slow
def test_the_stress_suite(folder: str) -> None:
    arguments = ("reproduce", "stress", "--folder", folder, "--sets", "plain,counts")
    more = ("--models", "NS-PCA-SVM,L-SVM", "--folds", "2", *QUICK)
    result = works(*arguments, *more, "--out", "results", "--figures", "results")
    assert "Stress suite: AUC by cross-validation, mean over 2 sets" in result.stdout
    assert "Difference from NS-PCA-SVM" in result.stdout
    names = {f"stress{end}" for end in (".csv", "-fits.csv", ".md", ".json", ".png")}
    assert {path.name for path in Path("results").iterdir()} == names
    assert Path("results/stress.png").read_bytes().startswith(b"\x89PNG")
    rows = pd.read_csv("results/stress.csv")
    assert rows["form"].unique().tolist() == list(stress.FORMS)
    assert len(rows) == 2 * 6 * 2
    again = works(*arguments, *more, "--out", "results", "--figures", "results", "--resume")
    assert "Stress suite" in again.stdout
    assert pd.read_csv("results/stress.csv").equals(rows)  # seconds included: nothing was run
    alone = ("--models", "L-SVM", "--folds", "3", *QUICK, "--out", "results", "--resume")
    fails("had folds 2, not 3", *arguments, *alone)


def test_recovery_of_known_factors(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = {"base": Size(40, 10, 2), "n30": Size(30, 10, 2)}
    monkeypatch.setattr(recovery, "CASES", cases)
    monkeypatch.setattr("rankfactor.experiments.factor_methods.find_spec", lambda name: None)
    arguments = ("reproduce", "recovery", "--models", "gaussian,fa-varimax,mofa-ard")
    result = works(
        *(*arguments, "--seen-as", "values,raw", "--repeats", "2"),
        *("--out", "results", "--figures", "results", "--json", "all.json"),
    )
    assert "Recovery of known factors" in result.stdout
    assert "mofapy2 is not installed (pip install mofapy2): mofapy2, ARD." in result.stdout
    names = {f"recovery{end}" for end in (".csv", "-fits.csv", ".md", ".json", ".png")}
    assert {path.name for path in Path("results").iterdir()} == names
    assert Path("results/recovery.png").read_bytes().startswith(b"\x89PNG")
    rows = pd.read_csv("results/recovery.csv")
    assert rows["model"].unique().tolist() == ["rankfactor, Gaussian", "scikit-learn FA, varimax"]
    assert rows["case"].tolist() == ["base"] * 4 + ["n30"] * 4
    assert f"{rows['cosine'][0]:.3f}" in result.stdout
    assert len(pd.read_csv("results/recovery-fits.csv")) == 16
    told = json.loads(Path("all.json").read_text("utf-8"))
    assert told["settings"] == {"repeats": 2, "seed": 0}
    assert told["rows"][1]["factors"] is None
    again = works(*arguments, "--cases", "n30", "--seen-as", "raw", "--repeats", "1", "--json", "-")
    assert {(row["case"], row["form"]) for row in json.loads(again.stdout)["rows"]} == {
        ("n30", "raw")
    }
    fails("--models must be among ranks", "reproduce", "recovery", "--models", "R-L-BSVM")
    fails("must be among base, n30", "reproduce", "recovery", "--cases", "n10")
    fails("must be among values", "reproduce", "recovery", "--seen-as", "holes", "--out", "new")
    assert not Path("new").exists()
    Path("results/recovery.png").write_bytes(b"\x89PNG mine")
    fails("is not a figure of rankfactor", "reproduce", "recovery", "--figures", "results")


def test_an_interruption_of_figures_keeps_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(usps, "load", lambda name: split())
    monkeypatch.setattr(usps, "pictures", stopped)
    arguments = ("reproduce", "usps", "--models", "L-SVM", "--repeats", "1", *QUICK)
    result = call(*arguments, "--figures", "drawn", "--json", "all.json")
    assert result.exit_code == 130
    assert "the table is complete, but no figure was written" in result.stderr
    assert json.loads(Path("all.json").read_text("utf-8"))["complete"]
    result = call("reproduce", "usps", "--no-table", "--figures", "drawn", *QUICK)
    assert result.exit_code == 130
    assert "interrupted: nothing was written." in result.stderr


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
    fails("models must be one of", "reproduce", "usps", "--models", "SVM")
    fails("usps_3v5.npz is not bundled", "reproduce", "usps")
    fails("mnist_3v5.npz is not bundled", "reproduce", "mnist", "--out", "new")
    assert not Path("new").exists()
    fails("tb_gse19491.npz is not bundled", "reproduce", "tb")
    fails("tb_suscept_counts.npz is not bundled", "reproduce", "rnaseq")
    fails("nope", "reproduce", "tb", "--series", "nope.txt")
    fails("give --series as well", "reproduce", "rnaseq", "--groups", "patient")
    fails("is not a folder", "reproduce", "suite", "--folder", "nope")
    fails("has no nope.npz", "reproduce", "suite", "--folder", folder, "--sets", "nope")
    fails("does not exist", "reproduce", "suite", "--folder", folder, "--json", "no/a.json")
    fails("give --figures as well", "reproduce", "usps", "--no-table")
    fails("write the table", "reproduce", "usps", "--no-table", "--figures", "f", "--json", "-")
    fails("give --figures as well", "reproduce", "tb", "--gmt", "sets.gmt")
    fails("nope.gmt", "reproduce", "rnaseq", "--gmt", "nope.gmt", "--figures", "f")
    fails("cannot be made", "reproduce", "suite", "--folder", folder, "--out", "table.csv/x")
