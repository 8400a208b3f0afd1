"""The program as a whole: help, names and defaults of options, exit codes, Ctrl-C."""

from __future__ import annotations

import inspect
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest
from tests.cli.running import LABELS, SOURCE, call, environment, in_process_of_its_own
from typer.main import get_command

import rankfactor.cli.demo
from rankfactor import Gibbs, RankFactorClassifier, __version__
from rankfactor.cli import app
from rankfactor.cli.options import PRESETS as SAID
from rankfactor.presets import PRESETS, full_name

COMMANDS = [
    [],
    ["fit"],
    ["predict"],
    ["explain"],
    ["cv"],
    ["stability"],
    ["inspect"],
    ["report"],
    ["interpret"],
    ["demo"],
    ["datasets"],
    ["datasets", "list"],
    ["datasets", "fetch"],
    ["reproduce"],
    ["reproduce", "usps"],
    ["reproduce", "mnist"],
    ["reproduce", "tb"],
    ["reproduce", "rnaseq"],
    ["reproduce", "suite"],
    ["reproduce", "stress"],
    ["reproduce", "recovery"],
]


def every_command() -> list[Any]:
    found, group = [], get_command(app)
    waiting: list[Any] = [group]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += list(getattr(one, "commands", {}).values())
    return found


def test_version() -> None:
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"rankfactor {__version__}\n")


@pytest.mark.parametrize("module", ["rankfactor", "rankfactor.cli"])
def test_the_program_is_a_module(module: str) -> None:
    said = subprocess.check_output(
        [sys.executable, "-m", module, "--version"], env=environment(), text=True
    )
    assert said == f"rankfactor {__version__}\n"


@pytest.mark.parametrize("words", COMMANDS)
def test_help_shows_an_example(words: list[str]) -> None:
    result = call(*words, "--help")
    assert result.exit_code == 0
    assert "Example: rankfactor" in result.stdout
    assert "\x1b" not in result.stdout


def test_every_option_is_described_and_every_command_speaks_json() -> None:
    commands = every_command()
    assert len(commands) == len(COMMANDS)
    for one in commands:
        for parameter in one.params:
            assert parameter.help, f"{one.name} {parameter.name}"
        if not hasattr(one, "commands"):
            assert "as_json" in {parameter.name for parameter in one.params}, one.name


# The table's labels and the display have no option; the others are under names of their own.
WITHOUT_OPTION = {"blocks", "views", "progress", "missing_features"}


@pytest.mark.parametrize("name", ["fit", "cv", "stability"])
def test_options_have_the_library_s_names_and_defaults(name: str) -> None:
    (found,) = (one for one in every_command() if one.name == name)
    options = {parameter.name: parameter for parameter in found.params}
    arguments = inspect.signature(RankFactorClassifier).parameters
    for argument, parameter in arguments.items():
        if argument in WITHOUT_OPTION or (argument, name) == ("model", "cv"):
            continue
        # A checkpoint has room for one fit; other commands hold the table in memory.
        if argument in ("checkpoint", "memory", "scratch") and name != "fit":
            assert argument not in options
            continue
        default = options[argument].default
        if argument in ("n_factors", "label_weight", "margin"):  # text, for lists and "auto"
            default = type(parameter.default)(default)
        if argument == "random_state":  # the same command gives the same answer
            assert default == 0
            continue
        assert default == parameter.default, argument


def test_what_is_said_of_gibbs_sampling_is_so() -> None:
    (found,) = (one for one in every_command() if one.name == "fit")
    options = {parameter.name: parameter for parameter in found.params}
    for name in ("n_draws", "burn_in", "thin", "n_chains", "n_predict"):
        assert options[name].show_default == str(getattr(Gibbs(), name))


def test_the_models_are_those_there_are() -> None:
    assert set(SAID.replace(" or ", ", ").split(", ")) == set(map(full_name, PRESETS))


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; from typer.testing import CliRunner; from rankfactor.cli import app; "
        f"assert all(CliRunner().invoke(app, [*c, '--help']).exit_code == 0 for c in {COMMANDS}); "
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


