"""`RankResiduals`: a scikit-learn transformer that regresses covariates out on the rank scale.

Method and limits:

- Every feature becomes the normal scores of its ranks among the training samples, minus their
  linear regression on the covariates. The result depends only on the ranks of a feature, not on
  its transform.
- Only linear effects on that scale are removed. Interactions of covariates, and effects of a
  covariate on the spread of a feature, remain.
- Effects of the labels that are correlated with the covariates are removed as well. If patients are
  older than controls, regressing out age removes part of the disease.
- Ties are broken by the covariates: two zeros of people of different age have different residuals,
  so a feature that is mostly zero reflects mainly the covariates. For sparse counts
  ``covariate_use="block"`` of the estimators is the better choice.
- Numbers are used as numeric: a numeric batch or site must be given as text.

Everything is learned by `fit`, so within cross-validation from the training part alone. The
estimators do the same with ``covariates=[...]``, and save it with the model.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from rankfactor.errors import InputError, check_count
from rankfactor.features.covariates import MAX_KNOTS, dense
from rankfactor.features.matching import NamedSparse, column_names, opened, table_values
from rankfactor.features.plan import FeaturePlan, remember_columns
from rankfactor.typing import Floats

__all__ = ["RankResiduals"]


class RankResiduals(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Normal scores of every feature, minus their regression on covariates.

    Parameters
    ----------
    covariates : sequence of str, default ()
        Columns of X (or of an AnnData's obs) to regress out and remove; for an array without names,
        their numbers. Text has one level per value; a missing covariate is replaced by the training
        mean, with a warning.
    max_knots : int, default 64
        Maximum number of observed values kept per feature, used to rank new values.

    Attributes
    ----------
    plan_ : FeaturePlan
        Transform of a table to residuals.
    design_ : Design
        Transform of covariates to numbers.
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
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Learn ranks and regressions, and return the residuals of the training samples."""
        check_count("max_knots", self.max_knots)
        if isinstance(self.covariates, str):
            raise InputError(f"covariates must be a list of columns, not {self.covariates!r}.")
        named, own = self._named(X)
        self.plan_, table = FeaturePlan.learn(
            named,
            covariates=[_text(name) for name in self.covariates],
            max_knots=self.max_knots,
            estimator=self,
        )
        adjustment = self.plan_.covariates
        assert adjustment is not None
        self.design_, self.regression_ = adjustment.design, adjustment.regression
        remember_columns(self, self.plan_)
        if not own:
            del self.feature_names_in_
        return np.asarray(table.values)

    def transform(self, X: Any) -> Floats:
        """Residuals of samples, NaN where missing, shape (n_samples, n_features left)."""
        check_is_fitted(self, "plan_")
        table, own = self._named(X)
        if not own and table.shape[1] != self.n_features_in_:
            raise InputError(
                f"X has {table.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        if not own and hasattr(self, "feature_names_in_"):
            warnings.warn(
                f"X does not have valid feature names, but {type(self).__name__} was fitted with "
                "feature names",
                UserWarning,
                stacklevel=2,
            )
            table = table.set_axis(self.feature_names_in_, axis=1)
        return np.asarray(self.plan_.apply(table, estimator=self))

    def _named(self, X: Any) -> tuple[Any, bool]:
        """The table with names that are text, and whether they are its own."""
        X = opened(X, [str(name) for name in self.covariates])
        if not isinstance(X, pd.DataFrame | NamedSparse):
            X = pd.DataFrame(dense(table_values(X, estimator=self)))
        own = column_names(X) is not None
        return (X if own else X.set_axis([_text(name) for name in X.columns], axis=1)), own

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Names of the features that are left."""
        check_is_fitted(self, "plan_")
        return self.plan_.names.astype(object)

    def __sklearn_tags__(self) -> Any:
        """Tags: missing values and sparse matrices are supported."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def _text(name: Any) -> str:
    """Name of a column; unnamed columns are identified by number."""
    return name if isinstance(name, str) else f"x{name}"
