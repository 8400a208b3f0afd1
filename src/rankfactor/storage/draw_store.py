"""All draws of the chains in a Zarr group on disk, instead of in memory.

The group ``posterior`` has one array of 32-bit numbers for each quantity, with the dimensions
chain, draw and its own; ``sample_stats`` has ``lp``, the log likelihood. A chain collects draws
until they fill a chunk, writes them, and only then writes their number to the array ``count``:
wherever a run ends, the draws that are counted are there. The group itself is made beside its path
and renamed, so a run that dies while it begins leaves none.

Factors are those of the chains, matched to the starting point. At the end the order and the signs
that the model gives them are stored as well, and `open_draws` applies them on reading; without
them, the factors stay as in the chains. Chains of different lengths are cut to the shortest.

A group belongs to a problem (`rankfactor.storage.problem`). A fit of the same problem continues
after the draws that its checkpoint counts, or from the start if there is no checkpoint; anything
else at the path is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.errors import InputError
from rankfactor.storage.files import written_folder
from rankfactor.storage.problem import check_same
from rankfactor.storage.zarr_codecs import check_codecs
from rankfactor.typing import Floats

FORMAT = "rankfactor draws 1"
CHUNK_BYTES = 4_000_000  # of all quantities together
MOST_DRAWS = 256  # in a chunk


class Quantity(NamedTuple):
    """Values of a quantity at one draw, and their dimensions."""

    values: NDArray[Any]
    dims: tuple[str, ...]
    signed: bool = False  # does it change its sign with the factor?
    power: int = 0  # power of the unit of a factor's loadings by which it changes
    group: str = "posterior"


Quantities = Mapping[str, Quantity]


def _package(name: str) -> Any:
    """A package of the extra ``zarr``."""
    try:
        return import_module(name)
    except ImportError as error:
        raise InputError(
            f"draws on disk need the package {name}: pip install rankfactor[zarr]."
        ) from error


def _opened(path: Path, mode: str) -> Any:
    """The group at a path; InputError if there is none of ours."""
    zarr = _package("zarr")
    try:
        group = zarr.open_group(path, mode=mode)
    except Exception as problem:  # as many kinds as there are files to damage
        raise InputError(f"{path} is not a group of draws: choose another path.") from problem
    with _whole(path):
        if group.attrs.get("format") != FORMAT:
            raise InputError(f"{path} contains no draws of rankfactor: choose another path.")
        return group


@contextmanager
def _whole(path: Path) -> Iterator[None]:
    """Read a group, which fails in as many ways as there are files to damage, in one sentence."""
    try:
        yield
    except InputError:
        raise
    except Exception as problem:
        raise InputError(f"{path} is damaged; fit again to a new path.") from problem


@contextmanager
def _written_to(path: Path) -> Iterator[None]:
    """Name the store in the error of a disk that is full or fails."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{path} cannot be written to ({error.strerror or error}): free some space, or choose "
            "another path."
        ) from error


