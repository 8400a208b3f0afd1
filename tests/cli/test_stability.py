"""``rankfactor stability``, ``fit --stability`` and ``report --stability``."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.running import LABELS, QUICK, N, answer, call, command, environment, fails, works

from rankfactor.estimators.classifier import PlainClassifier
from rankfactor.storage.model_file import load_model

OUT = Path("rankfactor-stability")
FEW = ("--repeats", "4", *QUICK)
RUN = ("stability", "table.csv", *LABELS, *FEW)
REPORT = ("report", "model.rankfactor", "--stability", str(OUT))


def content(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without those of the pairs."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_what_is_said_and_written() -> None:
    result = works(
        *("stability", "table.csv", *LABELS, "--labels", "labels.csv:kind", *FEW, "--top", "2")
    )
    first, *_, last = result.stdout.splitlines()
    assert first == "Stability: 4 fits to half-samples (2 complementary pairs)."
    assert last == f"Results: {OUT}"
    assert "Factors: mean |cosine|" in result.stdout
    effects = pd.read_csv(OUT / "effects.csv")
    rows = effects[["task", "class"]].drop_duplicates().to_numpy().tolist()
    assert rows == [["status", "well"], ["kind", "x"], ["kind", "y"], ["kind", "z"]]
    assert list(effects.columns[-5:]) == ["sd", "low", "high", "selected", "clear"]
    assert len(effects) == 4 * 5
    assert set(effects["feature"][:3]) == set("abc")
    assert (effects["sd"] > 0).all()
    assert effects["selected"].between(0, 1).all()
    assert (effects["low"] < effects["effect"]).all()
    loadings = pd.read_csv(OUT / "loadings.csv")
    assert list(loadings.columns) == ["factor", "feature", "loading", "sd", "selected", "clear"]
    assert len(loadings) == 2 * 5
    factors = pd.read_csv(OUT / "factors.csv")
    assert factors["factor"].tolist() == ["Factor 1", "Factor 2"]
    assert factors["match"].between(0, 1).all()
    assert len(pd.read_csv(OUT / "coefficients.csv")) == 4 * 2
    told = json.loads((OUT / "result.json").read_text("utf-8"))
    assert (told["n_fits"], told["fits_planned"], told["complete"]) == (4, 4, True)
    assert (told["n_samples"], told["top"], told["n_factors"]) == (N, 2, 2)
    assert told["settings"]["model"] == "R-L-BSVM"
    assert set(told["clear_effects"]) == {"status: well", "kind: x", "kind: y", "kind: z"}
    assert sorted(path.name for path in (OUT / "pairs").iterdir()) == [
        "pair-0001.zip",
        "pair-0002.zip",
        "problem.json",
    ]


def test_without_labels_there_are_factors_alone() -> None:
    told = answer("stability", "table.csv", *FEW, "--groups", "labels.csv:patient")
    assert told["tasks"] == []
    assert told["grouped"] is True
    assert told["clear_effects"] == {}
    assert len(pd.read_csv(OUT / "loadings.csv")) == 2 * 5
    assert pd.read_csv(OUT / "effects.csv").empty
    fails("--positive concerns labels", "stability", "table.csv", *FEW, "--positive", "ill")


def test_a_resumed_run_is_the_uninterrupted_one() -> None:
    works(*RUN)
    works("stability", "table.csv", *LABELS, "--repeats", "6", *QUICK, "--out", "whole")
    times = {path: path.stat().st_mtime_ns for path in (OUT / "pairs").glob("pair-*")}
    works("stability", "table.csv", *LABELS, "--repeats", "6", *QUICK, "--resume")
    assert all(path.stat().st_mtime_ns == time for path, time in times.items())
    assert content(OUT) == content(Path("whole"))


def test_the_positive_class_may_be_another_when_resumed() -> None:
    works(*RUN)
    first = pd.read_csv(OUT / "effects.csv")
    works(*RUN, "--resume", "--positive", "ill")
    second = pd.read_csv(OUT / "effects.csv")
    assert second["class"].unique().tolist() == ["ill"]
    np.testing.assert_allclose(second["effect"], -first["effect"])
    np.testing.assert_array_equal(second["sd"], first["sd"])


def test_a_folder_of_another_problem_is_not_resumed() -> None:
    works(*RUN)
    place = f"the folder {OUT}/pairs contains half-samples of another problem"
    fails(f"{place} (--n-factors is 2 there and 3 here)", *RUN, "--n-factors", "3", "--resume")
    fails(f"{place} (--random-state differs)", *RUN, "--seed", "1", "--resume")
    frame = pd.read_csv("table.csv", index_col=0)
    (frame + 1.0).to_csv("other.csv")
    fails(f"{place} (the table differs)", "stability", "other.csv", *RUN[2:], "--resume")
    works(*RUN, "--n-factors", "3")
    assert json.loads((OUT / "result.json").read_text("utf-8"))["n_factors"] == 3


def test_files_that_are_not_ours_are_kept() -> None:
    OUT.mkdir()
    (OUT / "effects.csv").write_text("mine\n")
    fails("which is not a table of `rankfactor stability`", *RUN)
    (OUT / "effects.csv").unlink()
    (OUT / "pairs").mkdir()
    (OUT / "pairs" / "problem.json").write_text("{}")
    fails("problem.json, which is not", *RUN)
    works(*RUN, "--force")
    (OUT / "stability.zip").write_bytes(b"mine")
    fails("stability.zip, which is not a file of `rankfactor stability`", *RUN)


@pytest.mark.parametrize(
    ("sentence", "arguments"),
    [
        ("needs at least as many samples in every half", ("--n-factors", "20")),
        ("1 sample of class 'rare', and both halves need one", ("--labels", "rare.csv:rare")),
        ("nothing.csv", ("--labels", "nothing.csv:kind")),
        ("is given more than once", LABELS),
    ],
)
def test_bad_input_is_one_sentence(sentence: str, arguments: tuple[str, ...]) -> None:
    labels = pd.read_csv("labels.csv", index_col=0)
    labels.assign(rare=np.where(np.arange(N) == 3, "rare", "usual")).to_csv("rare.csv")
    fails(sentence, *RUN, *arguments)
    assert not OUT.exists()


@pytest.mark.parametrize("arguments", [("--repeats", "3"), ("--top", "0"), ("--repeats", "many")])
def test_wrong_numbers_are_refused(arguments: tuple[str, ...]) -> None:
    assert call(*RUN, *arguments).exit_code == 2
    assert not OUT.exists()


def interrupt(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Ctrl-C at the end of a fit, from 1, which keeps what it has."""
    fit, count = PlainClassifier.fit, [0]

    def impatient(self: PlainClassifier, *arguments: Any, **more: Any) -> PlainClassifier:
        fitted = fit(self, *arguments, **more)
        count[0] += 1
        if count[0] == number:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                return fitted
        return fitted

    monkeypatch.setattr(PlainClassifier, "fit", impatient)


