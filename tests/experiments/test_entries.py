"""The log scale where it is needed, and settings chosen within the training part."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from tests.experiments.sets import signal

from rankfactor.errors import InputError
from rankfactor.evaluation import cross_validate
from rankfactor.evaluation.baselines import LinearSVM, NormalScoresPCASVM
from rankfactor.evaluation.choose_settings import ChooseSettings
from rankfactor.experiments.entries import Entry, build, candidates, entries
from rankfactor.experiments.log_scale import LogScale, is_raw
from rankfactor.folds import possible_folds


def test_the_log_scale_is_for_raw_tables() -> None:
    X, y = signal()
    raw = pd.DataFrame(np.exp(X + 6), columns=[f"g{i}" for i in range(8)])
    model = LogScale(LinearSVM()).fit(raw, y)
    assert model.logged_
    by_hand = LinearSVM().fit(np.log2(1 + raw), y)
    np.testing.assert_array_equal(
        model.decision_function(raw), by_hand.decision_function(np.log2(1 + raw))
    )
    assert model.chosen_ == by_hand.chosen_
    assert list(model.classes_) == ["a", "b"]
    moved = raw.copy()
    moved.iloc[0, 0] = -1e4
    assert not LogScale(LinearSVM()).fit(moved, y).logged_
    always = LogScale(LinearSVM(), log=True).fit(moved, y)
    held = np.log2(1 + moved.clip(lower=0))
    np.testing.assert_array_equal(
        always.decision_function(moved), LinearSVM().fit(held, y).decision_function(held)
    )
    plain = LogScale(LinearSVM()).fit(X, y)
    assert not plain.logged_
    np.testing.assert_array_equal(plain.predict(X), LinearSVM().fit(X, y).predict(X))


def test_what_is_raw() -> None:
    assert is_raw([[0, 5000.0], [np.nan, 1]])
    assert not is_raw([[0, 255.0]])  # pixels
    assert not is_raw([[-1, 5000.0]])  # a logarithm would not be defined
    assert not is_raw(pd.DataFrame({"a": [5000.0, 1.0], "sex": ["m", "f"]}))


class Fixed(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decides by the second feature if ``good``, else always 0; records its sample sizes."""

    sizes: list[int] = []  # noqa: RUF012 (shared on purpose)

    def __init__(self, good: bool = False) -> None:
        self.good = good

    def fit(self, X: Any, y: Any, groups: Any = None) -> Fixed:
        self.classes_ = np.unique(y)
        Fixed.sizes.append(len(X))
        return self

    def decision_function(self, X: Any) -> Any:
        values = np.asarray(X)[:, 1]
        return values if self.good else np.zeros(len(values))

    def predict(self, X: Any) -> Any:
        return self.classes_[(self.decision_function(X) > 0).astype(int)]


@pytest.mark.parametrize("measure", ["auc", "accuracy"])
def test_the_better_settings_are_chosen_inside(measure: str) -> None:
    X, y = signal(90)
    Fixed.sizes.clear()
    ways = [{"good": False}, {"good": True}]
    model = ChooseSettings(Fixed(), ways, measure=measure, most_samples=60).fit(X, y)
    assert model.settings_ == {"good": True}
    assert model.chosen_ == ["good=True"]
    assert model.scores_[1] > 0.7 > model.scores_[0]
    # Three folds of sixty samples for each, then all.
    assert Fixed.sizes == [40] * 6 + [90]


class Watched(Fixed):
    """As `Fixed`; notes the first feature, which is the number of a sample, of what it learns."""

    fits: list[tuple[set[int], Any]] = []  # noqa: RUF012 (shared on purpose)

    def fit(self, X: Any, y: Any, groups: Any = None) -> Watched:
        Watched.fits.append((set(np.asarray(X)[:, 0].astype(int)), groups))
        super().fit(X, y)
        return self


