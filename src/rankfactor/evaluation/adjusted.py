"""`Adjusted`: any classifier, with covariates dealt with as the factor models do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import pandas as pd
from sklearn.base import clone

from rankfactor.evaluation.wrapper import Wrapper, fit_with_groups
from rankfactor.features.plan import FeaturePlan


class Adjusted(Wrapper):
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
        self.estimator_ = fit_with_groups(clone(self.estimator), table.values, y, groups)
        return self

    def _table(self, X: Any) -> Any:
        return self.plan_.apply(X, estimator=self)
