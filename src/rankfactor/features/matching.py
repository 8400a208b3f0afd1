"""Tables as arrays: every way in is checked here; new tables are matched to a model by name.

A table is an array, a sparse matrix, a DataFrame, or an AnnData object, which `opened` turns into a
DataFrame or, if it is sparse, into a `NamedSparse`. anndata itself is never imported.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, hstack, issparse
from sklearn.utils.validation import check_array

from rankfactor.data.numbers import LIMIT
from rankfactor.errors import InputError, counted, listed
from rankfactor.features.words import MOST_LEVELS
from rankfactor.typing import Floats

if TYPE_CHECKING:
    from rankfactor.posterior import Posterior


@dataclass(frozen=True)
class NamedSparse:
    """A sparse table with names.

    Attributes
    ----------
    matrix : sparse matrix, shape (N, D)
    index, columns : Index
        Names of the samples and of the features.
    extra : DataFrame
        Further columns of the same samples, which are no features.
    """

    matrix: Any
    index: pd.Index[Any]
    columns: pd.Index[Any]
    extra: pd.DataFrame

    def take(self, rows: NDArray[np.int64]) -> NamedSparse:
        """Some of the samples."""
        return NamedSparse(
            self.matrix.tocsr()[rows], self.index[rows], self.columns, self.extra.iloc[rows]
        )

    def select(self, known: pd.Index[Any]) -> NamedSparse:
        """The features of these names in this order; those that are absent are all missing."""
        if self.columns.equals(known):
            return self
        place = self.columns.get_indexer(known)
        # One column of missing values, past the last, stands for all that are absent.
        missing = csc_array(np.full((len(self.index), 1), np.nan))
        whole = hstack([self.matrix, missing], format="csc")
        return NamedSparse(whole[:, place], self.index, known, self.extra)


def is_annotated(X: Any) -> bool:
    """Whether a table is an AnnData object, by what it has."""
    return all(hasattr(X, name) for name in ("X", "obs", "obs_names", "var_names"))


def opened(X: Any, wanted: Sequence[str] = ()) -> Any:
    """An AnnData object as a table with names, with the ``wanted`` columns of its obs; else X.

    Layers, files and MuData objects are for `rankfactor.data`.
    """
    if hasattr(X, "mod") and hasattr(X, "obs_names"):
        raise InputError(
            "X is a MuData object: make a table of it with rankfactor.data.from_mudata, and give "
            "its values as X and its views as views."
        )
    if not is_annotated(X):
        return X
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
    """Labels; those that are named are columns of an AnnData object's obs."""
    named = [y] if isinstance(y, str) else y
    if not is_annotated(X):
        if isinstance(y, str):
            raise InputError(
                f"y={y!r} names a column, which only an AnnData object has: give the labels "
                "themselves."
            )
        return y
    if isinstance(y, str) and y not in X.obs.columns:
        raise InputError(
            f"obs has no column {y!r}; it has {listed(X.obs.columns) or 'none at all'}."
        )
    columns = isinstance(named, list) and all(
        isinstance(one, str) and one in X.obs.columns for one in named
    )
    return X.obs[y] if columns and named else y


def split_covariates(
    X: Any, names: Sequence[str], on_missing: str = "error"
) -> tuple[Any, pd.DataFrame]:
    """A table without its covariates, and the covariates.

    Parameters
    ----------
    X : DataFrame or NamedSparse
    names : sequence of str
    on_missing : {"error", "missing"}
        What to do about covariates that the table lacks.
    """
    if not isinstance(X, pd.DataFrame | NamedSparse):
        raise InputError(
            "covariates are columns by name, and X has none: give X as a DataFrame with names, or "
            "as an AnnData object."
        )
    _refuse_duplicates(X.columns)
    extra = X.extra.columns if isinstance(X, NamedSparse) else ()
    absent = [name for name in names if name not in X.columns and name not in extra]
    if absent and on_missing == "error":
        raise InputError(
            f"the table lacks {len(absent)} of {len(names)} covariates: {listed(absent)}; add "
            "them, or mend their names."
        )
    kept = X.columns[~X.columns.isin(list(names))]
    if isinstance(X, pd.DataFrame):
        return X[kept], X.reindex(columns=list(names)) if absent else X[list(names)]
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