class DrawStore:
    """A Zarr group that the chains of one problem write to, ``n_draws`` each.

    It is created if needed; its folder must exist. ``problem`` has plain values, and a path with
    anything but draws of this problem is refused. ``features`` are the names along the dimension of
    that name.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        problem: dict[str, Any],
        n_chains: int,
        n_draws: int,
        features: Sequence[str],
    ) -> None:
        self.path, self.n_draws = Path(path), n_draws
        self.chunk = 0  # draws per chunk, set by the first draw
        self._lock = Lock()
        zarr = _package("zarr")
        if not self.path.exists():
            if not self.path.parent.is_dir():
                raise InputError(
                    f"the folder {self.path.parent} does not exist: create it, or choose another."
                )
            names = {"features": [str(one) for one in features]}
            with written_folder(self.path) as part:
                group = zarr.open_group(part, mode="w-", zarr_format=3)
                group.create_array(
                    "count", shape=(n_chains,), chunks=(1,), dtype="int64", fill_value=0
                )
                group.attrs.update({"problem": problem, **names, "format": FORMAT})
        self.group = _opened(self.path, mode="r+")
        check_same(f"{path} contains draws", "path", self.group.attrs["problem"], problem)
        self.records = [ChainRecord(self, number) for number in range(n_chains)]

    def finish(self, matrix: Floats, rows: Sequence[str] | None = None) -> None:
        """Write the names of the rows, and the mapping from stored factors to the model's.

        Scores of the model are ``z @ matrix``, which has one entry per column: order, sign and
        unit.
        """
        order = np.abs(matrix).argmax(axis=0)
        entry = matrix[order, np.arange(len(order))]
        parts: dict[str, Any] = {
            "order": order.tolist(),
            "sign": np.sign(entry).tolist(),
            "unit": (1.0 / np.abs(entry)).tolist(),  # factors of the loadings
        }
        with _written_to(self.path):
            self.group.attrs.update(parts if rows is None else {**parts, "rows": list(rows)})

    def prepare(self, quantities: Quantities) -> None:
        """Make room for all draws, the first time that one is seen."""
        with self._lock, _written_to(self.path):
            if self.chunk:
                return
            size = 4 * sum(max(one.values.size, 1) for one in quantities.values())
            chunk = min(max(CHUNK_BYTES // size, 1), MOST_DRAWS, self.n_draws)
            n_chains = len(self.records)
            for name, one in quantities.items():
                group = self.group.require_group(one.group)
                shape = (n_chains, self.n_draws, *one.values.shape)
                if name in group:
                    chunk = group[name].chunks[1]
                    group[name].resize(shape)
                    continue
                group.create_array(
                    name,
                    shape=shape,
                    chunks=(1, chunk, *(max(length, 1) for length in one.values.shape)),
                    dtype="float32",
                    fill_value=np.nan,
                    compressors=None,  # draws do not compress
                    dimension_names=("chain", "draw", *one.dims),
                    attributes={"signed": one.signed, "power": one.power},
                )
            self.chunk = chunk


class ChainRecord:
    """Writer of one chain to a `DrawStore`."""

    def __init__(self, store: DrawStore, number: int) -> None:
        self._store, self._number = store, number
        self._first, self._pending = 0, list[Quantities]()

    def begin(self, count: int) -> None:
        """Drop all but the first ``count`` draws: the chain continues from there."""
        counts = self._store.group["count"]
        if count > int(counts[self._number]):
            raise InputError(
                f"{self._store.path} does not have all draws that the checkpoint counts: choose a "
                "new folder for the checkpoint and a new path for the store, or leave store out."
            )
        with _written_to(self._store.path):
            counts[self._number] = count
        self._first, self._pending = count, []

    def add(self, number: int, quantities: Quantities) -> None:
        """Add draw ``number`` of the chain."""
        self._store.prepare(quantities)
        self._pending.append(quantities)
        if (number + 1) % self._store.chunk == 0:
            self.flush()

    def flush(self) -> None:
        """Write the collected draws, then their number."""
        if not self._pending:
            return
        end = self._first + len(self._pending)
        with _written_to(self._store.path):
            for name, one in self._pending[0].items():
                values = np.stack([draw[name].values for draw in self._pending])
                target = self._store.group[one.group][name]
                target[self._number, self._first : end] = values.astype(np.float32)
            self._store.group["count"][self._number] = end
        self._first, self._pending = end, []


def open_draws(path: str | os.PathLike[str]) -> Any:
    """Open the draws that a fit with ``Gibbs(store=path)`` wrote, or is still writing.

    Parameters
    ----------
    path : path
        Path of the Zarr group.

    Returns
    -------
    xarray.DataTree
        Groups ``posterior`` and ``sample_stats`` with the names of `Posterior.to_arviz`, but with
        all draws. Data are read lazily: ``tree["posterior"]["loadings"].sel(feature=
        "x3").values`` reads one feature.

    Raises
    ------
    InputError
        If there are no draws at the path, or without the extra: ``pip install rankfactor[zarr]``.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(f"there are no draws at {path}.")
    group, xr = _opened(path, mode="r"), _package("xarray")
    with _whole(path):
        return _tree(path, group, xr)


def _tree(path: Path, group: Any, xr: Any) -> Any:
    check_codecs(group["count"], path)
    count = int(group["count"][:].min())
    if count == 0:
        raise InputError(f"{path} has no draws yet: wait, or fit again.")
    attributes = dict(group.attrs)
    n_factors = group["posterior/loadings"].shape[-1]
    order = np.array(attributes.get("order", range(n_factors)), np.int64)
    sign = np.array(attributes.get("sign", [1.0] * n_factors), np.float32)
    # Stores of earlier versions have no units.
    unit = np.array(attributes.get("unit", [1.0] * n_factors), np.float32)
    datasets = {}
    for name in ("posterior", "sample_stats"):
        variables = {
            key: _lazy(xr, path, array, order, sign, unit).isel(draw=slice(count))
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


def _lazy(xr: Any, path: Path, array: Any, order: Any, sign: Any, unit: Any) -> Any:
    """Variable of a Zarr array whose factors are put into the model's form as they are read."""
    from xarray.backends import BackendArray
    from xarray.core import indexing

    check_codecs(array, path)
    dims = array.metadata.dimension_names
    by_factor, power = dims[-1] == "factor", int(array.attrs.get("power", 0))
    change = (sign if array.attrs["signed"] else np.ones_like(sign)) * unit**power

    class Turned(BackendArray):  # type: ignore[misc, unused-ignore]
        shape, dtype = array.shape, array.dtype

        def __getitem__(self, key: Any) -> Any:
            kind = indexing.IndexingSupport.OUTER
            return indexing.explicit_indexing_adapter(key, self.shape, kind, self.read)

        def read(self, key: tuple[Any, ...]) -> Any:
            with _whole(path):
                if not by_factor:
                    return array.oindex[key]
                values = array.oindex[(*key[:-1], order[key[-1]])]
                return values * change[key[-1]]

    return xr.Variable(dims, indexing.LazilyIndexedArray(Turned()))
