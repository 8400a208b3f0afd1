"""Reading data: tables and labels from files, bundled sets, all as a `Dataset`."""

from rankfactor.data.bundled import (
    data_directory,
    load_alzheimer,
    read_npz_dataset,
    read_npz_split,
)
from rankfactor.data.dataset import Dataset
from rankfactor.data.labels import align_labels, as_classes, read_labels, split_labels
from rankfactor.data.table import MISSING_MARKERS, numeric_table, read_frame, read_table

__all__ = [
    "MISSING_MARKERS",
    "Dataset",
    "align_labels",
    "as_classes",
    "data_directory",
    "load_alzheimer",
    "numeric_table",
    "read_frame",
    "read_labels",
    "read_npz_dataset",
    "read_npz_split",
    "read_table",
    "split_labels",
]