def row_names(X: Any) -> list[str] | None:
    """Sample names of a table that has them, else None."""
    named = isinstance(X, pd.DataFrame | NamedSparse)
    return [str(name) for name in X.index] if named else None


def table_values(X: Any, *, estimator: Any, sparse: bool = False) -> Any:
    """Values of a table, shape (samples, features), float64 or float32; NaN = missing.

    With ``sparse`` a sparse table is given as a CSC array, without doubles; else it is refused.

    Raises
    ------
    InputError
        For duplicate names, cells that are no numbers and infinite values, naming the place.
    """
    names: Any = X
    if isinstance(X, pd.DataFrame):
        X = names = _frame_values(X)
    elif isinstance(X, NamedSparse):
        _refuse_duplicates(X.columns)
        X = X.matrix
    values = check_array(
        X,
        dtype=[np.float64, np.float32],
        ensure_all_finite=False,
        accept_sparse="csc" if sparse else False,
        estimator=estimator,
    )
    if not issparse(values):
        _refuse_infinite(values, names)
        return np.asarray(values)
    values = csc_array(values)
    if not values.has_canonical_format:
        values = values.copy()  # what was given stays as it is
        values.sum_duplicates()
    infinite = np.isinf(values.data)
    if infinite.any():
        place = int(infinite.argmax())
        column = int(np.searchsorted(values.indptr, place, "right")) - 1
        _say_infinite(int(values.indices[place]), column, names)
    return values


