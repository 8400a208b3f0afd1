"""NumPy archives (``.npz``) of a table, without pickles.

Arrays: ``X`` (samples x features), ``y`` (the main label), ``lab_*`` (further labels),
``feature_names`` and ``sample_ids``; or, for a given split, ``X_train``, ``y_train``, ``X_test``
and ``y_test``. A sparse matrix written by `scipy.sparse.save_npz` is also read: its zeros are
values.
"""

from __future__ import annotations

import zipfile
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rankfactor.data.dataset import Dataset
from rankfactor.data.grid import Grid, Table, values_of_grid
from rankfactor.data.labels import as_classes
from rankfactor.data.opening import foreign_reader
from rankfactor.data.sparse import dense
from rankfactor.errors import InputError
from rankfactor.storage.bounds import check_zip, read_array

Arrays = dict[str, npt.NDArray[Any]]
_KINDS = "fiubcUSMm"  # all but objects, which are pickles, and records


class Archive:
    """An archive of any of the forms.

    The annotations of its table are ``y`` and, without their prefix, the arrays ``lab_*``. For a
    given split both parts are read, and the annotation ``part`` is "train" or "test".
    """

    def __init__(self, path: Path) -> None:
        self._path, self._arrays = path, _read_arrays(path)

    @property
    def names(self) -> list[str]:
        """Names of the annotations and features."""
        arrays = self._arrays
        labels = ["y"] if {"y", "y_train"} & set(arrays) else []
        labels += [name.removeprefix("lab_") for name in arrays if name.startswith("lab_")]
        return [*labels, *map(str, np.ravel(arrays.get("feature_names", ())))]

    @cached_property
    def table(self) -> Table:
        """The table."""
        arrays, source = self._arrays, str(self._path)
        if "X" not in arrays and "X_train" in arrays:
            parts = {part: self.dataset(part) for part in ("train", "test")}
            values = pd.concat([part.table for part in parts.values()])
            labels = [data.labels.assign(part=part) for part, data in parts.items()]
            note = "the given split is in the annotation 'part'"
            return Table(values, pd.concat(labels).astype(object), source, (note,))
        notes: tuple[str, ...] = ()
        if "X" not in arrays and {"format", "shape", "data"} <= set(arrays):
            self._arrays = {"X": _dense(self._path)}
            notes = ("a sparse matrix: its zeros are values",)
        data = self.dataset()
        return Table(data.table, data.labels, source, notes)

    @property
    def annotations(self) -> pd.DataFrame:
        """Annotations of the samples."""
        return self.table.annotations

    def dataset(self, part: str = "") -> Dataset:
        """The whole archive, or a part of a given split: "train" or "test"."""
        path, arrays = self._path, self._arrays
        key, name = (f"X_{part}", f"{path.stem} ({part})") if part else ("X", path.stem)
        X = self._matrix(key)
        n_samples, n_features = X.shape
        features = arrays.get("feature_names", [f"feature_{i + 1}" for i in range(n_features)])
        numbers = np.arange(1, n_samples + 1)
        if part:
            if f"y_{part}" not in arrays:
                raise InputError(f"{path} has no array 'y_{part}'; add it.")
            known = np.ravel(arrays.get(f"idx_{part}", numbers))
            samples = [f"{part}_{number}" for number in known]
            labels = {"y": arrays[f"y_{part}"]}
        else:
            samples = [str(name) for name in np.ravel(arrays.get("sample_ids", numbers))]
            labels = {"y": arrays["y"]} if "y" in arrays else {}
            labels |= {key[4:]: one for key, one in arrays.items() if key.startswith("lab_")}
        for what, found, expected in (
            ("feature_names", np.shape(features), n_features),
            ("sample names", np.shape(samples), n_samples),
            *((f"labels '{task}'", column.shape, n_samples) for task, column in labels.items()),
        ):
            length = found[0] if len(found) == 1 else f"{len(found)} dimensions of"
            if length != expected:
                raise InputError(
                    f"{path} has {length} {what} where '{key}' has {expected}; make them agree."
                )
        grid = Grid(str(path), samples, [str(name) for name in features], X.astype(np.float64))
        table = values_of_grid(grid)
        classes = {task: as_classes(column.tolist()) for task, column in labels.items()}
        return Dataset(name, table, pd.DataFrame(classes, table.index, dtype=object), path.name)

    def _matrix(self, key: str) -> npt.NDArray[Any]:
        if key not in self._arrays:
            shown = ", ".join(f"'{name}'" for name in self._arrays) or "none"
            raise InputError(f"{self._path} has no array '{key}' (its arrays: {shown}); add it.")
        X = self._arrays[key]
        if X.ndim != 2 or X.dtype.kind not in "fiub":
            raise InputError(
                f"{self._path}, array '{key}' has {X.ndim} dimensions and type {X.dtype}; "
                "it must contain numbers, samples x features."
            )
        return X


def read_npz_dataset(path: str | Path) -> Dataset:
    """Read a NumPy archive with ``X``, ``y``, ``lab_*``, ``feature_names`` and ``sample_ids``.

    Parameters
    ----------
    path : str or Path
        The ``.npz`` file. Only ``X`` is required; features and samples without names are called
        "feature_1", ... and "1", ...

    Returns
    -------
    Dataset
        The main label is the task ``y``; ``lab_status`` becomes the column ``status``. Columns
        that only describe or group the samples are included: choose the tasks among them.

    Raises
    ------
    InputError
        If the file is not such an archive.
    """
    return Archive(Path(path)).dataset()


def read_npz_split(path: str | Path) -> tuple[Dataset, Dataset]:
    """Read a NumPy archive with a split: ``X_train``, ``y_train``, ``X_test``, ``y_test``.

    Parameters
    ----------
    path : str or Path
        The ``.npz`` file.

    Returns
    -------
    train, test : Dataset
        The label is the task ``y``. Samples are called "train_7", "test_2", ... by their entry of
        ``idx_train`` and ``idx_test``, or by their position if the archive has none.

    Raises
    ------
    InputError
        If the file is not such an archive.
    """
    archive = Archive(Path(path))
    return archive.dataset("train"), archive.dataset("test")


def _dense(path: Path) -> npt.NDArray[Any]:
    from scipy import sparse

    with foreign_reader(path, "is not a whole sparse matrix; save it with scipy.sparse.save_npz."):
        return dense(sparse.load_npz(path), str(path))


def _read_arrays(path: Path) -> Arrays:
    """Read all arrays of an archive, refusing pickled objects: they could run code."""
    advice = "save it with numpy.savez_compressed from arrays of numbers and text"
    with foreign_reader(path, f"is not an archive without pickles; {advice}."):
        with path.open("rb") as file:
            if file.read(6) == np.lib.format.MAGIC_PREFIX:
                raise InputError(f"{path} contains one array, not an archive of them; {advice}.")
        with zipfile.ZipFile(path) as archive:
            check_zip(path, archive)
            return {
                name.removesuffix(".npy"): read_array(archive.read(name), _KINDS)
                for name in archive.namelist()
            }
