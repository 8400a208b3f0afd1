"""`FeaturePlan`: the transform from a user's table to the numbers that a model sees.

A table is an array, a sparse matrix, a DataFrame or an AnnData object. Covariates are split off by
name, columns of words become 0/1 features, the values are checked and, for a new table, matched to
the features of training by name; finally, covariates are regressed out or also become features.
Everything is learned from training samples only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from rankfactor.errors import InputError, counted, listed
from rankfactor.features.covariates import MAX_KNOTS, USES, Adjustment, Design, dense
from rankfactor.features.matching import (
    NamedSparse,
    column_names,
    opened,
    refuse_duplicates,
    refuse_limits,
    split_covariates,
    table_values,
)
from rankfactor.features.words import find_words, origins, with_indicators
from rankfactor.typing import Objects, Strings

COVARIATE_BLOCK, FEATURE_BLOCK = "covariates", "features"
Blocks = None | Sequence[str] | Mapping[str, str] | pd.Series


@dataclass(frozen=True)
class TrainingTable:
    """A table that a plan was learned from."""

    # Values that the model sees, (N, D), NaN where missing; the same as from `FeaturePlan.apply`.
    values: Any
    # The table as given, checked; a plan can be learned from a part of its samples.
    given: Any
    sample_names: Strings  # sample0, sample1, ... if the table has none


@dataclass(frozen=True)
class FeaturePlan:
    """Transform of a table to the numbers that a model sees, learned from training samples.

    Attributes
    ----------
    names : array of str, shape (D,)
        Features that the model sees: from the table's numbers, words and covariates; x0, x1, ... if
        the table has no names.
    named : bool
        Whether the names came with the table, so that new tables are matched by name.
    n_given : int
        Number of columns as given, covariates among them.
    given_names : array of str, shape (n_given,), or None
        Their names, if all are text.
    blocks : array of str, shape (D,), or None
        The block (modality) of every feature.
    words : Design or None
        Transform of columns of words to features.
    covariates : Adjustment or None
        Use of covariates; those that become features come last.
    """

    names: Strings
    named: bool
    n_given: int
    given_names: Objects | None = None
    blocks: Strings | None = None
    words: Design | None = None
    covariates: Adjustment | None = None

    @classmethod
    def learn(
        cls,
        X: Any,
        *,
        covariates: Sequence[str] | None = None,
        covariate_use: str = "regress",
        blocks: Blocks = None,
        max_knots: int = MAX_KNOTS,
        estimator: Any = None,
        sparse: bool = True,
        exact: str = "",
    ) -> tuple[FeaturePlan, TrainingTable]:
        """Plan of a training table, and the table as the model sees it.

        Parameters
        ----------
        X : DataFrame, AnnData, sparse matrix or array-like, shape (N, columns)
        covariates : sequence of str, optional
            Columns (or columns of an AnnData's obs) that are not features. With an empty list and
            "regress" every feature becomes its normal scores.
        covariate_use : {"regress", "block"}
        blocks : sequence, mapping or Series, optional
            Block of every column that is not a covariate, in their order or by name.
        max_knots : int
            Maximum number of observed values kept per feature to regress covariates out.
        estimator, sparse, exact
            As in `apply`.
        """
        if covariate_use == "view":
            warnings.warn('covariate_use="view" is "block" now.', FutureWarning, stacklevel=4)
            covariate_use = "block"
        wanted = check_covariates(covariates, covariate_use)
        table = given = opened(X, wanted or ())
        frame, adjustment = pd.DataFrame(), None
        if wanted is not None:
            table, frame = split_covariates(given, wanted)
            if not len(table.columns):
                raise InputError("every column of the table is a covariate: there are no features.")
        words = find_words(table)
        coded = table if words is None else with_indicators(words, table)
        values = table_values(coded, estimator=estimator)
        names, given_names = column_names(coded), column_names(given)
        n_given = values.shape[1] if words is None else len(table.columns)
        of_blocks = feature_blocks(blocks, column_names(table), n_given)
        if of_blocks is not None and words is not None:
            of_blocks = of_blocks[origins(words, table.columns)]
        if wanted is not None:
            if names is None:
                raise InputError("with covariates every feature needs a name that is text.")
            n_given += frame.shape[1]
            if given_names is None or len(given_names) < n_given:  # columns of an AnnData's obs
                given_names = np.append(names, frame.columns).astype(object)
            adjustment = Adjustment.learn(covariate_use, values, frame, max_knots)
            if adjustment.use == "block":
                of_blocks = _with_covariates(of_blocks, len(names), adjustment.added)
                names = np.append(names, adjustment.added).astype(object)
                twice = pd.Index(names)[pd.Index(names).duplicated()]
                if len(twice):
                    raise InputError(f"a covariate makes a feature that exists: {listed(twice)}.")
        known = isinstance(given, pd.DataFrame | NamedSparse)
        plan = cls(
            _names_or(names, "x", values.shape[1]),
            names is not None,
            n_given,
            given_names,
            of_blocks,
            words,
            adjustment,
        )
        return plan, TrainingTable(
            plan._adjusted(values, frame, sparse, exact),
            given if known else values,
            _names_or(given.index if known else None, "sample", values.shape[0]),
        )

    @classmethod
    def stored(
        cls,
        names: Strings,
        named: bool,
        blocks: Strings | None,
        words: Design | None,
        covariates: Adjustment | None,
    ) -> FeaturePlan:
        """Plan from the content of a model file; columns are numbers, words, covariates."""
        plan = cls(names, named, 0, None, blocks, words, covariates)
        n_words = 0 if words is None else len(words.feature_names)
        numbers = plan.table_features[: len(plan.table_features) - n_words].tolist()
        given = np.array([*numbers, *plan.word_columns, *plan.covariate_names], object)
        return replace(plan, n_given=len(given), given_names=given if named else None)

    def apply(
        self,
        X: Any,
        on_missing: str = "error",
        *,
        estimator: Any = None,
        sparse: bool = True,
        exact: str = "",
    ) -> Any:
        """Values of a table in the features of the model, shape (N, D); NaN where missing.

        Parameters
        ----------
        X : DataFrame, AnnData, sparse matrix or array-like
            Columns with names are matched by them, in any order; unknown columns are left out.
        on_missing : {"error", "missing"}
            How to treat features and covariates that the table lacks: refuse, or treat their values
            as missing.
        estimator : estimator, optional
            Estimator named in messages.
        sparse : bool
            Whether a sparse table stays sparse, as a CSC array; otherwise it is densified.
        exact : str
            Name of the part that needs values, not only their order: cells beyond a limit of
            detection are then refused. Empty if they are allowed.
        """
        X, frame = opened(X, self.covariate_names), pd.DataFrame()
        if self.covariates is not None:
            X, frame = split_covariates(X, self.covariate_names, on_missing)
        given = column_names(X)
        if self.words is not None and given is None:
            raise InputError(
                "the model has columns of words, which are matched by name "
                f"({listed(self.word_columns)}): give X as a DataFrame with names."
            )
        if self.named and given is not None:
            X = self._matched(X, on_missing)
        elif self.named or given is not None:
            has, fitted = ("does not have valid", "with") if self.named else ("has", "without")
            warnings.warn(
                f"X {has} feature names, but {_called(estimator)} was fitted {fitted} feature "
                "names",
                UserWarning,
                stacklevel=3,
            )
        values = table_values(X, estimator=estimator)
        if values.shape[1] != len(self.table_features):
            raise InputError(
                f"X has {values.shape[1]} features, but {_called(estimator)} is expecting "
                f"{len(self.table_features)} features as input."
            )
        return self._adjusted(values, frame, sparse, exact)

    def lacking(self, X: pd.DataFrame | NamedSparse) -> list[str]:
        """Features of the model that are not in a table with names, nor made of its words."""
        found = set(X.columns)
        if self.words is not None and isinstance(X, pd.DataFrame):
            for column in self.words.columns:
                found.update(column.feature_names if column.name in found else ())
        return [name for name in self.table_features.tolist() if name not in found]

    def _matched(self, X: Any, on_missing: str) -> Any:
        """A table with names in the features of the model, without its covariates."""
        known, absent = self.table_features, self.lacking(X)
        if len(absent) == len(known):
            raise InputError(
                f"the table has none of the {counted(len(known), 'feature')} of the model (the "
                f"first is {str(known[0])!r}): check that samples are rows and features are "
                "columns."
            )
        if absent and on_missing == "error":
            raise InputError(
                f"the table lacks {len(absent)} of the model's {counted(len(known), 'feature')}: "
                f"{listed(absent)}; add them, or set missing_features='missing' to treat them as "
                "missing values."
            )
        refuse_duplicates(X.columns)
        columns = pd.Index(known.astype(object))
        if isinstance(X, NamedSparse):
            return X.select(columns)
        if self.words is not None:
            X = with_indicators(self.words, X)
            refuse_duplicates(X.columns)
        return X if X.columns.equals(columns) else X.reindex(columns=columns)

    def _adjusted(self, values: Any, frame: pd.DataFrame, sparse: bool, exact: str) -> Any:
        """Values (N, D) of checked values of the table's features, and of its covariates."""
        if self.covariates is not None:
            values = self.covariates.apply(values, frame)
        if exact:
            refuse_limits(values, self.names if self.named else None, exact)
        return values if sparse else dense(values)

    @property
    def table_features(self) -> Strings:
        """Names of the features made of numbers and words: all but those of covariates."""
        added = 0 if self.covariates is None else len(self.covariates.added)
        return self.names[: len(self.names) - added]

    @property
    def covariate_names(self) -> list[str]:
        """Names of the covariates that a new table also needs."""
        return [] if self.covariates is None else self.covariates.design.names

    @property
    def word_columns(self) -> list[str]:
        """Names of the columns of words from which features are made."""
        return [] if self.words is None else self.words.names


def remember_columns(estimator: Any, plan: FeaturePlan) -> None:
    """Set the attributes of an estimator with which scikit-learn identifies its columns."""
    estimator.n_features_in_ = plan.n_given
    if plan.given_names is not None:
        estimator.feature_names_in_ = plan.given_names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_covariates(names: Any, use: object) -> list[str] | None:
    """Names of the covariates, none of them twice."""
    if use not in USES:
        raise InputError(f"covariate_use must be one of {', '.join(USES)}, not {use!r}.")
    if names is None:
        return None
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputError(f"covariates must be a list of column names, not {names!r}.")
    twice = pd.Index(names)[pd.Index(names).duplicated()]
    if len(twice):
        raise InputError(f"the covariate {twice[0]!r} is named more than once.")
    return list(names)


def feature_blocks(blocks: Blocks, names: Objects | None, n_features: int) -> Strings | None:
    """Block of every feature, shape (n_features,), or None; names may be None."""
    if blocks is None:
        return None
    if isinstance(blocks, Mapping | pd.Series) and names is not None:
        known = dict(blocks.items())
        absent = [name for name in names if name not in known]
        if absent:
            raise InputError(
                f"blocks has no entry for {len(absent)} of {n_features} features: {listed(absent)}."
            )
        return np.array([str(known[name]) for name in names], np.str_)
    if isinstance(blocks, str | Mapping):
        raise InputError(
            "blocks must be a list with the block of every feature or, if features have names, "
            f"a dictionary by name, not {blocks!r}."
        )
    chosen = [str(block) for block in blocks]
    if len(chosen) != n_features:
        raise InputError(
            f"blocks has {len(chosen)} entries, but the table has {n_features} features: give one "
            "for each (covariates do not count)."
        )
    return np.array(chosen, np.str_)


def _with_covariates(blocks: Strings | None, n_features: int, added: list[str]) -> Strings:
    """Blocks of the features and, behind them, of the covariates."""
    own = np.full(n_features, FEATURE_BLOCK) if blocks is None else blocks
    if COVARIATE_BLOCK in own:
        raise InputError(
            f"a block is called {COVARIATE_BLOCK!r}, like the block of the covariates: rename it."
        )
    return np.append(own, np.full(len(added), COVARIATE_BLOCK)).astype(np.str_)


def _names_or(names: Any, prefix: str, count: int) -> Strings:
    """Names as text, or prefix0, prefix1, ... if there are none."""
    default = [f"{prefix}{number}" for number in range(count)]
    return np.array([str(name) for name in (default if names is None else names)], np.str_)


def _called(estimator: Any) -> str:
    return "the model" if estimator is None else type(estimator).__name__
