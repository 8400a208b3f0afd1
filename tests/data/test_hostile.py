"""Tables that promise or expand to too much: one sentence, little memory.

Each case was found by `tests/fuzz`, or is a known attack on a format.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankfactor import InputError
from rankfactor.data import read_annotations, read_npz_dataset, read_table
from rankfactor.data.streams import open_stream
from rankfactor.interpret.genesets import read_gmt
from rankfactor.storage import bounds


class Evil:
    """Writes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def npy(shape: str, kind: str = "<f8", content: bytes = b"") -> bytes:
    """A .npy file with the given header, whatever its content."""
    header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content


def npz(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return path


@pytest.fixture
def small_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small bounds, for quick tests; the ratio is the real one."""
    monkeypatch.setattr(bounds, "FREE", 2**20)
    monkeypatch.setattr(bounds, "MOST_LINE", 2**19)


BOMB = b"id,a\n" + (b"s," + b"0" * 100_000 + b"\n") * 100


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize("end", ["gz", "xz", "bz2", "zst"])
def test_compressed_text_does_not_expand_without_bound(tmp_path: Path, end: str) -> None:
    pack = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}.get(end)
    if pack is None:
        pack = pytest.importorskip("zstandard").ZstdCompressor().compress
    path = tmp_path / f"bomb.csv.{end}"
    path.write_bytes(pack(BOMB))
    for read in (read_table, read_annotations):
        with pytest.raises(InputError, match="expands to more than 200 times its size"):
            read(path)


def test_a_good_table_may_be_packed_well(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(bounds, "FREE", 2**16)
    path = tmp_path / "zeros.csv.gz"
    rows = "".join(f"s{i},0,0,0,0,0\n" for i in range(10_000))
    path.write_bytes(gzip.compress(f"id,a,b,c,d,e\n{rows}".encode()))
    assert read_table(path).values.shape == (10_000, 5)


@pytest.mark.usefixtures("small_bounds")
@pytest.mark.parametrize("text", [b"x" * 2**20, b"1," * 2**19, b'"' * 2**20])
def test_a_line_has_a_greatest_length(tmp_path: Path, text: bytes) -> None:
    path = tmp_path / "line.csv"
    path.write_bytes(b"id\ta\n" + text)
    for read in (read_table, read_gmt):
        with pytest.raises(InputError, match="line of more than 524,288 bytes"):
            read(path)


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_lines_of_all_kinds_count_as_lines(tmp_path: Path, monkeypatch, end: str) -> None:
    monkeypatch.setattr(bounds, "MOST_LINE", 10_000)
    path = tmp_path / "t.csv"
    path.write_bytes(end.join(["id,a", *(f"s{i},{i}" for i in range(5_000))]).encode())
    assert len(read_table(path).values) == 5_000


@pytest.mark.parametrize("shape", ["(1000000000000, 5)", "(4294967296, 4294967296)", "(-1, 5)"])
def test_the_header_of_an_array_promises_too_much(tmp_path: Path, shape: str) -> None:
    path = npz(tmp_path / "t.npz", X=npy(shape, content=bytes(80)))
    with pytest.raises(InputError, match="is not an archive without pickles"):
        read_table(path)
    (tmp_path / "t.npy").write_bytes(npy(shape, content=bytes(80)))
    with pytest.raises(InputError, match=r"is not a whole \.npy file"):
        read_table(tmp_path / "t.npy")


@pytest.mark.usefixtures("small_bounds")
def test_an_archive_does_not_expand_without_bound(tmp_path: Path) -> None:
    path = npz(tmp_path / "t.npz", X=npy("(1000000, 1)", content=bytes(8_000_000)))
    with pytest.raises(InputError, match="expands to more than 200 times its size"):
        read_table(path)


@pytest.mark.parametrize("kind", ["object", "text"])
def test_pickles_in_arrays_are_never_loaded(tmp_path: Path, kind: str) -> None:
    here = tmp_path / "ran"
    if kind == "object":
        buffer = io.BytesIO()
        np.save(buffer, np.array([[Evil(here)]], dtype=object), allow_pickle=True)
        content = buffer.getvalue()
    else:
        content = pickle.dumps(Evil(here))
    (tmp_path / "t.npy").write_bytes(content)
    for path in (npz(tmp_path / "t.npz", X=content), tmp_path / "t.npy"):
        with pytest.raises(InputError):
            read_table(path)
    assert not here.exists()


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    codes = np.array([[0x7FFFFFFF, 65]], "<u4").tobytes()
    path = npz(
        tmp_path / "t.npz", X=npy("(1, 1)", content=bytes(8)), sample_ids=npy("(1,)", "<U2", codes)
    )
    with pytest.raises(InputError, match="is not an archive without pickles"):
        read_table(path)


@pytest.mark.parametrize("name", ["y", "feature_names", "sample_ids", "lab_a"])
def test_names_and_labels_have_one_dimension(tmp_path: Path, name: str) -> None:
    for wrong in (np.array("x"), np.array([["x", "y"], ["z", "u"]])):
        np.savez(tmp_path / "t.npz", X=np.ones((2, 2)), **{name: wrong})
        with pytest.raises(InputError, match=r"make them agree|repeated|twice"):
            read_npz_dataset(tmp_path / "t.npz")


def test_a_sparse_matrix_whose_indices_lead_out_of_it(tmp_path: Path) -> None:
    """SciPy would write out of bounds."""
    arrays = {"format": b"csr", "shape": np.array([3, 4]), "data": np.ones(3)}
    indices, indptr = np.array([0, 10**6, 1], np.int32), np.array([0, 1, 2, 3], np.int32)
    np.savez(tmp_path / "t.npz", indices=indices, indptr=indptr, **arrays)
    with pytest.raises(InputError, match="sparse matrix whose indices are damaged"):
        read_table(tmp_path / "t.npz")
    shape = np.array([10**7, 10**7])
    np.savez(
        tmp_path / "t.npz", indices=np.zeros(0, np.int32), indptr=np.zeros(10**7 + 1, np.int32),
        **{**arrays, "shape": shape, "data": np.ones(0)},
    )  # fmt: skip
    with pytest.raises(InputError, match=r"800,000 GB in memory"):
        read_table(tmp_path / "t.npz")


def test_an_archive_named_as_an_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", X=np.ones((2, 2)))
    path = (tmp_path / "t.npz").rename(tmp_path / "t.npy")
    with pytest.raises(InputError, match=r"is an archive of arrays, not one array; name it \.npz"):
        read_table(path)


SHEET = """<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<dimension ref="A1:XFD1048576"/><sheetData><row r="1"><c r="A1"><v>1</v></c>{first}</row>
<row r="{last}"><c r="A{last}"><v>2</v></c></row></sheetData></worksheet>"""


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ('<c r="XFD1"><v>1</v></c>', 1_048_576, "1,048,576 rows x 16,384 columns"),
        ("", 4_294_967_295, "more than 1,048,576 rows"),
    ],
)
@pytest.mark.slow
def test_a_sheet_of_few_cells_that_are_far_apart(
    tmp_path: Path, first: str, last: int, words: str
) -> None:
    pytest.importorskip("openpyxl")
    pd.DataFrame({"a": [1.0]}).to_excel(tmp_path / "plain.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "plain.xlsx") as plain,
        zipfile.ZipFile(tmp_path / "t.xlsx", "w") as made,
    ):
        for name in plain.namelist():
            sheet = SHEET.format(first=first, last=last).encode()
            made.writestr(name, sheet if "sheet1" in name else plain.read(name))
    with pytest.raises(InputError, match=words):
        read_table(tmp_path / "t.xlsx")


@pytest.mark.usefixtures("small_bounds")
def test_a_workbook_does_not_expand_without_bound(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    with zipfile.ZipFile(tmp_path / "t.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", bytes(2**23))
    with pytest.raises(InputError, match="expands to more than 200 times its size"):
        read_table(tmp_path / "t.xlsx")


def test_parquet_of_more_rows_than_fit(tmp_path: Path, monkeypatch) -> None:
    """Runs of one value take almost no space in a file."""
    pytest.importorskip("pyarrow")
    pd.DataFrame({"a": np.zeros(10**6), "b": np.zeros(10**6)}).to_parquet(tmp_path / "t.parquet")
    assert (tmp_path / "t.parquet").stat().st_size < 10**5
    monkeypatch.setattr(bounds, "machine_bytes", lambda: 10**7)
    with pytest.raises(InputError, match="1,000,000 rows x 2 columns by its header"):
        read_table(tmp_path / "t.parquet")


def zarr_folder(path: Path, **changes: object) -> Path:
    about = {"zarr_format": 2, "shape": [2, 2], "chunks": [2, 2], "dtype": "<f8", "order": "C",
             "fill_value": 0, "compressor": None, "filters": None}  # fmt: skip
    path.mkdir()
    (path / ".zarray").write_text(json.dumps({**about, **changes}))
    return path


@pytest.mark.parametrize(
    "changes",
    [
        {"filters": [{"id": "pickle"}]},
        {"filters": [{"id": "delta", "dtype": "<f8"}, {"id": "pickle"}]},
        {"compressor": {"id": "pickle", "protocol": 5}},
        {"dtype": "|O", "filters": [{"id": "pickle"}]},
    ],
)
def test_zarr_never_unpickles_a_chunk(tmp_path: Path, changes: dict[str, object]) -> None:
    pytest.importorskip("zarr")
    path = zarr_folder(tmp_path / "t.zarr", **changes)
    (path / "0.0").write_bytes(pickle.dumps(Evil(tmp_path / "ran")))
    for read in (read_table, lambda path: list(open_stream(path).chunks(2))):
        with pytest.raises(InputError):
            read(path)
    assert not (tmp_path / "ran").exists()


def test_zarr_that_promises_or_holds_nothing_good(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    path = zarr_folder(tmp_path / "rows.zarr", shape=[10**12, 5], chunks=[1000, 5])
    with pytest.raises(InputError, match="1,000,000,000,000 rows x 5 columns by its header"):
        read_table(path)
    path = zarr_folder(tmp_path / "columns.zarr", shape=[2, 10**9])
    with pytest.raises(InputError, match="1,000,000,000 columns by its header"):
        read_table(path)
    path = zarr_folder(tmp_path / "short.zarr")
    (path / "0.0").write_bytes(bytes(9))
    with pytest.raises(InputError, match="is damaged; copy or write it again"):
        read_table(path)


def test_a_series_matrix_names_a_sample_twice(tmp_path: Path) -> None:
    path = tmp_path / "GSE1_series_matrix.txt"
    path.write_text(
        "!Sample_geo_accession\tGSM1\tGSM1\n!Sample_title\ta\tb\n!series_matrix_table_begin\n"
    )
    with pytest.raises(InputError, match="GSM1"):
        read_annotations(path)
