"""Nothing is lost: outputs never replace inputs, foreign files or one another."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import LABELS, call, fails, works

import rankfactor.cli.demo
import rankfactor.report
from rankfactor.cli.outputs import MODEL, PREDICTIONS, REPORT, SCORES, Output, check_outputs
from rankfactor.errors import InputError
from rankfactor.estimators import RankFactorClassifier
from rankfactor.storage.model_file import load_model, save_model

QUICK = ("--n-factors", "1", "--max-iter", "2", "--threads", "1", "--calibration", "none")
INPUT = "which is the input"


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of the columns of the table, saved once."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((12, 5)), columns=list("abcde"))
    labels = pd.Series(["ill", "well"] * 6, name="status")
    settings: dict[str, Any] = {"n_factors": 1, "tol": 1e-1, "calibration": "none"}
    fitted = RankFactorClassifier(random_state=0, n_threads=1, **settings).fit(table, labels)
    return save_model(fitted.posterior_, tmp_path_factory.mktemp("model") / "m.rankfactor")


@pytest.fixture
def model(saved: Path) -> str:
    shutil.copy(saved, "m.rankfactor")
    return "m.rankfactor"


def copies() -> None:
    """The table under other names."""
    os.symlink("table.csv", "link.csv")
    os.link("table.csv", "hard.csv")
    Path("deep").mkdir()


@pytest.mark.parametrize(
    "out", ["table.csv", "./table.csv", "deep/../table.csv", "link.csv", "hard.csv"]
)
def test_a_table_is_never_replaced(out: str) -> None:
    copies()
    fails(INPUT, "fit", "table.csv", *LABELS, "--out", out)
    fails(INPUT, "fit", "table.csv", *LABELS, "--out", out, "--force")
    fails(INPUT, "fit", "table.csv", *LABELS, "--report", out)


@pytest.mark.parametrize("option", ["--labels", "--groups", "--covariates"])
def test_neither_are_the_files_of_columns(option: str) -> None:
    Path("more.csv").write_bytes(Path("labels.csv").read_bytes())
    given = (option, "more.csv:sex") if option != "--labels" else ("--labels", "more.csv:status")
    fails(INPUT, "fit", "table.csv", *LABELS, *given, "--out", "more.csv", "--force")
    os.rename("more.csv", "summary.csv")
    given = (given[0], given[1].replace("more", "summary"))
    fails(INPUT, "cv", "table.csv", *LABELS, *given, "--out", ".", "--force")


def test_cross_validation_into_the_folder_of_its_table() -> None:
    shutil.copy("table.csv", "predictions.csv")
    fails(INPUT, "cv", "predictions.csv", *LABELS, "--out", ".", "--force")
    fails("is a file", "cv", "table.csv", *LABELS, "--out", "table.csv")
    fails("is not a table of `rankfactor cv`", "cv", "table.csv", *LABELS, "--out", ".")


def test_predictions(model: str) -> None:
    fails(INPUT, "predict", model, "table.csv", "--out", "table.csv", "--force")
    fails(INPUT, "predict", model, "table.csv", "--out", model, "--force")
    fails(INPUT, "predict", model, "table.csv", "--scores", "./table.csv", "--force")
    fails("would both write", "predict", model, "table.csv", "--out", "x", "--scores", "./x")
    fails("--out would replace labels.csv", "predict", model, "table.csv", "--out", "labels.csv")
    for _ in range(2):  # its own are replaced
        works("predict", model, "table.csv", "--scores", "scores.csv", "--threads", "1")
    fails("which is not", "predict", model, "table.csv", "--out", "scores.csv")
    more = pd.read_csv("predictions.csv").assign(note="mine")
    more.to_csv("predictions.csv", index=False)
    fails("add --force", "predict", model, "table.csv")
    works("predict", model, "table.csv", "--threads", "1", "--force")
    assert "note" not in pd.read_csv("predictions.csv")


@pytest.mark.slow
def test_reports(model: str) -> None:
    fails(INPUT, "report", model, "--out", model, "--force")
    Path("sets.gmt").write_text("one\t\ta\tb\n")
    fails(INPUT, "report", model, "--gmt", "sets.gmt", "--out", "sets.gmt", "--force")
    Path("folder").mkdir()
    shutil.copy("table.csv", "folder/summary.csv")
    given = ("--cv", "folder", "--out", "folder/summary.csv", "--force")
    fails(INPUT, "report", model, *given)
    shutil.copy(model, "other.rankfactor")
    fails("is not a report of rankfactor", "report", model, "--out", "other.rankfactor")
    Path("page.html").write_text("<html>my page</html>")
    fails("is not a report of rankfactor", "report", model, "--out", "page.html")
    for _ in range(2):
        works("report", model, "--out", "r.html")
    works("report", model, "--out", "page.html", "--force")


def test_interpretations(model: str) -> None:
    Path("said").mkdir()
    Path("said/modules.csv").write_text("one\t\ta\tb\n")
    fails(INPUT, "interpret", model, "--gmt", "said/modules.csv", "--out", "said", "--force")
    fails("said/modules.csv, which is not a table of modules", "interpret", model, "--out", "said")
    works("interpret", model, "--out", "said", "--force")
    works("interpret", model, "--out", "said")
    shutil.copy(model, "said/network.graphml")
    fails(INPUT, "interpret", "said/network.graphml", "--out", "said", "--force")


def test_one_path_for_two_outputs() -> None:
    both = "would both write"
    fails(both, "fit", "table.csv", *LABELS, "--out", "q.html", "--report", "./q.html")
    fails(both, "fit", "table.csv", *LABELS, "--out", "q.html", "--report", "Q.html", "--force")
    gibbs = ("--engine", "gibbs", "--checkpoint", "q")
    fails(both, "fit", "table.csv", *LABELS, *gibbs, "--out", "q")
    given = ("--json", "out/usps.json", "--out", "out")
    Path("out").mkdir()
    fails(both, "reproduce", "usps", *given)
    fails(both, "reproduce", "usps", "--json", "new", "--out", "new")


def test_a_fit_replaces_models_and_nothing_else(model: str) -> None:
    Path("notes.txt").write_text("all I know")
    fails("is not a model file", "fit", "table.csv", *LABELS, "--out", "notes.txt")
    os.rename("notes.txt", "notes.rankfactor")  # by content, not by name
    fails("is not a model file", "fit", "table.csv", *LABELS, "--out", "notes.rankfactor")
    given = ("--out", model, "--report", "notes.rankfactor")
    fails("is not a report", "fit", "table.csv", *LABELS, *given)
    Path("reserved").touch()
    works("fit", "table.csv", *LABELS, *QUICK, "--out", "reserved")
    before = Path(model).read_bytes()
    os.symlink(model, "link")
    works("fit", "table.csv", *LABELS, *QUICK, "--out", "link")
    assert Path("link").is_symlink()
    assert Path(model).read_bytes() != before
    works("fit", "table.csv", *LABELS, *QUICK, "--out", "notes.rankfactor", "--force")
    load_model("notes.rankfactor")


def test_an_annotated_copy_is_replaced_by_force_only() -> None:
    fits = ("fit", "t.h5ad", "--labels", "status", "--annotated")
    for name in ("t.h5ad", "worked_on.h5ad"):
        Path(name).write_bytes(b"hours of work")
    fails(INPUT, *fits, "t.h5ad", "--force")
    fails("worked_on.h5ad, which exists", *fits, "worked_on.h5ad")


def test_data_sets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fails("which exists", "datasets", "fetch", "alzheimer", "--out", "table.csv")
    monkeypatch.setattr("rankfactor.data.collection.fetch", lambda name: [tmp_path / "table.csv"])
    fails(INPUT, "datasets", "fetch", "alzheimer", "--out", "table.csv", "--force")


def test_the_demonstration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankfactor.cli.demo, "run_demo", None)  # refused before
    Path("report.html").write_text("mine")
    fails("is not a report", "demo", "--out", ".")
    Path("report.html").unlink()
    fails("is a file", "demo", "--out", "table.csv")


def test_reproductions() -> None:
    Path("results").mkdir()
    Path("results/suite.md").write_text("my notes")
    fails("results/suite.md", "reproduce", "suite", "--out", "results")
    Path("results/suite.json").write_text('{"experiment": "suite", "fits": []}')
    fails("table.csv, which is not a result", "reproduce", "suite", "--json", "table.csv")
    Path("results/tb-network.png").write_bytes(b"\x89PNG mine")
    given = ("--no-table", "--figures", "results")
    fails("is not a figure of rankfactor", "reproduce", "tb", *given)
    Path("results/tb-network.png").unlink()
    Path("results/tb.csv").write_text("a series")
    given = ("--series", "results/tb.csv", "--out", "results", "--force")
    fails(INPUT, "reproduce", "tb", *given)
    Path("sets").mkdir()
    Path("sets/one.npz").write_bytes(b"data")
    fails(INPUT, "reproduce", "suite", "--folder", "sets", "--json", "sets/one.npz", "--force")


def test_what_is_recognised(model: str, tmp_path: Path) -> None:
    def refused(path: str, kind: Any) -> bool:
        try:
            check_outputs([], [Output("--out", Path(path), kind)])
        except InputError:
            return True
        return False

    Path("cut.rankfactor").write_bytes(Path(model).read_bytes()[:-100])
    Path("old.html").write_text('<meta name="generator" content="rankfactor 0.0.1">')
    Path("p.csv").write_text("sample,my status_predicted,my status_probability_x\n")
    Path("s.csv").write_text("sample,factor1,factor2\n")
    assert not refused(model, MODEL)
    assert refused("cut.rankfactor", MODEL)
    assert not refused("old.html", REPORT)
    assert not refused("p.csv", PREDICTIONS)
    assert not refused("s.csv", SCORES)
    assert refused("table.csv", SCORES)
    assert refused("table.csv", PREDICTIONS)
    assert refused(model, SCORES)
    assert refused("/dev/null", MODEL)
    os.symlink("loop", "loop")
    assert refused("loop", MODEL)
    os.symlink("nowhere/target", "broken")
    assert refused("broken", MODEL)
    os.symlink("later", "pending")
    assert not refused("pending", MODEL)


def failing(error: BaseException) -> Callable[..., Path]:
    def write(path: Path, *arguments: Any, **settings: Any) -> Path:
        raise error

    return write


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (OSError(28, "No space left on device"), 2, "error: the model was saved to model.rankfactor"
         ", but its report r.html was not written: [Errno 28] No space left on device"),
        (InputError("no ink."), 2, "its report r.html was not written: no ink."),
        (KeyboardInterrupt(), 130, "interrupted: the model was saved to model.rankfactor, but its "
         "report r.html was not written."),
        (ZeroDivisionError(), 1, "the model was saved to model.rankfactor, but its report r.html "
         "was not written."),
    ],
)  # fmt: skip
def test_a_report_that_fails_leaves_the_model(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str
) -> None:
    monkeypatch.setattr(rankfactor.report, "write_report", failing(error))
    result = call("fit", "table.csv", *LABELS, *QUICK, "--report", "r.html")
    assert result.exit_code == code
    # A fault of ours keeps its traceback, which ends in the note.
    assert said in result.stderr + "".join(getattr(result.exception, "__notes__", ()))
    assert "nothing was written" not in result.stderr
    assert load_model("model.rankfactor").n_factors == 1
    assert not Path("r.html").exists()


def test_every_writing_command_has_force() -> None:
    from typer.main import get_command

    from rankfactor.cli import app

    waiting: list[Any] = [get_command(app)]
    while waiting:
        one = waiting.pop()
        waiting += list(getattr(one, "commands", {}).values())
        names = {parameter.name for parameter in one.params}
        if not hasattr(one, "commands"):
            assert ("force" in names) == bool({"out", "figures"} & names), one.name
