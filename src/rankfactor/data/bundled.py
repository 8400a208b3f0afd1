"""The bundled data set, and readers of the array files of a data folder.

The data folder is the one that the environment variable ``RANKFACTOR_DATA`` names. Its files are
NumPy archives without pickles: ``X`` (samples x features), ``y`` (the main label), ``lab_*``
(further labels), ``feature_names`` and ``sample_ids``; or, where the split is given, ``X_train``,
``y_train``, ``X_test`` and ``y_test``.
"""

from __future__ import annotations

import os
import zipfile
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from rankfactor.data.dataset import Dataset
from rankfactor.data.labels import as_classes, split_labels
from rankfactor.data.table import numeric_table, read_frame
from rankfactor.data.textfile import translate_read_errors
from rankfactor.errors import InputError

__all__ = ["data_directory", "load_alzheimer", "read_npz_dataset", "read_npz_split"]

_ALZHEIMER_SOURCE = (
    "Craig-Schapiro et al. (2011), PLoS ONE 6(4): e18850 (CC BY); "
    "ad_data of the R package modeldata (MIT)"
)


def load_alzheimer() -> Dataset:
    """Load the bundled set: proteins of the cerebrospinal fluid and two tasks.

    Returns
    -------
    Dataset
        333 samples x 129 features (127 measured substances, the age and the sex). The task
        ``Impairment`` is "Impaired" (91) or "Control" (242); ``APOE4`` is "E4 carrier" if the
        APOE genotype has an E4 allele, else "non-carrier".

    Notes
    -----
    The values are as distributed: transformed (the age too), so many are negative.
    """
    tasks = ["Impairment", "Genotype"]
    file = resources.files("rankfactor.data") / "files" / "alzheimer_csf.csv.gz"
    with resources.as_file(file) as path:
        frame = read_frame(path, text_columns=tasks)
    features, labels = split_labels(frame, tasks, source="alzheimer_csf")
    carrier = labels.pop("Genotype").str.contains("E4", regex=False).to_numpy(dtype=bool)
    labels["APOE4"] = pd.Series(
        np.where(carrier, "E4 carrier", "non-carrier").astype(object), index=labels.index
    )
    table = numeric_table(features, source="alzheimer_csf")
    return Dataset("Alzheimer CSF", table, labels.astype(object), _ALZHEIMER_SOURCE)


def data_directory() -> Path | None:
    """Return the folder that ``RANKFACTOR_DATA`` names, or None if it is not set."""
    folder = os.environ.get("RANKFACTOR_DATA", "").strip()
    return Path(folder) if folder else None


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
    arrays = _read_arrays(path)
    samples = _names_or(arrays.get("sample_ids"), "", _matrix(arrays, "X", path).shape[0])
    labels = {name.removeprefix("lab_"): arrays[name] for name in arrays if name.startswith("lab_")}
    if "y" in arrays:
        labels = {"y": arrays["y"], **labels}
    return _build(path.stem, path, arrays, "X", samples, labels)


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


def _build_part(path: Path, arrays: dict[str, npt.NDArray[Any]], part: str) -> Dataset:
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
    arrays: dict[str, npt.NDArray[Any]],
    key: str,
    samples: list[str],
    labels: dict[str, npt.NDArray[Any]],
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
    index = pd.Index(samples, name="sample", dtype=object)
    table = numeric_table(
        pd.DataFrame(X, index=index, columns=pd.Index(features, dtype=object)), source=path
    )
    classes = {task: as_classes(column.tolist()) for task, column in labels.items()}
    return Dataset(name, table, pd.DataFrame(classes, index=index, dtype=object), source=path.name)


def _names_or(names: npt.NDArray[Any] | None, prefix: str, count: int) -> list[str]:
    if names is None:
        return [f"{prefix}{position + 1}" for position in range(count)]
    return [str(name) for name in names]


def _matrix(arrays: dict[str, npt.NDArray[Any]], key: str, path: Path) -> npt.NDArray[Any]:
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


def _read_arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Read all arrays of an archive, refusing pickled objects: they could run code."""
    advice = "save it with numpy.savez_compressed from arrays of numbers and text"
    # NumPy leaves a file that it opened itself open when the archive is broken.
    with translate_read_errors(path), path.open("rb") as file:
        try:
            archive = np.load(file, allow_pickle=False)
            if isinstance(archive, np.lib.npyio.NpzFile):
                with archive:
                    return {name: archive[name] for name in archive.files}
        except (ValueError, zipfile.BadZipFile) as error:
            raise InputError(f"{path} is not an archive without pickles; {advice}.") from error
    raise InputError(f"{path} holds one array, not an archive of them; {advice}.")
