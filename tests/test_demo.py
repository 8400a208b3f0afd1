"""The demonstration, on a small stand-in for the bundled data, and how files are written."""

from __future__ import annotations

import os
import signal
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning

import rankfactor.data
import rankfactor.report
from rankfactor.cli.demo import run_demo
from rankfactor.data import Dataset
from rankfactor.errors import InputError
from rankfactor.estimators import RankFactorClassifier
from rankfactor.storage.model_file import load_model

MODELS = ["R-L-BSVM", "G-L-BSVM", "Linear SVM"]


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> Dataset:
    rng = np.random.default_rng(0)
    n = 32
    index = pd.Index([f"s{i}" for i in range(n)], name="sample")
    y, z = np.arange(n) % 2, np.arange(n) // 2 % 2
    values = rng.standard_normal((n, 6)) + np.outer(2 * y - 1, [1, 1, 1, 0, 0, 0])
    table = pd.DataFrame(values, index=index, columns=list("abcdef"))
    labels = pd.DataFrame(
        {
            "Impairment": np.where(y, "Impaired", "Control"),
            "APOE4": np.where(z, "non-carrier", "E4 carrier"),
        },
        index=index,
    ).astype(object)
    small = Dataset("small", table, labels, "made for the tests")
    monkeypatch.setattr(rankfactor.data, "load_alzheimer", lambda: small)
    return small


@pytest.fixture(autouse=True)
def quick_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The real fit, with a tolerance for which the small data need few iterations."""
    fit = RankFactorClassifier.fit

    def quick(
        self: RankFactorClassifier, X: Any, y: Any, groups: Any = None
    ) -> RankFactorClassifier:
        self.set_params(tol=1e-2)
        return fit(self, X, y)

    monkeypatch.setattr(RankFactorClassifier, "fit", quick)


def run(out: Path, **arguments: Any) -> Any:
    return run_demo(out, n_folds=2, n_factors=2, n_threads=1, repeats=4, **arguments)


@pytest.mark.slow
def test_what_is_written(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    out = tmp_path / "new" / "demo"
    result = run(out, progress=lambda *step: steps.append(step))
    assert sorted(path.name for path in out.iterdir()) == [
        "cross_validation.csv",
        "model.rankfactor",
        "report.html",
    ]
    folds = pd.read_csv(result.folds)
    assert folds["model"].unique().tolist() == MODELS
    assert folds["task"].unique().tolist() == ["Impairment", "APOE4"]
    assert len(folds) == 3 * 2 * 2
    page = result.report.read_text(encoding="utf-8")
    assert all(model in page for model in MODELS)
    assert "made for the tests" in page
    posterior = load_model(result.model)
    np.testing.assert_array_equal(posterior.loadings, result.classifier.loadings_)
    assert posterior.stability is not None
    assert posterior.stability.n_fits == 4
    assert result.warnings == ()
    for model in MODELS:
        done = [step for step in steps if step[0] == f"Cross-validation of {model}"]
        assert [step[1:] for step in done] == [(0, 2), (1, 2), (2, 2)]
    fit = [step for step in steps if step[0] == "Fit to all samples"]
    assert fit[0][1] == 0
    assert fit[-1][1:] == (result.classifier.n_iter_,) * 2
    assert steps[-1] == ("Report", 1, 1)
    assert result.classifier.progress is None


@pytest.mark.slow
def test_the_report_is_told_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, Any] = {}

    def stand_in(path: Path, posterior: Any, **arguments: Any) -> Path:
        told.update(arguments, posterior=posterior)
        path.write_text("report")
        return path

    fit = RankFactorClassifier.fit

    def complain(
        self: RankFactorClassifier, X: Any, y: Any, groups: Any = None
    ) -> RankFactorClassifier:
        warnings.warn(f"{self.model} gave up at 7", ConvergenceWarning, stacklevel=2)
        return fit(self, X, y)

    monkeypatch.setattr(rankfactor.report, "write_report", stand_in)
    monkeypatch.setattr(RankFactorClassifier, "fit", complain)
    with pytest.warns(ConvergenceWarning, match="gave up") as heard:
        result = run(tmp_path, random_state=5)
    expected = (
        "R-L-BSVM, in 2 of 2 folds: R-L-BSVM gave up at 7",
        "G-L-BSVM, in 2 of 2 folds: G-L-BSVM gave up at 7",
        "R-L-BSVM gave up at 7",
        "in 4 of 4 half-sample fits: R-L-BSVM gave up at 7",
    )
    assert told["warnings"] == expected
    assert result.warnings == expected
    assert tuple(str(one.message) for one in heard) == expected
    assert list(told["comparison"]["model"]) == MODELS * 2
    assert set(told["comparison"].columns) >= {
        "task",
        "model",
        "auc",
        "auc_sd",
        "accuracy",
        "accuracy_sd",
        "seconds",
    }
    assert set(told["decisions"].columns) >= {"sample", "task", "model", "label", "decision"}
    assert len(told["decisions"]) == 3 * 2 * 32
    assert told["posterior"] is result.classifier.posterior_
    assert told["settings"]["seed"] == 5
    assert told["settings"]["n_factors"] == 2
    assert told["settings"]["margin"] == RankFactorClassifier().margin


@pytest.mark.slow
def test_a_failing_report_leaves_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, posterior: Any, **arguments: Any) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(rankfactor.report, "write_report", fail)
    old = tmp_path / "report.html"
    old.write_text("old")
    with pytest.raises(InputError, match=r"the model was saved to .*No space left on device"):
        run(tmp_path)
    kept = ["cross_validation.csv", "model.rankfactor", "report.html"]
    assert sorted(one.name for one in tmp_path.iterdir()) == kept
    assert old.read_text() == "old"


def test_ctrl_c_in_the_cross_validation_stops_the_demo(tmp_path: Path) -> None:
    def interrupt(step: str, done: int, total: int) -> None:
        if (step, done) == ("Cross-validation of Linear SVM", 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "demo", progress=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_in_the_half_samples_stops_the_demo(tmp_path: Path) -> None:
    def interrupt(step: str, done: int, total: int) -> None:
        if (step, done) == ("Pairs of half-samples", 1):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "demo", progress=interrupt)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_ctrl_c_in_the_last_fit_stops_the_demo(tmp_path: Path) -> None:
    def interrupt(step: str, done: int, total: int) -> None:
        if (step, done) == ("Fit to all samples", 2):
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "demo", progress=interrupt)
    assert list(tmp_path.iterdir()) == []


def test_more_factors_than_samples(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="lower n_factors"):
        run_demo(tmp_path / "demo", n_folds=2, n_factors=30, n_threads=1)
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")
    with pytest.raises(InputError, match="demo cannot be made"):
        run(tmp_path / "demo")
