"""Reading data: tables and labels from files of many formats, bundled sets."""

from rankfactor.data.annotated import from_anndata, from_mudata, write_back
from rankfactor.data.collection import data_directory, load_alzheimer, load_bfi
from rankfactor.data.dataset import Dataset
from rankfactor.data.fingerprint import fingerprint
from rankfactor.data.frames import numeric_table
from rankfactor.data.grid import Table
from rankfactor.data.labels import align_labels, as_classes
from rankfactor.data.npz import read_npz_dataset, read_npz_split
from rankfactor.data.numbers import MISSING_MARKERS, as_numbers
from rankfactor.data.table import TableFile, column_names, read_annotations, read_table

__all__ = [
    "MISSING_MARKERS",
    "Dataset",
    "Table",
    "TableFile",
    "align_labels",
    "as_classes",
    "as_numbers",
    "column_names",
    "data_directory",
    "fingerprint",
    "from_anndata",
    "from_mudata",
    "load_alzheimer",
    "load_bfi",
    "numeric_table",
    "read_annotations",
    "read_npz_dataset",
    "read_npz_split",
    "read_table",
    "write_back",
]
