"""Streams of every format: the same table as from the reader in memory, whatever the chunks."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rankfactor.data import read_table
from rankfactor.data.sparse import NamedSparse
from rankfactor.data.streams import TableStream, named, open_stream
from rankfactor.data.streams.base import joined
from rankfactor.errors import InputError

N = 23
CHUNKS = (1, 7, 23, 100)


def whole(stream: TableStream, rows: int) -> Any:
    """All chunks of a stream, checked for their size and numbering."""
    chunks = list(stream.chunks(rows))
    assert [len(one) for one in chunks[:-1]] == [rows] * (len(chunks) - 1)
    assert [one.first for one in chunks] == [rows * k for k in range(len(chunks))]
    assert stream.n_rows == stream.count() == stream.about_n_rows == sum(map(len, chunks))
    return joined([one.table for one in chunks])


@pytest.fixture
def values() -> np.ndarray:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(N, 4)).round(3)
    values[:, 1] = rng.poisson(1, N)
    values[4, 2] = np.nan
    return values


@pytest.fixture
def frame(values: np.ndarray) -> pd.DataFrame:
    names = [f"P{n:02d}" for n in range(N)]
    frame = pd.DataFrame(values, names, ["a", "b", "c", "d"])
    frame["sex"] = ["m", "f", None, *["m", "f"] * 10]
    frame["status"] = [f"0{n % 2}" for n in range(N)]
    return frame


def in_memory(path: Path, **options: Any) -> pd.DataFrame:
    table = read_table(path, **options)
    found = table.values.join(table.annotations)
    return found.set_axis(found.columns.astype(object), axis=1)  # pandas 3 makes another type of it


def _csv(frame: pd.DataFrame, path: Path) -> Path:
    path = path / "table.csv"
    frame.to_csv(path)
    return path


def _decimal_commas(frame: pd.DataFrame, path: Path) -> Path:
    path = path / "table.csv"
    frame.to_csv(path, sep=";", decimal=",", na_rep="NA", encoding="cp1252")
    text = path.read_text("cp1252").replace("P05", "Prüf").replace("P09", "=P09")
    path.write_text(text, "cp1252")
    return path


def _limits(frame: pd.DataFrame, path: Path) -> Path:
    path = path / "table.tsv.gz"
    cells = frame.astype(object)
    cells.iloc[[2, 20], 0] = ["<0.05", ">1,000.5"]
    cells.iloc[8, 3] = "1,234.5"
    cells.to_csv(path, sep="\t")
    return path


def _numbered(frame: pd.DataFrame, path: Path) -> Path:
    path = path / "table.csv.xz"
    frame.to_csv(path, index=False)
    return path


def _parquet(frame: pd.DataFrame, path: Path) -> Path:
    path = path / "table.parquet"
    frame.rename_axis("id").to_parquet(path, row_group_size=5)
    return path


def _column_of_names(frame: pd.DataFrame, path: Path) -> Path:
    path = path / "table.pq"
    frame.rename_axis("sample").reset_index().to_parquet(path)
    return path


def _numbered_parquet(frame: pd.DataFrame, path: Path) -> Path:
    path = path / "table.parquet"
    frame.reset_index(drop=True).astype({"b": "Int64"}).to_parquet(path, row_group_size=4)
    return path


@pytest.mark.parametrize("rows", CHUNKS)
@pytest.mark.parametrize(
    "write",
    [_csv, _decimal_commas, _limits, _numbered, _parquet, _column_of_names, _numbered_parquet],
)
def test_equals_the_reader_in_memory(
    write: Callable[[pd.DataFrame, Path], Path], rows: int, frame: pd.DataFrame, tmp_path: Path
) -> None:
    if write in (_parquet, _column_of_names, _numbered_parquet):
        pytest.importorskip("pyarrow")
    path = write(frame, tmp_path)
    stream = open_stream(path, text_columns=["status"])
    expected = in_memory(path, text_columns=["status"])
    found = whole(stream, rows)
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    assert stream.words == ("sex", "status")
    assert list(found["status"][:2]) == ["00", "01"]
    assert stream.columns is not None
    assert found.columns.equals(stream.columns)
    # Without the labels, and a second time.
    again = whole(stream.without(["status"]), rows)
    pd.testing.assert_frame_equal(again, expected.drop(columns="status"), check_exact=True)
    assert stream.notes == read_table(path, text_columns=["status"]).notes


def test_exclude_and_id_column(frame: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    frame.reset_index(names="who")[["a", "b", "who", "sex"]].to_csv(path, index=False)
    options: dict[str, Any] = {"id_column": "who", "exclude": ["sex", "a"]}
    found = whole(open_stream(path, **options), 5)
    pd.testing.assert_frame_equal(found, in_memory(path, **options))
    assert list(found.columns) == ["b"]
    with pytest.raises(InputError, match=r"table\.csv has no column 'sxe' to exclude"):
        open_stream(path, exclude=["sxe"])


@pytest.mark.parametrize("rows", CHUNKS)
def test_folder_of_parts(rows: int, frame: pd.DataFrame, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path / "parts"
    folder.mkdir()
    pieces = {2: frame[:9], 9: frame[9:9], 10: frame[9:11].iloc[:, ::-1], 11: frame[11:]}
    for number, piece in pieces.items():
        piece.to_parquet(folder / f"part.{number}.parquet")
    (folder / "_metadata.parquet").write_bytes(b"")
    found = whole(open_stream(folder, text_columns=["status"]), rows)
    frame.to_parquet(tmp_path / "whole.parquet")
    expected = in_memory(tmp_path / "whole.parquet", text_columns=["status"])
    pd.testing.assert_frame_equal(found, expected, check_exact=True)
    together = in_memory(folder, text_columns=["status"])
    pd.testing.assert_frame_equal(together, expected, check_exact=True)


@pytest.mark.parametrize("rows", CHUNKS)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(rows: int, order: Any, values: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    np.save(path, np.asarray(values, order=order))
    sources = [path, str(path), values, np.load(path, mmap_mode="r"), values.astype(np.float32)]
    for source in sources:
        stream = open_stream(source)
        assert stream.columns is None
        found = whole(stream, rows)
        assert not isinstance(found, np.memmap)
        np.testing.assert_array_equal(found, values.astype(found.dtype))
    pd.testing.assert_frame_equal(whole(named(open_stream(path)), rows), in_memory(path))


@pytest.mark.parametrize("rows", CHUNKS)
@pytest.mark.parametrize("chunks", [(5, 2), (50, 4)])
def test_zarr(rows: int, chunks: tuple[int, int], values: np.ndarray, tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    zarr.create_array(tmp_path / "table.zarr", data=values, chunks=chunks)
    (tmp_path / "table.zarr").rename(tmp_path / "other")
    for source in (tmp_path / "other", zarr.open_array(tmp_path / "other", mode="r")):
        np.testing.assert_array_equal(whole(open_stream(source), rows), values)
    (tmp_path / "other").rename(tmp_path / "table.zarr")
    found = in_memory(tmp_path / "table.zarr")
    np.testing.assert_array_equal(found, values)
    assert list(found.columns) == ["feature_1", "feature_2", "feature_3", "feature_4"]


@pytest.mark.parametrize("rows", CHUNKS)
def test_sparse_and_frames(rows: int, values: np.ndarray, frame: pd.DataFrame) -> None:
    for make in (sparse.csr_matrix, sparse.csr_array, sparse.csc_array):
        found = whole(open_stream(make(values)), rows)
        assert sparse.issparse(found)
        np.testing.assert_array_equal(found.toarray(), values)
    stream = open_stream(frame)
    assert stream.words == ("sex", "status")
    pd.testing.assert_frame_equal(whole(stream, rows), frame)
    assert open_stream(stream) is stream


@pytest.mark.parametrize("rows", CHUNKS)
@pytest.mark.parametrize("kind", ["dense", "sparse", "layer"])
def test_annotated(rows: int, kind: str, frame: pd.DataFrame, tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    values, path = frame.iloc[:, :4], tmp_path / "table.h5ad"
    matrix = values.to_numpy(np.float32)
    adata = anndata.AnnData(
        matrix if kind == "dense" else sparse.csr_matrix(matrix),
        obs=frame[["status"]].copy(),
        var=pd.DataFrame(index=values.columns),
        layers={"raw": matrix * 2},
    )
    adata.write_h5ad(path)
    options = {"layer": "raw"} if kind == "layer" else {}
    expected = read_table(path, **options)
    backed = anndata.read_h5ad(path, backed="r")
    for source in (path, backed, adata):
        stream = open_stream(source, **options)
        assert stream.n_rows == N
        found = whole(stream, rows)
        if kind == "sparse":
            assert isinstance(found, NamedSparse)
            found = pd.DataFrame(found.matrix.toarray(), found.index, found.columns)
        pd.testing.assert_frame_equal(found.astype(float), expected.values, check_exact=True)
        assert stream.annotations is not None
        pd.testing.assert_frame_equal(stream.annotations, expected.annotations)
        assert stream.notes[0] == expected.notes[0]
    backed.file.close()


def test_sparse_by_columns_is_refused(tmp_path: Path, values: np.ndarray) -> None:
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "table.h5ad"
    anndata.AnnData(sparse.csc_matrix(values)).write_h5ad(path)
    with pytest.raises(InputError, match=r"table\.h5ad, X is sparse by columns \(CSC\)"):
        open_stream(path)


def test_columns_that_were_numbers_can_be_labels(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("id,a,grade\n" + "".join(f"s{n},{n},0{n % 2}\n" for n in range(8)))
    stream = open_stream(path)
    assert stream.words == ()
    stream = stream.as_text(["grade"])
    assert stream.words == ("grade",)
    assert whole(stream, 3)["grade"].tolist() == ["00", "01"] * 4


def test_rows_are_estimated_before_they_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    rng = np.random.default_rng(1)
    pd.DataFrame(rng.normal(size=(40_000, 3)).round(3)).to_csv(path)
    stream = open_stream(path)
    assert stream.n_rows is None
    assert abs(stream.about_n_rows / 40_000 - 1) < 0.2
    assert stream.count() == stream.about_n_rows == 40_000


def test_encoding_that_shows_late(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    lines = [f"s{n},{n}" for n in range(30_000)]
    lines[25_000] = "Prüfling,7"
    path.write_text("\n".join(["id,a", *lines]), "cp1252")
    found = whole(open_stream(path), 4_000)
    pd.testing.assert_frame_equal(found, in_memory(path))
    assert found.index[25_000] == "Prüfling"


def test_truncated_gzip(tmp_path: Path) -> None:
    path = tmp_path / "table.csv.gz"
    rng = np.random.default_rng(1)
    text = "\n".join(["id,a", *(f"s{n},{x:.6f}" for n, x in enumerate(rng.normal(size=90_000)))])
    packed = gzip.compress(text.encode())
    path.write_bytes(packed[:-2000])
    stream = open_stream(path)
    with pytest.raises(InputError, match=r"table\.csv\.gz is not a whole \.gz file"):
        stream.count()
