"""HDF5 files that hang or crash the library, or lead out of themselves, are refused.

The two files in `tests/fixtures` are small ones of h5py with one byte changed: reading them in this
process would not come to an end, or end the process.
"""

from __future__ import annotations

import lzma
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from rankfactor import InputError
from rankfactor.data import hdf5_check, read_table
from rankfactor.data.hdf5_check import checked
from rankfactor.data.streams import open_stream

h5py = pytest.importorskip("h5py")
anndata = pytest.importorskip("anndata")
FIXTURES = Path(__file__).parents[1] / "fixtures"


def look(path: Path) -> None:
    with checked(path):
        pass


@pytest.fixture
def good(tmp_path: Path) -> Path:
    path = tmp_path / "t.h5ad"
    obs = pd.DataFrame({"kind": pd.Categorical(["x", "y", "x"])}, index=["a", "b", "c"])
    anndata.AnnData(np.arange(12.0).reshape(3, 4), obs).write_h5ad(path, compression="gzip")
    return path


@pytest.mark.parametrize(
    ("name", "words"),
    [("hang", "the HDF5 library does not come to an end"), ("crash", "is not a whole .h5ad file;")],
)
def test_a_file_that_hangs_or_crashes_the_library(
    tmp_path: Path, monkeypatch, name: str, words: str
) -> None:
    path = tmp_path / "t.h5ad"
    path.write_bytes(lzma.decompress((FIXTURES / f"{name}.h5ad.xz").read_bytes()))
    if name == "hang":
        monkeypatch.setattr(hdf5_check, "SECONDS", 1.5)
    with pytest.raises(InputError, match=words):
        look(path)


@pytest.mark.slow
def test_a_good_file_is_let_through(good: Path) -> None:
    assert read_table(good).values.shape == (3, 4)
    (chunk,) = open_stream(good).chunks(5)
    assert list(chunk.table.index) == ["a", "b", "c"]


@pytest.mark.quick_cases("link")
@pytest.mark.parametrize("kind", ["link", "storage", "virtual"])
def test_a_file_cannot_read_other_files(good: Path, kind: str) -> None:
    secret = good.with_name("secret")
    with h5py.File(secret, "w") as file:
        file["X"] = np.ones((3, 4))
    with h5py.File(good, "r+") as file:
        del file["X"]
        if kind == "link":
            file["X"] = h5py.ExternalLink(str(secret), "/X")
        elif kind == "storage":
            place = [(str(secret), 0, 96)]
            file.create_dataset("X", (3, 4), "f8", external=place)
        else:
            layout = h5py.VirtualLayout((3, 4), "f8")
            layout[:] = h5py.VirtualSource(str(secret), "X", (3, 4))
            file.create_virtual_dataset("X", layout)
    for read in (read_table, open_stream):
        with pytest.raises(InputError, match=r"another file\); copy or write it again"):
            read(good)


@pytest.mark.slow
def test_groups_without_end(good: Path) -> None:
    with h5py.File(good, "r+") as file:
        file["uns/again"] = h5py.SoftLink("/uns")
    with pytest.raises(InputError, match="nested too deeply"):
        look(good)


@pytest.mark.slow
def test_few_groups_by_many_paths(good: Path) -> None:
    """Every group contains the next one twice, so 2^40 paths lead to the last."""
    with h5py.File(good, "r+") as file:
        inner = file.create_group("uns/0")
        for n in range(1, 40):
            outer = file.create_group(f"uns/{n}")
            outer["left"] = outer["right"] = inner
            inner = outer
    with pytest.raises(InputError, match="too many paths lead to its groups"):
        look(good)


@pytest.mark.slow
def test_a_dataset_of_nothing_that_is_huge(good: Path) -> None:
    with h5py.File(good, "r+") as file:
        file.create_dataset("uns/empty", (10**6, 10**6), "f8", chunks=(64, 64))
    with pytest.raises(InputError, match="expands to more than 200 times its size"):
        read_table(good)


@pytest.mark.slow
def test_it_is_no_hdf5_file(good: Path) -> None:
    good.write_bytes(b"something else")
    with pytest.raises(InputError, match=r"is not a whole \.h5ad file"):
        look(good)


@pytest.mark.slow
def test_a_sparse_matrix_whose_indices_lead_out_of_it(good: Path) -> None:
    from scipy.sparse import csr_matrix

    matrix = csr_matrix(np.eye(3))
    anndata.AnnData(matrix).write_h5ad(good)
    with h5py.File(good, "r+") as file:
        file["X/indices"][1] = 10**6
    for read in (read_table, lambda path: list(open_stream(path).chunks(3))):
        with pytest.raises(InputError, match="sparse matrix whose indices are damaged"):
            read(good)


@pytest.mark.slow
def test_obs_is_not_a_table(good: Path) -> None:
    with h5py.File(good, "r+") as file:
        del file["obs"]
        file["obs"] = 1.0
    for read in (read_table, open_stream):
        with pytest.raises(InputError, match=r"is not a whole \.h5ad file"):
            read(good)


@pytest.mark.slow
def test_the_matrix_has_another_shape(good: Path) -> None:
    with h5py.File(good, "r+") as file:
        del file["X"]
        file["X"] = np.ones((2, 2))
    with pytest.raises(InputError, match=r"shape \(2, 2\) for 3 samples and 4 features"):
        open_stream(good)


@pytest.mark.slow
def test_the_child_imports_nothing_but_h5py(good: Path) -> None:
    code = f"import sys, runpy; sys.argv = ['x', {str(good)!r}]; "
    code += f"runpy.run_path({hdf5_check.__file__!r}, run_name='__main__'); "
    code += "assert not {'rankfactor', 'pandas', 'anndata'} & set(sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 96


@pytest.mark.slow
@pytest.mark.parametrize("part", ["indices", "data"])
def test_a_sparse_matrix_without_one_of_its_arrays(good: Path, part: str) -> None:
    from scipy.sparse import csr_matrix

    anndata.AnnData(csr_matrix(np.eye(3))).write_h5ad(good)
    with h5py.File(good, "r+") as file:
        kept = dict(file[f"X/{part}"].attrs)
        del file[f"X/{part}"]
        file[f"X/{part}"] = h5py.Empty("f8")
        file[f"X/{part}"].attrs.update(kept)
    with pytest.raises(InputError, match=r"damaged|is not a whole"):
        read_table(good)
