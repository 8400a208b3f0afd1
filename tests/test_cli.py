"""The command line: what it prints where, its exit codes; failures leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import rankfactor.demo
from rankfactor import __version__
from rankfactor.cli import app
from rankfactor.estimators import RankFactorAnalysis
from rankfactor.modelfile import load_model, save_model

SOURCE = Path(__file__).parents[1] / "src"
N = 24


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and labels, which is also the working folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "PY_COLORS", "GITHUB_ACTIONS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    rng = np.random.default_rng(0)
    names = pd.Index([f"s{i}" for i in range(N)], name="sample")
    y = np.arange(N) % 2
    values = rng.standard_normal((N, 5)) + np.outer(2 * y - 1, [1, 1, 1, 0, 0])
    table = pd.DataFrame(values.round(3), index=names, columns=list("abcde"))
    labels = pd.DataFrame(
        {"status": np.where(y, "ill", "well"), "kind": np.array(["x", "y", "z"])[np.arange(N) % 3]},
        index=names,
    )
    table.to_csv("table.csv")
    labels.to_csv("labels.csv")
    table.assign(status=labels["status"]).to_csv("both.csv")
    return tmp_path


def call(*arguments: str) -> Any:
    return CliRunner().invoke(app, list(arguments))


def in_process_of_its_own(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rankfactor.cli", *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def fit(*arguments: str) -> Any:
    result = call("fit", *arguments, "--factors", "2", "--threads", "1")
    assert result.exit_code == 0, result.output
    return result


def fails(sentence: str, *arguments: str) -> None:
    """Exit code 2, one line on stderr, and no file written or changed."""
    before = {path: path.read_bytes() for path in Path().iterdir()}
    result = call(*arguments)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("error: ")
    assert sentence in lines[0]
    assert {path: path.read_bytes() for path in Path().iterdir()} == before


def test_version() -> None:
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"rankfactor {__version__}\n")


@pytest.mark.parametrize("command", [[], ["demo"], ["fit"], ["predict"]])
def test_help_shows_an_example(command: list[str]) -> None:
    result = call(*command, "--help")
    assert result.exit_code == 0
    assert "Example: rankfactor" in result.stdout
    assert "\x1b" not in result.stdout


def test_every_option_is_described() -> None:
    group: Any = get_command(app)
    for command in (group, *group.commands.values()):
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from rankfactor.cli import app; "
        "assert CliRunner().invoke(app, ['--help']).exit_code == 0; "
        "print([name for name in ('numpy', 'pandas', 'numba', 'sklearn') if name in sys.modules])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert run.stdout == "[]\n"


def test_fit_then_predict() -> None:
    result = fit("table.csv", "--labels", "labels.csv:status", "--labels", "labels.csv:kind")
    assert result.stdout.splitlines()[-1] == "Model: model.rankfactor"
    assert result.stdout.startswith("R-L-BSVM: 24 samples, 5 features, ")
    result = call("predict", "model.rankfactor", "table.csv", "--out", "new.csv", "--threads", "1")
    assert result.exit_code == 0, result.output
    assert result.stdout == "24 samples predicted.\nPredictions: new.csv\n"
    found = pd.read_csv("new.csv")
    assert found.columns.tolist() == [
        "sample",
        "status_predicted",
        "status_probability_ill",
        "status_probability_well",
        "status_decision",
        "kind_predicted",
        "kind_probability_x",
        "kind_probability_y",
        "kind_probability_z",
        "kind_decision_x",
        "kind_decision_y",
        "kind_decision_z",
    ]
    assert found["sample"].tolist() == [f"s{i}" for i in range(N)]
    truth = pd.read_csv("labels.csv")["status"]
    assert (found["status_predicted"] == truth).mean() > 0.8
    well = found["status_decision"] > 0
    assert (found["status_predicted"] == np.where(well, "well", "ill")).all()
    assert (well == (found["status_probability_well"] > 0.5)).all()
    np.testing.assert_allclose(found.filter(like="kind_probability").sum(axis=1), 1.0)
    best = found.filter(like="kind_decision").to_numpy().argmax(axis=1)
    assert (found["kind_predicted"] == np.array(["x", "y", "z"])[best]).all()


@pytest.mark.parametrize("labels", ["status", "both.csv:status"])
def test_labels_within_the_table(labels: str) -> None:
    fit("both.csv", "--labels", labels, "--model", "G-L-BSVM", "--out", "within.rankfactor")
    posterior = load_model("within.rankfactor")
    assert posterior.feature_names.tolist() == list("abcde")
    assert posterior.classifiers is not None
    assert [task.name for task in posterior.classifiers.tasks] == ["status"]
    # The label column of a table with labels does no harm.
    result = call("predict", "within.rankfactor", "both.csv", "--threads", "1")
    assert result.exit_code == 0, result.output
    assert len(pd.read_csv("predictions.csv")) == N


def test_the_seed_and_not_the_threads_decide() -> None:
    for out, threads in (("one.rankfactor", "1"), ("two.rankfactor", "2")):
        result = call(
            *("fit", "table.csv", "--labels", "labels.csv:status", "--factors", "2"),
            *("--out", out, "--threads", threads),
        )
        assert result.exit_code == 0
    assert Path("one.rankfactor").read_bytes() == Path("two.rankfactor").read_bytes()


def test_fit_with_a_report() -> None:
    result = fit("table.csv", "--labels", "labels.csv:status", "--report", "page.html")
    assert result.stdout.splitlines()[-2:] == ["Model: model.rankfactor", "Report: page.html"]
    assert "table.csv" in Path("page.html").read_text(encoding="utf-8")


def test_a_feature_of_the_label_s_name_is_told() -> None:
    frame = pd.read_csv("table.csv").rename(columns={"e": "status"})
    frame.to_csv("table.csv", index=False)
    result = fit("table.csv", "--labels", "labels.csv:status")
    lines = [line for line in result.stderr.splitlines() if line.startswith("warning: ")]
    assert any("table.csv has a feature called 'status', as the label is" in line for line in lines)
    assert "UserWarning" not in result.stderr


def test_missing_features() -> None:
    fit("table.csv", "--labels", "labels.csv:status")
    pd.read_csv("table.csv").drop(columns="c").to_csv("less.csv", index=False)
    fails("lacks 1 of the model's 5 features: 'c'", "predict", "model.rankfactor", "less.csv")
    result = call("predict", "model.rankfactor", "less.csv", "--missing-features", "missing")
    assert result.exit_code == 0, result.output
    assert pd.read_csv("predictions.csv").notna().all(axis=None)


LABELS = ("--labels", "labels.csv:status")


def test_bad_files() -> None:
    fails("nothing.csv does not exist", "fit", "nothing.csv", *LABELS)
    fails("none.csv does not exist", "fit", "table.csv", "--labels", "none.csv:status")
    Path("words.csv").write_text("sample,a\ns0,1\ns1,high\n")
    fails("words.csv, row 3, column 'a': 'high' is not a number", "fit", "words.csv", *LABELS)
    fails("there is no model file", "predict", "no.rankfactor", "table.csv")
    fails("table.csv is no rankfactor model", "predict", "table.csv", "table.csv")


def test_bad_labels() -> None:
    fails("table.csv has no column 'nope'", "fit", "table.csv", "--labels", "nope")
    fails("labels.csv has no column 'nope'", "fit", "table.csv", "--labels", "labels.csv:nope")
    fails("names no column", "fit", "table.csv", "--labels", "labels.csv:")
    fails("given more than once", "fit", "table.csv", *LABELS, *LABELS)
    frame = pd.read_csv("labels.csv")
    frame.loc[0, "sample"] = "stranger"
    frame.to_csv("strange.csv", index=False)
    fails("does not have: 'stranger'", "fit", "table.csv", "--labels", "strange.csv:status")
    pd.read_csv("labels.csv").assign(status="ill").to_csv("one.csv", index=False)
    fails("only the class 'ill'", "fit", "table.csv", "--labels", "one.csv:status")
    pd.read_csv("both.csv").assign(status="ill").to_csv("both.csv", index=False)
    fails("only the class 'ill'", "fit", "both.csv", "--labels", "status")


def test_bad_settings() -> None:
    fails("n_factors=50 needs", "fit", "table.csv", *LABELS, "--factors", "50")
    fails("model must be one of", "fit", "table.csv", *LABELS, "--model", "X-L-BSVM")
    fails("the folder no does not exist", "fit", "table.csv", *LABELS, "--out", "no/model")
    Path("folder").mkdir()
    result = call("fit", "table.csv", *LABELS, "--report", "folder")
    assert result.exit_code == 2
    assert "folder is a folder" in result.stderr


def test_a_model_without_labels() -> None:
    table = pd.read_csv("table.csv", index_col=0)
    analysis = RankFactorAnalysis(n_factors=2, tol=1e-2, random_state=0, n_threads=1).fit(table)
    save_model(analysis.posterior_, "free.rankfactor")
    fails("was fitted without labels", "predict", "free.rankfactor", "table.csv")


@pytest.mark.parametrize(
    "arguments",
    [
        ["fit", "table.csv"],
        ["fit", "table.csv", *LABELS, "--factors", "0"],
        ["fit", "table.csv", *LABELS, "--nonsense"],
        ["demo", "--folds", "1"],
        ["predict", "model.rankfactor", "table.csv", "--missing-features", "maybe"],
        ["nonsense"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def demo_stand_in(monkeypatch: pytest.MonkeyPatch, action: Any) -> None:
    monkeypatch.setattr(rankfactor.demo, "run_demo", action)


def test_demo_prints_a_table_and_ends_with_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = pd.DataFrame(
        {
            "task": ["Impairment"],
            "model": ["R-L-BSVM"],
            "auc": [0.9123],
            "auc_sd": [0.0456],
            "accuracy": [0.8],
            "accuracy_sd": [0.1],
            "seconds": [1.25],
        }
    )
    given: dict[str, Any] = {}
    deep = Path("  a very long  path" * 8) / "report.html"

    def run(out: Path, **arguments: Any) -> Any:
        given.update(arguments, out=out)
        for done in (1, 2, 3):
            arguments["progress"]("Cross-validation of R-L-BSVM", done, 3)
        arguments["progress"]("Report", 1, 1)
        for _ in range(2):
            warnings.warn("mind\nthe gap", UserWarning, stacklevel=1)
        return SimpleNamespace(
            evaluation=SimpleNamespace(summary=lambda: summary),
            model=Path("model.rankfactor"),
            folds=Path("folds.csv"),
            report=deep,
        )

    demo_stand_in(monkeypatch, run)
    result = call("demo", "--out", "here", "--folds", "3", "--factors", "4", "--seed", "9")
    assert result.exit_code == 0
    assert {key: given[key] for key in ("out", "n_folds", "n_factors", "random_state")} == {
        "out": Path("here"),
        "n_folds": 3,
        "n_factors": 4,
        "random_state": 9,
    }
    assert given["n_threads"] is None
    assert result.stdout.splitlines()[-1] == f"Report: {deep}"
    assert "0.912 (0.046)" in result.stdout
    assert "0.800 (0.100)" in result.stdout
    assert result.stderr.splitlines() == [
        "Cross-validation of R-L-BSVM: done (3)",
        "Report: done",
        "warning: mind the gap",
    ]
    assert "\x1b" not in result.output


def test_ctrl_c(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(out: Path, **arguments: Any) -> Any:
        raise KeyboardInterrupt

    demo_stand_in(monkeypatch, interrupt)
    result = call("demo")
    assert result.exit_code == 130
    assert result.stderr == "interrupted: nothing was written.\n"


def test_ctrl_c_during_a_fit_keeps_the_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    import rankfactor.inference.vb as vb

    record = vb.record

    def interrupt_at_the_third(fit: vb.Fit, elbo: float) -> None:
        record(fit, elbo)
        if len(fit.history.elbo) == 3:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(vb, "record", interrupt_at_the_third)
    result = call("fit", "table.csv", "--labels", "labels.csv:status", "--factors", "2")
    assert result.exit_code == 130
    assert "warning: interrupted after 2 iterations; the fit so far is kept." in result.stderr
    assert len(load_model("model.rankfactor").elbo) == 3


def test_the_unexpected_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(out: Path, **arguments: Any) -> Any:
        raise ZeroDivisionError("a fault of ours")

    demo_stand_in(monkeypatch, break_down)
    result = call("demo")
    assert isinstance(result.exception, ZeroDivisionError)


def test_exit_codes_of_the_program() -> None:
    bad = in_process_of_its_own("fit", "table.csv", "--labels", "labels.csv:nope")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("error: labels.csv has no column 'nope'")
    assert bad.stderr.count("\n") == 1
    many = in_process_of_its_own("fit", "table.csv", *LABELS, "--factors", "50")
    assert (many.returncode, many.stdout) == (2, "")
    assert many.stderr.startswith("error: n_factors=50 needs")
    assert many.stderr.count("\n") == 1
    usage = in_process_of_its_own("fit")
    assert usage.returncode == 2
    assert not Path("model.rankfactor").exists()


def test_the_program_from_table_to_predictions() -> None:
    run = in_process_of_its_own("fit", "table.csv", *LABELS, "--factors", "2", "--threads", "1")
    assert run.returncode == 0, run.stderr
    assert run.stdout.splitlines()[-1] == "Model: model.rankfactor"
    assert "\x1b" not in run.stdout + run.stderr
    assert "Traceback" not in run.stderr
    assert Path("model.rankfactor").is_file()
