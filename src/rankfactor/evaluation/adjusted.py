"""`Adjusted`: any classifier, with covariates dealt with as the factor models do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from rankfactor.features.plan import FeaturePlan


class Adjusted(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier whose table is adjusted for covariates, learned from the training samples.

    A baseline is then judged on the same ground as a factor model with the same ``covariates``.

    Parameters
    ----------
    estimator : classifier
    covariates : sequence of str
        Columns of the table that are no features.
    covariate_use : {"regress", "view"}, default "regress"
        "regress" takes them out of every feature on the rank scale; "view" makes features of them.

    Attributes
    ----------
    estimator_ : classifier
    plan_ : FeaturePlan
    """

    def __init__(
        self, estimator: Any, covariates: Sequence[str], covariate_use: str = "regress"
    ) -> None:
        self.estimator = estimator
        self.covariates = covariates
        self.covariate_use = covariate_use

    def fit(self, X: pd.DataFrame, y: Any, groups: Any = None) -> Self:
        """Learn the adjustment, then fit to the adjusted table."""
        self.plan_, table = FeaturePlan.learn(
            X, covariates=self.covariates, covariate_use=self.covariate_use, estimator=self
        )
        self.estimator_ = clone(self.estimator)
        more = {}
        if groups is not None and has_fit_parameter(self.estimator_, "groups"):
            more["groups"] = groups
        self.estimator_.fit(table.values, y, **more)
        return self

    def _adjusted(self, X: pd.DataFrame) -> Any:
        check_is_fitted(self, "estimator_")
        return self.plan_.apply(X, estimator=self)

    @property
    def classes_(self) -> Any:
        """Labels in increasing order; a list with several label columns."""
        return self.estimator_.classes_

    @property
    def chosen_(self) -> list[str]:
        """What the classifier chose, in words, for every label column."""
        return list(self.estimator_.chosen_)

    def predict(self, X: pd.DataFrame) -> NDArray[Any]:
        """Classes of new samples."""
        return np.asarray(self.estimator_.predict(self._adjusted(X)))

    def decision_function(self, X: pd.DataFrame) -> Any:
        """Decisions of new samples."""
        return self.estimator_.decision_function(self._adjusted(X))