@pytest.mark.parametrize(
    "arguments",
    [
        ["cv", "table.csv"],
        ["fit", "table.csv", *LABELS, "--nonsense"],
        ["fit", "table.csv", *LABELS, "--orient", "sideways"],
        ["fit", "table.csv", *LABELS, "--max-iter", "0"],
        ["cv", "table.csv", *LABELS, "--folds", "1"],
        ["demo", "--folds", "1"],
        ["predict", "model.rankfactor", "table.csv", "--missing-features", "maybe"],
        ["datasets", "nonsense"],
        ["nonsense"],
    ],
)
def test_wrong_usage(arguments: list[str]) -> None:
    result = call(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert "Traceback" not in result.stderr


def demo_stand_in(monkeypatch: pytest.MonkeyPatch, action: Any) -> None:
    monkeypatch.setattr(rankfactor.cli.demo, "run_demo", action)


def test_demo_prints_a_table_and_ends_with_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    summary = pd.DataFrame(
        {
            "task": ["Impairment"],
            "model": ["R-L-BSVM"],
            "auc": [0.9123],
            "auc_sd": [0.0456],
            "auc_low": [0.8765],
            "auc_high": [0.9432],
            "accuracy": [0.8],
            "accuracy_sd": [0.1],
            "seconds": [1.25],
        }
    )
    given: dict[str, Any] = {}
    deep = Path("  a very long  path" * 8) / "report.html"

    def run(out: Path, **arguments: Any) -> Any:
        given.update(arguments, out=out)
        for done in (1, 2, 3, 3):
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
    result = call("demo", "--out", "here", "--folds", "3", "--n-factors", "4", "--seed", "9")
    assert result.exit_code == 0
    assert {key: given[key] for key in ("out", "n_folds", "n_factors", "random_state")} == {
        "out": Path("here"),
        "n_folds": 3,
        "n_factors": 4,
        "random_state": 9,
    }
    assert given["n_threads"] is None
    assert result.stdout.splitlines()[-1] == f"Report: {deep}"
    assert "0.912 [0.876, 0.943]" in result.stdout
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


def test_the_unexpected_keeps_its_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(out: Path, **arguments: Any) -> Any:
        raise ZeroDivisionError("a fault of ours")

    demo_stand_in(monkeypatch, break_down)
    result = call("demo")
    assert isinstance(result.exception, ZeroDivisionError)


@pytest.mark.slow
def test_exit_codes_of_the_program() -> None:
    bad = in_process_of_its_own("fit", "table.csv", "--labels", "labels.csv:nope")
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("error: labels.csv has no column 'nope'")
    assert bad.stderr.count("\n") == 1
    many = in_process_of_its_own("fit", "table.csv", *LABELS, "--n-factors", "50")
    assert (many.returncode, many.stdout) == (2, "")
    assert many.stderr.startswith("error: --n-factors 50 needs")
    assert many.stderr.count("\n") == 1
    usage = in_process_of_its_own("fit")
    assert usage.returncode == 2
    assert not Path("model.rankfactor").exists()


# The program, which leaves a file when the first fold is done: how long that takes is the
# machine's affair.
TELLING = """
import signal
from contextlib import contextmanager
from pathlib import Path
from rankfactor.cli import cv, main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
usual = cv.progress
@contextmanager
def telling():
    with usual() as tell:
        def own(name, done, total):
            tell(name, done, total)
            if done:
                Path("begun").touch()
        yield own
cv.progress = telling
main()
"""


def interrupted_cv() -> tuple[int, str, str]:
    """The real program with its own processes, interrupted as by a terminal."""
    # So many folds that it cannot be done before the signal.
    arguments = [*LABELS, "--models", "L-SVM", "--folds", "12", "--repeats", "400"]
    arguments += ["--n-jobs", "2", "--out", "kept"]
    run = subprocess.Popen(
        [sys.executable, "-c", TELLING, "cv", "table.csv", *arguments],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # a group of processes, as a terminal makes one
    )
    try:
        until = time.monotonic() + 120
        while not Path("begun").exists() and run.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=60)
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
    return run.returncode, out, err


@pytest.mark.slow
def test_ctrl_c_of_a_cross_validation_keeps_the_folds_done() -> None:
    code, out, err = interrupted_cv()
    assert code == 130, err
    assert "Traceback" not in err
    assert "folds were finished by all models, and only these are kept" in err
    folds = pd.read_csv("kept/folds.csv")
    assert 0 < len(folds) < 12 * 400
    assert out.splitlines()[-1] == "Results: kept"
