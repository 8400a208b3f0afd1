"""What a Dataset checks when it is built."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from rankfactor.data import Dataset
from rankfactor.errors import InputError


def table(**columns: list[float]) -> pd.DataFrame:
    return pd.DataFrame(columns, index=["x", "y"])


TABLE = table(a=[1.0, np.nan], b=[3.0, 4.0])
LABELS = pd.DataFrame({"task": ["A", np.nan]}, index=["x", "y"], dtype=object)


def fails(sentence: str, table: pd.DataFrame, labels: pd.DataFrame) -> None:
    with pytest.raises(InputError) as caught:
        Dataset("mine", table, labels)
    assert str(caught.value) == sentence


def test_properties() -> None:
    data = Dataset("mine", TABLE, LABELS, "here")
    assert (data.n_samples, data.n_features) == (2, 2)
    assert data.feature_names == ["a", "b"]
    assert data.task_names == ["task"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"  # type: ignore[misc]


def test_labels_may_have_no_columns() -> None:
    assert Dataset("mine", TABLE, pd.DataFrame(index=TABLE.index)).task_names == []


def test_index() -> None:
    fails(
        "The labels of mine do not have the index of its table; align them with align_labels.",
        TABLE,
        LABELS.iloc[::-1],
    )


def test_repeated_names() -> None:
    fails(
        "The table of mine has a repeated feature name: 'a'; make every name unique.",
        TABLE.set_axis(["a", "a"], axis=1),
        LABELS,
    )
    fails(
        "The table of mine has a repeated sample name: 'x'; make every name unique.",
        TABLE.set_axis(["x", "x"], axis=0),
        LABELS.set_axis(["x", "x"], axis=0),
    )
    fails(
        "The labels of mine have a repeated task name: 'task'; make every name unique.",
        TABLE,
        pd.concat([LABELS, LABELS], axis=1),
    )


def test_type() -> None:
    fails(
        "The column 'b' of mine is int64, not float64; convert the table with numeric_table.",
        TABLE.assign(b=[1, 2]),
        LABELS,
    )


def test_infinite() -> None:
    fails(
        "The value of 'b' in sample 'y' of mine is infinite; "
        "correct it, or make it NaN if it is missing.",
        table(a=[1.0, np.nan], b=[0.0, -np.inf]),
        LABELS,
    )
