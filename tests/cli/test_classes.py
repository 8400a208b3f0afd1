"""--drop-class and --positive."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import LABELS, QUICK, N, answer, call, fails, fit, works

from rankfactor import load_model

CV = ("--models", "R-L-BSVM,L-SVM", "--folds", "3", *QUICK)


@pytest.fixture
def rare() -> None:
    """A third class with one sample."""
    labels = pd.read_csv("labels.csv", index_col=0)
    labels.iloc[5, 0] = "odd"
    labels.to_csv("labels.csv")


@pytest.mark.usefixtures("rare")
@pytest.mark.slow
def test_a_rare_class_is_named_and_can_be_left_out() -> None:
    fails("leave it out (--drop-class 'odd')", "cv", "table.csv", *LABELS, *CV)
    told = answer("cv", "table.csv", *LABELS, *CV, "--drop-class", "odd")
    assert told["n_samples"] == N - 1
    assert told["settings"]["drop_class"] == ["odd"]
    result = fit("table.csv", *LABELS, "--drop-class", "odd", "--groups", "labels.csv:patient")
    assert "note: the class 'odd' of 'status' is left out: 1 sample.\n" in result.stderr
    posterior = load_model("model.rankfactor")
    assert posterior.classifiers is not None
    assert posterior.classifiers.tasks[0].classes.tolist() == ["ill", "well"]
    assert "s5" not in posterior.sample_names


@pytest.mark.usefixtures("rare")
def test_samples_with_another_label_stay() -> None:
    both = (*LABELS, "--labels", "labels.csv:kind")
    fit("table.csv", *both, "--drop-class", "status:odd")
    posterior = load_model("model.rankfactor")
    assert posterior.classifiers is not None
    assert posterior.classifiers.class_index[5, 0] == -1
    assert len(posterior.sample_names) == N
    fails("--drop-class odd does not name a task", "fit", "table.csv", *both, "--drop-class", "odd")


@pytest.mark.parametrize("option", ["--drop-class", "--positive"])
def test_a_class_that_there_is_not(option: str) -> None:
    result = call("fit", "table.csv", *LABELS, option, "wel")
    assert result.exit_code == 2
    assert "is not a class of 'status' (ill, well). Did you mean 'well'?" in result.stderr
    assert f"error: {option} " in result.stderr


def test_one_class_left() -> None:
    fails("has only the class 'ill'", "fit", "table.csv", *LABELS, "--drop-class", "well")
    kind = ("--labels", "labels.csv:kind", "--positive", "x")
    fails("--positive names a class of 'kind', which has 3", "fit", "table.csv", *kind)


@pytest.mark.slow
def test_the_positive_class_turns_decisions_and_nothing_else() -> None:
    def predicted() -> pd.DataFrame:
        works("predict", "model.rankfactor", "table.csv")
        return pd.read_csv("predictions.csv")

    fit("table.csv", *LABELS)
    usual = predicted()
    told = answer("fit", "table.csv", *LABELS, "--positive", "ill", "--report", "r.html", *QUICK)
    assert told["settings"]["positive"] == {"status": "ill"}
    other = predicted()
    assert (other["status_predicted"] == usual["status_predicted"]).all()
    np.testing.assert_allclose(other["status_decision"], -usual["status_decision"])
    np.testing.assert_allclose(other["status_probability_ill"], usual["status_probability_ill"])
    posterior = load_model("model.rankfactor")
    assert posterior.classifiers is not None
    assert posterior.classifiers.row_names() == ["status: ill"]


@pytest.mark.slow
def test_cross_validation_speaks_of_the_positive_class() -> None:
    summaries, decisions = [], []
    for options in ((), ("--positive", "ill")):
        told = answer("cv", "table.csv", *LABELS, *CV, *options)
        summaries.append([row["auc"] for row in told["summary"]])
        decisions.append(pd.read_csv("rankfactor-cv/predictions.csv"))
    assert summaries[0] == summaries[1]
    usual, other = decisions
    assert set(usual["positive"]) == {"well"}
    assert set(other["positive"]) == {"ill"}
    np.testing.assert_allclose(other["decision"], -usual["decision"])
    np.testing.assert_allclose(other["probability"], 1 - usual["probability"])
    shown = works("cv", "table.csv", *LABELS, *CV, "--positive", "ill").stdout
    assert "status: ill" in shown
