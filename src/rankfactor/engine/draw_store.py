"""All draws of the chains in a Zarr group on disk, so that memory need not hold them.

The group ``posterior`` has one array of 32-bit numbers for each quantity, with the dimensions
chain, draw and its own; ``sample_stats`` has ``lp``, the log likelihood. A chain collects draws
until they fill a chunk, writes them, and only then writes their number to the array ``count``:
wherever a run ends, the draws that are counted are there.

Factors are those of the chains, matched to the starting point. At the end the order and the signs
that the model gives them are written beside them, and `open_draws` turns what it reads.

A group belongs to a problem (`rankfactor.engine.checkpoint.describe`). A fit of the same one
goes on behind the draws that its checkpoint counts, or from the start where there is no checkpoint;
anything else at the path is refused.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rankfactor.engine.chain import Draw, Gibbs
from rankfactor.engine.checkpoint import describe, difference
from rankfactor.engine.scale_draws import scale_dims
from rankfactor.errors import InputError
from rankfactor.kernels.packed import Floats
from rankfactor.kernels.rng import Stream
from rankfactor.likelihoods import Observed
from rankfactor.model import Model

FORMAT = "rankfactor draws 1"
CHUNK_BYTES = 4_000_000  # of all quantities together
MOST_DRAWS = 256  # in a chunk


class _Quantity(NamedTuple):
    """Values of a quantity at one draw, and what their dimensions are."""

    values: NDArray[Any]
    dims: tuple[str, ...]
    signed: bool = False  # does it change its sign with the factor?
    group: str = "posterior"


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise InputError(
            "draws on disk need the package zarr: pip install rankfactor[zarr]."
        ) from error
    return zarr


class DrawStore:
    """A Zarr group that the chains of one problem write to.

    Parameters
    ----------
    path : path
        Of the group. Made if it does not exist; its folder must exist.
    problem : dict
        That of `rankfactor.engine.checkpoint.describe`.
    model : Model
    settings : Gibbs
    features : sequence of str, length d
        Names of the features in the model.

    Raises
    ------
    InputError
        If zarr is not installed, or the path holds anything but draws of this problem.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        problem: dict[str, Any],
        model: Model,
        settings: Gibbs,
        features: Sequence[str],
    ) -> None:
        self.path, self.model, self.n_draws = Path(path), model, settings.n_draws
        self.chunk = 0  # draws in a chunk, once a draw has shown how large it is
        self._lock = Lock()
        zarr = _zarr()
        if not self.path.exists():
            if not self.path.parent.is_dir():
                raise InputError(
                    f"the folder {self.path.parent} does not exist: make it, or choose another."
                )
            self.group = zarr.open_group(self.path, mode="w-", zarr_format=3)
            self.group.create_array(
                "count", shape=(settings.n_chains,), chunks=(1,), dtype="int64", fill_value=0
            )
            # Last: a group without a format is nobody's.
            names = {"features": [str(one) for one in features]}
            self.group.attrs.update({"problem": problem, **names, "format": FORMAT})
        else:
            self.group = open_group(self.path, mode="r+")
            found = difference(self.group.attrs["problem"], problem)
            if found is not None:
                raise InputError(
                    f"{self.path} holds draws of another problem ({found}): choose another path, "
                    "or remove it."
                )
        self.records = [ChainRecord(self, number) for number in range(settings.n_chains)]

    def finish(
        self, order: NDArray[np.int64], sign: Floats, rows: Sequence[str] | None = None
    ) -> None:
        """Say what the model calls the rows, and its factors: ``sign * factor[order]``."""
        parts: dict[str, Any] = {"order": order.tolist(), "sign": sign.tolist()}
        self.group.attrs.update(parts if rows is None else {**parts, "rows": list(rows)})

    def quantities(self, draw: Draw, log_likelihood: float) -> dict[str, _Quantity]:
        """What is written of a draw, by name."""
        k = self.model.n_factors
        result = {
            "lp": _Quantity(np.asarray(log_likelihood), (), group="sample_stats"),
            "loadings": _Quantity(draw.loadings[:, :k], ("feature", "factor"), signed=True),
        }
        if draw.loadings.shape[1] > k:
            result["feature_mean"] = _Quantity(draw.loadings[:, k], ("feature",))
        if draw.coefficients is not None:
            rows = draw.coefficients
            dims = ("row", "component")[: rows.ndim - 1]
            result["coefficients"] = _Quantity(rows[..., :k], (*dims, "factor"), signed=True)
            result["intercept"] = _Quantity(rows[..., k], dims)
        for name, values in draw.params.named().items():
            result[name] = _Quantity(values, ("feature", "cut")[: values.ndim])
        known = scale_dims(self.model)
        for name, values in draw.scales.items():
            result[name] = _Quantity(values, known[name])
        return result

    def prepare(self, quantities: dict[str, _Quantity]) -> None:
        """Make room for all draws, the first time that one is seen."""
        with self._lock:
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
                    attributes={"signed": one.signed},
                )
            self.chunk = chunk


class ChainRecord:
    """What one chain writes to a `DrawStore`."""

    def __init__(self, store: DrawStore, number: int) -> None:
        self._store, self._number = store, number
        self._first, self._pending = 0, list[dict[str, _Quantity]]()

    def begin(self, count: int) -> None:
        """Forget all but the first ``count`` draws: the chain goes on from there."""
        counts = self._store.group["count"]
        if count > int(counts[self._number]):
            raise InputError(
                f"{self._store.path} does not have all draws that the checkpoint counts: choose a "
                "new folder for the checkpoint and a new path for the store, or leave store out."
            )
        counts[self._number] = count
        self._first, self._pending = count, []

    def add(self, number: int, draw: Draw, log_likelihood: float) -> None:
        """Take in draw ``number`` of the chain."""
        quantities = self._store.quantities(draw, log_likelihood)
        self._store.prepare(quantities)
        self._pending.append(quantities)
        if (number + 1) % self._store.chunk == 0:
            self.flush()

    def flush(self) -> None:
        """Write what has been taken in, then how much there is now."""
        if not self._pending:
            return
        end = self._first + len(self._pending)
        try:
            for name, one in self._pending[0].items():
                values = np.stack([draw[name].values for draw in self._pending])
                target = self._store.group[one.group][name]
                target[self._number, self._first : end] = values.astype(np.float32)
            self._store.group["count"][self._number] = end
        except OSError as error:
            raise InputError(
                f"{self._store.path} cannot be written to ({error.strerror or error}): free some "
                "space, or choose another path."
            ) from error
        self._first, self._pending = end, []


def open_group(path: Path, mode: str) -> Any:
    """The group at a path; InputError if there is none of ours."""
    zarr = _zarr()
    try:
        group = zarr.open_group(path, mode=mode)
    except (OSError, KeyError, ValueError) as problem:
        raise InputError(f"{path} is no group of draws: choose another path.") from problem
    if group.attrs.get("format") != FORMAT:
        raise InputError(f"{path} holds no draws of rankfactor: choose another path.")
    return group


def open_store(
    settings: Gibbs,
    model: Model,
    observed: Observed,
    labels: Observed | None,
    stream: Stream,
    features: Sequence[str],
) -> DrawStore | None:
    """The group that the settings ask for, None if they ask for none."""
    if settings.store is None:
        return None
    problem = describe(model, observed, labels, settings, stream)
    return DrawStore(settings.store, problem, model, settings, features)
