"""How well a model predicts, in numbers and in a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankfactor.auc import Difference
from rankfactor.evaluation.models import BASELINES
from rankfactor.interpret.accuracy import (
    _BASELINES,
    Score,
    differences_by_task,
    how_well,
    scores_by_task,
)


def score(model, auc, low=np.nan, high=np.nan, balanced=np.nan):
    return Score(model, auc, 0.05, 0.8, 0.05, 1.0, False, low, high, balanced)


def test_result_first_then_uncertainty():
    said = how_well(
        "Impairment",
        [score("R-L-BSVM", 0.9, 0.86, 0.93, 0.81), score("L-SVM", 0.89, 0.85, 0.92)],
        {"L-SVM": Difference(0.01, -0.02, 0.04, 4, 0, 5)},
    )
    assert said == (
        "Impairment: AUC 0.90 [0.86, 0.93] on held-out samples; balanced "
        "accuracy 0.81. Better than the linear SVM in 4 of 5 folds, difference +0.01 "
        "[−0.02, 0.04]: no significant difference."
    )


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (
            Difference(0.1, 0.02, 0.18, 5, 0, 5),
            "Better than the linear SVM in all 5 folds, difference +0.10 [0.02, 0.18]: "
            "significantly better.",
        ),
        (
            Difference(-0.1, -0.18, -0.02, 0, 0, 2),
            "The linear SVM was better in both folds, difference +0.10 [0.02, 0.18]: "
            "significantly better.",
        ),
        (
            Difference(-0.1, -0.18, 0.02, 1, 1, 5),
            "The linear SVM was better in 3 of 5 folds and equal in 1, difference +0.10 "
            "[−0.02, 0.18]: no significant difference.",
        ),
        (
            Difference(-0.1, -0.18, -0.02, 3, 0, 5),
            "Better than the linear SVM in 3 of 5 folds, difference −0.10 [−0.18, −0.02]: "
            "significantly worse.",
        ),
        (
            Difference(0.0, 0.0, 0.0, 0, 2, 2),
            "Equal to the linear SVM in both folds, difference 0.00 [0.00, 0.00]: no significant",
        ),
        (Difference(0.0, -0.1, 0.1, 2, 0, 4), "in 2 of 4 folds, difference 0.00 [−0.10, 0.10]: no"),
        (Difference(0.1, np.nan, np.nan, 1, 0, 1), "in the only fold, difference +0.10."),
        (None, "The linear SVM: AUC 0.80; the difference was not tested."),
    ],
)
def test_the_interval_of_the_difference_decides(found, words):
    rows = [score("ours", 0.9, 0.85, 0.95), score("Linear SVM", 0.8, 0.7, 0.9)]
    assert words in how_well("t", rows, None if found is None else {"Linear SVM": found})


@pytest.mark.parametrize(
    ("own", "words"),
    [
        ((0.6, 0.48, 0.7), "not significantly better than chance (0.50)"),
        ((0.6, 0.51, 0.7), None),
        ((0.3, 0.2, 0.4), "worse than chance"),
        ((0.45, np.nan, np.nan), "not significantly better than chance"),
        ((0.55, np.nan, np.nan), None),
        ((np.nan, np.nan, np.nan), "no cross-validated AUC"),
    ],
)
def test_chance_is_judged_by_the_interval(own, words):
    said = how_well("t", [score("ours", *own)])
    assert words in said if words else "chance" not in said


def test_only_models_of_others_are_baselines():
    rows = [score("R-L-BSVM", 0.9), score("G-L-BSVM", 0.95), score("RF", 0.7), score("L-SVM", 0.8)]
    same = Difference(0.0, -0.1, 0.1, 1, 0, 2)
    said = how_well("t", rows, dict.fromkeys(["G-L-BSVM", "RF", "L-SVM"], same))
    assert "Better than the best baseline, the linear SVM, in 1 of 2 folds" in said
    assert "Better than G-L-BSVM in 1 of 2 folds" in said
    worse = Difference(-0.1, -0.2, 0.1, 0, 1, 2)
    said = how_well("t", rows, dict.fromkeys(["G-L-BSVM", "L-SVM"], worse))
    assert "The best baseline, the linear SVM, was better in 1 of 2 folds and equal in 1" in said
    assert "G-L-BSVM was better in 1 of 2 folds and equal in 1" in said
    assert said.count("baseline") == 1
    assert "forest" not in said
    assert {name.casefold() for name in BASELINES} <= set(_BASELINES)


def cross_validated(classes=("a", "b"), with_folds=True):
    """Decisions of two models in two repeats of three folds, one row per class if more than two."""
    rng = np.random.default_rng(0)
    n, rows = 30, []
    label = np.resize(np.array(classes, object), n)
    positives = classes[1:] if len(classes) == 2 else classes
    for model, noise in (("R-L-BSVM", 1.0), ("L-SVM", 3.0)):
        for repeat in (1, 2):
            for i in range(n):
                decision = [(label[i] == c) + noise * rng.standard_normal() for c in positives]
                best = classes[int(decision[0] > 0.5)] if len(classes) == 2 else None
                best = best or classes[int(np.argmax(decision))]
                place = {"sample": f"s{i}", "task": "t", "model": model, "repeat": repeat}
                place |= {"fold": 1 + (i // len(classes)) % 3, "label": label[i], "predicted": best}
                rows += [
                    {**place, "positive": c, "decision": value}
                    for c, value in zip(positives, decision, strict=True)
                ]
    frame = pd.DataFrame(rows)
    return frame if with_folds else frame.drop(columns=["fold", "repeat"])


@pytest.mark.parametrize("classes", [("a", "b"), ("a", "b", "c"), (1, 2)])
def test_old_summaries_get_their_numbers_from_the_decisions(classes):
    decisions = cross_validated(classes)
    columns = ["task", "model", "auc", "auc_sd", "accuracy", "accuracy_sd", "seconds"]
    rows = [("t", model, 0.123, 0.1, 0.4, 0.1, 1.0) for model in ("R-L-BSVM", "L-SVM")]
    old = pd.DataFrame(rows, columns=columns)
    own, other = scores_by_task(old, decisions)["t"]
    assert 0.4 < own.auc_low < own.auc < own.auc_high < 1
    assert own.auc > other.auc
    assert own.best
    assert not other.best
    right = decisions[decisions["model"] == "R-L-BSVM"].drop_duplicates(["repeat", "sample"])
    right = right.assign(right=right["label"] == right["predicted"])
    recalls = right.groupby(["repeat", "fold", "label"])["right"].mean()
    assert own.balanced_accuracy == pytest.approx(recalls.groupby(level=[0, 1]).mean().mean())
    found = differences_by_task(decisions)["t"]["L-SVM"]
    assert found.difference == pytest.approx(own.auc - other.auc)
    assert found.folds == 6
    # Labels that became text in a file are the same labels.
    written = decisions.assign(label=decisions["label"].astype(str))
    assert scores_by_task(old, written)["t"][0] == own


def test_without_folds_the_comparison_stands():
    columns = ["task", "model", "auc", "auc_sd", "accuracy", "accuracy_sd", "seconds"]
    old = pd.DataFrame([("t", "R-L-BSVM", 0.8, 0.1, 0.7, 0.1, 1.0)], columns=columns)
    decisions = cross_validated(with_folds=False)
    (own,) = scores_by_task(old, decisions)["t"]
    assert own.auc == 0.8
    assert np.isnan([own.auc_low, own.auc_high, own.balanced_accuracy]).all()
    assert differences_by_task(decisions) == {}
    new = old.assign(auc_low=0.7, auc_high=0.9, balanced_accuracy=0.75)
    assert scores_by_task(new)["t"][0][-3:] == (0.7, 0.9, 0.75)