def _frame_values(X: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with numeric columns only, or name the cell that is none."""
    if X.empty:
        raise InputError(
            f"the table is empty: it has {counted(X.shape[0], 'sample')} and "
            f"{counted(X.shape[1], 'feature')}."
        )
    _refuse_duplicates(X.columns)
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
                "number: mend it, mark it as missing (NaN), or leave the column out (a column of "
                f"words may have {MOST_LEVELS} values at most)."
            )
        converted[str(name)] = numeric
    return X.assign(**converted)


def refuse_limits(values: Any, names: Any, who: str) -> None:
    """Refuse cells read as beyond a limit (`rankfactor.data`), for what needs more than ranks."""
    for first in range(0, values.shape[0], 256):  # by blocks: no mask of the table's size
        block = values[first : first + 256]
        # A comparison with NaN is false, and no measurement is so large.
        beyond = np.abs(block.toarray() if issparse(block) else block) >= LIMIT
        if beyond.any():
            column = int(beyond.any(axis=0).argmax())
            name = column if names is None else repr(str(names[column]))
            raise InputError(
                f"the column {name} has cells beyond a limit of detection (such as '<0.05'), of "
                f"which only the order is known, but {who} needs numbers: choose a rank model such "
                "as R-L-BSVM, replace these cells, or exclude it from X."
            )


def _refuse_infinite(values: Floats, X: Any) -> None:
    for first in range(0, len(values), 256):  # by blocks: no mask of the table's size
        block = np.isinf(values[first : first + 256])
        if block.any():
            row, column = np.argwhere(block)[0]
            _say_infinite(row + first, column, X)


def _say_infinite(row: int, column: int, X: Any) -> None:
    if isinstance(X, pd.DataFrame | NamedSparse):
        place = f"row {X.index[row]!r}, column {X.columns[column]!r}"
    else:
        place = f"row {row}, column {column}"
    raise InputError(f"{place} holds an infinite value: replace it, or mark it as missing (NaN).")


def _refuse_duplicates(names: pd.Index[Any]) -> None:
    if not names.is_unique:
        twice = names[names.duplicated()].unique()
        raise InputError(f"duplicate feature names: {listed(twice)}; make every name unique.")


def match_columns(
    X: Any,
    names: NDArray[np.object_] | None,
    n_features: int,
    on_missing: str,
    *,
    estimator: Any,
    sparse: bool = False,
) -> Any:
    """Values of a new table in the columns of training, shape (samples, n_features).

    Parameters
    ----------
    X : DataFrame, NamedSparse or array-like
        A DataFrame is matched by name, in any order; columns that the model does not know are
        left out.
    names : array or None
        Feature names of training; None matches by position.
    n_features : int
    on_missing : {"error", "missing"}
        What to do about columns that the table lacks: refuse, or treat their values as missing.
    estimator : estimator
        Whose name goes into messages.
    sparse : bool
        Whether sparse tables are welcome.
    """
    given = column_names(X)
    if names is not None and given is not None:
        known = pd.Index(names)
        absent = known.difference(pd.Index(given), sort=False)
        if len(absent) == len(known):
            raise InputError(
                f"the table has none of the {counted(len(known), 'feature')} of the model (the "
                f"first is {known[0]!r}): check that samples are rows and features are columns."
            )
        if len(absent) and on_missing == "error":
            raise InputError(
                f"the table lacks {len(absent)} of the model's {counted(len(known), 'feature')}: "
                f"{listed(absent)}; add them, or set missing_features='missing' to treat them as "
                "missing values."
            )
        return table_values(_select(X, known), estimator=estimator, sparse=sparse)
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
    values = table_values(X, estimator=estimator, sparse=sparse)
    if values.shape[1] != n_features:
        raise InputError(
            f"X has {values.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{n_features} features as input."
        )
    return values


def model_values(posterior: Posterior, X: Any, on_missing: str, *, estimator: Any = None) -> Any:
    """What `Posterior.decide` and the like take: a new table in the columns of the model.

    Covariates, where the model has any, are columns of the table, too, and are dealt with as in
    training.

    Parameters
    ----------
    posterior : Posterior
    X : DataFrame, AnnData, sparse matrix or array-like
    on_missing : {"error", "missing"}
        What to do about features and covariates that the table lacks: refuse, or treat them as
        missing.
    estimator : estimator, optional
        Whose name goes into messages.
    """
    adjustment = posterior.adjustment
    covariates = [] if adjustment is None else adjustment.design.names
    X, frame = opened(X, covariates), pd.DataFrame()
    if adjustment is not None:
        X, frame = split_covariates(X, covariates, on_missing)
    if posterior.indicators is not None:
        if column_names(X) is None:
            raise InputError(
                "the model has columns of words, which are known by name "
                f"({listed(posterior.word_columns)}): give X as a DataFrame with names."
            )
        X = posterior.indicators.apply(X) if isinstance(X, pd.DataFrame) else X
    names = posterior.table_features
    values = match_columns(
        X,
        names.astype(object) if posterior.named_features else None,
        len(names),
        on_missing,
        estimator=posterior if estimator is None else estimator,
        sparse=True,
    )
    if adjustment is not None:
        values = adjustment.apply(values, frame)
    if posterior.model.data.uses_values:
        refuse_limits(values, names, "the Gaussian likelihood")
    # Likelihoods that need floats have the table as such.
    return values.toarray() if issparse(values) and not posterior.model.takes_sparse else values


def _select(X: Any, known: pd.Index[Any]) -> Any:
    _refuse_duplicates(X.columns)
    if isinstance(X, NamedSparse):
        return X.select(known)
    return X if X.columns.equals(known) else X.reindex(columns=known)


def refuse_shuffled(X: Any, y: Any) -> None:
    """Labels with the table's sample names in another order are surely a mistake."""
    if not isinstance(X, pd.DataFrame | NamedSparse):
        return
    if not isinstance(y, pd.Series | pd.DataFrame):
        return
    if len(X.index) == len(y) and not X.index.equals(y.index) and set(X.index) == set(y.index):
        raise InputError(
            "X and y name the same samples in different orders: reorder the labels, for example "
            "y.loc[X.index]."
        )
