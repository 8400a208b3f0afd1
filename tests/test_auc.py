"""The cross-validated AUC: its value, its interval, and paired differences."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from rankfactor.auc import INFLATION, comparisons, fold_aucs


def frame(label, decision, fold=None, *, model="m", repeat=1, positive="b", **more):
    n = len(label)
    columns = {"task": "t", "model": model, "sample": [f"s{i}" for i in range(n)]}
    columns |= {"repeat": repeat, "fold": np.ones(n, int) if fold is None else fold}
    columns |= {"label": label, "positive": positive, "decision": decision, **more}
    return pd.DataFrame(columns)


def one_fold(n=200, shift=1.0, seed=0):
    rng = np.random.default_rng(seed)
    label = np.array(["a", "b"], object)[np.arange(n) % 2]
    return label, rng.standard_normal(n) + shift * (label == "b")


def standard_error(found):
    """Without the inflation, by the definition."""
    return np.sqrt((found.influence**2).sum())


def test_variance_of_one_fold_is_delongs():
    label, decision = one_fold(40)
    decision = np.round(decision, 1)  # with ties
    found = fold_aucs(frame(label, decision))["t", "m"]
    high, low = decision[label == "b"], decision[label == "a"]
    wins = (high[:, None] > low) + 0.5 * (high[:, None] == low)
    expected = wins.mean(axis=1).var(ddof=1) / len(high) + wins.mean(axis=0).var(ddof=1) / len(low)
    assert standard_error(found) ** 2 == pytest.approx(expected)
    assert found.value == pytest.approx(roc_auc_score(label == "b", decision))


@pytest.mark.slow
def test_variance_agrees_with_the_bootstrap():
    label, decision = one_fold(300)
    rng = np.random.default_rng(1)
    sides = [np.flatnonzero(label == one) for one in "ab"]
    areas = []
    for _ in range(800):
        rows = np.concatenate([rng.choice(side, len(side)) for side in sides])
        areas.append(roc_auc_score(label[rows] == "b", decision[rows]))
    found = fold_aucs(frame(label, decision))["t", "m"]
    assert standard_error(found) == pytest.approx(np.std(areas), rel=0.1)


@pytest.mark.slow
def test_three_classes_against_the_bootstrap_and_by_hand():
    rng = np.random.default_rng(2)
    n = 240
    label = np.array(list("abc"), object)[np.arange(n) % 3]
    decision = rng.standard_normal((n, 3)) + 0.9 * (label[:, None] == np.array(list("abc")))
    parts = [frame(label, decision[:, j], positive=c) for j, c in enumerate("abc")]
    found = fold_aucs(pd.concat(parts))["t", "m"]

    def area(rows):
        return np.mean(
            [roc_auc_score(label[rows] == c, decision[rows, j]) for j, c in enumerate("abc")]
        )

    assert found.value == pytest.approx(area(np.arange(n)))
    sides = [np.flatnonzero(label == c) for c in "abc"]
    areas = [
        area(np.concatenate([rng.choice(side, len(side)) for side in sides])) for _ in range(600)
    ]
    # Samples of "the rest" are not drawn by class in DeLong's variance, which is a little larger.
    assert standard_error(found) == pytest.approx(np.std(areas), rel=0.12)


def test_folds_are_averaged_and_their_levels_do_not_matter():
    label, decision = one_fold(60)
    fold = np.arange(60) // 2 % 3 + 1
    found = fold_aucs(frame(label, decision, fold))["t", "m"]
    areas = [roc_auc_score(label[fold == f] == "b", decision[fold == f]) for f in (1, 2, 3)]
    assert found.folds.tolist() == pytest.approx(areas)
    assert found.value == pytest.approx(np.mean(areas))
    moved = fold_aucs(frame(label, decision + 10 * fold, fold))["t", "m"]
    assert moved.interval() == pytest.approx(found.interval())
    single = [
        standard_error(fold_aucs(frame(label, decision, fold).query("fold == @f"))["t", "m"])
        for f in (1, 2, 3)
    ]
    assert standard_error(found) == pytest.approx(np.sqrt(np.square(single).sum()) / 3)


def test_the_interval_is_on_the_logit_scale_and_inflated():
    label, decision = one_fold(2000)
    found = fold_aucs(frame(label, decision))["t", "m"]
    value, low, high = found.interval()
    logit = np.log([p / (1 - p) for p in (low, value, high)])
    assert logit[1] - logit[0] == pytest.approx(logit[2] - logit[1])
    half = 1.96 * np.sqrt(INFLATION) * standard_error(found) / (value * (1 - value))
    assert logit[2] - logit[1] == pytest.approx(half, rel=0.01)
    wide = found.interval(0.99)
    assert wide.low < low < high < wide.high


def test_repeating_the_same_folds_does_not_narrow_the_interval():
    label, decision = one_fold(60)
    fold = np.arange(60) // 2 % 3 + 1
    once = frame(label, decision, fold)
    twice = pd.concat([once, once.assign(repeat=2)])
    one, two = (fold_aucs(part)["t", "m"] for part in (once, twice))
    assert len(two.folds) == 6
    assert two.interval() == pytest.approx(one.interval())


def test_samples_of_a_group_are_not_independent():
    label, decision = one_fold(60)
    once = frame(label, decision)
    doubled = pd.concat([once, once.assign(sample=once["sample"] + "again")])
    doubled["group"] = pd.factorize(doubled["sample"].str.removesuffix("again"))[0]
    plain = doubled.drop(columns="group")
    one, grouped, fooled = (fold_aucs(part)["t", "m"] for part in (once, doubled, plain))
    # Twice the same samples say as much as once, but for the factor n / (n - 1).
    assert standard_error(grouped) == pytest.approx(standard_error(one), rel=0.02)
    assert standard_error(fooled) < 0.75 * standard_error(one)


def test_perfect_separation_leaves_room():
    label = np.array(list("ab") * 15, object)
    value, low, high = fold_aucs(frame(label, (label == "b") * 1.0))["t", "m"].interval()
    assert (value, high) == (1.0, 1.0)
    assert low == pytest.approx(0.025 ** (1 / 15))
    worst = fold_aucs(frame(label, (label == "a") * 1.0))["t", "m"].interval()
    assert worst == pytest.approx((0.0, 0.0, 1 - low))


def test_folds_without_an_auc_are_left_out():
    label, decision = one_fold(40)
    fold = np.where(np.arange(40) < 20, 1, 2)
    label[20:] = "a"
    found = fold_aucs(frame(label, decision, fold))["t", "m"]
    assert found.folds.index.tolist() == [(1, 1)]
    nothing = fold_aucs(frame(label[20:], decision[20:]))["t", "m"]
    assert np.isnan(nothing.interval()).all()
    # Three classes, one of which a training part lacked: no decision is for it.
    three = np.array(list("abc") * 10, object)
    parts = [frame(three, decision[:30], 1 + np.arange(30) // 15, positive=c) for c in "abc"]
    whole = pd.concat(parts)
    lost = whole[(whole["fold"] == 1) | (whole["positive"] != "c")]
    assert fold_aucs(whole)["t", "m"].folds.index.tolist() == [(1, 1), (1, 2)]
    assert fold_aucs(lost)["t", "m"].folds.index.tolist() == [(1, 1)]


def test_single_samples_of_a_class_count_by_the_spread_of_folds():
    label = np.array(list("baaa") * 5, object)
    rng = np.random.default_rng(0)
    decision = rng.standard_normal(20) + (label == "b")
    fold = np.arange(20) // 4
    value, low, high = fold_aucs(frame(label, decision, fold))["t", "m"].interval()
    assert 0 < low < value < high < 1
    single = fold_aucs(frame(label[:4], np.array([1.0, 0.0, 0.5, 2.0])))["t", "m"].interval()
    assert single.value == pytest.approx(2 / 3)
    assert np.isnan(single[1:]).all()


def test_what_a_frame_may_lack():
    label, decision = one_fold(40)
    full = frame(label, decision)
    bare = full.drop(columns=["repeat", "fold", "positive"])
    assert fold_aucs(bare)["t", "m"].interval() == fold_aucs(full)["t", "m"].interval()
    three = bare.assign(label=list("abcd") * 10)
    assert fold_aucs(three) == {}
    unknown = full.assign(label=full["label"].where(full.index != 0))
    dropped = full[full.index != 0]
    assert fold_aucs(unknown)["t", "m"].value == fold_aucs(dropped)["t", "m"].value


def test_paired_differences():
    label, decision = one_fold(120, 1.0)
    rng = np.random.default_rng(3)
    fold = np.arange(120) // 2 % 4 + 1
    near = decision + 0.2 * rng.standard_normal(120)
    names = {"own": decision, "near": near, "same": 3 * decision - 1, "noise": near[::-1]}
    parts = [frame(label, values, fold, model=name) for name, values in names.items()]
    whole = pd.concat(parts, ignore_index=True)
    areas, found = fold_aucs(whole), comparisons(whole)
    assert found["other"].tolist() == ["near", "same", "noise"]
    assert set(found["model"]) == {"own"}
    rows = found.set_index("other")
    for name, row in rows.iterrows():
        apart = areas["t", "own"].folds - areas["t", name].folds
        assert row["difference"] == pytest.approx(apart.mean())
        assert row["folds_better"] == (apart > 1e-12).sum()
        assert row["folds"] == 4
        middle = (row["low"] + row["high"]) / 2
        assert middle == pytest.approx(row["difference"])
    assert rows.loc["same", ["difference", "low", "high"]].tolist() == [0, 0, 0]
    assert rows.loc["same", "folds_equal"] == 4
    # Decisions that agree make the difference much surer than the two AUCs are.
    width = rows["high"] - rows["low"]
    alone = areas["t", "near"].interval()
    assert width["near"] < 0.5 * (alone.high - alone.low) < width["noise"]


@pytest.mark.slow
def test_difference_variance_agrees_with_the_bootstrap():
    label, one = one_fold(200, 1.2)
    other = 0.6 * one + np.random.default_rng(5).standard_normal(200)
    rng = np.random.default_rng(6)
    sides = [np.flatnonzero(label == c) for c in "ab"]
    apart = []
    for _ in range(800):
        rows = np.concatenate([rng.choice(side, len(side)) for side in sides])
        hit = label[rows] == "b"
        apart.append(roc_auc_score(hit, one[rows]) - roc_auc_score(hit, other[rows]))
    both = fold_aucs(pd.concat([frame(label, one), frame(label, other, model="other")]))
    found = both["t", "m"].less(both["t", "other"])
    half = (found.high - found.low) / 2
    assert half == pytest.approx(1.984 * np.sqrt(INFLATION) * np.std(apart), rel=0.1)
