"""AnnData and MuData: in memory, from files, and written back."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from rankfactor.data import (
    column_names,
    from_anndata,
    from_mudata,
    read_annotations,
    read_table,
    write_back,
)
from rankfactor.errors import InputError

X = np.array([[0, 2.5, 0], [1, 0, np.nan]])


@pytest.fixture
def adata() -> Any:
    anndata = pytest.importorskip("anndata")
    return anndata.AnnData(
        sparse.csr_matrix(X),
        obs=pd.DataFrame({"status": ["sick", "well"], "age": [60, 61.5]}, index=["s1", "s2"]),
        var=pd.DataFrame(index=["a", "b", "c"]),
        layers={"raw": np.arange(6).reshape(2, 3)},
    )


@pytest.fixture
def mdata(adata: Any) -> Any:
    anndata = pytest.importorskip("anndata")
    with warnings.catch_warnings():
        # The package warns of its own future.
        warnings.simplefilter("ignore")
        mudata = pytest.importorskip("mudata")
        protein = anndata.AnnData(
            np.array([[7.0], [8.0]]),
            obs=pd.DataFrame({"plate": ["p", "q"]}, index=["s2", "s3"]),
            var=pd.DataFrame(index=["a"]),
        )
        return mudata.MuData({"rna": adata, "protein": protein})


class TestAnnData:
    def test_zeros_are_values(self, adata: Any) -> None:
        table = from_anndata(adata)
        np.testing.assert_array_equal(table.values.to_numpy(), X)
        assert list(table.values.columns) == ["a", "b", "c"]
        assert table.annotations.loc["s2"].to_dict() == {"status": "well", "age": "61.5"}
        assert table.notes == (
            "the table is X, sparse: its zeros are values",
            "other layers: 'raw'",
        )

    def test_layer(self, adata: Any) -> None:
        assert from_anndata(adata, "raw").values.loc["s2"].tolist() == [3, 4, 5]
        with pytest.raises(InputError) as caught:
            from_anndata(adata, "scaled")
        assert str(caught.value) == "the AnnData has no layer 'scaled'; it has 'raw'."

    def test_bad_values_and_names(self, adata: Any) -> None:
        adata.layers["raw"] = np.array([[1, 2, 3], [4, np.inf, 6]])
        with pytest.raises(InputError, match="the AnnData, row 2, column 'b': the value is infin"):
            from_anndata(adata, "raw")
        adata.var_names = ["a", "a", "b"]
        with pytest.raises(InputError, match="has a repeated feature name: 'a'"):
            from_anndata(adata)
        del adata.X
        with pytest.raises(InputError, match="has no X; choose a layer: 'raw'"):
            from_anndata(adata)

    def test_file(self, adata: Any, tmp_path: Path) -> None:
        path = tmp_path / "t.h5ad"
        adata.write_h5ad(path)
        table = read_table(path, text_columns=["status"])
        np.testing.assert_array_equal(table.values.to_numpy(), X)
        assert table.annotations["status"].tolist() == ["sick", "well"]
        assert read_table(path, layer="raw").values.loc["s1", "c"] == 2
        assert column_names(path) == ["status", "age", "a", "b", "c"]
        assert read_annotations(path)["age"].tolist() == ["60", "61.5"]

    def test_no_file(self, tmp_path: Path) -> None:
        pytest.importorskip("anndata")
        path = tmp_path / "t.h5ad"
        with pytest.raises(InputError, match=r"t\.h5ad does not exist; check the path"):
            read_table(path)
        path.write_text("id,a\nx,1\n")
        for read in (read_table, column_names):
            with pytest.raises(InputError) as caught:
                read(path)
            assert str(caught.value) == (
                f"{path} is not a whole .h5ad file; copy or write it again."
            )

    def test_package_missing(self, tmp_path: Path, without: Callable[[str], None]) -> None:
        path = tmp_path / "t.h5ad"
        path.write_bytes(b"")
        without("anndata")
        with pytest.raises(InputError, match=r"pip install 'rankfactor\[anndata\]'$"):
            read_table(path)


class TestMuData:
    def check(self, table: Any) -> None:
        assert list(table.values.index) == ["s1", "s2", "s3"]
        assert list(table.values.columns) == ["rna:a", "rna:b", "rna:c", "protein:a"]
        np.testing.assert_array_equal(
            table.values.to_numpy(),
            [[0, 2.5, 0, np.nan], [1, 0, np.nan, 7], [np.nan, np.nan, np.nan, 8]],
        )
        assert table.blocks.tolist() == ["rna", "rna", "rna", "protein"]
        assert table.blocks.index.equals(table.values.columns)
        assert table.annotations["rna:status"].tolist()[:2] == ["sick", "well"]
        assert table.annotations["protein:plate"].tolist()[1:] == ["p", "q"]

    def test_modalities_side_by_side(self, mdata: Any) -> None:
        self.check(from_mudata(mdata))
        assert from_mudata(mdata, "raw").values.loc["s2", "rna:c"] == 5
        with pytest.raises(InputError, match="has no modality with a layer 'scaled'"):
            from_mudata(mdata, "scaled")

    def test_file(self, mdata: Any, tmp_path: Path) -> None:
        path = tmp_path / "t.h5mu"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mdata.write_h5mu(path)
        self.check(read_table(path))
        left = read_table(path, exclude=["rna:b"], text_columns=["rna:c"])
        assert left.blocks.to_dict() == {"rna:a": "rna", "protein:a": "protein"}
        assert "rna:b" in column_names(path)


class TestWriteBack:
    def test_in_the_order_of_the_data(self, adata: Any, tmp_path: Path) -> None:
        write_back(
            adata,
            scores=[[1, 2]],
            samples=["s2"],
            loadings=[[1, 0], [0, 1]],
            features=["c", "a"],
            settings={"n_factors": 2, "model": "R-L-BSVM"},
        )
        nan = np.nan
        np.testing.assert_array_equal(adata.obsm["X_rankfactor"], [[nan, nan], [1, 2]])
        np.testing.assert_array_equal(
            adata.varm["rankfactor_loadings"], [[0, 1], [nan, nan], [1, 0]]
        )
        adata.write_h5ad(tmp_path / "t.h5ad")
        again = pytest.importorskip("anndata").read_h5ad(tmp_path / "t.h5ad")
        assert again.uns["rankfactor"]["model"] == "R-L-BSVM"

    def test_modalities(self, mdata: Any) -> None:
        table = from_mudata(mdata)
        loadings = np.arange(4.0)[:, None]
        write_back(
            mdata, scores=np.ones((3, 1)), loadings=loadings, features=list(table.values.columns)
        )
        assert mdata.obsm["X_rankfactor"].shape == (3, 1)
        assert mdata["rna"].varm["rankfactor_loadings"][:, 0].tolist() == [0, 1, 2]
        assert mdata["protein"].varm["rankfactor_loadings"][:, 0].tolist() == [3]

    def test_sentences(self, adata: Any) -> None:
        good = {"scores": np.ones((2, 1)), "loadings": np.ones((1, 1)), "features": ["a"]}
        for change, sentence in (
            ({"features": ["z"]}, "loadings has a feature that the data do not have: 'z'"),
            ({"samples": ["s1", "u"]}, "scores has a sample that the data do not have: 'u'"),
            ({"scores": np.ones((3, 1))}, "scores has shape (3, 1) for 2 samples"),
        ):
            with pytest.raises(InputError) as caught:
                write_back(adata, **{**good, **change})
            assert str(caught.value).startswith(sentence)
            assert not len(adata.obsm)
