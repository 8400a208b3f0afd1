"""`Adjusted`: any classifier, with covariates treated as in the factor models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rankfactor.evaluation.wrapper import Wrapper
from rankfactor.features.plan import FeaturePlan


@dataclass(eq=False, repr=False)
class Adjusted(Wrapper):
    """A classifier with covariate adjustment, learned from the training samples.

    Makes a baseline comparable to a factor model with the same ``covariates``.

    Parameters
    ----------
    estimator : classifier
    covariates : sequence of str
        Columns of the table that are not features.
    covariate_use : {"regress", "block"}, default "regress"
        "regress" removes them from every feature on the rank scale; "block" adds them as features.
    """

    estimator: Any
    covariates: Sequence[str]
    covariate_use: str = "regress"

    def _learned_table(self, X: Any) -> Any:
        self.plan_, table = FeaturePlan.learn(
            X, covariates=self.covariates, covariate_use=self.covariate_use, estimator=self
        )
        return table.values

    def _table(self, X: Any) -> Any:
        return self.plan_.apply(X, estimator=self)
