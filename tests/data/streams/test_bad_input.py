"""Bad input deep in a table: one sentence that names the file, the row and the column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rankfactor.data.streams import can_stream, open_stream
from rankfactor.errors import InputError


def refused(stream_or_path: Any, match: str, rows: int = 1000) -> None:
    with pytest.raises(InputError, match=match):
        for _ in open_stream(stream_or_path).chunks(rows):
            pass


def test_cell_deep_in_text(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    lines = [f"s{n},{n},{n / 2}" for n in range(12_000)]
    for cell, said in {
        "7.x": "'7.x' is not a number; correct it, or leave the cell empty",
        "inf": "the value is infinite",
        "1,5": "has 4 cells where 3 are expected",
        '"1,5"': "'1,5' is not a number; write all numbers with a decimal point",
    }.items():
        lines[11_500] = f"s11500,1,{cell}"
        path.write_text("\n".join(["id,a,b", *lines]))
        place = r"table\.csv, row 11502" + ("" if "cells" in said else ", column 'b'")
        refused(path, f"{place}.*{said}")
    lines[11_500] = ",1,2"
    path.write_text("\n".join(["id,a,b", *lines]))
    refused(path, r"table\.csv, row 11502 has no sample name")
    lines[11_500] = ""
    path.write_text("\n".join(["id,a,b", *lines]))
    refused(path, r"table\.csv, row 11502 is empty; remove it")


def test_table_on_its_side(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("gene,s1,s2\nACTB,1,2\nTP53,3,4\n")
    refused(
        path, r"table\.csv has features in rows \(the first column is headed 'gene'\).*transpose it"
    )
    stream = open_stream(path, orient="samples-in-rows")
    assert stream.count() == 2
    with pytest.raises(InputError, match="orient='features-in-rows' is not available"):
        open_stream(path, orient="features-in-rows")


def _parts(folder: Path, number: int) -> list[pd.DataFrame]:
    folder.mkdir()
    pieces = [
        pd.DataFrame({"id": [f"s{k}-{n}" for n in range(3)], "a": [1.0, 2, 3], "b": [k, 1, 2]})
        for k in range(number)
    ]
    for k, piece in enumerate(pieces):
        piece.to_parquet(folder / f"part-{k}.parquet")
    return pieces


def test_parts_that_do_not_fit(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path / "parts"
    pieces = _parts(folder, 40)
    file = folder / "part-37.parquet"
    assert open_stream(folder).count() == 120
    pieces[37].astype({"b": object}).assign(b=["1", "2", "many"]).to_parquet(file)
    refused(folder, r"part-37\.parquet, row 4, column 'b': 'many' is not a number")
    pieces[37].assign(b=["1", "2", "<3"]).to_parquet(file)
    assert open_stream(folder).count() == 120
    pieces[37].assign(a=[1, np.inf, 2]).to_parquet(file)
    refused(folder, r"part-37\.parquet, row 3, column 'a': the value is infinite", rows=5)
    pieces[37].assign(when=pd.Timestamp("2020-01-01")).to_parquet(file)
    refused(folder, r"part-37\.parquet has more columns 'when' than .*part-0\.parquet")
    pieces[37].assign(b=pd.Timestamp("2020-01-01")).to_parquet(file)
    refused(folder, r"part-37\.parquet, row 2, column 'b': '2020-01-01 00:00:00' is not a number")
    pieces[37].drop(columns="b").to_parquet(file)
    refused(folder, r"part-37\.parquet lacks the columns 'b' that .*part-0\.parquet has")
    pieces[37].set_index("id").to_parquet(file)
    refused(folder, r"part-37\.parquet has another index than .*part-0\.parquet")
    file.write_bytes(b"PAR1")
    refused(folder, r"part-37\.parquet is not a whole Parquet file")
    pieces[37].to_parquet(file)
    stream = open_stream(folder)
    file.unlink()
    with pytest.raises(InputError, match=r"part-37\.parquet does not exist"):
        list(stream.chunks(9))
    pieces[37][:2].to_parquet(file)
    with pytest.raises(InputError, match="had 120 rows and has 119 now"):
        list(stream.chunks(9))


def test_no_rows(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    folder = tmp_path / "parts"
    for piece in _parts(folder, 1):
        piece[:0].to_parquet(folder / "part-0.parquet")
    refused(folder, "parts has no rows")
    (folder / "part-0.parquet").unlink()
    refused(folder, r"parts has no \.parquet file in it")
    np.save(tmp_path / "x.npy", np.empty((0, 3)))
    refused(tmp_path / "x.npy", r"x\.npy has no rows")
    (tmp_path / "x.csv").write_text("id,a\n")
    refused(tmp_path / "x.csv", r"x\.csv has a header but no rows")


def test_arrays(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    values = np.ones((30, 3))
    values[20, 2] = -np.inf
    np.save(path, values)
    refused(path, r"x\.npy, row 20, column 2: the value is infinite", rows=7)
    np.save(path, np.ones(3))
    refused(path, r"x\.npy has 1 dimensions and type float64")
    np.save(path, np.array([["a"]]))
    refused(path, r"x\.npy has 2 dimensions and type <U1")
    path.write_bytes(b"no array")
    refused(path, r"x\.npy is not a whole \.npy file")
    refused(tmp_path / "y.npy", r"y\.npy does not exist")
    refused([1, 2], "a table of type list cannot be read chunk by chunk")


def test_zarr(tmp_path: Path) -> None:
    zarr = pytest.importorskip("zarr")
    refused(tmp_path / "x.zarr", r"x\.zarr does not exist")
    zarr.open_group(tmp_path / "x.zarr", mode="w")
    refused(tmp_path / "x.zarr", r"x\.zarr is not a Zarr array")
    group = zarr.open_group(tmp_path / "annotated.zarr", mode="w")
    for name in ("obs", "var"):
        group.create_group(name)
    refused(tmp_path / "annotated.zarr", r"annotated\.zarr is AnnData in Zarr.*write_h5ad")


def test_annotated(tmp_path: Path) -> None:
    anndata = pytest.importorskip("anndata")
    path = tmp_path / "x.h5ad"
    values = np.ones((9, 2))
    values[6, 1] = np.inf
    adata = anndata.AnnData(values, var=pd.DataFrame(index=["a", "b"]))
    adata.write_h5ad(path)
    refused(path, r"x\.h5ad, row 7, column 'b': the value is infinite", rows=2)
    with pytest.raises(InputError, match=r"x\.h5ad has no layer 'raw'; it has none"):
        open_stream(path, layer="raw")
    path.write_bytes(b"no file")
    refused(path, r"x\.h5ad is not a whole \.h5ad file")


def test_formats_that_have_to_be_read_whole(tmp_path: Path) -> None:
    for name in ("x.xlsx", "x.npz", "x.h5mu", "x.parquet.gz", "x"):
        assert not can_stream(tmp_path / name)
        refused(tmp_path / name, f"{name} cannot be read chunk by chunk; that needs .csv")
    for name in ("x.csv", "x.csv.gz", "x.npy", "x.zarr", "x.h5ad", "x.parquet"):
        assert can_stream(tmp_path / name)
    (tmp_path / "g.txt").write_text('!Series_title\t"x"\n')
    refused(tmp_path / "g.txt", r"g\.txt is a GEO series matrix")
