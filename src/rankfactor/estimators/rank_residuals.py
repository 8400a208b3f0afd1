"""`RankResiduals`: a scikit-learn transformer that regresses covariates out on the rank scale.

What it does, and its limits:

- Every feature becomes the normal scores of its ranks among the training samples, less what a
  linear regression on the covariates says of them. The result does not depend on how a feature is
  transformed, only on its ranks.
- Only what is linear on that scale goes. Interactions of covariates, and a covariate that changes
  the spread of a feature, stay.
- Whatever of the labels goes along with the covariates goes too. Where patients are older than
  controls, taking age out takes out part of the disease.
- Ties are broken by the covariates: two zeros of people of different age have different residuals,
  so a feature that is mostly zero becomes a picture of the covariates themselves. For sparse counts
  ``covariate_use="view"`` of the estimators is the better choice.
- Numbers are taken as they are: a numeric batch or site must be given as text.

Everything is learned by `fit`, so within cross-validation from the training part alone. The
estimators do the same by themselves with ``covariates=[...]``, and save it with the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankfactor.errors import InputError, check_count
from rankfactor.features.covariates import MAX_KNOTS, Design, RankRegression
from rankfactor.features.matching import (
    NamedSparse,
    column_names,
    match_columns,
    opened,
    split_covariates,
    table_values,
)
from rankfactor.kernels.packed import Floats

__all__ = ["RankResiduals"]


class RankResiduals(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Normal scores of every feature less what covariates say of them.

    Parameters
    ----------
    covariates : sequence of str, default ()
        Columns of X (or of an AnnData's obs) to regress out and leave out; of an array without
        names, their numbers. Text is one level per value; a missing covariate counts as the
        training mean, which is said.
    max_knots : int, default 64
        Most observed values that are kept of a feature, to place new values among them.

    Attributes
    ----------
    design_ : Design
        How covariates become numbers.
    regression_ : RankRegression
    n_features_in_ : int
        Columns of X, covariates among them.
    feature_names_in_ : array
        Only if fitted to a table with names.

    Examples
    --------
    >>> import pandas as pd
    >>> from rankfactor.estimators.rank_residuals import RankResiduals
    >>> table = pd.DataFrame({"gene": [1.0, 5.0, 2.0, 9.0], "batch": ["a", "b", "a", "b"]})
    >>> RankResiduals(["batch"]).fit_transform(table).ravel().round(2).tolist()
    [-0.42, -0.42, 0.42, 0.42]
    """

    def __init__(self, covariates: Sequence[Any] = (), *, max_knots: int = MAX_KNOTS) -> None:
        self.covariates = covariates
        self.max_knots = max_knots

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn ranks and regressions.

        Parameters
        ----------
        X : DataFrame, AnnData, array-like or sparse matrix, shape (n_samples, n_features)
            NaN = missing.
        y : ignored
        """
        check_count("max_knots", self.max_knots)
        if isinstance(self.covariates, str):
            raise InputError(f"covariates must be a list of columns, not {self.covariates!r}.")
        table = self._named(X)
        features, frame = split_covariates(table, list(self.covariates))
        if not len(features.columns):
            raise InputError("every column of the table is a covariate: there are no features.")
        names = column_names(table)
        if names is not None:
            extra = [name for name in frame.columns if name not in table.columns]
            self.feature_names_in_ = np.append(names, extra).astype(object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        values = _dense(table_values(features, estimator=self, sparse=True))
        self.n_features_in_ = values.shape[1] + frame.shape[1]
        self._features = np.array(features.columns, dtype=object)
        self.design_ = Design.learn(frame)
        self.regression_ = RankRegression.learn(values, self.design_.matrix(frame), self.max_knots)
        return self

    def transform(self, X: Any) -> Floats:
        """Residuals of samples, NaN where missing, shape (n_samples, n_features left)."""
        check_is_fitted(self, "regression_")
        table = self._named(X)
        given = column_names(table)
        if given is None and table.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        if given is None and hasattr(self, "feature_names_in_"):
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with "
                "feature names",
                UserWarning,
                stacklevel=2,
            )
            table = table.set_axis(self.feature_names_in_, axis=1)
        features, frame = split_covariates(table, list(self.covariates))
        names = self._features if column_names(features) is not None else None
        values = match_columns(
            features, names, len(self._features), "error", estimator=self, sparse=True
        )
        return self.regression_.residuals(_dense(values), self.design_.matrix(frame))

    def _named(self, X: Any) -> Any:
        """The table with names, be they numbers."""
        X = opened(X, [str(name) for name in self.covariates])
        if isinstance(X, pd.DataFrame | NamedSparse):
            return X
        return pd.DataFrame(_dense(table_values(X, estimator=self, sparse=True)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features that are left."""
        check_is_fitted(self, "regression_")
        names = self._features
        return np.array([n if isinstance(n, str) else f"x{n}" for n in names], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Missing values and sparse matrices are welcome."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _dense(values: Any) -> Floats:
    return np.asarray(values.toarray() if issparse(values) else values)
