"""Quality of a table: missing values, ties, constant columns, suspected leaks.

Columns are described as given, including columns of words; the zeros of a sparse table are ordinary
values. Sparse tables stay sparse.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csc_array, issparse

from rankfactor.errors import counted
from rankfactor.features.matching import NamedSparse, opened
from rankfactor.features.suspects import Suspect, suspects
from rankfactor.interpret.wording import joined, percent, plain
from rankfactor.posterior import Posterior
from rankfactor.tasks import Task
from rankfactor.typing import Floats, Integers

TIED = 0.5  # share of samples with the same value above which a feature counts as heavily tied
_COLUMNS_AT_A_TIME = 1024


@dataclass(frozen=True, eq=False)
class Quality:
    """Result of `table_quality`.

    Attributes
    ----------
    features : DataFrame
        feature, n_missing, missing (share of the samples), distinct (number of different values),
        commonest_share (share of the commonest value among samples with a value; NaN without any),
        constant (at most one value).
    samples : DataFrame
        sample, n_missing, missing (share of the features).
    leaks : tuple of Suspect
        Columns that separate a class perfectly on their own; empty without labels.
    """

    features: pd.DataFrame
    samples: pd.DataFrame
    leaks: tuple[Suspect, ...] = ()

    @property
    def missing(self) -> float:
        """Share of all cells that are missing."""
        return float(self.features["missing"].mean()) if len(self.features) else 0.0

    @property
    def most_missing(self) -> pd.DataFrame:
        """Features with missing values, most first."""
        some = self.features[self.features["n_missing"] > 0]
        return some.sort_values("n_missing", ascending=False, kind="stable")

    @property
    def empty(self) -> list[str]:
        """Features without any value."""
        return self._named(self.features["distinct"] == 0)

    @property
    def constant(self) -> list[str]:
        """Features with a single value."""
        return self._named(self.features["distinct"] == 1)

    @property
    def tied(self) -> list[str]:
        """Features with the same value in at least half of the samples, but not in all."""
        heavy = self.features["commonest_share"] >= TIED
        return self._named(heavy & ~self.features["constant"])

    def sentences(self) -> list[str]:
        """The findings, one sentence each, including checks without a problem."""
        n, total = len(self.features), len(self.samples)
        found = [self._of_missing(n, total)]
        for names, what in (
            (self.empty, "no value; the model leaves out"),
            (self.constant, "a single value; the model leaves out"),
            (self.tied, "the same value in at least half of the samples:"),
        ):
            if names:
                verb = "has" if len(names) == 1 else "have"
                found.append(f"{counted(len(names), 'feature')} {verb} {what} {_some(names)}.")
        return found + [_capital(str(one)) for one in self.leaks]

    def _of_missing(self, n: int, total: int) -> str:
        if not self.missing:
            return f"No value is missing ({counted(total, 'sample')}, {counted(n, 'feature')})."
        worst = self.most_missing.iloc[0]
        rows = int((self.samples["n_missing"] > 0).sum())
        return (
            f"{percent(self.missing)} of the values are missing, in {len(self.most_missing)} of "
            f"{counted(n, 'feature')} and {rows} of {counted(total, 'sample')}; most in "
            f"{plain(worst['feature'])} ({percent(worst['missing'])})."
        )

    def _named(self, chosen: pd.Series[bool]) -> list[str]:
        return [str(name) for name in self.features.loc[chosen, "feature"]]


def table_quality(table: Any, posterior: Posterior | None = None) -> Quality:
    """Describe the columns and samples of a table.

    Parameters
    ----------
    table : DataFrame, AnnData, sparse matrix or array-like, shape (N, columns)
        In any form that an estimator accepts; NaN = missing.
    posterior : Posterior, optional
        A model that was fitted to the table: only the columns behind its features are described,
        and columns that separate its classes are searched for. Labels are matched to the samples by
        name.

    Returns
    -------
    Quality
    """
    given = opened(table)
    if posterior is not None and isinstance(given, pd.DataFrame | NamedSparse):
        given = _known_columns(given, posterior)
    if isinstance(given, NamedSparse):
        values, features, samples = csc_array(given.matrix), given.columns, given.index
    elif isinstance(given, pd.DataFrame):
        values, features, samples = given, given.columns, given.index
    else:
        values = csc_array(given) if issparse(given) else np.asarray(given)
        features = pd.Index([f"x{place}" for place in range(values.shape[1])])
        samples = pd.Index([f"sample{place}" for place in range(values.shape[0])])
    if isinstance(values, csc_array):
        columns, by_sample = _sparse(values)
    elif isinstance(values, pd.DataFrame):
        columns, by_sample = _frame(values)
    else:
        columns, by_sample = _dense(values)
    n, d = len(samples), len(features)
    n_missing, distinct, commonest = columns
    known = n - n_missing
    return Quality(
        pd.DataFrame(
            {
                "feature": [str(name) for name in features],
                "n_missing": n_missing,
                "missing": n_missing / max(n, 1),
                "distinct": distinct,
                "commonest_share": np.where(known > 0, commonest / np.maximum(known, 1), np.nan),
                "constant": distinct <= 1,
            }
        ),
        pd.DataFrame(
            {
                "sample": [str(name) for name in samples],
                "n_missing": by_sample,
                "missing": by_sample / max(d, 1),
            }
        ),
        tuple(_leaks(given, samples, posterior)),
    )


# For every column: missing cells, distinct values, samples with the commonest value.
_Columns = tuple[Integers, Integers, Integers]


def _dense(values: NDArray[Any]) -> tuple[_Columns, Integers]:
    """Counts by column for a numeric array, and missing cells by sample."""
    if not np.issubdtype(values.dtype, np.number):
        return _frame(pd.DataFrame(values))
    parts = []
    by_sample = np.zeros(len(values), np.int64)
    for start in range(0, values.shape[1], _COLUMNS_AT_A_TIME):
        block = np.asarray(values[:, start : start + _COLUMNS_AT_A_TIME], np.float64)
        by_sample += np.isnan(block).sum(axis=1)
        parts.append(_of_block(block))
    whole = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), np.int64)
    return (whole[0], whole[1], whole[2]), by_sample


def _of_block(block: Floats) -> Integers:
    """The three rows of `_Columns` for some dense columns, from runs in their sorted values."""
    ordered = np.sort(block.T, axis=1)  # missing values come last
    known = ~np.isnan(ordered)
    starts = np.ones(ordered.shape, bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    place = np.arange(ordered.shape[1])
    since = place - np.maximum.accumulate(np.where(starts, place, 0), axis=1) + 1
    longest = np.where(known, since, 0).max(axis=1, initial=0)
    return np.stack([(~known).sum(axis=1), (starts & known).sum(axis=1), longest]).astype(np.int64)


def _sparse(values: csc_array) -> tuple[_Columns, Integers]:
    """The same for a sparse table; cells that are not stored are zeros."""
    n, d = values.shape
    column = np.repeat(np.arange(d), np.diff(values.indptr))
    missing = np.isnan(values.data)
    n_missing = np.bincount(column[missing], minlength=d)
    by_sample = np.bincount(values.indices[missing], minlength=n)
    kept = ~missing & (values.data != 0)
    own, stored = column[kept], values.data[kept]
    zeros = n - n_missing - np.bincount(own, minlength=d)
    ends = np.cumsum(np.bincount(own, minlength=d))
    for start, end in pairwise([0, *ends.tolist()]):
        stored[start:end].sort()
    changes = (own[1:] != own[:-1]) | (stored[1:] != stored[:-1])
    first = np.flatnonzero(np.concatenate([[True], changes])) if len(own) else np.zeros(0, int)
    lengths = np.diff(np.append(first, len(own)))
    commonest = zeros.copy()
    np.maximum.at(commonest, own[first], lengths)
    distinct = np.bincount(own[first], minlength=d) + (zeros > 0)
    return (n_missing, distinct, commonest), by_sample


def _frame(table: pd.DataFrame) -> tuple[_Columns, Integers]:
    """The same for a DataFrame, whose columns may contain words."""
    numeric = np.array([pd.api.types.is_numeric_dtype(kind) for kind in table.dtypes], bool)
    result = np.zeros((3, table.shape[1]), np.int64)
    numbers = table if numeric.all() else table.loc[:, numeric]
    columns, by_sample = _dense(numbers.to_numpy(np.float64, na_value=np.nan))
    result[:, numeric] = columns
    for place in np.flatnonzero(~numeric):
        values = table.iloc[:, int(place)]
        by_sample = by_sample + values.isna().to_numpy()
        counts = values.astype(object).value_counts()  # only the categories that occur
        result[:, place] = values.isna().sum(), len(counts), counts.max() if len(counts) else 0
    return (result[0], result[1], result[2]), by_sample


def _known_columns(given: pd.DataFrame | NamedSparse, posterior: Posterior) -> Any:
    """The columns behind a model's features, if any match by name."""
    known = {*posterior.plan.table_features.tolist(), *posterior.plan.word_columns}
    kept = given.columns[[str(name) in known for name in given.columns]]
    if not len(kept) or len(kept) == len(given.columns):
        return given
    return given.select(kept) if isinstance(given, NamedSparse) else given[kept]


def _leaks(given: Any, samples: pd.Index[Any], posterior: Posterior | None) -> list[Suspect]:
    """Columns that separate the classes of a model."""
    if posterior is None or posterior.classifiers is None or not len(posterior.sample_names):
        return []
    tasks: Sequence[Task] = posterior.classifiers.tasks
    place = pd.Index(posterior.sample_names.astype(object))
    if not place.is_unique:
        return []
    rows = place.get_indexer(pd.Index([str(name) for name in samples], dtype=object))
    class_index = np.where(rows[:, None] >= 0, posterior.classifiers.class_index[rows], -1)
    return suspects(given, tasks, class_index)


def _some(names: Sequence[str], most: int = 5) -> str:
    """The first names of a list, as in a sentence."""
    more = [f"{len(names) - most} more"] if len(names) > most else []
    return joined([*map(plain, names[:most]), *more])


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
