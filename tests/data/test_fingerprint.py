"""The fingerprint of a table: equal for equal data, different otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from rankfactor.data import fingerprint
from rankfactor.data.fingerprint import RowsFingerprint
from rankfactor.data.sparse import NamedSparse


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {"a": [1, 0, 3], "b": [0.5, np.nan, 2.0], "c": ["x", None, "y"]}, index=["s", "t", "u"]
    )


def labels() -> pd.DataFrame:
    return pd.DataFrame({"ill": ["yes", np.nan, "no"]}, index=["s", "t", "u"], dtype=object)


def test_type_and_layout_do_not_matter() -> None:
    one = fingerprint(table(), labels())
    assert one["labels"]["ill"]["classes"] == {"no": 1, "yes": 1}
    assert one["labels"]["ill"]["missing"] == 1
    other = table().astype({"a": "float32"})
    other["c"] = other["c"].where(other["c"].notna(), np.nan)
    other.loc["t", "a"] = -0.0
    assert fingerprint(other, labels()) == one
    assert fingerprint(table())["labels"] == {}


@pytest.mark.parametrize(
    ("change", "samples", "same_labels"),
    [
        (lambda x, y: (x.rename(columns={"a": "z"}), y), True, True),
        (lambda x, y: (x.assign(b=[0.5, 0.0, 2.0]), y), True, True),
        (lambda x, y: (x.assign(c=["x", "None", "y"]), y), True, True),
        (lambda x, y: (x.rename({"s": "v"}), y.rename({"s": "v"})), False, False),
        (lambda x, y: (x.iloc[:2], y.iloc[:2]), False, False),
    ],
)
def test_any_change_is_seen(change, samples, same_labels) -> None:
    one, two = fingerprint(table(), labels()), fingerprint(*change(table(), labels()))
    assert one["table_sha256"] != two["table_sha256"]
    assert (one["samples_sha256"] == two["samples_sha256"]) is samples
    assert (one["labels"] == two["labels"]) is same_labels


def test_labels_are_seen() -> None:
    swapped = labels()
    swapped["ill"] = ["no", np.nan, "yes"]
    one, two = fingerprint(table(), labels()), fingerprint(table(), swapped)
    assert one["table_sha256"] == two["table_sha256"]
    assert one["labels"]["ill"]["classes"] == two["labels"]["ill"]["classes"]
    assert one["labels"]["ill"]["sha256"] != two["labels"]["ill"]["sha256"]


def by_rows(given: pd.DataFrame, *ends: int, sparse: bool = False) -> dict[str, object]:
    mark = RowsFingerprint()
    for first, end in zip((0, *ends), (*ends, len(given)), strict=True):
        part = given.iloc[first:end]
        if sparse:
            matrix = csr_array(part[["a"]].to_numpy())
            part = NamedSparse(matrix, part.index, pd.Index(["a"]), part[["b", "c"]])
        mark.add(part)
    return mark.told(labels())


@pytest.mark.parametrize("sparse", [False, True])
def test_chunks_do_not_matter_and_values_do(sparse: bool) -> None:
    whole, one = fingerprint(table(), labels()), by_rows(table(), sparse=sparse)
    assert by_rows(table(), 1, sparse=sparse) == by_rows(table(), 1, 2, sparse=sparse) == one
    del whole["table_sha256"]
    assert {name: value for name, value in one.items() if name != "rows_sha256"} == whole
    moved = table().iloc[[1, 0, 2]].set_axis(table().index, axis=0)
    for other in (
        table().assign(a=[1, 0, 4]),
        table().assign(b=[0.5, 0.0, 2.0]),
        table().assign(c=["x", "y", None]),
        table().rename(columns={"c": "d"}) if not sparse else moved,
        moved,
    ):
        assert by_rows(other, 1, sparse=sparse)["rows_sha256"] != one["rows_sha256"]
