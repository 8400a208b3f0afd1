"""AnnData as a stream: a ``.h5ad`` file that is read in place, or an object, backed or not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_matrix, issparse

from rankfactor.data.annotated import layer_names
from rankfactor.data.hdf5_check import checked
from rankfactor.data.labels import classes_of_frame
from rankfactor.data.names import check_unique
from rankfactor.data.opening import foreign_reader, need
from rankfactor.data.sparse import NamedSparse, checked_sparse
from rankfactor.data.streams.base import TableStream, refuse_infinite
from rankfactor.errors import InputError, did_you_mean, listed


class AnnotatedRows(TableStream):
    """Samples x features of AnnData, dense or sparse; the columns of obs are annotations."""

    def __init__(
        self,
        matrix: Callable[[], AbstractContextManager[Any]],
        obs: pd.DataFrame,
        features: pd.Index[Any],
        name: str,
        what: str,
    ) -> None:
        self._matrix, self._obs, self.name = matrix, obs, name
        self._covariates: list[str] = []
        index = [str(one) for one in obs.index]
        check_unique(index, "sample name", name)
        check_unique(map(str, features), "feature name", name)
        self.sample_names = pd.Index(index, name="sample", dtype=object)
        self.columns = pd.Index([str(one) for one in features], dtype=object)
        self.annotations = classes_of_frame(obs.set_axis(self.sample_names, axis=0))
        self.n_rows, self.n_columns = len(obs), len(features)
        with matrix() as opened:
            # Types of sparse matrices in files are those of their values.
            kind, storage = np.dtype(opened.dtype), getattr(opened, "format", "")
            shape = tuple(opened.shape)
        if shape != (self.n_rows, self.n_columns):
            raise InputError(
                f"{name}, {what} has the shape {shape} for {self.n_rows} samples and "
                f"{self.n_columns} features; copy or write it again."
            )
        if kind.kind not in "fiub":
            raise InputError(f"{name}, {what} is of type {kind}; it has to be numbers.")
        if storage not in ("", "csr"):
            raise InputError(
                f"{name}, {what} is sparse by columns ({storage.upper()}), so its rows cannot be "
                "read chunk by chunk; store it as CSR."
            )
        sparse = ", sparse: its zeros are values" if storage else ""
        self.notes = (f"the table is {what}{sparse}",)

    def with_covariates(self, names: Sequence[str]) -> TableStream:
        """The same table with columns of obs as covariates: `NamedSparse.extra` if it is sparse."""
        assert self.columns is not None
        own = [name for name in names if name not in self.columns]
        for name in own:
            if name not in self._obs.columns:
                raise InputError(
                    f"{self.name} has no column {name!r} in obs; it has "
                    f"{listed(self._obs.columns, 3) or 'none'}."
                    f"{did_you_mean(name, self._obs.columns)}"
                )
        stream = copy(self)
        stream._covariates = own
        return stream

    def _pieces(self, rows: int) -> Iterator[Any]:
        assert self.sample_names is not None
        assert self.columns is not None
        obs = self._obs[self._covariates].set_axis(self.sample_names, axis=0)
        with self._matrix() as matrix:
            for first in range(0, self.n_rows or 0, rows):
                values, index = (
                    matrix[first : first + rows],
                    self.sample_names[first : first + rows],
                )
                if issparse(values):
                    checked_sparse(values, self.name)
                # As from AnnData in memory, samples are counted from 1.
                refuse_infinite(values, self.name, first + 1, self.columns)
                extra = obs.iloc[first : first + rows]
                if issparse(values):
                    yield NamedSparse(csr_matrix(values), index, self.columns, extra)
                else:
                    frame = pd.DataFrame(np.asarray(values), index, self.columns)
                    yield pd.concat([frame, extra], axis=1) if self._covariates else frame


def h5ad_stream(path: Path, layer: str | None = None) -> AnnotatedRows:
    """Stream of X, or of a layer, of a ``.h5ad`` file."""
    with checked(path):
        need("anndata", extra="anndata", path=path)
        elements = need("anndata.io", extra="anndata", path=path)
        h5py = need("h5py", extra="anndata", path=path)
    with (
        foreign_reader(path, "is not a whole .h5ad file; copy or write it again."),
        h5py.File(path, "r") as file,
    ):
        layers = sorted(file.get("layers", ()))
        if layer is not None and layer not in layers:
            raise InputError(
                f"{path} has no layer '{layer}'; it has {listed(layers, 3) or 'none'}."
                f"{did_you_mean(layer, layers)}"
            )
        if layer is None and "X" not in file:
            raise InputError(
                f"{path} has no X; choose a layer: {listed(layers, 3) or 'there is none'}."
            )
        obs, var = elements.read_elem(file["obs"]), elements.read_elem(file["var"])
        if not (isinstance(obs, pd.DataFrame) and isinstance(var, pd.DataFrame)):
            raise TypeError("obs or var is not a table")
    key, what = ("X", "X") if layer is None else (f"layers/{layer}", f"layer '{layer}'")
    return AnnotatedRows(partial(_opened, path, key), obs, var.index, str(path), what)


def object_stream(adata: Any, layer: str | None = None) -> AnnotatedRows:
    """Stream of X, or of a layer, of an AnnData object."""
    name, what = "the AnnData", "X" if layer is None else f"layer '{layer}'"
    if layer is not None and layer not in adata.layers:
        raise InputError(
            f"{name} has no layer '{layer}'; it has {listed(layer_names(adata), 3) or 'none'}."
        )
    matrix = adata.X if layer is None else adata.layers[layer]
    if matrix is None:
        raise InputError(f"{name} has no X; choose a layer.")
    if issparse(matrix):
        matrix = matrix.tocsr()
    return AnnotatedRows(lambda: nullcontext(matrix), adata.obs, adata.var_names, name, what)


@contextmanager
def _opened(path: Path, key: str) -> Iterator[Any]:
    """A matrix in a file, to be sliced by rows."""
    h5py, elements = need("h5py", extra="anndata"), need("anndata.io", extra="anndata")
    with (
        foreign_reader(path, "is not a whole .h5ad file; copy or write it again."),
        h5py.File(path, "r") as file,
    ):
        stored = file[key]
        yield elements.sparse_dataset(stored) if isinstance(stored, h5py.Group) else stored