def test_ctrl_c_keeps_finished_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    # The first fit is that to all samples, so the seventh ends the third pair.
    interrupt(monkeypatch, 7)
    result = call("stability", "table.csv", *LABELS, "--repeats", "10", *QUICK)
    assert result.exit_code == 130, result.output
    assert "interrupted: 2 of 5 pairs of half-samples were finished" in result.stderr
    told = json.loads((OUT / "result.json").read_text("utf-8"))
    assert (told["n_fits"], told["fits_planned"], told["complete"]) == (4, 10, False)
    works(*RUN, "--out", "few")
    kept = pd.read_csv(OUT / "effects.csv")
    pd.testing.assert_frame_equal(kept, pd.read_csv("few/effects.csv"))


def test_ctrl_c_before_two_pairs_says_what_can_be_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, 5)
    result = call(*RUN)
    assert result.exit_code == 130, result.output
    said = f"interrupted: 1 finished pair in {OUT}/pairs, --resume computes the rest."
    assert said in result.stderr.splitlines()
    assert content(OUT) == {}
    works(*RUN, "--resume")


def test_ctrl_c_before_the_first_pair_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(monkeypatch, 3)
    result = call(*RUN)
    assert result.exit_code == 130, result.output
    assert "interrupted: nothing was written." in result.stderr.splitlines()
    assert not OUT.exists()


