"""Cross-validation: no leaks, balanced and grouped folds, missing folds reported, reproducible."""

from __future__ import annotations

import os
import signal
import warnings
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from rankfactor.auc import fold_aucs
from rankfactor.estimators import RankFactorClassifier
from rankfactor.evaluation import Evaluation, cross_validate
from rankfactor.evaluation.baselines import LinearSVM


class Spy(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decides by the first feature, and records the samples of every call."""

    seen: ClassVar[list[tuple[set[str], set[str], list[str]]]] = []

    def __init__(self, random_state: Any = None, warn: str | None = None) -> None:
        self.random_state = random_state
        self.warn = warn

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        assert X.index.equals(y.index)
        self.single_ = y.ndim == 1
        columns = [y] if self.single_ else [y[name] for name in y.columns]
        self.tasks_ = [str(column.name) for column in columns]
        self.all_classes_ = [np.unique(np.array(c.dropna().tolist())) for c in columns]
        self.train_ = set(X.index)
        if self.warn:
            warnings.warn(self.warn.format(len(X)), ConvergenceWarning, stacklevel=2)
        return self

    @property
    def classes_(self) -> Any:
        return self.all_classes_[0] if self.single_ else self.all_classes_

    def decision_function(self, X: pd.DataFrame) -> Any:
        Spy.seen.append((self.train_, set(X.index), self.tasks_))
        x = X.iloc[:, 0].to_numpy()
        parts = [
            x if len(c) == 2 else -np.abs(x[:, None] - np.arange(len(c))) for c in self.all_classes_
        ]
        return parts[0] if self.single_ else parts

    def predict(self, X: pd.DataFrame) -> Any:
        x = X.iloc[:, 0].to_numpy()
        parts = [
            c[(x > 0).astype(int)]
            if len(c) == 2
            else c[np.clip(np.rint(x), 0, len(c) - 1).astype(int)]
            for c in self.all_classes_
        ]
        return parts[0] if self.single_ else np.column_stack([p.astype(object) for p in parts])


class RandomDecisions(Spy):
    """Decides by its seed alone."""

    def decision_function(self, X: pd.DataFrame) -> Any:
        return np.random.default_rng(self.random_state).standard_normal(len(X))


class Impatient(Spy):
    """Gets a Ctrl-C in its third fit; keeps its fit, as the factor models do, if told to."""

    fits: ClassVar[int] = 0

    def __init__(self, keeps: bool = False) -> None:
        super().__init__()
        self.keeps = keeps

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        Impatient.fits += 1
        if Impatient.fits == 3:
            try:
                os.kill(os.getpid(), signal.SIGINT)
            except KeyboardInterrupt:
                if not self.keeps:
                    raise
        return super().fit(X, y)


@pytest.fixture(autouse=True)
def forget() -> None:
    Spy.seen.clear()
    Impatient.fits = 0


def data(n: int = 40, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(seed)
    index = pd.Index([f"s{i}" for i in range(n)])
    y = np.arange(n) % 2
    z = (np.arange(n) // 2) % 2
    table = pd.DataFrame(rng.standard_normal((n, 5)), index=index, columns=list("abcde"))
    table["a"] += 2.0 * y - 1.0
    table["b"] += 2.0 * z - 1.0
    labels = pd.DataFrame({"y": np.where(y, "one", "nil"), "z": z}, index=index)
    return table, labels


def test_test_samples_are_never_in_the_training_part() -> None:
    table, labels = data()
    cross_validate({"spy": Spy()}, table, labels, n_folds=4, n_repeats=2)
    assert len(Spy.seen) == 8
    for repeat in (Spy.seen[:4], Spy.seen[4:]):
        tested: list[str] = []
        for train, test, _ in repeat:
            assert not train & test
            assert train | test == set(table.index)
            tested += test
        assert sorted(tested) == sorted(table.index)  # each sample is tested once
    assert {frozenset(test) for _, test, _ in Spy.seen[:4]} != {
        frozenset(test) for _, test, _ in Spy.seen[4:]
    }


def test_one_fit_per_fold_on_all_tasks_and_the_same_folds_for_all_models() -> None:
    table, labels = data()
    cross_validate({"first": Spy(), "second": Spy()}, table, labels, n_folds=4)
    assert len(Spy.seen) == 8
    assert all(tasks == ["y", "z"] for _, _, tasks in Spy.seen)
    assert all(a[:2] == b[:2] for a, b in zip(Spy.seen[::2], Spy.seen[1::2], strict=True))


def test_measures_and_summary() -> None:
    table, labels = data()
    result = cross_validate({"spy": Spy(), "other": Spy()}, table, labels, n_folds=4)
    assert isinstance(result, Evaluation)
    assert result.complete
    assert len(result.folds) == 2 * 2 * 4
    summary = result.summary()
    assert list(zip(summary["task"], summary["model"], strict=True)) == [
        ("y", "spy"),
        ("y", "other"),
        ("z", "spy"),
        ("z", "other"),
    ]
    truth = labels["y"].to_numpy() == "one"
    row = summary.iloc[0]
    assert 0 < row["auc_low"] < row["auc"] < row["auc_high"] < 1
    assert row["accuracy"] == pytest.approx(np.mean((table["a"] > 0) == truth))
    folds = result.folds[(result.folds["task"] == "y") & (result.folds["model"] == "spy")]
    assert folds["fold"].tolist() == [1, 2, 3, 4]
    assert folds["n_test"].tolist() == [10] * 4
    assert folds["n_train"].tolist() == [30] * 4
    assert row["auc"] == pytest.approx(folds["auc"].mean())
    assert row["auc_sd"] == pytest.approx(folds["auc"].std())
    first = Spy.seen[0][1]
    chosen = table.index.isin(list(first))
    assert folds["auc"].iloc[0] == pytest.approx(roc_auc_score(truth[chosen], table["a"][chosen]))
    assert (folds["seconds"] > 0).all()


def test_decisions_are_for_the_second_class() -> None:
    table, labels = data()
    decisions = cross_validate({"spy": Spy()}, table, labels, n_folds=4).decisions
    part = decisions[decisions["task"] == "y"].set_index("sample")
    assert set(part["positive"]) == {"one"}
    np.testing.assert_array_equal(part["decision"][table.index], table["a"])
    assert part["label"][table.index].tolist() == labels["y"].tolist()


def test_balanced_accuracy_of_unequal_classes() -> None:
    table, _ = data()
    labels = pd.DataFrame({"y": ["rare" if i < 10 else "usual" for i in range(40)]}, table.index)
    table["a"] = 1.0  # always the second class
    row = cross_validate({"spy": Spy()}, table, labels, n_folds=5).summary().iloc[0]
    assert row["accuracy"] == pytest.approx(0.75)
    assert row["balanced_accuracy"] == pytest.approx(0.5)
    assert row["auc"] == pytest.approx(0.5)


def test_more_than_two_classes() -> None:
    rng = np.random.default_rng(1)
    table, labels = data(45)
    kind = np.arange(45) % 3
    labels["kind"] = np.array(["a", "b", "c"])[kind]
    table["a"] = kind + 0.8 * rng.standard_normal(45)
    result = cross_validate({"spy": Spy()}, table, labels, n_folds=3)
    decisions = result.decisions[result.decisions["task"] == "kind"]
    assert len(decisions) == 3 * 45
    areas = np.zeros(3)
    for number, positive in enumerate("abc"):
        part = decisions[decisions["positive"] == positive].set_index("sample")
        assert len(part) == 45
        expected = roc_auc_score(kind == number, -np.abs(table["a"] - number))
        assert roc_auc_score(part["label"] == positive, part["decision"]) == pytest.approx(expected)
        areas += [
            roc_auc_score(rows["label"] == positive, rows["decision"]) / 3
            for _, rows in part.groupby("fold")
        ]
    folds = result.folds[result.folds["task"] == "kind"]
    assert folds["auc"].tolist() == pytest.approx(areas)
    summary = result.summary().set_index("task")
    assert summary.loc["kind", "auc"] == pytest.approx(areas.mean())
    assert fold_aucs(result.decisions)["kind", "spy"].value == pytest.approx(areas.mean())
    assert summary.loc["kind", "auc_low"] < areas.mean() < summary.loc["kind", "auc_high"]
    right = np.clip(np.rint(table["a"]), 0, 2) == kind
    assert summary.loc["kind", "accuracy"] == pytest.approx(right.mean())


def test_missing_labels_are_neither_trained_on_nor_judged() -> None:
    table, labels = data()
    labels = labels.astype(object)
    labels.loc[labels.index[:8], "z"] = np.nan
    result = cross_validate({"svm": LinearSVM(), "spy": Spy()}, table, labels, n_folds=2)
    part = result.decisions[
        (result.decisions["task"] == "z") & (result.decisions["model"] == "svm")
    ]
    assert set(part["sample"]) == set(labels.index[8:])
    folds = result.folds[(result.folds["task"] == "z") & (result.folds["model"] == "svm")]
    assert folds["n_test"].sum() == 32
    assert (folds["n_test"] + folds["n_train"] == 32).all()


def test_groups_stay_together() -> None:
    table, labels = data(60)
    groups = pd.Series(np.repeat(np.arange(20), 3), index=table.index)
    cross_validate({"spy": Spy()}, table, labels, n_folds=4, groups=groups)
    assert len(Spy.seen) == 4
    for train, test, _ in Spy.seen:
        assert not set(groups[list(train)]) & set(groups[list(test)])
    assert set.union(*(test for _, test, _ in Spy.seen)) == set(table.index)


@pytest.mark.slow
def test_the_answer_does_not_depend_on_the_number_of_jobs() -> None:
    table, labels = data()
    models = {
        "factors": RankFactorClassifier(n_factors=2, tol=1e-2, n_threads=1),  # no seed of its own
        "svm": LinearSVM(random_state=None),
    }
    one, two = (
        cross_validate(models, table, labels, n_folds=2, random_state=3, n_jobs=n) for n in (1, 2)
    )
    pd.testing.assert_frame_equal(one.decisions, two.decisions)
    pd.testing.assert_frame_equal(
        one.folds.drop(columns="seconds"), two.folds.drop(columns="seconds")
    )
    assert (one.summary()["auc"] > 0.5).all()


def test_the_seed_decides() -> None:
    table, labels = data()

    def decisions(seed: int) -> pd.DataFrame:
        models = {"random": RandomDecisions()}
        return cross_validate(models, table, labels[["y"]], n_folds=4, random_state=seed).decisions

    pd.testing.assert_frame_equal(decisions(1), decisions(1))
    assert not decisions(1).equals(decisions(2))


def test_any_classifier_will_do_for_one_task() -> None:
    table, labels = data()
    result = cross_validate({"logistic": LogisticRegression()}, table, labels[["y"]], n_folds=4)
    assert result.summary()["auc"].iloc[0] > 0.8


def test_folds_are_stratified_on_the_combination() -> None:
    table, labels = data()
    result = cross_validate({"spy": Spy()}, table, labels, n_folds=5)
    for _, test, _ in Spy.seen:
        assert labels.loc[list(test)].value_counts().tolist() == [2, 2, 2, 2]
    assert result.folds["auc"].notna().all()


def test_a_test_part_of_one_class_is_said_and_left_out_of_the_means() -> None:
    table, labels = data(24)
    # Stratified on y, so that z, which has few of one class in one group, may be uneven.
    labels["z"] = [1 if i < 4 else 0 for i in range(24)]
    groups = [0 if i < 4 else 1 + i % 5 for i in range(24)]
    with pytest.warns(UserWarning, match="left out of the means") as heard:
        result = cross_validate({"spy": Spy()}, table, labels, n_folds=3, groups=groups)
    texts = [str(one.message) for one in heard]
    lost = [text for text in texts if "the training part has no sample of class '1'" in text]
    single = [text for text in texts if "the test part has samples of class '0' only" in text]
    assert len(lost) == 1
    assert len(single) == 2
    assert all("task 'z'" in text for text in lost + single)
    fold = int(lost[0].split(",")[0].removeprefix("fold "))
    folds = result.folds[result.folds["task"] == "z"].set_index("fold")
    assert folds["auc"].isna().all()
    assert pd.isna(folds.loc[fold, "accuracy"])  # the task could not be fitted at all there
    assert folds.drop(index=fold)["accuracy"].notna().all()
    assert result.folds[result.folds["task"] == "y"]["auc"].notna().all()
    # No fold has both classes: no AUC and no interval, but no failure either.
    missing = result.summary().set_index("task").loc["z", ["auc", "auc_low", "auc_high"]]
    assert missing.isna().all()


def test_the_auc_of_decisions_leaves_out_the_same_folds() -> None:
    table, labels = data(24)
    labels["z"] = [1 if i in (0, 2, 12, 14) else 0 for i in range(24)]
    groups = [0 if i < 4 else 1 if 12 <= i < 16 else 2 + i // 4 for i in range(24)]
    with pytest.warns(UserWarning, match=r"fold \d, task 'z': the test part has samples of class"):
        result = cross_validate({"spy": Spy()}, table, labels, n_folds=4, groups=groups)
    part = result.folds[result.folds["task"] == "z"]
    assert 0 < part["auc"].notna().sum() < 4
    row = result.summary().set_index("task").loc["z"]
    assert row["auc"] == pytest.approx(part["auc"].dropna().mean())
    assert fold_aucs(result.decisions)["z", "spy"].value == pytest.approx(row["auc"])
    assert set(result.decisions["group"]) == set(range(6))


def test_a_class_lost_of_three_leaves_the_others() -> None:
    table, labels = data(30)
    labels = labels[["y"]].assign(kind=["a" if i < 6 else "bc"[i % 2] for i in range(30)])
    groups = [0 if i < 6 else 1 + i % 8 for i in range(30)]
    with pytest.warns(UserWarning, match="the training part has no sample of class 'a'"):
        result = cross_validate({"svm": LinearSVM()}, table, labels, n_folds=3, groups=groups)
    part = result.folds[result.folds["task"] == "kind"]
    assert part["accuracy"].notna().all()
    lost = part.loc[part["auc"].isna(), "fold"]
    decisions = result.decisions[result.decisions["task"] == "kind"]
    assert "a" not in set(decisions.loc[decisions["fold"].isin(lost), "positive"])
    assert set(decisions["positive"]) == {"a", "b", "c"}
    row = result.summary().set_index("task").loc["kind"]
    assert fold_aucs(result.decisions)["kind", "svm"].value == pytest.approx(row["auc"])


def test_models_are_compared_on_the_same_folds() -> None:
    table, labels = data(80)
    result = cross_validate(
        {"spy": Spy(), "random": RandomDecisions()}, table, labels[["y"]], n_folds=4, n_repeats=2
    )
    (row,) = result.comparisons().to_dict("records")
    assert (row["task"], row["model"], row["other"], row["folds"]) == ("y", "spy", "random", 8)
    spy, other = (result.folds.query("model == @m")["auc"].to_numpy() for m in ("spy", "random"))
    assert row["difference"] == pytest.approx(np.mean(spy - other))
    assert row["folds_better"] == (spy > other).sum()
    assert row["low"] < row["difference"] < row["high"]
    assert "group" not in result.decisions


def test_warnings_of_the_models_are_gathered() -> None:
    table, labels = data()
    with pytest.warns(ConvergenceWarning) as heard:
        cross_validate({"spy": Spy(warn="stopped at {} samples")}, table, labels, n_folds=4)
    assert [str(one.message) for one in heard] == ["spy, in 4 of 4 folds: stopped at 30 samples"]


def test_progress() -> None:
    table, labels = data()
    calls: list[tuple[str, int, int]] = []
    cross_validate(
        {"a": Spy(), "b": Spy()},
        table,
        labels,
        n_folds=2,
        progress=lambda *call: calls.append(call),
    )
    assert calls[:2] == [("a", 0, 2), ("b", 0, 2)]
    assert calls[2:] == [("a", 1, 2), ("b", 1, 2), ("a", 2, 2), ("b", 2, 2)]


@pytest.mark.parametrize("keeps", [False, True])
def test_an_interruption_keeps_whole_folds(keeps: bool) -> None:
    table, labels = data()
    models = {"spy": Spy(), "impatient": Impatient(keeps)}
    with pytest.warns(UserWarning, match="interrupted: 2 of 4 folds were finished by all models"):
        result = cross_validate(models, table, labels, n_folds=4)
    assert not result.complete
    assert result.folds.groupby("model")["fold"].unique().map(list).to_dict() == {
        "spy": [1, 2],
        "impatient": [1, 2],
    }
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_before_the_first_fold_is_raised() -> None:
    table, labels = data()
    Impatient.fits = 2
    with pytest.raises(KeyboardInterrupt):
        cross_validate({"spy": Spy(), "impatient": Impatient()}, table, labels, n_folds=4)


def test_probabilities_are_those_of_the_test_part() -> None:
    X, y = data()
    sure = LogisticRegression()
    result = cross_validate({"logistic": sure, "svm": LinearSVM()}, X, y[["y"]], n_folds=4)
    kept = result.decisions.set_index("model")
    assert kept.loc["svm", "probability"].isna().all()
    probability = kept.loc["logistic", "probability"].to_numpy()
    # Of the class that the decision is for, so that both say the same.
    expected = 1 / (1 + np.exp(-kept.loc["logistic", "decision"].to_numpy()))
    np.testing.assert_allclose(probability, expected, rtol=1e-10)
