"""Columns of words among the features: 0/1 features of them, the same for new tables.

A column of words is text none of which is a number, with at most ten different values. One with two
values becomes one feature, ``sex=m`` (1 for the later of the two in alphabetical order), one with
more a feature for each. A missing cell is missing in all of them, and so is a word that training
did not have. A column with one word only, or none, has nothing to say and is left out.
"""

from __future__ import annotations

from typing import Any

import pandas as pd

from rankfactor.features.covariates import Design

MOST_LEVELS = 10


def is_of_words(column: pd.Series[Any]) -> bool:
    """Whether a column is of words, and of few enough to make features of."""
    if pd.api.types.is_numeric_dtype(column.dtype):
        return False
    known = column.dropna().astype(object)
    if len(known) == 0:
        return not pd.api.types.is_datetime64_any_dtype(column.dtype)
    levels = known.unique()
    if len(levels) > MOST_LEVELS or not all(isinstance(level, str) for level in levels):
        return False
    # Numbers written as text are numbers; with a word among them there is a mistake to mend.
    return bool(pd.to_numeric(pd.Series(levels), errors="coerce").isna().all())


def find_words(table: Any) -> Design | None:
    """Design of the columns of words of a table with names; None if no column is of words."""
    if not isinstance(table, pd.DataFrame) or not table.columns.is_unique:
        return None
    if not all(isinstance(name, str) for name in table.columns):
        return None
    words = [
        name
        for name, kind in table.dtypes.items()  # far quicker than a look at every column
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
    """The table with features in place of its columns of words, behind all others.

    Columns that the table lacks make no features: whoever matches the table to a model names them.
    """
    given = Design(tuple(one for one in words.columns if one.name in table.columns))
    features = pd.DataFrame(given.features(table[given.names]), table.index, given.feature_names)
    return pd.concat([table.drop(columns=given.names), features], axis=1)
