"""How folds are stratified, and every sentence about data that cannot be divided."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

from rankfactor.errors import InputError
from rankfactor.evaluation import cross_validate
from rankfactor.folds import strata


def data() -> tuple[pd.DataFrame, pd.DataFrame]:
    index = pd.Index([f"s{i}" for i in range(40)])
    table = pd.DataFrame({"a": np.arange(40.0)}, index=index)
    labels = pd.DataFrame({"y": ["nil", "one"] * 20, "z": [0, 0, 1, 1] * 10}, index=index)
    return table, labels


def test_the_rule_of_stratification() -> None:
    y = np.repeat([0, 1], 20)
    rare_together = np.r_[np.zeros(18), np.ones(22)].astype(int)  # two samples with 0 and 1
    assert (strata(np.column_stack([y, rare_together]), 2) != y).any()
    np.testing.assert_array_equal(strata(np.column_stack([y, rare_together]), 5), y)
    few_missing = np.where(np.arange(40) == 0, -1, rare_together)
    # One missing label is a rare level of the first task here, so the second decides.
    np.testing.assert_array_equal(strata(np.column_stack([few_missing, y]), 5), y)
    np.testing.assert_array_equal(
        strata(few_missing[:, None], 5), np.where(np.arange(40) == 0, 1, rare_together)
    )


def fails(sentence: str, labels: pd.DataFrame | None = None, **arguments: Any) -> None:
    table, usual = data()
    with pytest.raises(InputError) as caught:
        cross_validate(
            {"model": DummyClassifier()}, table, usual if labels is None else labels, **arguments
        )
    assert str(caught.value) == sentence


def test_sentences() -> None:
    table, labels = data()
    rare = labels.assign(y=["rare" if i < 3 else "usual" for i in range(40)])
    fails(
        "task 'y' has 3 samples of class 'rare', too few for 10 folds: lower n_folds to 3, or "
        "leave out the class 'rare'.",
        rare,
    )
    fails(
        "task 'y' has 1 sample of class 'rare', too few for 2 folds: add samples of the class, or "
        "leave out the class 'rare'.",
        labels.assign(y=["rare" if i < 1 else "usual" for i in range(40)]),
        n_folds=2,
    )
    fails("n_folds must be a whole number of at least 2, not 1.", n_folds=1)
    fails("n_repeats must be a whole number of at least 1, not 0.", n_repeats=0)
    fails("random_state must be a whole number of at least 0, not -1.", random_state=-1)
    fails(
        "the labels do not have the index of the table: reorder them, for example "
        "labels.loc[table.index].",
        labels.iloc[::-1],
    )
    fails("there is no task: labels needs at least one column.", labels[[]])
    fails("there are 5 groups for 40 samples: give one each.", groups=range(5))
    fails("there are 2 groups, too few for 4 folds: lower n_folds.", n_folds=4, groups=[0, 1] * 20)
    fails(
        "sample 's1' has no group: give it one of its own if it belongs to none.",
        groups=[0, None] + [1] * 38,
    )
    fails(
        "groups does not have the index of the table: reorder it, for example "
        "groups.loc[table.index].",
        groups=pd.Series(range(40), index=table.index[::-1]),
    )
    with pytest.raises(InputError, match="there is no model to evaluate"):
        cross_validate({}, table, labels)
