"""Statements on held-out samples and classes agree with the decisions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    balanced_accuracy_score,
    confusion_matrix,
    precision_score,
    recall_score,
    roc_auc_score,
)

from rankfactor.errors import InputError
from rankfactor.interpret import class_curves, class_table, confusion_table, sample_table
from rankfactor.tasks import Task

LABELS = {"two": ("no", "yes"), "three": ("x", "y", "z")}


def decisions(task, repeats=2, n=48, model="m", seed=0):
    """Decisions of a task as `Evaluation.decisions` has them, with probabilities."""
    rng = np.random.default_rng(seed)
    classes = LABELS[task]
    label = np.array(classes, object)[np.arange(n) % len(classes)]
    frames = []
    for repeat in range(1, repeats + 1):
        decision = rng.standard_normal((n, len(classes))) + 1.2 * (label[:, None] == classes)
        chance = np.exp(decision) / np.exp(decision).sum(axis=1, keepdims=True)
        predicted = np.array(classes, object)[decision.argmax(axis=1)]
        for j, positive in enumerate(classes):
            if len(classes) == 2 and j == 0:
                continue
            value = decision[:, 1] - decision[:, 0] if len(classes) == 2 else decision[:, j]
            columns = {"sample": [f"s{i}" for i in range(n)], "task": task, "model": model}
            columns |= {"repeat": repeat, "fold": rng.permutation(n) % 3, "label": label}
            columns |= {"predicted": predicted, "positive": positive, "decision": value}
            frames.append(pd.DataFrame({**columns, "probability": chance[:, j]}))
    whole = pd.concat(frames, ignore_index=True)
    # All rows of a sample and repeat are of one fold.
    whole["fold"] = whole.groupby(["repeat", "sample"])["fold"].transform("first")
    return whole


def once(frame):
    return frame.drop_duplicates(["repeat", "sample"])


@pytest.mark.parametrize("task", LABELS)
def test_confusion_is_that_of_scikit_learn(task):
    frame, classes = decisions(task), list(LABELS[task])
    rows = once(frame)
    expected = confusion_matrix(rows["label"], rows["predicted"], labels=classes)
    counts = confusion_table(frame, task)
    assert counts.index.tolist() == counts.columns.tolist() == classes
    np.testing.assert_allclose(counts, expected / 2)
    assert counts.to_numpy().sum() == pytest.approx(48)
    shares = confusion_table(frame, task, shares=True)
    np.testing.assert_allclose(shares, expected / expected.sum(axis=1, keepdims=True))


def test_samples_count_once_even_if_a_repeat_is_unfinished():
    frame = decisions("three")
    part = frame[(frame["repeat"] == 1) | (frame["fold"] == 1)]
    assert confusion_table(part, "three").to_numpy().sum() == pytest.approx(48)
    assert class_table(part, "three")["n"].tolist() == [16, 16, 16]


@pytest.mark.parametrize("task", LABELS)
def test_numbers_of_a_class(task):
    frame, classes = decisions(task), list(LABELS[task])
    rows, table = once(frame), class_table(frame, task)
    given = (rows["label"], rows["predicted"])
    settings = {"labels": classes, "average": None}
    np.testing.assert_allclose(table["sensitivity"], recall_score(*given, **settings))
    np.testing.assert_allclose(table["precision"], precision_score(*given, **settings))
    assert table["sensitivity"].mean() == pytest.approx(balanced_accuracy_score(*given))
    for row in table.to_dict("records"):
        rest = rows[rows["label"] != row["class"]]
        assert row["specificity"] == pytest.approx((rest["predicted"] != row["class"]).mean())
        own = frame[frame["positive"] == (row["class"] if task == "three" else "yes")]
        areas = [
            roc_auc_score(part["label"] == own["positive"].iloc[0], part["decision"])
            for _, part in own.groupby(["repeat", "fold"])
        ]
        assert row["auc"] == pytest.approx(np.mean(areas))
        assert row["auc_low"] < row["auc"] < row["auc_high"]


@pytest.mark.parametrize("task", LABELS)
def test_the_area_under_a_curve_is_the_auc(task):
    frame = decisions(task)
    curves = class_curves(frame, task)
    assert curves.columns.tolist() == list(LABELS[task])
    assert (curves.iloc[-1] == 1).all()
    assert (curves.diff().iloc[1:] >= -1e-12).all().all()
    areas = np.trapezoid(curves, curves.index, axis=0)
    np.testing.assert_allclose(areas, class_table(frame, task)["auc"], atol=0.004)


def test_samples_of_all_tasks():
    frame = pd.concat([decisions("two"), decisions("three"), decisions("two", model="other")])
    table = sample_table(None, frame)
    assert table.groupby("task").size().to_dict() == {"two": 48, "three": 48}
    names = ["sample", "task", "label", "predicted", "misclassified", "share_misclassified"]
    chances = [f"probability of {label}" for labels in LABELS.values() for label in labels]
    assert table.columns.tolist() == [*names, "repeats", *chances]
    two, three = (table[table["task"] == task].set_index("sample") for task in ("two", "three"))
    assert two[chances[2:]].isna().all(axis=None)
    np.testing.assert_allclose(two[chances[:2]].sum(axis=1), 1)
    np.testing.assert_allclose(three[chances[2:]].sum(axis=1), 1)
    for task, part in (("two", two), ("three", three)):
        rows = once(frame[(frame["task"] == task) & (frame["model"] == "m")])
        wrong = (rows["label"] != rows["predicted"]).groupby(rows["sample"]).mean()
        pd.testing.assert_series_equal(
            part["share_misclassified"], wrong[part.index], check_names=False
        )
        sure = part["share_misclassified"].isin([0, 1])
        assert (part["misclassified"] == (part["share_misclassified"] == 1))[sure].all()
        assert (part["misclassified"] == (part["predicted"] != part["label"])).all()
        assert (part["repeats"] == 2).all()
    first = frame[(frame["task"] == "two") & (frame["sample"] == "s3")].query("model == 'm'")
    assert two.loc["s3", "probability of yes"] == pytest.approx(first["probability"].mean())


def test_the_majority_of_the_repeats_is_the_prediction():
    frame = decisions("three", repeats=3)
    frame["predicted"] = frame["repeat"].map({1: "x", 2: "z", 3: "z"})
    table = sample_table(None, frame).set_index("sample")
    assert set(table["predicted"]) == {"z"}
    assert table.loc["s0", "share_misclassified"] == pytest.approx(2 / 3)  # of class x
    assert table.loc["s2", "share_misclassified"] == pytest.approx(1 / 3)


def test_classes_are_in_the_order_of_the_task():
    task = Task("three", np.array(["z", "x", "y"], object))
    frame = decisions("three")
    assert confusion_table(frame, "three", tasks=[task]).index.tolist() == ["z", "x", "y"]
    assert class_table(frame, "three", tasks=[task])["class"].tolist() == ["z", "x", "y"]
    columns = sample_table([task], frame).columns[-3:].tolist()
    assert columns == ["probability of z", "probability of x", "probability of y"]


def test_models_without_probabilities():
    frame = decisions("two").assign(probability=np.nan)
    table = sample_table(None, frame)
    assert table[["probability of no", "probability of yes"]].isna().all(axis=None)
    bare = frame.drop(columns=["probability", "positive"])
    assert len(sample_table(None, bare)) == 48
    pd.testing.assert_frame_equal(class_table(bare, "two"), class_table(frame, "two"))


def test_a_class_never_predicted_has_no_precision():
    frame = decisions("three")
    frame["predicted"] = frame["predicted"].replace("y", "x")
    row = class_table(frame, "three").set_index("class").loc["y"]
    assert row["sensitivity"] == 0
    assert row["specificity"] == 1
    assert np.isnan(row["precision"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda frame: confusion_table(frame, "nope"), "no task 'nope'; they have 'two'"),
        (lambda frame: class_table(frame, "two", model="x"), "have no model 'x'; they have 'm'"),
        (lambda frame: sample_table(None, frame.drop(columns="predicted")), "'predicted'"),
        (lambda frame: sample_table(None, frame.assign(label=None)), "no sample with a label"),
    ],
)
def test_refusals(call, words):
    with pytest.raises(InputError, match=words):
        call(decisions("two"))
