"""Excel workbooks."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rankfactor.data import column_names, read_annotations, read_table
from rankfactor.errors import InputError


def write(folder: Path, *sheets: list[list[Any]]) -> Path:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for number, rows in enumerate(sheets):
        sheet = book.create_sheet(f"part {number + 1}")
        for row in rows:
            sheet.append(row)
    path = folder / "t.xlsx"
    book.save(path)
    return path


def fails(path: Path, sentence: str, **arguments: Any) -> None:
    with pytest.raises(InputError) as caught:
        read_table(path, **arguments)
    assert str(caught.value) == f"{path}{sentence}"


ROWS = [
    ["sample", "a", "status", "b"],
    ["007", 1, "sick", 0.1],
    ["8", None, "well", 1 / 3],
    ["9", True, "well", "#N/A"],
    [None, None],
]


def test_values_are_exact(tmp_path: Path) -> None:
    path = write(tmp_path, ROWS)
    table = read_table(path)
    assert list(table.values.index) == ["007", "8", "9"]
    np.testing.assert_array_equal(table.values.to_numpy(), [[1, 0.1], [np.nan, 1 / 3], [1, np.nan]])
    assert table.annotations["status"].tolist() == ["sick", "well", "well"]
    assert column_names(path) == ["sample", "a", "status", "b"]


def test_sheets(tmp_path: Path) -> None:
    path = write(tmp_path, [["gene", "s1"], ["u", 1], ["v", 2]], ROWS)
    first = read_table(path)
    assert list(first.values.index) == ["s1"]
    assert first.notes[0] == "sheet 'part 1' of 2"
    assert read_table(path, sheet="part 2").values.shape == (3, 2)
    assert column_names(path, sheet="part 2") == ["sample", "a", "status", "b"]
    frame = read_annotations(path, sheet="part 2")
    assert frame.loc["8", "status"] == "well"
    fails(path, " has no sheet 'x'; it has 'part 1', 'part 2'.", sheet="x")


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([], ", sheet 'part 1' is empty; it needs a header and one row per sample."),
        ([[None], ["id", "a"]], ", row 1 is empty; it must contain the column names."),
        ([["id", "a"]], " has a header but no rows; add one row per sample."),
        (
            [["id", "a", "b"], ["x", 1, 2], ["y", "oops", 3], ["z", 4, 5]],
            ", row 3, column 'a': 'oops' is not a number; "
            "correct it, or leave the cell empty if the value is missing.",
        ),
        (
            [["id", "a", None], ["x", 1, 2]],
            ", row 1: column 3 has no name; give it one.",
        ),
        (
            [["gene", "s1"], [datetime.datetime(2026, 3, 1), 1]],
            ", row 2, column 1: the name is a date (2026-03-01), which Excel makes from genes "
            "such as MARCH1; format the cells as text and correct the names.",
        ),
        (
            [["id", datetime.datetime(2026, 9, 2)], ["x", 1]],
            ", row 1, column 2: the name is a date (2026-09-02), which Excel makes from genes "
            "such as MARCH1; format the cells as text and correct the names.",
        ),
    ],
)
def test_sentences(tmp_path: Path, rows: list[list[Any]], sentence: str) -> None:
    fails(write(tmp_path, rows), sentence)


def test_no_workbook(tmp_path: Path) -> None:
    path = tmp_path / "t.xlsx"
    path.write_text("id,a\nx,1\n")
    fails(path, " is not an Excel workbook that can be read; save it again as .xlsx or CSV.")
    fails(tmp_path / "none.xlsx", " does not exist; check the path.")
    fails(tmp_path / "t.xls", " is of an old Excel format; save it as .xlsx or CSV.")


def test_package_missing(tmp_path: Path, without: Callable[[str], None]) -> None:
    path = write(tmp_path, ROWS)
    without("openpyxl")
    fails(
        path,
        " needs the package openpyxl; install it with: pip install 'rankfactor[excel]'",
    )
