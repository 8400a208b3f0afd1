"""The bundled data sets, and the folder of further ones.

The folder is the one that the environment variable ``RANKFACTOR_DATA`` names.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd

from rankfactor.data.dataset import Dataset
from rankfactor.data.grid import Table
from rankfactor.data.table import read_table

__all__ = ["data_directory", "load_alzheimer", "read_bundled"]

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
    table = read_bundled("alzheimer_csf.csv.gz")
    labels = table.annotations[["Impairment"]].copy()
    carrier = table.annotations["Genotype"].str.contains("E4", regex=False).to_numpy(dtype=bool)
    labels["APOE4"] = pd.Series(
        np.where(carrier, "E4 carrier", "non-carrier").astype(object), index=labels.index
    )
    return Dataset("Alzheimer CSF", table.values, labels.astype(object), _ALZHEIMER_SOURCE)


def read_bundled(name: str, *, text_columns: Collection[str] = ()) -> Table:
    """Read a table that comes with the library, by the name of its file."""
    with resources.as_file(resources.files("rankfactor.data") / "files" / name) as path:
        return read_table(path, text_columns=text_columns)


def data_directory() -> Path | None:
    """Return the folder that ``RANKFACTOR_DATA`` names, or None if it is not set."""
    folder = os.environ.get("RANKFACTOR_DATA", "").strip()
    return Path(folder) if folder else None
