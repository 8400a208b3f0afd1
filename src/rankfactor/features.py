"""Tables as arrays: every way in is checked here; new tables are matched to a model by name."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from rankfactor.errors import InputError
from rankfactor.kernels.packed import Floats

_LISTED = 5  # names given in a message before "and n more"


def column_names(X: Any) -> NDArray[np.object_] | None:
    """Names of a DataFrame's columns if they are text, else None."""
    if isinstance(X, pd.DataFrame) and all(isinstance(name, str) for name in X.columns):
        return np.array(X.columns, dtype=object)
    return None


def row_names(X: Any) -> list[str] | None:
    """Sample names of a DataFrame, else None."""
    return [str(name) for name in X.index] if isinstance(X, pd.DataFrame) else None


def table_values(X: Any, *, estimator: Any) -> Floats:
    """Values of a table, shape (samples, features), float64 or float32; NaN = missing.

    Raises
    ------
    InputError
        For duplicate names, cells that are no numbers and infinite values, naming the place.
    """
    if isinstance(X, pd.DataFrame):
        X = _frame_values(X)
    values = check_array(
        X, dtype=[np.float64, np.float32], ensure_all_finite=False, estimator=estimator
    )
    _refuse_infinite(values, X)
    return np.asarray(values)


def _frame_values(X: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with numeric columns only, or name the cell that is none."""
    if X.empty:
        raise InputError(
            f"the table is empty: it has {X.shape[0]} samples and {X.shape[1]} features."
        )
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()].unique()
        raise InputError(f"duplicate feature names: {listed(twice)}; make every name unique.")
    text = [name for name, kind in X.dtypes.items() if not pd.api.types.is_numeric_dtype(kind)]
    if not text:
        return X
    converted: dict[str, pd.Series[float]] = {}
    for name in text:
        numeric = pd.to_numeric(X[name], errors="coerce")
        wrong = numeric.isna() & X[name].notna()
        if wrong.any():
            row = X.index[int(wrong.to_numpy().argmax())]
            raise InputError(
                f"row {row!r}, column {name!r} holds {X[name][wrong].iloc[0]!r}, which is no "
                "number: mend it, mark it as missing (NaN), or leave the column out."
            )
        converted[str(name)] = numeric
    return X.assign(**converted)


def _refuse_infinite(values: Floats, X: Any) -> None:
    for first in range(0, len(values), 256):  # by blocks: no mask of the table's size
        block = np.isinf(values[first : first + 256])
        if block.any():
            row, column = np.argwhere(block)[0]
            row += first
            if isinstance(X, pd.DataFrame):
                place = f"row {X.index[row]!r}, column {X.columns[column]!r}"
            else:
                place = f"row {row}, column {column}"
            raise InputError(
                f"{place} holds an infinite value: replace it, or mark it as missing (NaN)."
            )


def match_columns(
    X: Any, names: NDArray[np.object_] | None, n_features: int, on_missing: str, *, estimator: Any
) -> Floats:
    """Values of a new table in the columns of training, shape (samples, n_features).

    Parameters
    ----------
    X : DataFrame or array-like
        A DataFrame is matched by name, in any order; columns that the model does not know are
        left out.
    names : array or None
        Feature names of training; None matches by position.
    n_features : int
    on_missing : {"error", "missing"}
        What to do about columns that the table lacks: refuse, or treat their values as missing.
    estimator : estimator
        Whose name goes into messages.
    """
    given = column_names(X)
    if names is not None and given is not None:
        known = pd.Index(names)
        absent = known.difference(pd.Index(given), sort=False)
        if len(absent) == len(known):
            raise InputError(
                f"the table has none of the {len(known)} features of the model (the first is "
                f"{known[0]!r}): check that samples are rows and features are columns."
            )
        if len(absent) and on_missing == "error":
            raise InputError(
                f"the table lacks {len(absent)} of the model's {len(known)} features: "
                f"{listed(absent)}; add them, or set missing_features='missing' to treat them as "
                "missing values."
            )
        return table_values(_select(X, known), estimator=estimator)
    if names is not None:
        warnings.warn(
            f"X does not have valid feature names, but {type(estimator).__name__} was fitted with "
            "feature names",
            UserWarning,
            stacklevel=3,
        )
    elif given is not None:
        warnings.warn(
            f"X has feature names, but {type(estimator).__name__} was fitted without feature names",
            UserWarning,
            stacklevel=3,
        )
    values = table_values(X, estimator=estimator)
    if values.shape[1] != n_features:
        raise InputError(
            f"X has {values.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{n_features} features as input."
        )
    return values


def _select(X: pd.DataFrame, known: pd.Index) -> pd.DataFrame:
    if not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()].unique()
        raise InputError(f"duplicate feature names: {listed(twice)}; make every name unique.")
    return X if X.columns.equals(known) else X.reindex(columns=known)


def listed(names: Any) -> str:
    """Names separated by commas, the first few only."""
    shown = ", ".join(repr(str(name)) for name in names[:_LISTED])
    more = len(names) - _LISTED
    return f"{shown} and {more} more" if more > 0 else shown


def refuse_shuffled(X: Any, y: Any) -> None:
    """Labels with the table's sample names in another order are surely a mistake."""
    if not (isinstance(X, pd.DataFrame) and isinstance(y, pd.Series | pd.DataFrame)):
        return
    if len(X) == len(y) and not X.index.equals(y.index) and set(X.index) == set(y.index):
        raise InputError(
            "X and y name the same samples in different orders: reorder the labels, for example "
            "y.loc[X.index]."
        )
