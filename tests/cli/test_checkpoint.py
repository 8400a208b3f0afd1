"""`rankfactor fit --checkpoint`: killed, and run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import LABELS, QUICK, environment, fails, works
from tests.simulate import simulate, with_holes

from rankfactor import load_model

# The program, killed with SIGKILL at the renaming of the files of a checkpoint: before or after one
# of them. It writes after every iteration.
DYING = """
import os, signal, sys
moment, number = sys.argv.pop(1), int(sys.argv.pop(1))
from rankfactor.storage import files, stages
stages.ITERATIONS, stages.SHARE = 1, 0.0
rename, done = os.replace, 0
def replace(one, other):
    global done
    done += "stage-" in str(other)
    if done == number and moment == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    rename(one, other)
    if done == number:
        os.kill(os.getpid(), signal.SIGKILL)
os.replace = replace
from rankfactor.cli import main
main()
"""
NEVER = ("after", 0)
TRAININGS = {
    "bayes": ("--training", "bayes"),
    "label-free": ("--training", "label-free"),
    "predictive": ("--training", "predictive"),
    "gibbs": ("--engine", "gibbs", "--n-draws", "20", "--burn-in", "10", "--n-chains", "2"),
}


def run(moment: str, number: int, *arguments: str) -> Any:
    return subprocess.run(
        [sys.executable, "-c", DYING, moment, str(number), *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.fixture
def larger() -> pd.DataFrame:
    """A table of 120 samples and 45 features, with labels."""
    simulated = simulate(n=120, d=45)
    table = pd.DataFrame(with_holes(simulated.X)).add_prefix("f").rename(index="s{}".format)
    table.assign(status=np.where(simulated.y, "ill", "well")).to_csv("larger.csv")
    return table


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    ("training", "numbers"),
    [("bayes", (1, 12)), ("label-free", (20,)), ("predictive", (9, 30)), ("gibbs", (15,))],
)
def test_a_fit_that_is_killed_goes_on(
    training: str, numbers: tuple[int, ...], moment: str, larger: pd.DataFrame
) -> None:
    fit = ("fit", "larger.csv", "--labels", "status", "--n-factors", "3", "--threads", "1")
    fit += TRAININGS[training]
    works(*fit, "--out", "whole.rankfactor")
    for number in numbers:  # the second is killed once more before it ends
        killed = run(moment, number, *fit, "--checkpoint", "kept", "--out", "resumed.rankfactor")
        assert killed.returncode == -9, killed.stderr
        assert not Path("resumed.rankfactor").exists()
    ended = run(*NEVER, *fit, "--checkpoint", "kept", "--out", "resumed.rankfactor")
    assert ended.returncode == 0, ended.stderr
    whole, resumed = load_model("whole.rankfactor"), load_model("resumed.rankfactor")
    # The ascent ends at a change of 2e-4; predictive training is steeper, see the engine's tests.
    rtol = 1e-2 if training == "predictive" else 1e-3
    np.testing.assert_allclose(resumed.elbo[-1], whole.elbo[-1], rtol=rtol)
    one, other = (model.decision_function(larger) for model in (resumed, whole))
    assert np.corrcoef(one, other)[0, 1] > 0.99
    assert not list(Path("kept").glob(".*"))  # what a killed process left


def test_the_same_command_resumes_and_another_is_refused() -> None:
    given = ("fit", "table.csv", "--labels", "labels.csv:kind", *QUICK, "--checkpoint", "kept")
    works(*given)
    first = Path("kept/stage-ascent.zip").read_bytes()
    model = load_model("model.rankfactor")
    works(*given)
    np.testing.assert_array_equal(load_model("model.rankfactor").elbo, model.elbo)
    assert Path("kept/stage-ascent.zip").read_bytes() == first
    fails("of another problem (--random-state differs)", *given, "--seed", "3")
    fails("(training is 'bayes' there and 'label-free' here)", *given, "--training", "label-free")
    fails("(the table differs)", *given, "--exclude", "a")
    Path("kept/stage-ascent.zip").write_bytes(first[: len(first) // 2])
    fails("kept/stage-ascent.zip is damaged", *given)


def test_the_folder_is_not_told() -> None:
    works("fit", "table.csv", *LABELS, *QUICK, "--checkpoint", "kept")
    assert "kept" not in works("inspect", "model.rankfactor").stdout


def test_factors_are_chosen_without_the_checkpoint() -> None:
    quick = ("--tol", "1e-2", "--threads", "1")
    works("fit", "table.csv", *LABELS, "--n-factors", "2,3", *quick, "--checkpoint", "kept")
    assert {path.name for path in Path("kept").iterdir()} == {"stage-ascent.zip"}


def test_factors_alone() -> None:
    works("fit", "table.csv", "--n-factors", "2", "--checkpoint", "kept")
    works("fit", "table.csv", "--n-factors", "2", "--checkpoint", "kept")
    fails("--n-factors is 2 there", "fit", "table.csv", "--n-factors", "1", "--checkpoint", "kept")
