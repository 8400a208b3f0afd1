"""The number of factors is chosen by the training samples only."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from rankfactor.errors import InputError
from rankfactor.estimators import RankFactorClassifier
from rankfactor.evaluation import ChooseFactors, cross_validate
from rankfactor.evaluation.choose_settings import ChooseSettings


class Graded(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Decides by the column numbered by its factors, and records its input."""

    fits: ClassVar[list[tuple[int, list[str]]]] = []

    def __init__(self, n_factors: int = 1, random_state: Any = None) -> None:
        self.n_factors = n_factors
        self.random_state = random_state

    def fit(self, X: pd.DataFrame, y: Any) -> Self:
        Graded.fits.append((self.n_factors, list(X["name"])))
        self.single_ = np.ndim(y) == 1
        columns = [y] if self.single_ else [y[name] for name in y.columns]
        self.all_ = [np.unique(column) for column in columns]
        return self

    @property
    def classes_(self) -> Any:
        return self.all_[0] if self.single_ else self.all_

    def decision_function(self, X: pd.DataFrame) -> Any:
        part = X[f"x{self.n_factors}"].to_numpy(float)
        return part if self.single_ else [part] * len(self.all_)

    def predict(self, X: pd.DataFrame) -> Any:
        part = [c[(X[f"x{self.n_factors}"] > 0).astype(int)] for c in self.all_]
        return part[0] if self.single_ else np.column_stack(part)


@pytest.fixture(autouse=True)
def forget() -> None:
    Graded.fits.clear()


def data(n: int = 40) -> tuple[pd.DataFrame, pd.Series[Any]]:
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    table = pd.DataFrame(
        {
            "x1": rng.standard_normal(n),
            "x2": y - 0.5,  # tells everything
            "x3": y - 0.5,  # so does this
            "name": np.arange(n, dtype=float),
        },
        index=[f"s{i}" for i in range(n)],
    )
    return table, pd.Series(y, index=table.index, name="y")


def test_the_best_and_of_equals_the_smallest() -> None:
    table, y = data()
    model = ChooseFactors(Graded(), (3, 1, 2), random_state=0).fit(table, y)
    assert model.n_factors_ == 2
    assert model.aucs_[2] == model.aucs_[3] == 1.0
    assert model.aucs_[1] < 0.9
    assert model.estimator_.n_factors == 2
    assert model.chosen_ == ["n_factors=2"]
    np.testing.assert_array_equal(model.decision_function(table), table["x2"])
    # Five folds of three numbers, then one fit to all samples.
    assert len(Graded.fits) == 16
    assert len(Graded.fits[-1][1]) == 40


def test_several_label_columns() -> None:
    table, y = data()
    labels = pd.DataFrame({"one": y, "two": y})
    model = ChooseFactors(Graded(), (1, 2), random_state=0).fit(table, labels)
    assert model.chosen_ == ["n_factors=2"] * 2


def test_inner_folds_see_the_training_part_only_and_keep_groups_together() -> None:
    table, y = data()
    groups = np.repeat(np.arange(10), 4)
    chooser = ChooseFactors(Graded(), (1, 2))
    result = cross_validate({"m": chooser}, table, y.to_frame(), n_folds=2, groups=groups)
    assert result.folds["chosen"].tolist() == ["n_factors=2"] * 2
    outer = [set(names) for _, names in Graded.fits if len(names) == 20]
    assert len(outer) == 2
    inner = [set(names) for _, names in Graded.fits if len(names) < 20]
    assert len(inner) == 2 * 2 * 5
    for names in inner:
        assert any(names < whole for whole in outer)
        # A group is either in an inner training part or not.
        for whole in outer:
            if names < whole:
                for group in range(10):
                    members = set(np.flatnonzero(groups == group)) & whole
                    assert members <= names or not members & names


def test_without_groups_the_inner_folds_do_divide_them() -> None:
    table, y = data()
    groups = np.repeat(np.arange(10), 4)
    ChooseFactors(Graded(), (1, 2), random_state=0).fit(table, y)
    divided = [
        any(0 < len(set(np.flatnonzero(groups == group)) & set(names)) < 4 for group in range(10))
        for _, names in Graded.fits[:-1]
    ]
    assert any(divided)


def test_numbers_that_are_too_large_are_left_out() -> None:
    table, y = data(12)
    with pytest.warns(UserWarning, match="n_factors=30 is more than an inner fold has samples"):
        model = ChooseFactors(Graded(), (1, 2, 30), random_state=0).fit(table, y)
    assert set(model.aucs_) == {1, 2}


def test_a_class_of_one_gives_up_the_choice() -> None:
    table, y = data(12)
    y[:] = 0
    y.iloc[3] = 1
    with pytest.warns(UserWarning, match="too few to choose n_factors"):
        model = ChooseFactors(Graded(), (2, 1), random_state=0).fit(table, y)
    assert model.n_factors_ == 1


@pytest.mark.parametrize("numbers", [(), (0, 2), (1.5, 2)])
def test_bad_numbers(numbers: Any) -> None:
    table, y = data(12)
    with pytest.raises(InputError, match="n_factors"):
        ChooseFactors(Graded(), numbers).fit(table, y)


def test_the_real_model() -> None:
    table, y = data(30)
    estimator = RankFactorClassifier("G-L-BSVM", tol=1e-2, n_threads=1)
    model = ChooseFactors(estimator, (1, 2), n_folds=2, random_state=0).fit(table, y)
    assert model.n_factors_ in (1, 2)
    assert model.predict_proba(table).shape == (30, 2)
    assert model.estimator_.random_state == 0
    assert estimator.random_state is None  # the one given is left alone
    again = ChooseFactors(estimator, (1, 2), n_folds=2, random_state=0).fit(table, y)
    np.testing.assert_array_equal(model.decision_function(table), again.decision_function(table))


def test_parallel_analysis_is_a_candidate_whatever_the_number_of_samples() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    table = pd.DataFrame(rng.standard_normal((24, 6)) + y[:, None])
    model = RankFactorClassifier(max_iter=3, tol=1.0, calibration="none", random_state=0)
    candidates: list[dict[str, Any]] = [{"n_factors": "auto"}, {"n_factors": 2}, {"n_factors": 20}]
    chooser = ChooseSettings(model, candidates, random_state=0)
    chooser.choose(table, pd.Series(y))
    assert [bool(np.isnan(one)) for one in chooser.scores_] == [False, False, True]
