"""`Wrapper`: base of classifiers that wrap another classifier."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils.validation import check_is_fitted, has_fit_parameter


class Wrapper(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that predicts with the fitted classifier inside, ``estimator_``."""

    estimator: Any
    estimator_: Any

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Learn the transform of the table, then fit the classifier inside to the result."""
        table = self._learned_table(X)
        self.estimator_ = fit_with_groups(clone(self.estimator), table, y, groups)
        return self

    def _learned_table(self, X: Any) -> Any:
        """The transformed training table; learns the transform for new tables."""
        return X

    def _table(self, X: Any) -> Any:
        """The transformed new table."""
        return X

    @property
    def _fitted(self) -> Any:
        check_is_fitted(self, "estimator_")
        return self.estimator_

    @property
    def classes_(self) -> Any:
        """Labels in increasing order; a list if there are several label columns."""
        return self._fitted.classes_

    @property
    def chosen_(self) -> list[str]:
        """Settings chosen by the classifier inside, in words, for every label column."""
        return list(self._fitted.chosen_)

    def predict(self, X: Any) -> NDArray[Any]:
        """Classes of new samples."""
        return np.asarray(self._fitted.predict(self._table(X)))

    def decision_function(self, X: Any) -> Any:
        """Decisions of new samples."""
        return self._fitted.decision_function(self._table(X))


def fit_with_groups(estimator: Any, X: Any, y: Any, groups: Any) -> Any:
    """Fit an estimator, with groups if given and accepted."""
    if groups is None or not has_fit_parameter(estimator, "groups"):
        return estimator.fit(X, y)
    return estimator.fit(X, y, groups=groups)
