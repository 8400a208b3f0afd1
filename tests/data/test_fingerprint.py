"""The fingerprint of a table: the same for the same data, another for any other."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from rankfactor.data import fingerprint


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
