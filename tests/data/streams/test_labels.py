"""Labels of tables that are read chunk by chunk."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankfactor.data.streams import open_stream, with_labels
from rankfactor.errors import InputError


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.csv"
    frame = pd.DataFrame({"a": range(10), "b": np.arange(10) / 4, "grade": ["01", "02"] * 5})
    frame.index = pd.Index([f"s{n}" for n in range(10)], name="id")
    frame.loc["s3", "grade"] = None
    frame.to_csv(path)
    return path


def test_own_column(table: Path) -> None:
    stream = with_labels(open_stream(table), ["grade"])
    expected = ["01", "02", "01", np.nan, *["01", "02"] * 3]
    assert stream.columns is not None
    assert stream.columns.tolist() == ["a", "b"]
    assert [list(one.table.columns) for one in stream.chunks(4)] == [["a", "b"]] * 3
    pd.testing.assert_series_equal(
        stream.labels["grade"],
        pd.Series(expected, stream.labels.index, dtype=object, name="grade"),
    )
    # The same without a pass before.
    again = with_labels(open_stream(table), ["grade"])
    pd.testing.assert_frame_equal(again.labels, stream.labels)
    with pytest.raises(InputError, match=r"has no column 'grad'.*Did you mean 'grade'"):
        with_labels(open_stream(table), ["grad"])


def test_other_file_by_name_and_by_row(table: Path, tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    names = [f"s{n}" for n in range(9, -1, -1)]
    pd.DataFrame({"id": [*names, "s99"], "y": [*["u", "v"] * 5, "u"]}).to_csv(file, index=False)
    stream = with_labels(open_stream(table, exclude=["grade"]), ["y"], file)
    assert stream.labels["y"].tolist() == ["v", "u"] * 5
    values = open_stream(np.ones((10, 2)))
    with pytest.raises(InputError, match=r"labels\.csv has 11 rows, but the ndarray has 10"):
        _ = with_labels(values, ["y"], file).labels
    pd.DataFrame({"id": names, "y": ["u", "v"] * 5}).to_csv(file, index=False)
    assert with_labels(values, ["y"], file).labels["y"].tolist() == ["u", "v"] * 5
    with pytest.raises(InputError, match=r"labels\.csv has no column 'z' to use as label"):
        with_labels(values, ["z"], file)


def test_obs(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    obs = pd.DataFrame({"y": ["u", "v", "u"]}, index=["s1", "s2", "s3"])
    anndata.AnnData(np.ones((3, 2)), obs=obs).write_h5ad(tmp_path / "x.h5ad")
    stream = with_labels(open_stream(tmp_path / "x.h5ad"), ["y"])
    assert stream.labels["y"].to_dict() == {"s1": "u", "s2": "v", "s3": "u"}
    assert stream.n_columns == 2


def test_one_class(table: Path, tmp_path: Path) -> None:
    text = table.read_text().replace(",02", ",01")
    table.write_text(text)
    with pytest.raises(InputError, match="has only the class '01'"):
        _ = with_labels(open_stream(table), ["grade"]).labels
