"""Data sets to try things out: bundled ones, and others by name.

`load` returns bundled sets directly. Files of other sets are searched in the folder named by the
environment variable ``RANKFACTOR_DATA``, then in a cache, and are downloaded into it from the
address in ``RANKFACTOR_DATA_URL`` (with pooch, ``rankfactor[datasets]``). Every file is checked by
its SHA-256. The project hosts no data: without any of these, the message names the file and where
to put it. All sets are described in ``files/collection.csv``.
"""

from __future__ import annotations

import csv
import hashlib
import os
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from rankfactor.data.dataset import Dataset
from rankfactor.data.opening import need
from rankfactor.data.table import read_table
from rankfactor.errors import InputError, did_you_mean

_ALZHEIMER_SOURCE = (
    "Craig-Schapiro et al. (2011), PLoS ONE 6(4): e18850 (CC BY); "
    "ad_data of the R package modeldata (MIT)"
)


@dataclass(frozen=True)
class DatasetInfo:
    """Description of a data set."""

    name: str
    n_samples: int
    n_features: int
    what: str  # was measured
    labels: tuple[str, ...]  # columns of labels; further columns group or describe the samples
    source: str
    licence: str = "not stated by the source"
    # Files that are not bundled, with their SHA-256; empty if the set is bundled.
    files: dict[str, str] = field(default_factory=dict)
    # Columns of words that are features, although `load` returns them with the labels.
    words: tuple[str, ...] = ()

    @property
    def bundled(self) -> bool:
        """Whether the set comes with the library."""
        return not self.files


@cache
def list_datasets() -> tuple[DatasetInfo, ...]:
    """Return the descriptions of all data sets, bundled ones first."""
    with _bundled("collection.csv") as path, path.open(encoding="utf-8", newline="") as file:
        return tuple(
            DatasetInfo(
                row["name"],
                int(row["n_samples"]),
                int(row["n_features"]),
                row["what"],
                tuple(row["labels"].split("|")),
                row["source"],
                row["licence"],
                {row["file"]: row["sha256"]} if row["file"] else {},
                tuple(row["words"].split("|")) if row["words"] else (),
            )
            for row in csv.DictReader(file)
        )


def _bundled(name: str) -> AbstractContextManager[Path]:
    """Path of a file that comes with the library."""
    return resources.as_file(resources.files("rankfactor.data") / "files" / name)


def load(name: str) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    Dataset
        Its `labels` contain all columns that describe samples: those of `DatasetInfo.labels` first.
        If a split is given, the column ``part`` is "train" or "test".

    Raises
    ------
    InputError
        If the set is unknown or its file cannot be found or downloaded.
    """
    info = _info(name)
    if info.name == "alzheimer":
        return load_alzheimer()
    further = {"khan": ("part",), "bfi": ("education", "age")}.get(info.name, ())
    with _bundled(f"{name}.csv.xz") if info.bundled else nullcontext(fetch(name)[0]) as path:
        table = read_table(path, text_columns=(*info.labels, *further))
    order = [*info.labels, *(c for c in table.annotations.columns if c not in info.labels)]
    return Dataset(info.name, table.values, table.annotations[order], info.source)


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
    The values are as distributed: transformed (including the age), so many are negative.
    """
    with _bundled("alzheimer_csf.csv.gz") as path:
        table = read_table(path)
    labels = table.annotations[["Impairment"]].copy()
    carrier = table.annotations["Genotype"].str.contains("E4", regex=False).to_numpy(dtype=bool)
    labels["APOE4"] = np.where(carrier, "E4 carrier", "non-carrier").astype(object)
    return Dataset("Alzheimer CSF", table.values, labels, _ALZHEIMER_SOURCE)


def load_bfi() -> Dataset:
    """Load the bundled questionnaire: 25 items of the Big Five personality traits.

    Returns
    -------
    Dataset
        2,800 people x 25 items, answers from 1 (very inaccurate) to 6 (very accurate), 0.7 %
        missing; five items each of agreeableness (A1 to A5), conscientiousness (C), extraversion
        (E), neuroticism (N) and openness (O). The label is ``sex``.
    """
    return load("bfi")


def fetch(name: str) -> list[Path]:
    """Return the files of a data set, downloading them if needed.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    list of Path
        The files; none for a bundled set.

    Raises
    ------
    InputError
        If a file cannot be found or downloaded; the message states where to put it.
    """
    return [_find(file, checksum) for file, checksum in _info(name).files.items()]


def _info(name: str) -> DatasetInfo:
    known = {info.name: info for info in list_datasets()}
    if name not in known:
        raise InputError(
            f"there is no data set '{name}'; choose one of {', '.join(known)}."
            f"{did_you_mean(name, known)}"
        )
    return known[name]


def data_directory() -> Path | None:
    """Return the folder that ``RANKFACTOR_DATA`` names, or None if it is not set."""
    folder = os.environ.get("RANKFACTOR_DATA", "").strip()
    return Path(folder) if folder else None


def _find(file: str, checksum: str) -> Path:
    folder = data_directory()
    if folder is not None and (folder / file).is_file():
        _check(folder / file, checksum)
        return folder / file
    lacks = f"{file} is not bundled; put it into a folder and set RANKFACTOR_DATA to that folder"
    if folder is not None:
        lacks = (
            f"{file} is not in {folder}, the folder of RANKFACTOR_DATA; put it there"
            ", set RANKFACTOR_DATA to the folder that has it"
        )
    url = os.environ.get("RANKFACTOR_DATA_URL", "").strip()
    if not url:
        raise InputError(f"{lacks}, or RANKFACTOR_DATA_URL to an address with it.")
    return _download(file, checksum, url, advice=lacks.partition("; ")[2])


def _check(path: Path, checksum: str) -> None:
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the file.") from error
    if found != checksum:
        raise InputError(
            f"{path} is not the expected file: its SHA-256 begins with {found[:12]}, not "
            f"{checksum[:12]}; put the right one there."
        )


def _download(file: str, checksum: str, url: str, advice: str) -> Path:
    pooch = need("pooch", extra="datasets", path=f"fetching {file}")
    pooch.get_logger().setLevel("WARNING")
    cache = Path(os.environ.get("RANKFACTOR_CACHE", "").strip() or pooch.os_cache("rankfactor"))
    address = f"{url.rstrip('/')}/{file}"
    try:
        # pooch writes to a temporary file and renames it, so that a failed download leaves nothing.
        found = pooch.retrieve(address, known_hash=f"sha256:{checksum}", fname=file, path=cache)
        return Path(found)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{address} cannot be downloaded ({reason}); {advice}.") from error
