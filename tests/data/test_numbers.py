"""Columns of text that hold numbers."""

from __future__ import annotations

import math

import pytest

from rankfactor.data import as_numbers


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["61,5", "70", "5,25"], [61.5, 70.0, 5.25]),
        (["61.5", "1,234.5"], [61.5, 1234.5]),
        (["01", "2"], [1.0, 2.0]),
        (["1,234", "2"], None),  # a decimal comma or a thousands separator: not to be guessed
        (["61,5", "f"], None),
        ([], []),
    ],
)
def test_numbers_of_a_column(cells: list[str], expected: list[float] | None) -> None:
    assert as_numbers(cells) == expected


def test_gaps_are_missing() -> None:
    found = as_numbers(["1,5", math.nan, "NA", ""])
    assert found is not None
    assert found[0] == 1.5
    assert all(math.isnan(one) for one in found[1:])
