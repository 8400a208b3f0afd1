"""Parquet files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankfactor.data import column_names, read_annotations, read_table
from rankfactor.errors import InputError

pytest.importorskip("pyarrow")

FRAME = pd.DataFrame(
    {
        "who": ["x", "y", "z"],
        "a": [1.5, np.nan, 3],
        "n": pd.array([1, None, 3], dtype="Int64"),
        "status": pd.Categorical(["sick", None, "well"]),
        "grade": [1, 2, 1],
        "ok": [True, False, True],
    }
)


def write(folder: Path, frame: pd.DataFrame) -> Path:
    path = folder / "t.parquet"
    frame.to_parquet(path)
    return path


@pytest.mark.parametrize("indexed", [True, False])
def test_types(tmp_path: Path, indexed: bool) -> None:
    path = write(tmp_path, FRAME.set_index("who") if indexed else FRAME)
    table = read_table(path, text_columns=["grade"])
    assert list(table.values.index) == ["x", "y", "z"]
    assert list(table.values.columns) == ["a", "n", "ok"]
    np.testing.assert_array_equal(
        table.values.to_numpy(), [[1.5, 1, 1], [np.nan, np.nan, 0], [3, 3, 1]]
    )
    assert (table.values.dtypes == np.float64).all()
    assert table.annotations["grade"].tolist() == ["1", "2", "1"]
    assert table.annotations["status"].isna().tolist() == [False, True, False]
    assert set(column_names(path)) == set(FRAME.columns)


def test_without_names(tmp_path: Path) -> None:
    table = read_table(write(tmp_path, FRAME[["a", "n"]]))
    assert list(table.values.index) == ["1", "2", "3"]


def test_features_in_rows(tmp_path: Path) -> None:
    frame = pd.DataFrame({"s1": [1.0, 2], "s2": [3.0, 4]}, index=pd.Index(["u", "v"], name="gene"))
    table = read_table(write(tmp_path, frame))
    assert table.values.to_dict() == {"u": {"s1": 1, "s2": 3}, "v": {"s1": 2, "s2": 4}}


def test_labels(tmp_path: Path) -> None:
    frame = read_annotations(write(tmp_path, FRAME))
    assert list(frame.index) == ["x", "y", "z"]
    assert frame["grade"].tolist() == ["1", "2", "1"]
    chosen = read_annotations(write(tmp_path, FRAME), id_column="who")
    assert chosen.equals(frame)


def test_sentences(tmp_path: Path) -> None:
    path = write(tmp_path, FRAME.assign(a=[1.0, np.inf, 2]))
    with pytest.raises(InputError, match="row 3, column 'a': the value is infinite"):
        read_table(path)
    with pytest.raises(InputError, match="has no column 'id' to use as id_column"):
        read_table(path, id_column="id")
    content = path.read_bytes()
    for broken in (content[: len(content) // 2], b"", b"id,a\nx,1\n"):
        path.write_bytes(broken)
        for read in (read_table, column_names):
            with pytest.raises(InputError, match="is not a whole Parquet file; copy or write it"):
                read(path)
    with pytest.raises(InputError, match=r"none\.parquet does not exist; check the path"):
        read_table(tmp_path / "none.parquet")


def test_a_cell_of_a_folder_is_named_by_its_part(tmp_path: Path) -> None:
    for number in range(3):
        frame = pd.DataFrame({"id": [f"s{number}{i}" for i in range(4)], "a": ["1", "2", "3", "4"]})
        if number == 2:
            frame.loc[1, "a"] = "many"
        frame.assign(b=[1.0, 2.0, 3.0, 4.5]).to_parquet(tmp_path / f"part-{number}.parquet")
    with pytest.raises(InputError, match=r"part-2\.parquet, row 3, column 'a': 'many'"):
        read_table(tmp_path)


def test_package_missing(tmp_path: Path, without: Callable[[str], None]) -> None:
    path = write(tmp_path, FRAME)
    without("pyarrow")
    with pytest.raises(InputError, match=r"pip install 'rankfactor\[parquet\]'$"):
        read_table(path)


def test_names_alone_are_no_table(tmp_path: Path) -> None:
    path = write(tmp_path, pd.DataFrame({"who": ["a", "b"]}))
    with pytest.raises(InputError, match="has no feature that is a number"):
        read_table(path, id_column="who")
