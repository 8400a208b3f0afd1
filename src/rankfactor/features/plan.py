"""The table of a fit: names, covariates and views, from whatever a user gives.

Everything that is learned of a table before it is coded is learned here, from training samples
only, and kept by the posterior: `rankfactor.features.matching.model_values` does the same to new
samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse

from rankfactor.errors import InputError, listed
from rankfactor.features.covariates import USES, Adjustment
from rankfactor.features.matching import (
    NamedSparse,
    column_names,
    opened,
    refuse_limits,
    row_names,
    split_covariates,
    table_values,
)
from rankfactor.features.words import Indicators, coded
from rankfactor.model import Model
from rankfactor.shrinkage import ByView
from rankfactor.typing import Strings

COVARIATE_VIEW, FEATURE_VIEW = "covariates", "features"
Views = None | Sequence[str] | Mapping[str, str] | pd.Series


@dataclass(frozen=True)
class TrainingTable:
    """A table ready to be coded.

    Attributes
    ----------
    values : array or CSC array, shape (N, D)
        What the model sees, NaN where missing.
    given : DataFrame, NamedSparse, array or CSC array
        The table as given, checked; a part of its samples can be fitted in the same way.
    names : array of str, shape (D,), or None
        Names of the features that the model sees.
    given_names : array of str or None
        Names of the columns as given, covariates among them.
    n_given : int
        Number of these columns.
    sample_names : list of str or None
    views : array of str, shape (D,), or None
    adjustment : Adjustment or None
    indicators : Indicators or None
    """

    values: Any
    given: Any
    names: NDArray[np.object_] | None
    given_names: NDArray[np.object_] | None
    n_given: int
    sample_names: list[str] | None
    views: Strings | None
    adjustment: Adjustment | None
    indicators: Indicators | None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.values.shape[0])


def training_table(X: Any, estimator: Any) -> TrainingTable:
    """Table of a fit, with the covariates and views that the estimator's arguments name."""
    wanted = check_covariates(estimator.covariates, estimator.covariate_use)
    table = given = opened(X, wanted)
    frame = None
    if wanted:
        table, frame = split_covariates(table, wanted)
        if not len(table.columns):
            raise InputError("every column of the table is a covariate: there are no features.")
    measured = table
    table, indicators = coded(table)
    values = table_values(table, estimator=estimator, sparse=True)
    names, given_names, n_given = column_names(table), column_names(given), values.shape[1]
    if indicators is None:
        views = feature_views(estimator.views, names, n_given)
    else:
        n_given = len(measured.columns)
        views = feature_views(estimator.views, column_names(measured), n_given)
        views = None if views is None else views[indicators.origins(measured.columns)]
    adjustment = None
    if frame is not None:
        if names is None:
            raise InputError("with covariates every feature needs a name that is text.")
        n_given += len(wanted)
        if given_names is None or len(given_names) < n_given:  # columns of an AnnData's obs
            given_names = np.append(names, wanted).astype(object)
        adjustment = Adjustment.learn(estimator.covariate_use, values, frame)
        values = adjustment.apply(values, frame)
        if adjustment.use == "view":
            views = _with_covariates(views, len(names), adjustment.added)
            names = np.append(names, adjustment.added).astype(object)
            twice = pd.Index(names)[pd.Index(names).duplicated()]
            if len(twice):
                raise InputError(f"a covariate makes a feature that exists: {listed(twice)}.")
    samples = row_names(given)
    if not isinstance(given, pd.DataFrame | NamedSparse):
        given = values
    model = estimator._build_model()
    if issparse(values) and not model.takes_sparse:
        values = values.toarray()
    if model.data.uses_values:
        refuse_limits(values, names, "the Gaussian likelihood")
    return TrainingTable(
        values, given, names, given_names, n_given, samples, views, adjustment, indicators
    )


def check_covariates(names: Any, use: object) -> list[str]:
    """Names of the covariates, none of them twice."""
    if use not in USES:
        raise InputError(f"covariate_use must be one of {', '.join(USES)}, not {use!r}.")
    if names is None:
        return []
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InputError(f"covariates must be a list of column names, not {names!r}.")
    chosen = list(names)
    for name in chosen:
        if chosen.count(name) > 1:
            raise InputError(f"the covariate {name!r} is named more than once.")
    return chosen


def feature_views(
    views: Views, names: NDArray[np.object_] | None, n_features: int
) -> Strings | None:
    """The view of every feature, shape (n_features,), or None without views.

    Parameters
    ----------
    views : None, sequence, mapping or Series
        One name per feature in their order, or by the name of the feature.
    names : array of str or None
    n_features : int
    """
    if views is None:
        return None
    if isinstance(views, Mapping | pd.Series) and names is not None:
        known = dict(views.items())
        absent = [name for name in names if name not in known]
        if absent:
            raise InputError(
                f"views name no view of {len(absent)} of {n_features} features: {listed(absent)}."
            )
        return np.array([str(known[name]) for name in names], np.str_)
    if isinstance(views, str | Mapping):
        raise InputError(
            "views must be a list with the view of every feature or, where features have names, a "
            f"dictionary by name, not {views!r}."
        )
    chosen = [str(view) for view in views]
    if len(chosen) != n_features:
        raise InputError(
            f"views has {len(chosen)} entries, but the table has {n_features} features: give one "
            "for each (covariates do not count)."
        )
    return np.array(chosen, np.str_)


def _with_covariates(views: Strings | None, n_features: int, added: list[str]) -> Strings:
    """Views of the features and, behind them, of the covariates."""
    own = np.full(n_features, FEATURE_VIEW) if views is None else views
    if COVARIATE_VIEW in own:
        raise InputError(
            f"a view is called {COVARIATE_VIEW!r}, as that of the covariates is: rename it."
        )
    return np.append(own, np.full(len(added), COVARIATE_VIEW)).astype(np.str_)


def with_views(model: Model, views: Strings | None, columns: NDArray[np.int64]) -> Model:
    """The model with the shrinkage of each view's own, for the features that are in the model."""
    if views is None:
        return model
    names = views[columns]
    numbers = {name: number for number, name in enumerate(dict.fromkeys(names.tolist()))}
    if len(numbers) < 2:
        return model
    rows = [numbers[name] for name in names.tolist()]
    return replace(model, loading_shrinkage=ByView.of(model.loading_shrinkage, rows))
