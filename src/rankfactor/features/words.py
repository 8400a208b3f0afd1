"""Columns of words as 0/1 features, the same for new tables.

A column of words is text without numbers, with at most ten distinct values. One with two values
becomes one feature, ``sex=m`` (1 for the later of the two in alphabetical order), one with more
becomes one feature per value. A missing cell is missing in all of them, and so is a word that did
not occur in training. A column with at most one word carries no information and is left out.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from rankfactor.features.covariates import Design

MOST_LEVELS = 10


def is_of_words(column: pd.Series[Any]) -> bool:
    """Whether a column contains words, few enough to become features."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    known = column.dropna().astype(object)
    if len(known) == 0:
        return not pd.api.types.is_datetime64_any_dtype(column.dtype)
    levels = known.unique()
    if len(levels) > MOST_LEVELS or not all(isinstance(level, str) for level in levels):
        return False
    # Numbers written as text are numbers; a word among them is a mistake to be corrected.
    return bool(pd.to_numeric(pd.Series(levels), errors="coerce").isna().all())


def find_words(table: Any) -> Design | None:
    """Design of the columns of words of a table with names; None without such columns."""
    if not isinstance(table, pd.DataFrame) or not table.columns.is_unique:
        return None
    if not all(isinstance(name, str) for name in table.columns):
        return None
    words = [
        name
        for name, kind in table.dtypes.items()  # much faster than inspecting every column
        if not pd.api.types.is_numeric_dtype(kind) and is_of_words(table[name])
    ]
    return Design.learn(table[words]) if words else None


def origins(words: Design, names: pd.Index[Any]) -> list[int]:
    """Of every feature of a table with these columns the position of its column."""
    given, of_words = names.tolist(), set(words.names)
    places = [place for place, name in enumerate(given) if name not in of_words]
    for column in words.columns:
        places += [given.index(column.name)] * len(column.feature_names)
    return places


def with_indicators(words: Design, table: pd.DataFrame) -> pd.DataFrame:
    """The table with features instead of its columns of words, after all others.

    Missing columns give no features; they are reported when the table is matched to a model.
    """
    given = Design(tuple(one for one in words.columns if one.name in table.columns))
    features = pd.DataFrame(given.features(table[given.names]), table.index, given.feature_names)
    return pd.concat([table.drop(columns=given.names), features], axis=1)
