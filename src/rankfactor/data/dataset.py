"""A table of numbers with the labels of its samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from rankfactor.errors import InputError


# Equality of frames is elementwise, so the generated comparison has no single truth value.
@dataclass(frozen=True, eq=False)
class Dataset:
    """A table and the labels of its samples, checked when built.

    Attributes
    ----------
    name, source : str
        Name of the data in messages and reports, and their origin.
    table : pandas.DataFrame
        Samples x features, float64; NaN is a missing value.
    labels : pandas.DataFrame
        The same index, one column per task; classes as str, NaN where a label is missing. It may
        have no columns.
    """

    name: str
    table: pd.DataFrame
    labels: pd.DataFrame
    source: str = ""

    def __post_init__(self) -> None:
        for whose, what, names in (
            (f"The table of {self.name} has", "feature name", self.table.columns),
            (f"The table of {self.name} has", "sample name", self.table.index),
            (f"The labels of {self.name} have", "task name", self.labels.columns),
        ):
            if not names.is_unique:
                repeated = names[names.duplicated()][0]
                raise InputError(
                    f"{whose} a repeated {what}: '{repeated}'; make every name unique."
                )
        if not self.table.index.equals(self.labels.index):
            raise InputError(
                f"The labels of {self.name} do not have the index of its table; "
                "align them with align_labels."
            )
        for feature, dtype in self.table.dtypes.items():
            if dtype != np.float64:
                raise InputError(
                    f"The column '{feature}' of {self.name} is {dtype}, not float64; "
                    "convert the table with numeric_table."
                )
        for n, i in np.argwhere(np.isinf(self.table.to_numpy()))[:1]:
            raise InputError(
                f"The value of '{self.table.columns[i]}' in sample '{self.table.index[n]}' of "
                f"{self.name} is infinite; correct it, or make it NaN if it is missing."
            )

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.table)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.table.shape[1]

    @property
    def feature_names(self) -> list[str]:
        """Names of the features, in the order of the table."""
        return [str(name) for name in self.table.columns]

    @property
    def task_names(self) -> list[str]:
        """Names of the tasks, in the order of the labels."""
        return [str(name) for name in self.labels.columns]
