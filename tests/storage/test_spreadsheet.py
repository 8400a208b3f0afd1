"""CSV files written by rankfactor are safe in a spreadsheet and read back unchanged."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankfactor.data import read_annotations, read_table
from rankfactor.storage.spreadsheet import csv_of, escaped, frame_of, unescaped

SOURCE = Path(__file__).parents[2] / "src" / "rankfactor"
RUN = ["=1+1", "+cmd", "-omega", "@SUM(A1)", "\tx", "\r=x", "--1", "-1-1", "+", "-", "'=x", "''-y"]
SAFE = ["a", "", "a=b", "'a", "-1", "+3", "-1.5e-3", "-.5", "-2.", "'-1", "o'-x", "1e5", "é"]


@pytest.mark.parametrize("text", RUN)
def test_what_would_run_is_escaped_and_comes_back(text: str) -> None:
    assert escaped(text) == f"'{text}"
    assert unescaped(escaped(text)) == text


@pytest.mark.parametrize("text", SAFE)
def test_all_other_text_and_numbers_are_left_alone(text: str) -> None:
    assert escaped(text) == text
    assert unescaped(text) == text


def test_numbers_and_what_is_missing_are_never_changed() -> None:
    for value in (-1.5e-3, -3, np.float64(-2), True, None):
        assert escaped(value) is value


def test_a_frame_comes_back(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "-sample": [*RUN, *SAFE],
            "=x": np.linspace(-1e-9, -5, len(RUN) + len(SAFE)),
            "n": -np.arange(len(RUN) + len(SAFE)),
            "-1": pd.Categorical(["-a", "b"] * 12 + ["-a"]),
        }
    )
    path = tmp_path / "frame.csv"
    csv_of(frame, path)
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = csv.reader(file)
    assert head == ["'-sample", "'=x", "n", "-1"]
    for row, name in zip(rows, frame["-sample"], strict=True):
        assert row[0] == escaped(name)
        assert float(row[1]) <= 0
        assert row[3] in ("'-a", "b")
    found = frame_of(path, keep_default_na=False, dtype={"'-sample": str})
    assert found.columns.tolist() == frame.columns.tolist()
    # The CSV of pandas reads a carriage return within quotes as it is.
    assert found["-sample"].tolist() == frame["-sample"].tolist()
    np.testing.assert_allclose(found["=x"], frame["=x"], rtol=1e-15)
    assert csv_of(frame.iloc[:5]).splitlines()[0] == "'-sample,'=x,n,-1"
    assert frame.columns[0] == "-sample"  # not changed in place


def test_our_files_are_tables_again(tmp_path: Path) -> None:
    """Names of samples, features and classes match those of files that were never escaped."""
    names = ["-omega", "=A1", "@x", "+3"]
    table = pd.DataFrame({"-f": [1.0, -2.5, 3.0, 4.0], "g": [0.5, 1.5, 2.0, -1.0]}, index=names)
    csv_of(table.assign(status=["-a", "=b", "-a", "=b"]), tmp_path / "t.csv", index_label="sample")
    assert "'-omega,1.0,0.5,'-a" in (tmp_path / "t.csv").read_text("utf-8")
    read = read_table(tmp_path / "t.csv")
    assert read.values.index.tolist() == names
    assert read.values.columns.tolist() == ["-f", "g"]
    assert read.annotations["status"].tolist() == ["-a", "=b", "-a", "=b"]
    assert read_annotations(tmp_path / "t.csv").index.tolist() == names


def test_every_csv_file_goes_through_one_place() -> None:
    for path in SOURCE.rglob("*.py"):
        if path.name != "spreadsheet.py":
            assert not re.search(r"\bto_csv\b|\bcsv\.writer\b", path.read_text("utf-8")), path
