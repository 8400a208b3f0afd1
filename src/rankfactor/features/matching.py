"""Opening and checking tables of any kind, for `rankfactor.features.plan`.

A table is an array, a sparse matrix, a DataFrame, or an AnnData object, which `opened` turns into a
DataFrame or, if it is sparse, into a `NamedSparse`. anndata itself is never imported.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse

from rankfactor.data.numbers import LIMIT
from rankfactor.data.sparse import NamedSparse as NamedSparse
from rankfactor.data.streams.collections import is_collection
from rankfactor.errors import InputError, counted, listed
from rankfactor.features.words import MOST_LEVELS


def is_annotated(X: Any) -> bool:
    """Whether a table is an AnnData object, by its attributes."""
    return all(hasattr(X, name) for name in ("X", "obs", "obs_names", "var_names"))


def opened(X: Any, wanted: Sequence[str] = ()) -> Any:
    """An AnnData object as a table with names, with the ``wanted`` columns of its obs; else X.

    Dask collections are computed. Layers, files and MuData objects are for `rankfactor.data`.
    """
    if hasattr(X, "mod") and hasattr(X, "obs_names"):
        raise InputError(
            "X is a MuData object: convert it with rankfactor.data.from_mudata, and give "
            "its values as X and its blocks as blocks."
        )
    if not is_annotated(X):
        return X.compute() if is_collection(X) else X
    if getattr(X, "isbacked", False):
        X = X.to_memory()
    if X.X is None:
        raise InputError("the AnnData object has no X: put the layer that you want there.")
    index, columns = pd.Index(X.obs_names), pd.Index(X.var_names)
    extra = X.obs[[name for name in wanted if name in X.obs.columns and name not in columns]]
    if issparse(X.X):
        return NamedSparse(X.X, index, columns, extra)
    frame = pd.DataFrame(np.asarray(X.X), index=index, columns=columns)
    return pd.concat([frame, extra], axis=1) if extra.shape[1] else frame


def opened_labels(X: Any, y: Any) -> Any:
    """Labels; names refer to columns of an AnnData object's obs."""
    if isinstance(y, str) and not is_annotated(X):
        raise InputError(
            f"y={y!r} names a column, which only an AnnData object has: give the labels themselves."
        )
    if isinstance(y, str) and y not in X.obs.columns:
        raise InputError(
            f"obs has no column {y!r}; it has {listed(X.obs.columns) or 'none at all'}."
        )
    named = [y] if isinstance(y, str) else y
    columns = is_annotated(X) and isinstance(named, list) and len(named) > 0
    if columns and all(isinstance(one, str) and one in X.obs.columns for one in named):
        return X.obs[y]
    return y


def split_covariates(
    X: Any, names: Sequence[str], on_missing: str = "error"
) -> tuple[Any, pd.DataFrame]:
    """A table without its covariates, and the covariates.

    Those that the table lacks are refused or, if ``on_missing`` is "missing", all missing.
    """
    if not isinstance(X, pd.DataFrame | NamedSparse):
        raise InputError(
            "covariates are columns by name, and X has no names: give X as a DataFrame with names, "
            "or as an AnnData object."
        )
    refuse_duplicates(X.columns)
    extra = X.extra.columns if isinstance(X, NamedSparse) else ()
    absent = [name for name in names if name not in X.columns and name not in extra]
    if absent and on_missing == "error":
        raise InputError(
            f"the table lacks {len(absent)} of {len(names)} covariates: {listed(absent)}; add "
            "them, or correct their names."
        )
    kept = X.columns[~X.columns.isin(list(names))]
    if isinstance(X, pd.DataFrame):
        return X[kept], X.reindex(columns=list(names))
    inside = X.columns[X.columns.isin(list(names))]
    values = X.select(inside).matrix.toarray()
    frame = pd.concat([pd.DataFrame(values, X.index, inside), X.extra], axis=1)
    return X.select(kept), frame.reindex(columns=list(names))


def column_names(X: Any) -> NDArray[np.object_] | None:
    """Names of a table's columns if they are text, else None."""
    named = isinstance(X, pd.DataFrame | NamedSparse)
    if named and all(isinstance(name, str) for name in X.columns):
        return np.array(X.columns, dtype=object)
    return None


