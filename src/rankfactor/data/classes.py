"""Classes as text: labels of any kind, as str with NaN where missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.data.numbers import MISSING_MARKERS

__all__ = ["as_classes", "classes_of_frame"]

_MISSING = frozenset(MISSING_MARKERS)


def as_classes(values: Iterable[Any]) -> list[str | float]:
    """Return class labels as text, NaN where missing.

    Parameters
    ----------
    values : iterable
        Labels of any kind. The missing markers of tables are missing here too; whole numbers lose
        the ".0" that a missing neighbour gives them in pandas.

    Returns
    -------
    list of str or NaN
        One entry per label.
    """
    return [_as_class(value) for value in values]


def classes_of_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the same frame with every column as classes."""
    # Object columns hold str and NaN under every version of pandas.
    classes = {str(name): as_classes(frame[name]) for name in frame.columns}
    return pd.DataFrame(classes, index=frame.index, dtype=object)


def _as_class(value: Any) -> str | float:
    if isinstance(value, str):
        text = value.strip()
        return np.nan if text in _MISSING else text
    if pd.isna(value):
        return np.nan
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
