"""Reading draws from disk: a tree of arrays that are read when they are looked at.

Chains that were stopped at different lengths are cut to the shortest. Factors are given the order
and the signs of the model that was fitted, if the fit came to its end, while a part is read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from rankfactor.engine.draw_store import open_group
from rankfactor.errors import InputError


def open_draws(path: str | os.PathLike[str]) -> Any:
    """Open the draws that a fit with ``Gibbs(store=path)`` wrote, or is still writing.

    Parameters
    ----------
    path : path
        Of the Zarr group.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` and ``sample_stats`` with the names of `Posterior.to_arviz`, but with
        all draws. Nothing is read before it is used: ``tree["posterior"]["loadings"].sel(feature=
        "x3").values`` reads one feature.

    Raises
    ------
    InputError
        If there are no draws at the path, or without the extra: ``pip install rankfactor[zarr]``.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"there are no draws at {path}.")
    group = open_group(path, mode="r")
    try:
        import xarray as xr
    except ImportError as error:
        raise InputError(
            "draws on disk need the package xarray: pip install rankfactor[zarr]."
        ) from error
    count = int(group["count"][:].min())
    if count == 0:
        raise InputError(f"{path} has no draws yet: wait, or fit again.")
    attributes = dict(group.attrs)
    n_factors = group["posterior/loadings"].shape[-1]
    order = np.array(attributes.get("order", range(n_factors)), np.int64)
    sign = np.array(attributes.get("sign", [1.0] * n_factors), np.float32)
    datasets = {}
    for name in ("posterior", "sample_stats"):
        variables = {
            key: _lazy(xr, array, order, sign).isel(draw=slice(count))
            for key, array in group[name].arrays()
        }
        sizes = {dim: size for one in variables.values() for dim, size in one.sizes.items()}
        known = {
            "feature": attributes["features"],
            "factor": [f"Factor {k + 1}" for k in range(n_factors)],
            "row": attributes.get("rows"),
        }
        coords = {dim: known.get(dim) or np.arange(size) for dim, size in sizes.items()}
        datasets[name] = xr.Dataset(variables, coords)
    return xr.DataTree.from_dict(datasets)


def _lazy(xr: Any, array: Any, order: Any, sign: Any) -> Any:
    """Variable of a Zarr array whose factors are turned as they are read."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    dims = array.metadata.dimension_names
    by_factor, signed = dims[-1] == "factor", bool(array.attrs["signed"])

    class Turned(BackendArray):  # type: ignore[misc, unused-ignore]
        shape, dtype = array.shape, array.dtype

        def __getitem__(self, key: Any) -> Any:
            kind = indexing.IndexingSupport.OUTER
            return indexing.explicit_indexing_adapter(key, self.shape, kind, self.read)

        def read(self, key: tuple[Any, ...]) -> Any:
            if not by_factor:
                return array.oindex[key]
            values = array.oindex[(*key[:-1], order[key[-1]])]
            return values * sign[key[-1]] if signed else values

    return xr.Variable(dims, indexing.LazilyIndexedArray(Turned()))