def numbered(n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table whose first feature is the number of the sample, and labels."""
    X, y = signal(n)
    X[:, 0] = np.arange(n)
    index = pd.Index([f"s{i}" for i in range(n)])
    return pd.DataFrame(X, index=index), pd.DataFrame({"y": y}, index=index)


def test_a_choice_never_sees_the_test_part_and_keeps_groups_together() -> None:
    table, labels = numbered(96)
    groups = np.arange(96) // 4
    Watched.fits.clear()
    ways = [{"good": False}, {"good": True}]
    found = cross_validate(
        {"chosen": ChooseSettings(Watched(), ways)}, table, labels, n_folds=4, groups=groups
    )
    assert set(found.folds["chosen"]) == {"good=True"}
    # By fold: three inner folds of every candidate, then a fit to the training part.
    assert len(Watched.fits) == 4 * (2 * 3 + 1)
    for fold in range(4):
        *inner, (train, given) = Watched.fits[7 * fold : 7 * (fold + 1)]
        assert len(train) == 72
        assert given is not None
        for part, together in inner:
            assert part < train
            assert len(together) == len(part)
            # What is left out inside are whole groups of the training part.
            assert not {i // 4 for i in part} & {i // 4 for i in train - part}
        assert sorted(i for part, _ in inner[::2] for i in train - part) == sorted(train)


def test_large_training_parts_are_represented_by_some_samples() -> None:
    table, labels = numbered(120)
    Watched.fits.clear()
    ways = [{"good": False}, {"good": True}]
    model = ChooseSettings(Watched(), ways, most_samples=30).fit(table, labels["y"])
    assert [len(part) for part, _ in Watched.fits] == [20] * 6 + [120]
    assert model.settings_ == {"good": True}


@pytest.mark.slow
def test_factors_that_an_inner_part_has_no_samples_for_are_not_tried() -> None:
    X, y = signal(30)
    y[:] = "a"
    y[:2] = "b"  # two folds only, so that an inner part has half of the samples
    ways = [{"n_factors": k} for k in (4, 10, 20)]
    model = ChooseSettings(NormalScoresPCASVM(), ways).fit(X, y)
    assert np.isnan(model.scores_).tolist() == [False, False, True]
    assert model.settings_ != {"n_factors": 20}
    few = ChooseSettings(NormalScoresPCASVM(), ways[1:]).fit(X, y, groups=np.arange(30) // 6)
    assert (few.settings_, few.scores_) == ({"n_factors": 10}, [])
    factors = build(Entry("G-L-BSVM", "chosen"), most_factors=31, n_threads=1).estimator
    assert {"n_factors": 20, "training": "bayes"} in factors.candidates
    assert "n_factors=10" in factors.fit(X, y).chosen_[0]


def test_a_choice_by_repeated_folds() -> None:
    X, y = signal(60)
    ways = [{"good": False}, {"good": True}]
    model = ChooseSettings(Fixed(), ways, measure="accuracy", n_folds=4, n_repeats=2).fit(X, y)
    folds = model.folds_
    assert len(folds) == 2 * 4 * 2
    means = folds.groupby("model", sort=False)["accuracy"].mean()
    assert model.scores_ == pytest.approx(means.tolist())


def test_of_equal_settings_the_first() -> None:
    X, y = signal()
    model = ChooseSettings(Fixed(), [{"good": True}, {"good": True}]).fit(X, y)
    assert model.settings_ == {"good": True}
    rare = np.where(np.arange(48) == 3, "a", "b")  # no class may be divided
    model = ChooseSettings(Fixed(), [{"good": False}, {"good": True}]).fit(X, rare)
    assert (model.settings_, model.scores_) == ({"good": False}, [])


def test_wrong_choices_are_refused() -> None:
    X, y = signal()
    with pytest.raises(InputError, match="measure must be"):
        ChooseSettings(Fixed(), [{}], measure="f1").fit(X, y)
    with pytest.raises(InputError, match="candidates is empty"):
        ChooseSettings(Fixed(), []).fit(X, y)


def test_folds_that_every_class_can_be_in() -> None:
    class_index = np.array([[0, 0], [0, 1], [0, 0], [1, 1], [1, -1], [1, 1]])
    assert possible_folds(class_index, None, 10) == 2
    assert possible_folds(class_index, None, 2) == 2
    assert possible_folds(class_index, np.array([0, 0, 0, 1, 1, 2]), 10) == 1


def test_rows_of_a_table() -> None:
    rows = entries(["R-L-BSVM", "OR-L-BSVM", "L-SVM"], "all")
    assert rows == [
        Entry("R-L-BSVM", "K = 20"),
        Entry("R-L-BSVM", "default"),
        Entry("R-L-BSVM", "chosen"),
        Entry("OR-L-BSVM", "K = 20"),  # which has no other training
        Entry("OR-L-BSVM", "chosen"),
        Entry("L-SVM", "its own"),
    ]
    assert [row.name for row in rows[:3]] == [
        "R-L-BSVM",
        "R-L-BSVM (default)",
        "R-L-BSVM (chosen)",
    ]
    assert entries(["PFA-L-BSVM"], "default") == [Entry("PFA-L-BSVM", "K = 20")]
    assert len(entries(["R-L-BSVM", "L-SVM"], "paper")) == 2
    assert entries(["R-NL-BSVM", "G-L-BSVM", "RF"], "margin") == [
        Entry("R-NL-BSVM", "margin chosen"),
        Entry("G-L-BSVM", "K = 20"),  # which has no margin
        Entry("RF", "its own"),
    ]
    with pytest.raises(InputError, match="settings must be one of paper"):
        entries(["L-SVM"], "best")
    with pytest.raises(InputError, match="models must be one of"):
        entries(["SVM"], "paper")


def test_estimators_of_rows() -> None:
    fixed = build(Entry("R-L-BSVM", "K = 20"), most_factors=12, random_state=3)
    assert (fixed.n_factors, fixed.random_state) == (12, 3)
    assert fixed.training == "bayes"
    assert build(Entry("R-L-BSVM", "default")).training == "auto"
    chosen = build(Entry("G-L-BSVM", "chosen"), measure="accuracy")
    assert isinstance(chosen, LogScale)
    assert isinstance(chosen.estimator, ChooseSettings)
    assert chosen.estimator.measure == "accuracy"
    assert not isinstance(build(Entry("G-L-BSVM", "K = 20"), log=False), LogScale)
    assert build(Entry("L-SVM", "its own"), log=True).log
    margin = build(Entry("R-L-BSVM", "margin chosen"), measure="accuracy")
    assert (margin.estimator.training, margin.estimator.n_factors) == ("bayes", 20)
    assert (margin.n_folds, margin.n_repeats, margin.measure) == (5, 3, "accuracy")
    assert {"margin": 0.05, "max_cuts": 16} in margin.candidates
    assert len(margin.candidates) == 20
    assert isinstance(build(Entry("NS-PCA-SVM", "K = 20")), NormalScoresPCASVM)
    assert {"n_factors": 40, "training": "predictive"} in candidates("R-L-BSVM", 100)
    assert candidates("OR-L-BSVM", 40) == [{"n_factors": 10}, {"n_factors": 20}]
    assert candidates("PFA-L-BSVM", 7) == [{"n_factors": 7}]
