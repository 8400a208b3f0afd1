"""AnnData and MuData, in memory and as ``.h5ad`` and ``.h5mu`` files.

Columns of ``obs`` are annotations; ``X`` or a layer is the table. A sparse matrix is made dense,
its zeros being values: ranks need them, and ties at zero are one level. The modalities of MuData
are blocks of one table: features are called "rna:ACTB", and a sample that a modality does not have
is missing in it.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rankfactor.data.grid import Grid, Table, values_of_grid
from rankfactor.data.hdf5_check import checked
from rankfactor.data.labels import classes_of_frame
from rankfactor.data.opening import foreign_reader, need
from rankfactor.data.sparse import dense
from rankfactor.errors import InputError, did_you_mean, listed


def from_anndata(adata: Any, layer: str | None = None, *, source: str = "the AnnData") -> Table:
    """Make a table of an AnnData object.

    Parameters
    ----------
    adata : anndata.AnnData
        Samples x features.
    layer : str, optional
        The layer to take in place of ``X``.
    source : str
        What to call it in messages.

    Returns
    -------
    Table
        Columns of ``obs`` are the annotations.
    """
    layers = layer_names(adata)
    others = listed(layers, 3)
    if layer is None:
        matrix, what = adata.X, "X"
        if matrix is None:
            raise InputError(f"{source} has no X; choose a layer: {others or 'there is none'}.")
    elif layer in adata.layers:
        matrix, what = adata.layers[layer], f"layer '{layer}'"
    else:
        raise InputError(
            f"{source} has no layer '{layer}'; it has {others or 'none'}."
            f"{did_you_mean(layer, layers)}"
        )
    is_sparse = hasattr(matrix, "toarray")
    values = np.asarray(dense(matrix, source) if is_sparse else matrix)
    if values.dtype.kind not in "fiub":
        raise InputError(f"{source}, {what} is of type {values.dtype}; it has to be numbers.")
    samples = [str(name) for name in adata.obs_names]
    features = [str(name) for name in adata.var_names]
    # An AnnData has no rows of text: count its samples from 1.
    grid = Grid(source, samples, features, values.astype(np.float64), first_row=1)
    table = values_of_grid(grid)
    annotations = classes_of_frame(adata.obs.set_axis(table.index, axis=0))
    notes = [f"the table is {what}" + (", sparse: its zeros are values" if is_sparse else "")]
    if layer is None and others:
        notes.append(f"other layers: {others}")
    return Table(table, annotations, source, tuple(notes))


def layer_names(adata: Any) -> list[str]:
    """Names of the layers of an AnnData; from anndata 0.13 on, X is among them as None."""
    return [name for name in adata.layers if name is not None]


def from_mudata(mdata: Any, layer: str | None = None, *, source: str = "the MuData") -> Table:
    """Make a table of a MuData object, its modalities side by side.

    Parameters
    ----------
    mdata : mudata.MuData
        Several AnnData objects of overlapping samples.
    layer : str, optional
        The layer to take in place of ``X``, where a modality has it.
    source : str
        What to call it in messages.

    Returns
    -------
    Table
        `blocks` says which modality a feature is of.
    """
    if not len(mdata.mod):
        raise InputError(f"{source} has no modality; add at least one.")
    if layer is not None and not any(layer in one.layers for one in mdata.mod.values()):
        raise InputError(f"{source} has no modality with a layer '{layer}'; leave layer out.")
    annotations = classes_of_frame(mdata.obs)
    index = pd.Index([str(name) for name in mdata.obs_names], name="sample", dtype=object)
    annotations.index = index
    parts, blocks, notes = [], [], []
    for name, adata in mdata.mod.items():
        own = layer if layer is not None and layer in adata.layers else None
        part = from_anndata(adata, own, source=f"{source}, modality '{name}'")
        parts.append(part.values.rename(columns=_prefixer(name)).reindex(index))
        blocks += [str(name)] * part.values.shape[1]
        for column in part.annotations.columns:
            prefixed = f"{name}:{column}"
            if column not in annotations.columns and prefixed not in annotations.columns:
                annotations[prefixed] = part.annotations[column].reindex(index)
        notes.append(f"modality '{name}': {part.values.shape[0]} samples x {part.values.shape[1]}")
    values = pd.concat(parts, axis=1)
    values.columns = pd.Index(list(values.columns), dtype=object)
    return Table(
        values,
        annotations.astype(object),
        source,
        tuple(notes),
        pd.Series(blocks, index=values.columns, name="block", dtype=object),
    )


def _prefixer(modality: str) -> Any:
    start = f"{modality}:"
    return lambda feature: feature if feature.startswith(start) else start + feature


class AnnotatedTable:
    """An ``.h5ad`` or ``.h5mu`` file."""

    def __init__(self, path: Path, layer: str | None = None) -> None:
        package = "mudata" if path.suffix.lower() == ".h5mu" else "anndata"
        with checked(path):
            module = need(package, extra="anndata", path=path)
        complaint = f"is not a whole {path.suffix} file; copy or write it again."
        with foreign_reader(path, complaint), warnings.catch_warnings():
            # Users who read a table cannot act on the deprecation warnings of these packages.
            warnings.simplefilter("ignore", FutureWarning)
            warnings.simplefilter("ignore", UserWarning)
            self._data = (module.read_h5mu if package == "mudata" else module.read_h5ad)(path)
        self._source, self._layer = str(path), layer

    @cached_property
    def table(self) -> Table:
        """The table."""
        make = from_mudata if hasattr(self._data, "mod") else from_anndata
        return make(self._data, self._layer, source=self._source)

    @property
    def names(self) -> list[str]:
        """Names of the columns of ``obs`` and of the features."""
        if hasattr(self._data, "mod"):
            return [*self.table.annotations.columns, *self.table.values.columns]
        return [*map(str, self._data.obs.columns), *map(str, self._data.var_names)]

    @property
    def annotations(self) -> pd.DataFrame:
        """What the file says about its samples."""
        return self.table.annotations


def write_back(
    data: Any,
    *,
    scores: npt.ArrayLike,
    loadings: npt.ArrayLike,
    features: Sequence[str],
    samples: Sequence[str] | None = None,
    settings: Mapping[str, Any] | None = None,
    effects: npt.ArrayLike | None = None,
) -> None:
    """Store factors in an AnnData or MuData object, in its usual places.

    ``obsm["X_rankfactor"]`` holds the scores, ``varm["rankfactor_loadings"]`` the loadings
    (the command line writes correlations of feature and factor, as reports show them),
    ``varm["rankfactor_effects"]`` the effects of the features on the decisions and
    ``uns["rankfactor"]`` the settings. Samples and features without factors get NaN.

    Parameters
    ----------
    data : anndata.AnnData or mudata.MuData
        Changed in place. Of a MuData, loadings go to its modalities, by features named
        "modality:feature".
    scores : array, shape (samples, factors)
    loadings : array, shape (features, factors)
    features : sequence of str
        The feature of every row of `loadings`.
    samples : sequence of str, optional
        The sample of every row of `scores`; by default those of `data`, in order.
    settings : mapping, optional
        Plain values to keep beside, such as hyper-parameters.
    effects : array, shape (features, classifier rows), optional
        What moving a feature does to every decision (`Posterior.feature_effects`).
    """
    scores, loadings = np.asarray(scores, dtype=float), np.asarray(loadings, dtype=float)
    names = [str(name) for name in data.obs_names]
    placed = _placed(scores, names if samples is None else samples, names, "scores", "sample")
    modalities: Mapping[str, Any] = getattr(data, "mod", {})
    holders = list(modalities.values()) or [data]
    own = [_prefixer(name)(str(f)) for name, one in modalities.items() for f in one.var_names]
    own = own or [str(name) for name in data.var_names]
    given = {"loadings": loadings}
    if effects is not None:
        given["effects"] = np.asarray(effects, dtype=float)
    by_feature = {
        name: _placed(values, features, own, name, "feature") for name, values in given.items()
    }
    ends = np.cumsum([one.n_vars for one in holders])[:-1]
    data.obsm["X_rankfactor"] = placed
    for name, whole in by_feature.items():
        for holder, part in zip(holders, np.split(whole, ends, axis=0), strict=True):
            holder.varm[f"rankfactor_{name}"] = part
    data.uns["rankfactor"] = dict(settings or {})


def _placed(
    rows: npt.NDArray[np.float64],
    given: Collection[str],
    wanted: list[str],
    argument: str,
    kind: str,
) -> npt.NDArray[np.float64]:
    """Bring rows into the order of `wanted`, NaN where there is none."""
    if rows.ndim != 2 or len(rows) != len(given):
        raise InputError(
            f"{argument} has shape {rows.shape} for {len(given)} {kind}s; pass one row per {kind}."
        )
    position = {name: n for n, name in enumerate(wanted)}
    unknown = [name for name in given if str(name) not in position]
    if unknown:
        raise InputError(
            f"{argument} has a {kind} that the data do not have: {listed(unknown, 3)}; pass the "
            "data that the model was fitted to."
        )
    out = np.full((len(wanted), rows.shape[1]), np.nan)
    out[[position[str(name)] for name in given]] = rows
    return out