@pytest.mark.slow
def test_a_killed_run_leaves_whole_pairs() -> None:
    arguments = ("stability", "table.csv", *LABELS, "--repeats", "400", *QUICK)
    started = subprocess.Popen(
        command(*arguments), env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    first = OUT / "pairs" / "pair-0001.zip"
    while not first.exists():
        assert started.poll() is None
        time.sleep(0.02)
    started.kill()
    started.wait()
    assert not (OUT / "result.json").exists()
    works(*RUN, "--resume")
    works(*RUN, "--out", "whole")
    assert content(OUT) == content(Path("whole"))


def test_a_fit_with_its_stability() -> None:
    works(*RUN)
    told = answer("fit", "table.csv", *LABELS, *QUICK, "--stability", "4")
    assert told["stability_fits"] == 4
    found = load_model("model.rankfactor").stability
    assert found is not None
    alone = pd.read_csv(OUT / "factors.csv")["match"]
    np.testing.assert_allclose(found.factor_match, alone)
    result = works("fit", "table.csv", *QUICK, "--stability", "4")
    assert "Stability: 4 fits to half-samples (2 complementary pairs)." in result.stdout
    assert answer("fit", "table.csv", *LABELS, *QUICK)["stability_fits"] == 0


def test_a_fit_that_cannot_be_divided_is_refused_before() -> None:
    many = ("fit", "table.csv", *LABELS, *QUICK, "--n-factors", "20", "--stability", "4")
    fails("needs at least as many samples in every half", *many)
    assert not Path("model.rankfactor").exists()


@pytest.mark.parametrize(("number", "fits"), [(1, 0), (4, 0), (7, 4)])
def test_ctrl_c_in_a_fit_with_stability_keeps_the_model(
    monkeypatch: pytest.MonkeyPatch, number: int, fits: int
) -> None:
    interrupt(monkeypatch, number)
    result = call("fit", "table.csv", *LABELS, *QUICK, "--stability", "10")
    assert result.exit_code == 130, result.output
    found = load_model("model.rankfactor").stability
    assert (0 if found is None else found.n_fits) == fits
    assert result.stdout.splitlines()[-1] == "Model: model.rankfactor"


@pytest.mark.slow
def test_the_report_of_a_folder() -> None:
    works("fit", "table.csv", *LABELS, *QUICK)
    works(*RUN)
    told = answer(*REPORT)
    assert told["stability"] == "Stability: 4 fits to half-samples (2 complementary pairs)."
    assert answer("report", "model.rankfactor")["stability"] is None
    fails("which is the input", *REPORT, "--out", f"{OUT}/result.json", "--force")


@pytest.mark.slow
def test_a_folder_of_another_model_is_refused() -> None:
    works("fit", "table.csv", *LABELS, *QUICK)
    fails("has no result.json: give the folder that `rankfactor stability` wrote", *REPORT)

    def refused(sentence: str, *arguments: str) -> None:
        works("stability", *arguments, *FEW)
        fails(f"in {OUT} does not belong to model.rankfactor: {sentence}", *REPORT)

    refused("different label columns", "table.csv", "--labels", "labels.csv:kind")
    refused("other settings (--max-cuts: 16 in the model, 8 in", *RUN[1:4], "--max-cuts", "8")
    frame = pd.read_csv("table.csv", index_col=0)
    (frame + 1.0).to_csv("other.csv")
    refused("a different table", "other.csv", *LABELS)
    works(*RUN)
    shutil.copy(OUT / "stability.zip", "one.zip")
    works("stability", "table.csv", *FEW)
    shutil.copy("one.zip", OUT / "stability.zip")
    (OUT / "stability.zip").write_bytes(Path("one.zip").read_bytes()[:200])
    works("fit", "table.csv", *QUICK)
    fails("is damaged", *REPORT)
