"""NumPy archives (``.npz``) of a table, without pickles.

Arrays: ``X`` (samples x features), ``y`` (the main label), ``lab_*`` (further labels),
``feature_names`` and ``sample_ids``; or, where the split is given, ``X_train``, ``y_train``,
``X_test`` and ``y_test``. A sparse matrix as `scipy.sparse.save_npz` writes it is read, too: its
zeros are values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rankfactor.data.dataset import Dataset
from rankfactor.data.grid import Grid, Table, values_of_grid
from rankfactor.data.labels import as_classes
from rankfactor.data.opening import foreign_reader
from rankfactor.errors import InputError

__all__ = ["Archive", "read_npz_dataset", "read_npz_split"]

Arrays = dict[str, npt.NDArray[Any]]


class Archive:
    """An archive of any of the forms.

    The annotations of its table are ``y`` and, without their prefix, the arrays ``lab_*``. Of a
    given split both parts are read, and the annotation ``part`` says "train" or "test".
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._arrays = _read_arrays(path)

    @property
    def names(self) -> list[str]:
        """Names of the annotations and features."""
        arrays = self._arrays
        labels = ["y"] if {"y", "y_train"} & set(arrays) else []
        labels += [name.removeprefix("lab_") for name in arrays if name.startswith("lab_")]
        return [*labels, *map(str, arrays.get("feature_names", ()))]

    def table(self) -> Table:
        """The table."""
        path, arrays = self._path, self._arrays
        if "X" not in arrays and "X_train" in arrays:
            parts = [_build_part(path, arrays, part) for part in ("train", "test")]
            annotations = pd.concat([part.labels for part in parts])
            annotations["part"] = np.repeat(["train", "test"], [part.n_samples for part in parts])
            values = pd.concat([part.table for part in parts])
            note = "the given split is in the annotation 'part'"
            return Table(values, annotations.astype(object), str(path), (note,))
        notes: tuple[str, ...] = ()
        if "X" not in arrays and {"format", "shape", "data"} <= set(arrays):
            arrays = {"X": _dense(path)}
            notes = ("a sparse matrix: its zeros are values",)
        data = _dataset(path, arrays)
        return Table(data.table, data.labels, str(path), notes)

    def annotations(self) -> pd.DataFrame:
        """What the archive says about its samples."""
        return self.table().annotations


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
        that only describe or group the samples are there too: choose the tasks among them.

    Raises
    ------
    InputError
        If the file is no such archive.
    """
    path = Path(path)
    return _dataset(path, _read_arrays(path))


def read_npz_split(path: str | Path) -> tuple[Dataset, Dataset]:
    """Read a NumPy archive that gives the split: ``X_train``, ``y_train``, ``X_test``, ``y_test``.

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
        If the file is no such archive.
    """
    path = Path(path)
    arrays = _read_arrays(path)
    train, test = (_build_part(path, arrays, part) for part in ("train", "test"))
    return train, test


def _dataset(path: Path, arrays: Arrays) -> Dataset:
    samples = _names_or(arrays.get("sample_ids"), "", _matrix(arrays, "X", path).shape[0])
    labels = {name.removeprefix("lab_"): arrays[name] for name in arrays if name.startswith("lab_")}
    if "y" in arrays:
        labels = {"y": arrays["y"], **labels}
    return _build(path.stem, path, arrays, "X", samples, labels)


def _build_part(path: Path, arrays: Arrays, part: str) -> Dataset:
    key = f"X_{part}"
    n_samples = _matrix(arrays, key, path).shape[0]
    if f"y_{part}" not in arrays:
        raise InputError(f"{path} has no array 'y_{part}'; add it.")
    numbers = arrays.get(f"idx_{part}", np.arange(1, n_samples + 1))
    samples = [f"{part}_{number}" for number in numbers]
    labels = {"y": arrays[f"y_{part}"]}
    return _build(f"{path.stem} ({part})", path, arrays, key, samples, labels)


def _build(
    name: str,
    path: Path,
    arrays: Arrays,
    key: str,
    samples: list[str],
    labels: Arrays,
) -> Dataset:
    X = _matrix(arrays, key, path)
    n_samples, n_features = X.shape
    features = _names_or(arrays.get("feature_names"), "feature_", n_features)
    for what, length, expected in (
        ("feature_names", len(features), n_features),
        ("sample names", len(samples), n_samples),
        *((f"labels '{task}'", len(column), n_samples) for task, column in labels.items()),
    ):
        if length != expected:
            raise InputError(
                f"{path} has {length} {what} where '{key}' has {expected}; make them agree."
            )
    table = values_of_grid(Grid(str(path), samples, features, X.astype(np.float64)))
    classes = {task: as_classes(column.tolist()) for task, column in labels.items()}
    return Dataset(name, table, pd.DataFrame(classes, table.index, dtype=object), path.name)


def _names_or(names: npt.NDArray[Any] | None, prefix: str, count: int) -> list[str]:
    if names is None:
        return [f"{prefix}{position + 1}" for position in range(count)]
    return [str(name) for name in names]


def _matrix(arrays: Arrays, key: str, path: Path) -> npt.NDArray[Any]:
    if key not in arrays:
        shown = ", ".join(f"'{name}'" for name in arrays) or "none"
        raise InputError(f"{path} has no array '{key}' (its arrays: {shown}); add it.")
    X = arrays[key]
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        raise InputError(
            f"{path}, array '{key}' has {X.ndim} dimensions and type {X.dtype}; "
            "it has to be numbers, samples x features."
        )
    return X


def _dense(path: Path) -> npt.NDArray[Any]:
    from scipy import sparse

    with foreign_reader(path, "is not a whole sparse matrix; save it with scipy.sparse.save_npz."):
        matrix: npt.NDArray[Any] = sparse.load_npz(path).toarray()
    return matrix


def _read_arrays(path: Path) -> Arrays:
    """Read all arrays of an archive, refusing pickled objects: they could run code."""
    advice = "save it with numpy.savez_compressed from arrays of numbers and text"
    # NumPy leaves a file that it opened itself open when the archive is broken.
    with (
        foreign_reader(path, f"is not an archive without pickles; {advice}."),
        path.open("rb") as file,
    ):
        archive = np.load(file, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise InputError(f"{path} holds one array, not an archive of them; {advice}.")
        with archive:
            return dict(archive)