def table_values(X: Any, *, estimator: Any = None) -> Any:
    """Values of a table, shape (samples, features), float64 or float32; NaN = missing.

    A sparse table gives a CSC array of floats. Duplicate names, cells that are not numbers and
    infinite values are refused, with their place.
    """
    names: Any = X
    if isinstance(X, pd.DataFrame):
        X = names = _frame_values(X)
    elif isinstance(X, NamedSparse):
        refuse_duplicates(X.columns)
        X = X.matrix
    if isinstance(X, pd.DataFrame) and all(kind == np.float64 for kind in X.dtypes):
        values = X.to_numpy()
    else:
        from sklearn.utils.validation import check_array  # takes long to import

        values = check_array(
            X,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            accept_sparse="csc",
            estimator=estimator,
        )
    if issparse(values):
        values = csc_array(values)
        if not values.has_canonical_format:
            values = values.copy()  # the input stays unchanged
            values.sum_duplicates()
    place = _first(np.isinf, values)
    if place is not None:
        row, column = place
        if isinstance(names, pd.DataFrame | NamedSparse):
            at = f"row {names.index[row]!r}, column {names.columns[column]!r}"
        else:
            at = f"row {row}, column {column}"
        raise InputError(f"{at} holds an infinite value: replace it, or mark it as missing (NaN).")
    return values if issparse(values) else np.asarray(values)


def _frame_values(X: pd.DataFrame) -> pd.DataFrame:
    """Return the frame if all columns are numeric; otherwise name the cell that is not a number."""
    if X.empty:
        raise InputError(
            f"the table is empty: it has {counted(X.shape[0], 'sample')} and "
            f"{counted(X.shape[1], 'feature')}."
        )
    refuse_duplicates(X.columns)
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
                f"row {row!r}, column {name!r} holds {X[name][wrong].iloc[0]!r}, which is not a "
                "number: correct it, mark it as missing (NaN), or leave the column out (a column "
                f"of words may have at most {MOST_LEVELS} values)."
            )
        converted[str(name)] = numeric
    return X.assign(**converted)


def refuse_limits(values: Any, names: Any, who: str) -> None:
    """Refuse cells beyond a limit of detection (`rankfactor.data`), for models that need values."""
    # A comparison with NaN is false, and no measurement is this large.
    place = _first(lambda block: np.abs(block) >= LIMIT, values)
    if place is not None:
        name = place[1] if names is None else repr(str(names[place[1]]))
        raise InputError(
            f"the column {name} has cells beyond a limit of detection (such as '<0.05'), of which "
            f"only the order is known, but {who} needs numbers: choose a rank model such as "
            "R-L-BSVM, replace these cells, or exclude it from X."
        )


def _first(condition: Callable[[Any], Any], values: Any) -> tuple[int, int] | None:
    """Row and column of the first value that fulfils a condition (zero never does), or None."""
    if issparse(values):
        found = np.flatnonzero(condition(values.data))[:1]
        columns = np.searchsorted(values.indptr, found, "right") - 1
        return (int(values.indices[found[0]]), int(columns[0])) if len(found) else None
    for start in range(0, len(values), 256):  # in blocks, to avoid a mask of the table's size
        places = np.argwhere(condition(values[start : start + 256]))
        if len(places):
            return start + int(places[0, 0]), int(places[0, 1])
    return None


def refuse_duplicates(names: pd.Index[Any]) -> None:
    """Refuse columns of the same name."""
    if not names.is_unique:
        twice = names[names.duplicated()].unique()
        raise InputError(f"duplicate feature names: {listed(twice)}; make every name unique.")


def refuse_shuffled(X: Any, y: Any) -> None:
    """Refuse labels with the table's sample names in another order."""
    if not isinstance(X, pd.DataFrame | NamedSparse) or not isinstance(y, pd.Series | pd.DataFrame):
        return
    if len(X.index) == len(y) and not X.index.equals(y.index) and set(X.index) == set(y.index):
        raise InputError(
            "X and y name the same samples in different orders: reorder the labels, for example "
            "y.loc[X.index]."
        )
